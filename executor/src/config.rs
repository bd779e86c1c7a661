//! Settings, read once at start from the environment. A bad value stops the start with what to do; nothing has a
//! permissive default.

use crate::notify::Kind;
use host::credentials;
use policy::behaviour::{Autonomy, Behaviour};
use policy::call::Slot;
use policy::fence::Fence;
use policy::tool_policy::ToolPolicy;
use reader::token::{STORE, Store, check_store};
use std::fmt;
use std::path::{Path, PathBuf};

/// The setting that names the writing sign-in's file.
pub(crate) const TOKEN: &str = "FLEETWATCH_SANDBOX_TOKEN_FILE";

/// Why the executor does not start: exit code 78.
#[derive(Debug)]
pub struct ConfigError(pub(crate) String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Everything that is fixed while the process lives.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) state: PathBuf,
    pub(crate) run: PathBuf,
    pub(crate) principals: PathBuf,
    pub(crate) slot: Slot,
    pub(crate) mcp_url: String,
    pub(crate) token_file: PathBuf,
    pub(crate) token_store: Store,
    /// Where the browser comes back to, on 127.0.0.1; 0 takes any free port.
    pub(crate) callback_port: u16,
    pub(crate) fence: Option<Fence>,
    pub(crate) page_port: u16,
    /// Which service is pinged, and the file with its address.
    pub(crate) notify: Option<(Kind, PathBuf)>,
    pub(crate) assistant_uid: u32,
    pub(crate) policy_dir: PathBuf,
    /// Hash of the policy files that run.
    pub(crate) policy_hash: String,
    pub(crate) tools: ToolPolicy,
    pub(crate) behaviour: Behaviour,
}

impl Config {
    /// Reads the environment and the policy files that it names.
    pub(crate) fn from_environment() -> Result<Self, ConfigError> {
        let policy = path("FLEETWATCH_POLICY_DIR")?;
        let state = path("FLEETWATCH_EXECUTOR_STATE_DIR")?;
        let slot = slot()?;
        let (behaviour_text, behaviour) = read_yaml(&policy.join("policy.yaml"), Behaviour::parse)?;
        // Entries without a window of their own take the policy's.
        let (tools_text, tools) = read_yaml(&policy.join("tool_policy.yaml"), ToolPolicy::parse)?;
        let tools = tools.with_lead_minutes(behaviour.lead_minutes());
        Ok(Self {
            run: path("FLEETWATCH_RUN_DIR")?,
            principals: path_or("FLEETWATCH_PRINCIPALS_FILE", || policy.join("principals.yaml"))?,
            mcp_url: text("FLEETWATCH_EPIPHAN_MCP_URL")?.unwrap_or_else(|| "https://go.epiphan.cloud/mcp".to_owned()),
            token_file: token_file(&state, slot)?,
            token_store: token_store()?,
            callback_port: port("FLEETWATCH_OAUTH_CALLBACK_PORT", 8765)?,
            fence: fence()?,
            page_port: port("FLEETWATCH_APPROVE_PORT", 8767)?,
            notify: notify()?,
            assistant_uid: assistant_uid()?,
            policy_hash: reader::doctor::policy_hash(&behaviour_text, &tools_text),
            policy_dir: policy,
            tools,
            behaviour,
            state,
            slot,
        })
    }

    /// Whether one user runs everything; then the PIN is the boundary.
    pub(crate) fn single_user(&self) -> bool {
        self.assistant_uid == host::socket::my_uid()
    }

    /// Whether proposals may run at all.
    pub(crate) fn proposes(&self) -> bool {
        match self.behaviour.autonomy() {
            Autonomy::Observe => false,
            Autonomy::Propose => true,
        }
    }
}

