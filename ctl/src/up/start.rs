//! `up`: starts what does not run, waits until it answers, and says where everything is. Whole or not at all: what it
//! started is stopped again when the rest fails or somebody wants an end.

use super::error::UpError;
use super::layout::{self, Layout, SERVICES};
use super::{first, process, settings, words};
use crate::cli::UpArgs;
use crate::client::{Asking, Control, Daemon, Places};
use crate::demo::{READY, ready, until_up};
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::out::Out;
use crate::pin;
use crate::session::Session;
use crate::status::{Both, ask_both};
use crate::verbs::not_done;
use control::message::OperatorSays;
use control::pin::PinEntry;
use host::files::{self, FileLock};
use std::env;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::{Child, Command};
use zeroize::Zeroizing;

const AGAIN: Duration = Duration::from_millis(100);
/// For another `up` or `down` of this user.
const TURN: Duration = Duration::from_secs(150);
/// For a daemon that was just started to end again.
const END: Duration = Duration::from_secs(20);

/// The whole environment of a daemon beside its settings. What it calls, if anything, is the system's own.
const PATH: &str = "/usr/bin:/bin";

/// What `up` found and did.
#[derive(Debug)]
pub(crate) struct Up {
    /// Which daemons it started.
    pub(crate) started: Vec<Daemon>,
    /// Where everything lies.
    pub(crate) layout: Layout,
    /// What both say.
    pub(crate) both: Both,
}

/// `up`.
pub(crate) async fn up(session: &Session, out: &mut Out, args: &UpArgs) -> Exit {
    let done = async {
        let mut interrupts = Interrupts::watch().map_err(|error| UpError::Io("watch for Ctrl-C", error))?;
        whole(args, &mut interrupts).await
    };
    match done.await {
        Ok(up) => {
            if args.json {
                out.json(&words::up_json(&up));
            } else {
                out.text(&words::up(&up, session.language));
            }
            Exit::Done
        }
        Err(error) => not_done((error.code(), &error.to_string()), (out, args.json)),
    }
}

/// This user's folders; nobody's for root.
///
/// # Errors
/// [`UpError`]
pub(crate) fn mine() -> Result<Layout, UpError> {
    if nix::unistd::geteuid().is_root() {
        return Err(UpError::Root);
    }
    Layout::of(&|name| env::var_os(name))
}

/// The turn of one `up` or `down`.
///
/// # Errors
/// [`UpError::Busy`]
pub(crate) async fn turn(layout: &Layout) -> Result<FileLock, UpError> {
    let path = layout.lock();
    let waited = tokio::time::timeout(TURN, async {
        loop {
            if let Some(lock) = files::try_lock(&path)? {
                return Ok(lock);
            }
            tokio::time::sleep(AGAIN).await;
        }
    });
    waited.await.unwrap_or(Err(UpError::Busy(path)))
}

async fn whole(args: &UpArgs, interrupts: &mut Interrupts) -> Result<Up, UpError> {
    let layout = mine()?;
    layout::refuse_services(Path::new(SERVICES))?;
    // Whatever the caller's was: nothing of this is for others.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    layout.make()?;
    let _turn = interrupts.or_done(turn(&layout)).await.ok_or(UpError::Interrupted)??;
    first::write(&layout)?;
    let pin = if first::has_pin(&layout)? { None } else { Some(first::new_pin(args).await?) };
    let mut children = Vec::new();
    let done = interrupts.or_done(start(&layout, pin, &mut children)).await.unwrap_or(Err(UpError::Interrupted));
    match done {
        Ok(both) => {
            let started = children.iter().map(|(daemon, _)| *daemon).collect();
            Ok(Up { started, layout, both })
        }
        Err(error) => {
            take_back(children).await;
            Err(error)
        }
    }
}

type Started = (Daemon, Child);

async fn start(layout: &Layout, pin: Option<Zeroizing<String>>, children: &mut Vec<Started>) -> Result<Both, UpError> {
    let places = layout.places();
    serve(Daemon::Executor, layout, children).await?;
    if let Some(pin) = pin {
        pin::save(&places, OperatorSays::PinSet { old: None, new: PinEntry::new(pin) }).await?;
    }
    serve(Daemon::Assistant, layout, children).await?;
    let found = async {
        loop {
            let both = ask_both(&places).await;
            if ready(&both).is_some() {
                return both;
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    let log = layout.log_of(Daemon::Assistant);
    let does_not = "find the executor";
    let waited = tokio::time::timeout(READY, found).await;
    waited.map_err(|_| UpError::Slow { name: Daemon::Assistant.as_str(), does_not, log })
}

// Starts one unless it runs, and waits until it answers.
async fn serve(daemon: Daemon, layout: &Layout, children: &mut Vec<Started>) -> Result<(), UpError> {
    let runs = process::recorded(&layout.record_of(daemon))?.is_some();
    if !runs {
        children.push((daemon, spawn(daemon, layout)?));
    }
    let (name, log, places) = (daemon.as_str(), layout.log_of(daemon), layout.places());
    let mut child = if runs { None } else { children.last_mut().map(|(_, child)| child) };
    tokio::select! {
        up = tokio::time::timeout(READY, until_up(async || opened(daemon, &places).await)) => match up {
            Ok(up) => Ok(up?),
            Err(_) => Err(UpError::Slow { name, does_not: "answer", log }),
        },
        () = ended(daemon, layout, &mut child) => Err(UpError::Ended(name, log)),
    }
}

async fn opened(daemon: Daemon, places: &Places) -> Result<(), crate::client::ClientError> {
    match daemon {
        Daemon::Assistant => Asking::open(places).await.map(drop),
        Daemon::Executor => Control::open(places).await.map(drop),
    }
}

// Until no process is the daemon, nor is about to be.
async fn ended(daemon: Daemon, layout: &Layout, child: &mut Option<&mut Child>) {
    loop {
        let over = child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
        if over && !matches!(process::recorded(&layout.record_of(daemon)), Ok(Some(_))) {
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn spawn(daemon: Daemon, layout: &Layout) -> Result<Child, UpError> {
    let failed = |error| UpError::Io("start a daemon", error);
    let settings = settings::of(daemon, layout)?;
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.env_clear().env("PATH", PATH).envs(settings).current_dir("/");
    command.arg("start-detached").arg(daemon.as_str()).arg(layout.state());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(failed)
}

// Our own children, not waited for yet: their ids are still theirs.
async fn take_back(children: Vec<Started>) {
    for (_, mut child) in children.into_iter().rev() {
        if let Some(pid) = child.id() {
            let _asked = process::ask_to_end(pid);
            let _ended = tokio::time::timeout(END, child.wait()).await;
        }
    }
}
