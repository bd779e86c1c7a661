//! What every question needs, made once at start.

use crate::config::{Config, ConfigError};
use crate::doctor::Configured;
use crate::fleet::{Fleet, Source};
use crate::front::Front;
use crate::model::{self, Model};
use crate::poll::Poll;
use crate::prompt;
use crate::propose::Executor;
use crate::tools::Tools;
use crate::units::Units;
use crate::watch::Watch;
use crate::watch::posts::Channel;
use crate::watch::rules::Rules;
use host::activation::ActivationError;
use host::clock::{Clock, ClockError};
use host::files::{self, FileError, Owner};
use host::service::{CONFIGURATION, USAGE};
use host::socket::{self, SocketError};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use policy::behaviour::Behaviour;
use policy::rooms::Rooms;
use policy::tool_policy::ToolPolicy;
use policy::yaml::PolicyError;
use protocol::shown::{Language, Worded};
use reader::endpoint::{Endpoint, EndpointError};
use reader::session::{self, ReadClient};
use reader::token::{SignIn, SignInError, Which};
use std::fmt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;

/// Longest time that one question may take at the model.
const WALL: Duration = Duration::from_secs(60);
/// Who may ask when the daemons run as users of their own.
const ASKERS: &str = "fleetwatch-agents";

/// Everything a question is answered with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) clock: Clock,
    pub(crate) started_ms: i64,
    pub(crate) policy: Arc<ToolPolicy>,
    pub(crate) zone: TimeZone,
    pub(crate) rooms: Rooms,
    pub(crate) system: String,
    pub(crate) tools: Tools,
    pub(crate) model: Option<Model>,
    pub(crate) fleet: Fleet,
    pub(crate) front: Front,
    pub(crate) executor: Executor,
    pub(crate) poll: Poll,
    pub(crate) watch: Watch,
    pub(crate) wall: Duration,
    /// Where the browser comes back to when somebody signs in.
    pub(crate) callback_port: u16,
    pub(crate) configured: Configured,
}

/// Why the assistant cannot start.
#[derive(Debug)]
pub(crate) enum StartError {
    /// The system's clock.
    Clock(ClockError),
    /// A setting or the command line.
    Config(ConfigError),
    /// The address of the fleet.
    Endpoint(EndpointError),
    /// A file or folder.
    File(FileError),
    /// The group of those who may ask is missing.
    Group,
    /// What the service manager handed over.
    Handed(ActivationError),
    /// The model's client.
    Model(model::SetupError),
    /// Where the watcher posts.
    Posts(ConfigError),
    /// A policy file.
    Policy(PolicyError),
    /// The client for the fleet.
    Reader(session::SetupError),
    /// The system gives no runtime.
    Runtime(std::io::Error),
    /// The sign-in's file.
    SignIn(SignInError),
    /// The sign-in that it was given is over, and only whoever gave it can put another in its place.
    SignInOver(Worded),
    /// `ask.sock`.
    Socket(SocketError),
    /// The venue's time zone.
    Zone(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock(error) => write!(f, "{error}"),
            Self::Config(error) => write!(f, "{error}"),
            Self::Endpoint(error) => write!(f, "FLEETWATCH_EPIPHAN_MCP_URL: {error}"),
            Self::File(error) => write!(f, "{error}"),
            Self::Group => {
                write!(f, "ask.sock: this machine has no group {ASKERS}; make it and put those who may ask into it")
            }
            Self::Handed(error) => write!(f, "{error}"),
            Self::Model(error) => write!(f, "{error}"),
            Self::Posts(error) => write!(f, "{error}"),
            Self::Policy(error) => write!(f, "{error}"),
            Self::Reader(error) => write!(f, "{error}"),
            Self::Runtime(error) => write!(f, "no runtime: {error}"),
            Self::SignIn(error) => write!(f, "FLEETWATCH_TOKEN_FILE: {error}"),
            Self::SignInOver(words) => write!(f, "FLEETWATCH_TOKEN_FILE: {}", words.en),
            Self::Socket(error) => write!(f, "{error}"),
            Self::Zone(zone) => {
                write!(f, "policy.yaml: timezone {zone} is not known; write a name like Europe/Madrid or UTC")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl StartError {
    /// The exit code: 78 when somebody has to change a setting, a file or a credential, 2 when the command line was not
    /// understood, 1 for anything else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Config(error) if error.is_usage() => USAGE,
            Self::Socket(error) if error.needs_a_person() => CONFIGURATION,
            Self::Clock(_) | Self::Reader(_) | Self::Runtime(_) | Self::Socket(_) => 1,
            Self::Config(_)
            | Self::Endpoint(_)
            | Self::File(_)
            | Self::Group
            | Self::Handed(_)
            | Self::Model(_)
            | Self::Policy(_)
            | Self::Posts(_)
            | Self::SignIn(_)
            | Self::SignInOver(_)
            | Self::Zone(_) => CONFIGURATION,
        }
    }
}

impl Desk {
    /// Reads the policy files and the sign-in and makes every client. Nothing is asked over the network.
    ///
    /// # Errors
    /// [`StartError`] for the first thing that is missing or bad.
    pub(crate) fn new(config: Config) -> Result<Self, StartError> {
        let clock = Clock::system().map_err(StartError::Clock)?;
        files::ensure_private_dir(&config.state_dir).map_err(StartError::File)?;
        let Policies { policy, behaviour, zone, hash } = policies(&config.policy_dir)?;
        let channels = Channel::all(&config.posts).map_err(StartError::Posts)?;
        let language = if config.posts.spanish { Language::Spanish } else { Language::English };
        let rooms = behaviour.rooms().clone();
        let rules = Rules { behaviour, zone: zone.clone(), language };
        let policy = Arc::new(policy);
        let source = source(&config, &policy, &clock)?;
        let executor = Executor { path: config.propose_socket(), uid: config.executor_uid };
        let configured = Configured {
            policy_dir: config.policy_dir,
            policy: hash,
            state_dir: config.state_dir.clone(),
            mcp_url: config.mcp_url,
        };
        Ok(Self {
            callback_port: config.callback_port,
            started_ms: clock.boot_ms(),
            zone,
            system: prompt::system(&rooms),
            rooms,
            tools: Tools::new(&policy),
            model: config.model.map(Model::new).transpose().map_err(StartError::Model)?,
            fleet: Fleet::new(source, clock.clone()).with_units(Units::load(&config.state_dir)),
            front: Front::default(),
            poll: Poll::new(executor.clone(), &config.state_dir),
            watch: Watch::new(rules, channels, &config.state_dir),
            executor,
            policy,
            clock,
            wall: WALL,
            configured,
        })
    }

