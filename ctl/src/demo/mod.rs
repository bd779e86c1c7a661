//! `demo`: a simulated fleet and both real daemons as child processes, in a folder that goes away with them. No
//! account, no network, unless a model's key is set.

use crate::cli::DemoArgs;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::out::{Out, complain};
use children::Children;
use protocol::shown::Language;
use state::Folder;

mod children;
mod error;
mod fence;
mod http;
mod prompt;
mod script;
mod start;
mod state;
mod sweep;
pub(crate) mod zone;

pub(crate) use children::beside;
pub(crate) use error::tail;
pub(crate) use start::{READY, ready, until_up};
pub(crate) use sweep::sweep;

/// Runs the demo to its end. Whatever happens, the children end and the folder goes.
pub(crate) async fn run(args: &DemoArgs, language: Language, out: &mut Out) -> Exit {
    let (mut interrupts, folder) = match (Interrupts::watch(), Folder::create(args.keep)) {
        (Ok(interrupts), Ok(folder)) => (interrupts, folder),
        (Err(error), _) => return stopped(&error.to_string()),
        (_, Err(error)) => return stopped(&error.to_string()),
    };
    let mut children = Children::new(folder.logs());
    let exit = inside(args, language, out, (&folder, &mut children, &mut interrupts)).await;
    children.stop().await;
    match folder.end() {
        Ok(Some(kept)) => out.line(&format!("Kept: {}", kept.display())),
        Ok(None) => {}
        Err(error) => complain(&error.to_string()),
    }
    // Last: it takes the folder away when this process is killed before it could.
    children.stop_sweeper().await;
    exit
}

async fn inside(
    args: &DemoArgs,
    language: Language,
    out: &mut Out,
    (folder, children, interrupts): (&Folder, &mut Children, &mut Interrupts),
) -> Exit {
    let started = tokio::select! {
        started = start::start(args, language, folder, children) => started,
        _ = interrupts.next() => return Exit::Wrong,
    };
    let demo = match started {
        Ok(demo) => demo,
        Err(error) => return stopped(&error.to_string()),
    };
    if !args.script {
        return prompt::run(&demo, children, interrupts, out).await;
    }
    tokio::select! {
        exit = script::run(&demo, args.fault.as_deref(), out) => exit,
        _ = interrupts.next() => Exit::Wrong,
    }
}

fn stopped(why: &str) -> Exit {
    complain(&format!("the demo did not start: {why}"));
    Exit::Wrong
}
