//! The demo's start, in the order in which each part needs the one before.

use super::children::{Children, Spec};
use super::error::DemoError;
use super::fence::{self, DemoFence};
use super::http;
use super::state::{Folder, FolderError};
use crate::cli::DemoArgs;
use crate::client::{Asking, ClientError, Control, Places};
use crate::render::paint::Paint;
use crate::session::{Saying, Session, painted, width};
use crate::status::{Both, ask_both};
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use host::files::{self, Owner};
use host::secret::{SecretText, random_pin};
use protocol::shown::Language;
use serde_json::Value;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStdout;
use zeroize::Zeroizing;

const SIM: &str = "fleetwatch-sim";
const EXECUTOR: &str = "fleetwatch-executor";
const ASSISTANT: &str = "fleetwatch-assistant";

/// What the simulator's stand-in for a model calls itself.
pub(crate) const STAND_IN: &str = "fleetwatch-sim-script";

/// For one child to get ready.
pub(crate) const READY: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(50);
const LONGEST_LINE: u64 = 4_096;

/// A demo that runs.
#[derive(Debug)]
pub(crate) struct Demo {
    /// How to reach the daemons.
    pub(crate) session: Session,
    /// The simulator's own channel, `127.0.0.1:PORT`.
    pub(crate) sim: String,
    /// The operator's PIN.
    pub(crate) pin: SecretText,
    /// The approval page.
    pub(crate) page: String,
    /// The page's launch secret.
    pub(crate) page_secret: SecretText,
    /// Which rooms may be changed.
    pub(crate) fence: DemoFence,
    /// The model's name, and where questions go.
    pub(crate) model: (String, String),
}

/// Starts everything.
///
/// # Errors
/// [`DemoError`]; the children that were started are in `children`.
pub(crate) async fn start(
    args: &DemoArgs,
    language: Language,
    folder: &Folder,
    children: &mut Children,
) -> Result<Demo, DemoError> {
    if !folder.is_kept() {
        children.start_sweeper(folder.root())?;
    }
    let sim = start_sim(args, folder, children).await?;
    folder.write_policy()?;
    let state = http::get(&sim.channel, "/_sim/state").await?;
    let fence = fence::choose(&state).ok_or(DemoError::Strange("a list of devices without ids or names"))?;
    let session = session(folder, language, args.script);
    start_executor(folder, children, &sim, &fence)?;
    wait_for_executor(&session.places, children).await?;
    let pin = set_pin(&session.places).await?;
    start_assistant(folder, children, &sim)?;
    let (page, model) = wait_for_both(&session.places, children).await?;
    let page_secret = files::read_secret(&folder.executor().join("page-secret"), Owner::Me)?;
    Ok(Demo { session, sim: sim.channel, pin, page, page_secret, fence, model })
}

fn session(folder: &Folder, language: Language, script: bool) -> Session {
    let me = Some(host::socket::my_uid());
    Session {
        places: Places { run: folder.run(), executor: me, assistant: me },
        language,
        columns: if script { crate::render::columns(env::var("COLUMNS").ok().as_deref()) } else { width() },
        // The story is the same wherever it is told.
        paint: if script { Paint::Off } else { painted() },
        // Without a prompt there is only another shell.
        saying: if script {
            Saying::Shell(format!("fleetwatchctl --run-dir {}", folder.run().display()))
        } else {
            Saying::Prompt
        },
        login_hosts: crate::login::hosts::Setting::default(),
    }
}

struct Sim {
    mcp: String,
    model: String,
    channel: String,
    normal: PathBuf,
    sandbox: PathBuf,
}

async fn start_sim(args: &DemoArgs, folder: &Folder, children: &mut Children) -> Result<Sim, DemoError> {
    let (normal, sandbox) = (random(folder, "normal-token")?, random(folder, "sandbox-token")?);
    let mut arguments: Vec<OsString> = vec!["--stop-with-stdin".into()];
    for (name, path) in [("--token-file-normal", &normal), ("--token-file-sandbox", &sandbox)] {
        arguments.extend([name.into(), path.into()]);
    }
    arguments.extend(["--log".into(), folder.logs().join("calls.jsonl").into()]);
    if let Some(fault) = &args.fault {
        arguments.extend(["--fault".into(), fault.into()]);
    }
    let stdout = children.start(Spec { name: SIM, arguments, settings: Vec::new() })?;
    let line = tokio::select! {
        line = first_line(stdout, children.log(SIM)) => line?,
        error = children.first_ended() => return Err(error),
    };
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    let strange = DemoError::Strange("its first line is not what it should print");
    let (Some(mcp), Some(model)) = (text("mcp"), text("model")) else { return Err(strange) };
    let channel = mcp.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let Some(channel) = channel.filter(|host| host.starts_with("127.0.0.1:")) else { return Err(strange) };
    Ok(Sim { channel: channel.to_owned(), mcp, model, normal, sandbox })
}