fn text(name: &str) -> Result<Option<String>, ConfigError> {
    match std::env::var(name) {
        Ok(value) if value.trim().is_empty() => Ok(None),
        Ok(value) => Ok(Some(value.trim().to_owned())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(ConfigError(format!("{name} is not UTF-8 text; set it again"))),
    }
}

fn path(name: &str) -> Result<PathBuf, ConfigError> {
    let value = text(name)?.ok_or_else(|| ConfigError(format!("{name} is not set; set it to a folder")))?;
    absolute(name, value)
}

fn path_or(name: &str, other: impl FnOnce() -> PathBuf) -> Result<PathBuf, ConfigError> {
    text(name)?.map_or_else(|| Ok(other()), |value| absolute(name, value))
}

fn absolute(name: &str, value: String) -> Result<PathBuf, ConfigError> {
    let path = PathBuf::from(value);
    if path.is_absolute() { Ok(path) } else { Err(ConfigError(format!("{name} must be a path from /"))) }
}

// A secret's file: where it is set, else the service manager's credential of this name.
fn secret_file(name: &str, credential: &str) -> Result<Option<PathBuf>, ConfigError> {
    let given = text(name)?.map(PathBuf::from);
    credentials::choose(given, credential, credentials::folder().as_deref())
        .map_err(|what| ConfigError(format!("{name} {what}")))
}

fn slot() -> Result<Slot, ConfigError> {
    let word = text("FLEETWATCH_SLOT")?;
    word.as_deref().map_or(Ok(Slot::Sandbox), |word| {
        Slot::from_text(word).ok_or_else(|| ConfigError("FLEETWATCH_SLOT must be sandbox or sim".to_owned()))
    })
}

fn fence() -> Result<Option<Fence>, ConfigError> {
    let devices = text("FLEETWATCH_WRITE_DEVICE_IDS")?.unwrap_or_default();
    let team = text("FLEETWATCH_WRITE_TEAM_ID")?.unwrap_or_default();
    Fence::from_settings(&devices, &team).map_err(|e| ConfigError(e.to_string()))
}

fn port(name: &str, other: u16) -> Result<u16, ConfigError> {
    text(name)?.map_or(Ok(other), |value| {
        value.parse().map_err(|_| ConfigError(format!("{name} must be a port, or 0 for any free one")))
    })
}

fn token_store() -> Result<Store, ConfigError> {
    check_store(text(STORE)?.as_deref()).map_err(|what| ConfigError(format!("{STORE}: {what}")))
}

/// One file for both slots would be one sign-in that reads and writes for everybody.
fn token_file(state: &Path, slot: Slot) -> Result<PathBuf, ConfigError> {
    let name = format!("{}-token", slot.as_str());
    let ours = secret_file(TOKEN, &name)?.unwrap_or_else(|| state.join(&name));
    let theirs = text("FLEETWATCH_TOKEN_FILE")?.map(PathBuf::from);
    if theirs.is_some_and(|theirs| host::files::same_file(&ours, &theirs)) {
        return Err(ConfigError(format!(
            "{TOKEN} and FLEETWATCH_TOKEN_FILE are the same file; give each slot its own"
        )));
    }
    Ok(ours)
}

fn notify() -> Result<Option<(Kind, PathBuf)>, ConfigError> {
    let Some(word) = text("FLEETWATCH_NOTIFY")? else { return Ok(None) };
    let kind = Kind::from_text(&word)
        .ok_or_else(|| ConfigError("FLEETWATCH_NOTIFY must be ntfy, slack or teams".to_owned()))?;
    const FILE: &str = "FLEETWATCH_NOTIFY_URL_FILE";
    let file = secret_file(FILE, "notify-url")?;
    let missing = || ConfigError(format!("{FILE} is not set; set it to a 0600 file with the address"));
    Ok(Some((kind, file.ok_or_else(missing)?)))
}

fn assistant_uid() -> Result<u32, ConfigError> {
    let Some(user) = text("FLEETWATCH_ASSISTANT_USER")? else {
        return Err(ConfigError(
            "FLEETWATCH_ASSISTANT_USER is not set; name the user that runs the assistant".to_owned(),
        ));
    };
    user.parse()
        .ok()
        .or_else(|| host::socket::uid_of_user(&user))
        .ok_or_else(|| ConfigError(format!("FLEETWATCH_ASSISTANT_USER: this machine has no user {user:?}")))
}

fn read_yaml<T>(
    path: &Path,
    parse: impl FnOnce(&str, &str) -> Result<T, policy::yaml::PolicyError>,
) -> Result<(String, T), ConfigError> {
    let text =
        host::files::read_settings(path, host::files::Owner::RootOrMe).map_err(|e| ConfigError(e.to_string()))?;
    let parsed = parse(&text, &path.display().to_string()).map_err(|e| ConfigError(e.to_string()))?;
    Ok((text, parsed))
}
