//! Start and stop: settings, store, sockets, page, in that order, so that nothing listens before the store is settled.

use crate::alive;
use crate::app::App;
use crate::backends::epiphan::wire::Destination;
use crate::codes::PageCodes;
use crate::config::{Config, ConfigError};
use crate::desk::Desk;
use crate::intake::Intake;
use crate::launch::{Launch, PAGE};
use crate::listen;
use crate::notify::Notifier;
use crate::page::{self, PageSettings};
use crate::principals::Registry;
use crate::seldom::Seldom;
use crate::store::audit::Step;
use crate::store::{Started, Store, StoreError, StoreHandle};
use crate::sweep::{ask_again, offer_endings, sweep};
use control::status::Witness;
use host::activation::ActivationError;
use host::clock::Clock;
use host::service::{CONFIGURATION, USAGE};
use host::socket::SocketError;
use policy::call::Tool;
use policy::limits;
use protocol::shown::Worded;
use reader::endpoint::Endpoint;
use reader::session::ReadClient;
use reader::token::{SignIn, Which};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Why the executor stopped.
#[derive(Debug)]
pub enum ServeError {
    /// A setting, file or folder is wrong; starting again does not help.
    Config(ConfigError),
    /// What the service manager handed over cannot be used; starting again does not help.
    Handed(ActivationError),
    /// The page's server ended; the service manager starts the executor again.
    Page(String),
    /// A restore is staged; the next start takes it up.
    Restore,
    /// The system gives no runtime.
    Runtime(std::io::Error),
    /// The sign-in that it was given is over, and only whoever gave it can put another in its place.
    SignInOver(Worded),
    /// A Unix socket cannot be served.
    Socket(&'static str, SocketError),
    /// The store could not be opened or settled.
    Store(StoreError),
    /// The command line was not understood.
    Usage(&'static str),
}

impl ServeError {
    /// The exit code: 78 when starting again cannot repair it, 2 when the command line was not understood, 1 for anything
    /// else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Handed(_) | Self::SignInOver(_) | Self::Store(StoreError::Newer(_)) => {
                CONFIGURATION
            }
            Self::Socket(_, error) if error.needs_a_person() => CONFIGURATION,
            Self::Page(_) | Self::Restore | Self::Runtime(_) | Self::Socket(..) | Self::Store(_) => 1,
            Self::Usage(_) => USAGE,
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "{error}"),
            Self::Handed(error) => write!(f, "{error}"),
            Self::Page(why) => write!(f, "approval page: {why}"),
            Self::Restore => f.write_str("a restore is staged; start the executor again to take it up"),
            Self::Runtime(error) => write!(f, "no runtime: {error}"),
            Self::SignInOver(words) => write!(f, "{}: {}", crate::config::TOKEN, words.en),
            Self::Socket(name, error) => write!(f, "{name}: {error}"),
            Self::Store(error) => write!(f, "{error}"),
            Self::Usage(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for ServeError {}

impl From<ActivationError> for ServeError {
    fn from(error: ActivationError) -> Self {
        Self::Handed(error)
    }
}

impl From<ConfigError> for ServeError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<StoreError> for ServeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How long a stop waits for a run: its reads, its write and its read-back.
const LAST_RUN: Duration = Duration::from_secs(100);

/// Runs the executor until SIGINT, SIGTERM or, where the launch says so, the end of standard input.
///
/// # Errors
/// [`ServeError`] when it cannot start or its page dies.
pub async fn serve(launch: Launch) -> Result<(), ServeError> {
    let Launch { config, mut handed, stop_with_stdin } = launch;
    // Before anything listens: a signal from here on is a clean stop.
    let mut stop = std::pin::pin!(host::stop::stop_requested(stop_with_stdin));
    host::descriptors::ensure(listen::DESCRIPTORS).map_err(|error| ConfigError(error.to_string()))?;
    let app = start(config)?;
    let (propose, control) = listen::bind(&app, &mut handed)?;
    let intake = Arc::new(Intake::new(&app));
    let desk = Desk::new(&app, &intake);
    let settings =
        PageSettings { port: app.config.page_port, state_dir: app.config.state.clone(), clock: app.clock.clone() };
    let mut page = page::start(desk.clone(), settings, handed.loopback(PAGE))
        .await
        .map_err(|e| ServeError::Page(e.to_string()))?;
    // Set once; nobody else sets it.
    let _ = app.page.set(page.address.clone());
    tracing::info!(page = page.address, isolation = app.isolation().as_str(), "fleetwatch-executor is up");
    host::notify::ready(&format!("approval page on {}; isolation {}", page.address, app.isolation().as_str()));
    let ended = tokio::select! {
        () = &mut stop => Ok(()),
        () = listen::serve_propose(app.clone(), intake.clone(), propose) => Ok(()),
        () = listen::serve_control(app.clone(), desk, control) => Ok(()),
        why = page.failed() => Err(ServeError::Page(why.to_string())),
        () = sweep(&app, &intake) => Ok(()),
        () = ask_again(&app) => Ok(()),
        () = host::notify::keep_alive(|| alive::prove(&app)) => Ok(()),
        () = app.restore_staged.notified() => Err(ServeError::Restore),
    };
    host::notify::stopping();
    // A run that has begun is finished before the process goes; no other begins.
    app.stopping.store(true, Ordering::SeqCst);
    let _last = tokio::time::timeout(LAST_RUN, app.one_run.lock()).await;
    page.stopped().await;
    offer_endings(&app).await;
    intake.note_turned_away(true).await;
    if let Err(error) = app.store.call(|store| store.settle_stop()).await {
        tracing::warn!(%error, "the write-ahead log stays");
    }
    ended
}

fn start(config: Config) -> Result<Arc<App>, ServeError> {
    let clock = Clock::system().map_err(|e| ConfigError(e.to_string()))?;
    let registry = Registry::load(&config.principals, &clock)?;
    let zone = jiff::tz::TimeZone::get(config.behaviour.timezone()).map_err(|e| {
        ConfigError(format!("policy.yaml, timezone: {e}; write an IANA name such as Europe/Madrid, or UTC"))
    })?;
    let endpoint = Endpoint::parse(&config.mcp_url, config.slot).map_err(|e| ConfigError(e.to_string()))?;
    let destination = Destination::of(&endpoint).map_err(ConfigError)?;
    let reads = sign_in(&config, endpoint, &clock)?;
    // Before anything listens, and without a word to the server.
    if let Some(words) = reads.sign_in().beyond_login() {
        return Err(ServeError::SignInOver(words));
    }
    let notifier = match &config.notify {
        Some((kind, path)) => Some(Arc::new(Notifier::load(*kind, path)?)),
        None => None,
    };
    let Opened { store, started, slices, frozen } =
        open_store(&config, &registry, &clock).map_err(|error| error.at_start(&config.state))?;
    let app = App {
        started_boot_ms: clock.boot_ms(),
        registry,
        reads,
        destination,
        frozen: AtomicBool::new(frozen),
        stopping: AtomicBool::new(false),
        store: StoreHandle::spawn(store)?,
        unrecorded: Mutex::default(),
        to_withdraw: Mutex::default(),
        notifier,
        codes: PageCodes::new(&clock),
        pruned: Mutex::default(),
        transfers: Arc::new(tokio::sync::Semaphore::new(1)),
        restore_staged: tokio::sync::Notify::new(),
        strangers: Seldom::new(&clock),
        bad_witnesses: Seldom::new(&clock),
        slices,
        started,
        one_run: tokio::sync::Mutex::default(),
        preparing: tokio::sync::watch::Sender::new(false),
        zone,
        page: OnceLock::new(),
        names: Mutex::default(),
        witness: Mutex::new(Witness::Unwitnessed),
        last_read_boot_ms: AtomicI64::new(-1),
        signed_out: AtomicBool::new(false),
        clock,
        config,
    };
    Ok(Arc::new(app))
}

/// The store as the start leaves it.
struct Opened {
    store: Store,
    started: Started,
    slices: BTreeMap<Tool, i64>,
    frozen: bool,
}

/// Opens the store and writes down what this process runs with, all before anything listens.
fn open_store(config: &Config, registry: &Registry, clock: &Clock) -> Result<Opened, StoreError> {
    let (mut store, started) = Store::open(&config.state, clock)?;
    store.claim(config.slot.as_str())?;
    let isolation = if config.single_user() { "none" } else { "users" };
    store.note(&Step {
        kind: "settings",
        proposal: None,
        principal: "executor",
        surface: "",
        detail: json!({ "slot": config.slot.as_str(), "isolation": isolation, "dry_run": config.behaviour.dry_run() }),
    })?;
    let slices = slices(&mut store, config, registry)?;
    let frozen = store.is_frozen()?;
    Ok(Opened { store, started, slices, frozen })
}

/// The read client on the writing sign-in. No sign-in is a state that `status` shows, a bad file is an error.
fn sign_in(config: &Config, endpoint: Endpoint, clock: &Clock) -> Result<ReadClient, ConfigError> {
    let sign_in = SignIn::load_from(config.token_store, &config.token_file, Which::Sandbox, endpoint, clock.clone())
        .map_err(|e| ConfigError(e.to_string()))?;
    let client = ReadClient::new(sign_in, Arc::new(config.tools.clone())).map_err(|e| ConfigError(e.to_string()))?;
    Ok(client.with_call_limit(Duration::from_millis(limits::READ_TO_WRITE_MS.unsigned_abs())))
}

/// One slice per proposable tool: its entry, autonomy and the like, the fence, the operators.
fn slices(store: &mut Store, config: &Config, registry: &Registry) -> Result<BTreeMap<Tool, i64>, StoreError> {
    let mut versions = BTreeMap::new();
    let fence = config.fence.as_ref().map_or_else(|| "none".to_owned(), policy::fence::Fence::slice_text);
    for tool in Tool::ALL {
        let text = format!(
            "{}\n{}\n{fence}\n{}",
            config.tools.slice_text(tool),
            config.behaviour.slice_text(),
            registry.slice_text()
        );
        versions.insert(tool, store.slice_version(&format!("epiphan/{}", tool.as_str()), &text)?);
    }
    Ok(versions)
}