fn random(folder: &Folder, name: &str) -> Result<PathBuf, DemoError> {
    folder.random_secret(name).map_err(|error| match error {
        FolderError::File(error) => DemoError::File(error),
        FolderError::Random(error) => DemoError::Random(error),
        FolderError::Remains(_, error) | FolderError::Temp(error) => DemoError::Io("make a token", error),
    })
}

async fn first_line(stdout: Option<ChildStdout>, log: PathBuf) -> Result<String, DemoError> {
    let Some(stdout) = stdout else { return Err(DemoError::Strange("it prints nothing")) };
    let mut line = String::new();
    let mut reader = BufReader::new(stdout.take(LONGEST_LINE));
    let read = tokio::time::timeout(READY, reader.read_line(&mut line)).await;
    match read {
        // The end without a line: it is about to be found dead.
        Ok(Ok(0)) => std::future::pending().await,
        Ok(Ok(_)) => Ok(line),
        Ok(Err(error)) => Err(DemoError::Io("read from the simulator", error)),
        Err(_) => Err(DemoError::Slow { name: SIM, log }),
    }
}

fn start_executor(folder: &Folder, children: &mut Children, sim: &Sim, fence: &DemoFence) -> Result<(), DemoError> {
    let mut settings = shared(folder, sim);
    settings.extend([
        ("FLEETWATCH_EXECUTOR_STATE_DIR", folder.executor().into()),
        ("FLEETWATCH_PRINCIPALS_FILE", folder.principals().into()),
        ("FLEETWATCH_SANDBOX_TOKEN_FILE", (&sim.sandbox).into()),
        ("FLEETWATCH_WRITE_DEVICE_IDS", (&fence.ids).into()),
        ("FLEETWATCH_APPROVE_PORT", "0".into()),
    ]);
    children.start(Spec { name: EXECUTOR, arguments: vec!["--stop-with-stdin".into()], settings })?;
    Ok(())
}

fn start_assistant(folder: &Folder, children: &mut Children, sim: &Sim) -> Result<(), DemoError> {
    let mut settings = shared(folder, sim);
    settings.extend([
        ("FLEETWATCH_ASSISTANT_STATE_DIR", folder.assistant().into()),
        ("FLEETWATCH_TOKEN_FILE", (&sim.normal).into()),
    ]);
    settings.extend(model(folder, sim)?);
    children.start(Spec { name: ASSISTANT, arguments: vec!["--stop-with-stdin".into()], settings })?;
    Ok(())
}

// The model that the demo's own environment names; else the stand-in. A kind that nobody knows is for the assistant to refuse.
fn model(folder: &Folder, sim: &Sim) -> Result<Vec<(&'static str, OsString)>, DemoError> {
    const KIND: &str = "FLEETWATCH_MODEL_KIND";
    let given = |name: &'static str| env::var_os(name).filter(|value| !value.is_empty()).map(|value| (name, value));
    let secret = |name: &str| env::var(name).ok().filter(|key| !key.is_empty()).map(SecretText::from);
    let kind = given(KIND);
    if kind.as_ref().is_some_and(|(_, kind)| kind == "openai") {
        let named = [KIND, "FLEETWATCH_OPENAI_URL", "FLEETWATCH_AI_MODEL", "FLEETWATCH_OPENAI_API_KEY_FILE"];
        let mut settings: Vec<_> = named.into_iter().filter_map(given).collect();
        if let Some(key) = secret("FLEETWATCH_OPENAI_API_KEY") {
            // Never in the environment of the child.
            settings.retain(|(name, _)| *name != "FLEETWATCH_OPENAI_API_KEY_FILE");
            settings.push(("FLEETWATCH_OPENAI_API_KEY_FILE", folder.write_secret("model-key", &key)?.into()));
        }
        return Ok(settings);
    }
    let mut settings: Vec<_> = kind.into_iter().collect();
    let key_file = match secret("FLEETWATCH_ANTHROPIC_API_KEY") {
        Some(key) => {
            settings.extend(["FLEETWATCH_ANTHROPIC_URL", "FLEETWATCH_AI_MODEL"].into_iter().filter_map(given));
            folder.write_secret("model-key", &key)?
        }
        None => {
            settings.push(("FLEETWATCH_ANTHROPIC_URL", (&sim.model).into()));
            // So that `status` does not name a model that nobody asks.
            settings.push(("FLEETWATCH_AI_MODEL", STAND_IN.into()));
            random(folder, "model-key")?
        }
    };
    settings.push(("FLEETWATCH_ANTHROPIC_API_KEY_FILE", key_file.into()));
    Ok(settings)
}

