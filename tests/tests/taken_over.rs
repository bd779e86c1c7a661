//! Executor, assistant and operator under users of their own, and an assistant that belongs to somebody else now
//! (`issue lines 4.6 to 4.9`). Every try is made by a real process of the real user, started by `setpriv`; and each is made
//! again where its protection is not there, so that a door which was never tried is missed.

#[path = "taken_over/attack.rs"]
mod attack;
#[path = "taken_over/canary.rs"]
mod canary;
#[path = "taken_over/cookie.rs"]
mod cookie;
#[path = "taken_over/files.rs"]
mod files;
#[path = "taken_over/impostor.rs"]
mod impostor;
#[path = "taken_over/shut.rs"]
mod shut;

use fleetwatch_tests::hex;
use fleetwatch_tests::processes::Reaped;
use fleetwatch_tests::world::{Builder, World, draft, must, recording, skipped, some};
use protocol::frame;
use protocol::hello::{AuditHead, Hello, Reply, Request};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Says frames as the user that runs it, among other things.
const SPEAKER: &str = include_str!("secrets/other_user.py");
/// Users that no other test has.
const EXECUTOR: u32 = 61_910;
const ASSISTANT: u32 = 61_911;
const OTHER: u32 = 61_912;
const RECORD: &str = "batch_recording";

/// A process that is gone with the test.
struct Running(Reaped);

impl Running {
    /// Lets its input end and gives what it printed.
    #[track_caller]
    fn heard<T: DeserializeOwned>(mut self) -> T {
        drop(self.0.stdin.take());
        let mut text = String::new();
        let mut output = some(self.0.stdout.take(), "its output");
        must(std::io::Read::read_to_string(&mut output, &mut text), "its output");
        must(serde_json::from_str(&text), &text)
    }
}

/// Whether this machine lets a test be several users; where not, it says what is missing.
fn can_be_others() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    let can = Command::new("unshare").args(["--mount", "sh", "-c", bind]).output();
    let can = can.is_ok_and(|output| output.status.success());
    if !can {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
    }
    can
}

/// A world whose daemons have a user each. Root is the operator.
fn apart() -> Builder {
    World::builder().assistant_user(ASSISTANT).executor_user(EXECUTOR)
}

/// A program in Python as this user, with no group but its own and nothing of ours in its environment.
fn as_user(uid: u32, program: &str) -> Command {
    let mut command = Command::new("setpriv");
    let id = uid.to_string();
    command.args([&format!("--reuid={id}"), &format!("--regid={id}"), "--clear-groups"]);
    command.args(["/usr/bin/python3", "-I", "-c", program]);
    command.env_clear().current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Starts it with this wish as the first line of its input, which stays open.
#[track_caller]
fn started(uid: u32, program: &str, wish: &Value) -> Running {
    let mut running = Running(Reaped(must(as_user(uid, program).spawn(), "setpriv")));
    let input = some(running.0.stdin.as_mut(), "its input");
    must(writeln!(input, "{wish}"), "its input");
    running
}

#[track_caller]
fn framed<T: Serialize>(id: u32, say: T) -> String {
    hex::encode(&must(frame::encode(&Request { id, say }), "a frame"))
}

fn hello(agent: &str, kind: LinkKind, witness: Option<AuditHead>) -> AssistantSays {
    AssistantSays::Hello { hello: Hello::ours(), kind, agent: some(Label::new(agent), "a label"), witness }
}

/// A recording that the assistant's user proposes to start, and that waits.
#[track_caller]
fn proposed(world: &World, room: &str) -> ProposalNumber {
    let change = recording("start", &world.room(room), 1).to_string();
    let words = [
        framed(1, hello("agent", LinkKind::Turn, None)),
        framed(2, AssistantSays::Propose(draft(RECORD, change.as_bytes(), "because"))),
        framed(3, AssistantSays::TurnEnd),
    ];
    let wish = json!({ "do": "frames", "path": world.socket("propose"), "frames": words });
    let said: Vec<String> = started(ASSISTANT, SPEAKER, &wish).heard();
    let said = said.get(1).and_then(|answer| hex::decode(answer));
    let answer: Reply<ExecutorSays> = must(frame::decode(&some(said, "an answer")), "an answer");
    let number =
        if let ExecutorSays::Admitted { number } = answer.say { Ok(number) } else { Err(format!("{answer:?}")) };
    must(number, "a proposal")
}

#[track_caller]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    must(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)), &path.display().to_string());
}
