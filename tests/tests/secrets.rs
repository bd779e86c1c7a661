//! What is secret stays where it is (`seed 000, Parts`; `seed 000, Data sent to the model`): nothing of it goes to the
//! assistant, to a log, an error or an export; a process of the assistant's user finds it nowhere and can change nothing; the
//! page listens on 127.0.0.1 alone; questions and answers are not kept.

#[path = "secrets/listeners.rs"]
mod listeners;
#[path = "secrets/other_user.rs"]
mod other_user;
#[path = "secrets/planted.rs"]
mod planted;
#[path = "secrets/prompts.rs"]
mod prompts;
#[path = "secrets/recorded.rs"]
mod recorded;

use fleetwatch_tests::world::World;
use std::process::Command;

const RECORD: &str = "batch_recording";

// Only root can be another user, on a machine with another group.
fn has_namespaces() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    Command::new("unshare").args(["--mount", "sh", "-c", bind]).output().is_ok_and(|output| output.status.success())
}

// What a program of ours printed, both ways.
#[track_caller]
fn printed(world: &World, arguments: &[&str]) -> Vec<u8> {
    let output = world.ctl(arguments);
    assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{arguments:?} says nothing");
    [output.stdout, output.stderr].concat()
}