// One user runs everything: then the PIN is the boundary, and status says `isolation: none`.
fn shared(folder: &Folder, sim: &Sim) -> Vec<(&'static str, OsString)> {
    let me: OsString = host::socket::my_uid().to_string().into();
    vec![
        ("FLEETWATCH_RUN_DIR", folder.run().into()),
        ("FLEETWATCH_POLICY_DIR", folder.policy().into()),
        ("FLEETWATCH_SLOT", "sim".into()),
        ("FLEETWATCH_EPIPHAN_MCP_URL", (&sim.mcp).into()),
        ("FLEETWATCH_ASSISTANT_USER", me.clone()),
        ("FLEETWATCH_EXECUTOR_USER", me),
    ]
}

async fn wait_for_executor(places: &Places, children: &mut Children) -> Result<(), DemoError> {
    up(async || Control::open(places).await.map(drop), EXECUTOR, children).await
}

async fn wait_for_both(places: &Places, children: &mut Children) -> Result<(String, (String, String)), DemoError> {
    up(async || Asking::open(places).await.map(drop), ASSISTANT, children).await?;
    let ready = tokio::time::timeout(READY, async {
        loop {
            let both = ask_both(places).await;
            if let Some(ready) = ready(&both) {
                return ready;
            }
            tokio::time::sleep(AGAIN).await;
        }
    });
    let slow = DemoError::Slow { name: EXECUTOR, log: children.log(EXECUTOR) };
    tokio::select! {
        ready = ready => ready.map_err(|_| slow),
        error = children.first_ended() => Err(error),
    }
}

/// The page's address and the model, once the page is up and the two daemons have found each other.
pub(crate) fn ready(both: &Both) -> Option<(String, (String, String))> {
    let (Ok(executor), Ok(assistant)) = (&both.executor, &both.assistant) else { return None };
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let model = (known(&assistant.model), known(&assistant.model_host));
    executor.page.clone().filter(|_| assistant.executor_reached).map(|page| (page, model))
}

/// Waits until a daemon answers that may only be about to listen.
///
/// # Errors
/// [`ClientError`] when it answers otherwise than a daemon of ours would.
pub(crate) async fn until_up(open: impl AsyncFn() -> Result<(), ClientError>) -> Result<(), ClientError> {
    loop {
        match open().await {
            Ok(()) => return Ok(()),
            // Not there yet, or just about to listen.
            Err(ClientError::NotReached(..) | ClientError::Folder(..)) => tokio::time::sleep(AGAIN).await,
            Err(error) => return Err(error),
        }
    }
}

async fn up(
    open: impl AsyncFn() -> Result<(), ClientError>,
    name: &'static str,
    children: &mut Children,
) -> Result<(), DemoError> {
    let log = children.log(name);
    tokio::select! {
        waited = tokio::time::timeout(READY, until_up(open)) => match waited {
            Ok(up) => up.map_err(DemoError::Client),
            Err(_) => Err(DemoError::Slow { name, log }),
        },
        error = children.first_ended() => Err(error),
    }
}

async fn set_pin(places: &Places) -> Result<SecretText, DemoError> {
    let pin = random_pin()?;
    let new = PinEntry::new(Zeroizing::new(pin.expose().to_owned()));
    let say = OperatorSays::PinSet { old: None, new };
    let ExecutorSays::PinSaved = Control::open(places).await?.ask(say).await? else {
        return Err(Control::surprise().into());
    };
    Ok(pin)
}