    /// Now in the venue's zone with the zone named, UTC beside it.
    pub(crate) fn now_words(&self) -> String {
        self.time_words(self.clock.unix())
    }

    /// This moment (Unix seconds) in the venue's zone with the zone named, UTC beside it.
    pub(crate) fn time_words(&self, unix: i64) -> String {
        let Ok(now) = Timestamp::from_second(unix) else { return "an unknown time".to_owned() };
        let utc = now.strftime("%Y-%m-%d %H:%M UTC").to_string();
        match self.zone.iana_name() {
            None | Some("UTC" | "Etc/UTC") => utc,
            Some(name) => {
                format!("{} {name} ({utc})", now.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M"))
            }
        }
    }
}

/// Who may connect to `ask.sock`: its mode and its group (architecture, Sockets).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Askers {
    mode: u32,
    group: Option<u32>,
}

impl Askers {
    /// This user alone when the executor runs as the same user, else the group of those who may ask.
    ///
    /// # Errors
    /// [`StartError::Group`] when there is no such group.
    pub(crate) fn of(executor_uid: u32) -> Result<Self, StartError> {
        Self::choose(executor_uid == socket::my_uid(), || socket::gid_of_group(ASKERS))
    }

    fn choose(single_user: bool, group: impl FnOnce() -> Option<u32>) -> Result<Self, StartError> {
        if single_user {
            return Ok(Self { mode: 0o600, group: None });
        }
        group().map(|gid| Self { mode: 0o660, group: Some(gid) }).ok_or(StartError::Group)
    }
}

/// `ask.sock`: what was handed over, or bound here in a folder that is made when it is missing.
///
/// # Errors
/// [`StartError`] when the folder or the socket is not safe.
pub(crate) fn ask_socket(
    path: &Path,
    executor_uid: u32,
    handed: Option<StdListener>,
) -> Result<UnixListener, StartError> {
    if let Some(listener) = handed {
        let most = if executor_uid == socket::my_uid() { 0o600 } else { 0o660 };
        return socket::adopt(listener, path, most).map_err(StartError::Socket);
    }
    let askers = Askers::of(executor_uid)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        files::ensure_private_dir(folder).map_err(StartError::File)?;
    }
    socket::bind(path, askers.mode, askers.group).map_err(StartError::Socket)
}

/// The policy files as they were read at start.
struct Policies {
    policy: ToolPolicy,
    behaviour: Behaviour,
    zone: TimeZone,
    hash: String,
}

fn policies(folder: &Path) -> Result<Policies, StartError> {
    let read = |name: &str| files::read_settings(&folder.join(name), Owner::RootOrMe).map_err(StartError::File);
    let (behaviour, tools) = (read("policy.yaml")?, read("tool_policy.yaml")?);
    let hash = reader::doctor::policy_hash(&behaviour, &tools);
    let behaviour = Behaviour::parse(&behaviour, "policy.yaml").map_err(StartError::Policy)?;
    let policy = ToolPolicy::parse(&tools, "tool_policy.yaml").map_err(StartError::Policy)?;
    let zone = TimeZone::get(behaviour.timezone()).map_err(|_| StartError::Zone(behaviour.timezone().to_owned()))?;
    let policy = policy.with_lead_minutes(behaviour.lead_minutes());
    Ok(Policies { policy, behaviour, zone, hash })
}

fn source(config: &Config, policy: &Arc<ToolPolicy>, clock: &Clock) -> Result<Source, StartError> {
    let endpoint = Endpoint::parse(&config.mcp_url, config.slot).map_err(StartError::Endpoint)?;
    // Without a sign-in the assistant runs and says what is missing; with a bad file it does not.
    let sign_in = SignIn::load_from(config.token_store, &config.token_file, Which::Normal, endpoint, clock.clone());
    let sign_in = sign_in.map_err(StartError::SignIn)?;
    if let Some(words) = sign_in.beyond_login() {
        return Err(StartError::SignInOver(words));
    }
    let client = ReadClient::new(sign_in, Arc::clone(policy)).map_err(StartError::Reader)?;
    Ok(Source::Live(Box::new(client)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_user_keeps_ask_sock_and_two_share_it_with_a_group() {
        let chosen = |single, gid| Askers::choose(single, || gid);
        for gid in [None, Some(71)] {
            assert_eq!(chosen(true, gid).unwrap(), Askers { mode: 0o600, group: None });
        }
        assert_eq!(chosen(false, Some(71)).unwrap(), Askers { mode: 0o660, group: Some(71) });
        let missing = chosen(false, None).unwrap_err();
        assert!(missing.exit_code() == 78 && missing.to_string().contains("fleetwatch-agents"), "{missing}");
    }

    #[tokio::test]
    async fn the_socket_of_a_single_user_is_for_that_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ask").join("ask.sock");
        let _listener = ask_socket(&path, socket::my_uid(), None).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
