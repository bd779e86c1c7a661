//! The settings, from the environment. A bad value is an error that names the setting and what to do; nothing is guessed.

use host::sandbox::{self, Daemon, Plan};
use host::secret::SecretText;
use host::{credentials, files, socket};
use policy::call::Slot;
use reader::token;
use reqwest::Url;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The model that is asked when the setting is absent (`seed 000`, facts 5.1).
const DEFAULT_MODEL: &str = "claude-haiku-5-5";
/// The real API.
const DEFAULT_MODEL_URL: &str = "https://api.anthropic.com";
/// Where the browser comes back to.
const CALLBACK_PORT: u16 = 8765;
/// Longest model name that is sent.
const MAX_MODEL_NAME: usize = 100;
/// Longest API key that is sent.
const MAX_KEY: usize = 512;

/// What an error of the command line is called.
const COMMAND_LINE: &str = "command line";

/// Everything the assistant is told from outside.
#[derive(Debug)]
pub(crate) struct Config {
    /// Holds `propose/propose.sock` and `ask/ask.sock`.
    pub(crate) run_dir: PathBuf,
    /// Holds the witness file; 0700.
    pub(crate) state_dir: PathBuf,
    /// Holds `tool_policy.yaml` and `policy.yaml`.
    pub(crate) policy_dir: PathBuf,
    /// Where the fleet is read.
    pub(crate) mcp_url: String,
    /// Which rules that address follows.
    pub(crate) slot: Slot,
    /// The normal sign-in, 0600.
    pub(crate) token_file: PathBuf,
    pub(crate) token_store: token::Store,
    /// Where the browser comes back to, on 127.0.0.1; 0 takes any free port.
    pub(crate) callback_port: u16,
    /// Whose process must listen on `propose.sock`.
    pub(crate) executor_uid: u32,
    /// The model, when one is set up.
    pub(crate) model: Option<ModelSettings>,
    /// Where the watcher posts.
    pub(crate) posts: PostSettings,
    /// End when standard input ends.
    pub(crate) stop_with_stdin: bool,
}

/// Where the watcher posts, and in which language.
#[derive(Debug, Default)]
pub(crate) struct PostSettings {
    /// A 0600 file with the address of an ntfy topic.
    pub(crate) ntfy_url_file: Option<PathBuf>,
    /// A 0600 file with the address of a Slack incoming webhook.
    pub(crate) slack_url_file: Option<PathBuf>,
    /// A 0600 file with the token of a Slack app, and the channel that it posts to.
    pub(crate) slack_token: Option<(PathBuf, String)>,
    /// A 0600 file with the address of a Teams workflow.
    pub(crate) teams_url_file: Option<PathBuf>,
    /// Posts are Spanish.
    pub(crate) spanish: bool,
}

/// Which API a model is behind (issue lines 3.7 and 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelKind {
    /// Anthropic's Messages API.
    Anthropic,
    /// Chat completions, as Ollama, llama.cpp and vLLM serve them.
    OpenAi,
}

impl ModelKind {
    /// The setting that holds the address.
    pub(crate) fn url_setting(self) -> &'static str {
        match self {
            Self::Anthropic => "FLEETWATCH_ANTHROPIC_URL",
            Self::OpenAi => "FLEETWATCH_OPENAI_URL",
        }
    }

    /// The setting that holds the key.
    pub(crate) fn key_setting(self) -> &'static str {
        match self {
            Self::Anthropic => "FLEETWATCH_ANTHROPIC_API_KEY",
            Self::OpenAi => "FLEETWATCH_OPENAI_API_KEY",
        }
    }

    fn credential(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-api-key",
            Self::OpenAi => "openai-api-key",
        }
    }

    fn key_file_setting(self) -> &'static str {
        match self {
            Self::Anthropic => "FLEETWATCH_ANTHROPIC_API_KEY_FILE",
            Self::OpenAi => "FLEETWATCH_OPENAI_API_KEY_FILE",
        }
    }
}

/// How to reach the model.
#[derive(Debug)]
pub(crate) struct ModelSettings {
    /// Which API it is behind.
    pub(crate) kind: ModelKind,
    /// Base address, without the API's path.
    pub(crate) url: Url,
    /// The model's name.
    pub(crate) name: String,
    /// The API key, where one is needed.
    pub(crate) key: Option<SecretText>,
}

/// A setting that cannot be used. Never holds a secret's text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// The setting's name.
    pub(crate) name: String,
    /// What is wrong and what to do.
    pub(crate) what: String,
}

impl ConfigError {
    fn new(name: &str, what: impl Into<String>) -> Self {
        Self { name: name.to_owned(), what: what.into() }
    }

    /// Whether the command line was not understood.
    pub(crate) fn is_usage(&self) -> bool {
        self.name == COMMAND_LINE
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for ConfigError {}

/// Where settings come from: the environment, or a table in a test.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Config {
    /// Reads the command line (without the program's name) and the environment.
    ///
    /// # Errors
    /// [`ConfigError`] for the first setting that is missing or bad.
    pub(crate) fn read(arguments: &[OsString], lookup: Lookup<'_>) -> Result<Self, ConfigError> {
        let mut stop_with_stdin = false;
        for argument in arguments {
            if argument != "--stop-with-stdin" {
                return Err(ConfigError::new(
                    COMMAND_LINE,
                    "only --stop-with-stdin is known; settings are in the environment",
                ));
            }
            stop_with_stdin = true;
        }
        let slot = match text(lookup, "FLEETWATCH_SLOT")? {
            None => Slot::Sandbox,
            Some(word) => Slot::from_text(&word).ok_or_else(|| {
                ConfigError::new("FLEETWATCH_SLOT", "is neither sandbox nor sim; leave it out for sandbox")
            })?,
        };
        let state_dir = needed_path(lookup, "FLEETWATCH_ASSISTANT_STATE_DIR")?;
        Ok(Self {
            run_dir: needed_path(lookup, "FLEETWATCH_RUN_DIR")?,
            policy_dir: needed_path(lookup, "FLEETWATCH_POLICY_DIR")?,
            mcp_url: text(lookup, "FLEETWATCH_EPIPHAN_MCP_URL")?
                .ok_or_else(|| missing("FLEETWATCH_EPIPHAN_MCP_URL", "the address of the fleet's MCP server"))?,
            slot,
            token_file: token_file(lookup, &state_dir)?,
            token_store: token_store(lookup)?,
            callback_port: callback_port(lookup)?,
            state_dir,
            executor_uid: executor_uid(lookup)?,
            model: model(lookup)?,
            posts: posts(lookup)?,
            stop_with_stdin,
        })
    }

    /// Shuts everything but what these settings name; on the main thread, before there is another.
    ///
    /// # Errors
    /// [`ConfigError`] when the system does not give what is required.
    pub(crate) fn confine(&self) -> Result<(), ConfigError> {
        let ask = self.run_dir.join("ask");
        // A rule needs its folder to be there; whoever uses it says what is wrong with it.
        for folder in [&self.state_dir, &ask] {
            let _said_later = files::ensure_private_dir(folder);
        }
        let mut plan = Plan::of_this_machine()
            .reads(&self.policy_dir)
            .writes(&self.state_dir)
            .writes(&ask)
            .replaces(&self.token_file)
            .listens_on(self.callback_port);
        let posts = &self.posts;
        let token = posts.slack_token.as_ref().map(|(file, _)| file);
        let addresses = [&posts.ntfy_url_file, &posts.slack_url_file, &posts.teams_url_file];
        for file in addresses.into_iter().flatten().chain(token) {
            plan = plan.reads(file);
        }
        let required = std::env::var_os(sandbox::REQUIRE).map(|value| value.to_string_lossy().into_owned());
        sandbox::close(&plan, Daemon::Assistant, required.as_deref())
            .map_err(|error| ConfigError::new("sandbox", error.to_string()))
    }

    /// Where the executor listens.
    pub(crate) fn propose_socket(&self) -> PathBuf {
        self.run_dir.join("propose").join("propose.sock")
    }

    /// Where askers connect.
    pub(crate) fn ask_socket(&self) -> PathBuf {
        self.run_dir.join("ask").join("ask.sock")
    }
}

fn missing(name: &str, meaning: &str) -> ConfigError {
    ConfigError::new(name, format!("is not set; set it to {meaning}"))
}

// An empty setting is an absent one: service files can only empty a setting, not remove it.
fn text(lookup: Lookup<'_>, name: &str) -> Result<Option<String>, ConfigError> {
    match lookup(name).map(OsString::into_string) {
        None => Ok(None),
        Some(Ok(value)) if value.is_empty() => Ok(None),
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(_)) => Err(ConfigError::new(name, "is not UTF-8 text; write it in plain characters")),
    }
}

fn path(lookup: Lookup<'_>, name: &str) -> Result<Option<PathBuf>, ConfigError> {
    let Some(value) = lookup(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let path = PathBuf::from(value);
    if path.is_absolute() { Ok(Some(path)) } else { Err(ConfigError::new(name, "is not a full path; start it with /")) }
}

fn needed_path(lookup: Lookup<'_>, name: &str) -> Result<PathBuf, ConfigError> {
    path(lookup, name)?.ok_or_else(|| missing(name, "a folder's full path"))
}

// A secret's file: where it is set, else the service manager's credential of this name.
fn secret_file(lookup: Lookup<'_>, name: &str, credential: &str) -> Result<Option<PathBuf>, ConfigError> {
    let given = lookup(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = credentials::as_folder(lookup(credentials::FOLDER));
    credentials::choose(given, credential, folder.as_deref()).map_err(|what| ConfigError::new(name, what))
}

fn token_store(lookup: Lookup<'_>) -> Result<token::Store, ConfigError> {
    let store = text(lookup, token::STORE)?;
    token::check_store(store.as_deref()).map_err(|what| ConfigError::new(token::STORE, what))
}

// One file for both slots would be one sign-in that reads and writes for everybody.
fn token_file(lookup: Lookup<'_>, state_dir: &Path) -> Result<PathBuf, ConfigError> {
    const NAME: &str = "FLEETWATCH_TOKEN_FILE";
    let ours = secret_file(lookup, NAME, "token")?.unwrap_or_else(|| state_dir.join("token"));
    let theirs = path(lookup, "FLEETWATCH_SANDBOX_TOKEN_FILE")?;
    if theirs.is_some_and(|theirs| files::same_file(&ours, &theirs)) {
        return Err(ConfigError::new(
            NAME,
            "and FLEETWATCH_SANDBOX_TOKEN_FILE are the same file; give each slot its own",
        ));
    }
    Ok(ours)
}

fn callback_port(lookup: Lookup<'_>) -> Result<u16, ConfigError> {
    const NAME: &str = "FLEETWATCH_OAUTH_CALLBACK_PORT";
    text(lookup, NAME)?.map_or(Ok(CALLBACK_PORT), |port| {
        port.parse().map_err(|_| ConfigError::new(NAME, "is no port; give a number up to 65535, or 0 for any free one"))
    })
}

fn executor_uid(lookup: Lookup<'_>) -> Result<u32, ConfigError> {
    const NAME: &str = "FLEETWATCH_EXECUTOR_USER";
    let Some(user) = text(lookup, NAME)? else { return Ok(socket::my_uid()) };
    if let Ok(uid) = user.parse() {
        return Ok(uid);
    }
    socket::uid_of_user(&user)
        .ok_or_else(|| ConfigError::new(NAME, "is no user of this system; give the executor's user name or uid"))
}

fn posts(lookup: Lookup<'_>) -> Result<PostSettings, ConfigError> {
    const CHANNEL: &str = "FLEETWATCH_SLACK_CHANNEL";
    const LANG: &str = "FLEETWATCH_POST_LANG";
    let token = secret_file(lookup, "FLEETWATCH_SLACK_TOKEN_FILE", "slack-token")?;
    let slack_token = match (token, text(lookup, CHANNEL)?) {
        (None, None) => None,
        (Some(token), Some(channel)) => Some((token, channel)),
        (Some(_), None) => {
            return Err(missing(CHANNEL, "the channel that the token of FLEETWATCH_SLACK_TOKEN_FILE posts to"));
        }
        (None, Some(_)) => {
            return Err(ConfigError::new(CHANNEL, "needs FLEETWATCH_SLACK_TOKEN_FILE; a webhook has its own channel"));
        }
    };
    let spanish = match text(lookup, LANG)?.as_deref() {
        None | Some("en") => false,
        Some("es") => true,
        Some(_) => return Err(ConfigError::new(LANG, "is neither en nor es")),
    };
    Ok(PostSettings {
        ntfy_url_file: secret_file(lookup, "FLEETWATCH_NTFY_URL_FILE", "ntfy-url")?,
        slack_url_file: secret_file(lookup, "FLEETWATCH_SLACK_URL_FILE", "slack-url")?,
        slack_token,
        teams_url_file: secret_file(lookup, "FLEETWATCH_TEAMS_URL_FILE", "teams-url")?,
        spanish,
    })
}

fn model(lookup: Lookup<'_>) -> Result<Option<ModelSettings>, ConfigError> {
    const KIND: &str = "FLEETWATCH_MODEL_KIND";
    let kind = match text(lookup, KIND)?.as_deref() {
        None | Some("anthropic") => ModelKind::Anthropic,
        Some("openai") => ModelKind::OpenAi,
        Some(_) => return Err(ConfigError::new(KIND, "is neither anthropic nor openai; leave it out for anthropic")),
    };
    // Whoever set up a model in the building must not learn later that another one was asked, nor the other way round.
    let other = match kind {
        ModelKind::Anthropic => ModelKind::OpenAi,
        ModelKind::OpenAi => ModelKind::Anthropic,
    };
    for name in [other.url_setting(), other.key_setting(), other.key_file_setting()] {
        if text(lookup, name)?.is_some() {
            return Err(ConfigError::new(name, format!("does not belong to the kind of model that {KIND} names")));
        }
    }
    let name = model_name(lookup, kind)?;
    let url = match (text(lookup, kind.url_setting())?, kind) {
        (Some(given), _) => Some(model_url(kind.url_setting(), &given)?),
        (None, ModelKind::Anthropic) => Some(model_url(kind.url_setting(), DEFAULT_MODEL_URL)?),
        (None, ModelKind::OpenAi) => None,
    };
    let key = api_key(lookup, kind)?;
    match (kind, url, name) {
        (ModelKind::Anthropic, Some(url), Some(name)) => {
            Ok(key.map(|key| ModelSettings { kind, url, name, key: Some(key) }))
        }
        (ModelKind::OpenAi, Some(url), Some(name)) => Ok(Some(ModelSettings { kind, url, name, key })),
        (_, None, _) => Err(missing(kind.url_setting(), "the server's address, like http://127.0.0.1:11434")),
        (_, _, None) => Err(missing("FLEETWATCH_AI_MODEL", "the name under which the server knows the model")),
    }
}

fn model_name(lookup: Lookup<'_>, kind: ModelKind) -> Result<Option<String>, ConfigError> {
    const NAME: &str = "FLEETWATCH_AI_MODEL";
    let usual = match kind {
        ModelKind::Anthropic => Some(DEFAULT_MODEL.to_owned()),
        ModelKind::OpenAi => None,
    };
    let name = text(lookup, NAME)?.or(usual);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._:/@-".contains(&b);
    if name.as_ref().is_some_and(|name| name.len() > MAX_MODEL_NAME || !name.bytes().all(plain)) {
        return Err(ConfigError::new(NAME, "is not a model's name: at most 100 of A-Za-z0-9._:/@-"));
    }
    Ok(name)
}

fn api_key(lookup: Lookup<'_>, kind: ModelKind) -> Result<Option<SecretText>, ConfigError> {
    let (name, file) = (kind.key_setting(), kind.key_file_setting());
    let (name, key) = match (text(lookup, name)?, secret_file(lookup, file, kind.credential())?) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(ConfigError::new(file, format!("and {name} are both set; keep one of them")));
        }
        (Some(text), None) => (name, SecretText::from(text)),
        (None, Some(path)) => {
            let read = credentials::read(&path);
            (file, read.map_err(|error| ConfigError::new(file, error.to_string()))?)
        }
    };
    let shown = key.expose();
    if shown.len() > MAX_KEY || !shown.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(ConfigError::new(name, "is not an API key: one line of plain characters without blanks"));
    }
    Ok(Some(key))
}

// The address is not repeated in the error: somebody may have put a password in it.
fn model_url(name: &str, given: &str) -> Result<Url, ConfigError> {
    let url = Url::parse(given).map_err(|_| ConfigError::new(name, "is not an address; write https://host"))?;
    let bare =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if !bare {
        return Err(ConfigError::new(name, "carries a user, a query or a fragment; write https://host/path only"));
    }
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) | ("http", Some("127.0.0.1" | "[::1]")) => Ok(url),
        _ => Err(ConfigError::new(name, "is not https; http is for 127.0.0.1 and [::1] only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn base() -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("FLEETWATCH_RUN_DIR", "/run/fleetwatch".to_owned()),
            ("FLEETWATCH_ASSISTANT_STATE_DIR", "/var/lib/a".to_owned()),
            ("FLEETWATCH_POLICY_DIR", "/etc/fleetwatch".to_owned()),
            ("FLEETWATCH_EPIPHAN_MCP_URL", "https://fleet.example/mcp".to_owned()),
        ])
    }

    fn read(settings: &BTreeMap<&'static str, String>) -> Result<Config, ConfigError> {
        Config::read(&[], &|name| settings.get(name).map(OsString::from))
    }

    #[test]
    fn the_least_settings_give_the_safe_defaults() {
        let config = read(&base()).unwrap();
        assert_eq!(config.slot, Slot::Sandbox);
        assert_eq!(config.executor_uid, socket::my_uid());
        assert!(config.model.is_none() && !config.stop_with_stdin);
        assert!(config.ask_socket().ends_with("ask/ask.sock"));
        assert!(config.propose_socket().ends_with("propose/propose.sock"));
        assert_eq!((config.token_file, config.callback_port), (PathBuf::from("/var/lib/a/token"), 8765));
    }

    #[test]
    fn each_needed_setting_is_named_when_it_is_absent_or_empty() {
        for name in base().keys() {
            let mut settings = base();
            settings.insert(name, String::new());
            assert_eq!(read(&settings).unwrap_err().name, *name);
            settings.remove(name);
            assert_eq!(read(&settings).unwrap_err().name, *name);
        }
    }

    #[test]
    fn bad_values_are_refused_by_name_and_never_repeated() {
        for (name, value) in [
            ("FLEETWATCH_RUN_DIR", "run"),
            ("FLEETWATCH_SLOT", "SANDBOX"),
            ("FLEETWATCH_OAUTH_CALLBACK_PORT", "http"),
            ("FLEETWATCH_TOKEN_STORE", "keychains"),
            ("FLEETWATCH_EXECUTOR_USER", "nobody-of-that-name"),
            ("FLEETWATCH_AI_MODEL", "a b"),
            ("FLEETWATCH_ANTHROPIC_URL", "http://api.anthropic.com"),
            ("FLEETWATCH_ANTHROPIC_URL", "http://localhost:9"),
            ("FLEETWATCH_ANTHROPIC_URL", "https://user:hunter2@api.example"),
            ("FLEETWATCH_ANTHROPIC_URL", "https://api.example/?key=hunter2"),
            ("FLEETWATCH_SLACK_CHANNEL", "#av"),
            ("FLEETWATCH_TEAMS_URL_FILE", "relative"),
            ("FLEETWATCH_POST_LANG", "fr"),
            ("FLEETWATCH_ANTHROPIC_API_KEY", "hunter2 with blanks"),
            ("FLEETWATCH_ANTHROPIC_API_KEY_FILE", "/nowhere/at/all"),
        ] {
            let mut settings = base();
            settings.insert(name, value.to_owned());
            let error = read(&settings).unwrap_err();
            assert_eq!(error.name, name, "{error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_secret_without_a_setting_is_the_service_managers_credential() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = base();
        settings.insert(credentials::FOLDER, folder.path().display().to_string());
        assert_eq!(read(&settings).unwrap().token_file, PathBuf::from("/var/lib/a/token"));
        for name in ["token", "slack-url", "ntfy-url", "teams-url"] {
            files::write_private(&folder.path().join(name), b"x").unwrap();
        }
        let config = read(&settings).unwrap();
        assert_eq!(config.token_file, folder.path().join("token"));
        let posts = [config.posts.slack_url_file, config.posts.ntfy_url_file, config.posts.teams_url_file];
        assert_eq!(posts, ["slack-url", "ntfy-url", "teams-url"].map(|name| Some(folder.path().join(name))));
        settings.insert("FLEETWATCH_TOKEN_FILE", "other".to_owned());
        assert_eq!(read(&settings).unwrap().token_file, folder.path().join("other"));
        files::write_private(&folder.path().join("slack-token"), b"x").unwrap();
        assert_eq!(read(&settings).unwrap_err().name, "FLEETWATCH_SLACK_CHANNEL");
    }

    #[test]
    fn one_file_for_both_slots_is_refused() {
        let mut settings = base();
        settings.insert("FLEETWATCH_SANDBOX_TOKEN_FILE", "/var/lib/a/token".to_owned());
        let error = read(&settings).unwrap_err();
        assert_eq!(error.name, "FLEETWATCH_TOKEN_FILE");
        assert!(error.what.contains("same file"), "{error}");
    }

    #[test]
    fn a_key_brings_the_model_and_two_keys_are_refused() {
        let mut settings = base();
        settings.insert("FLEETWATCH_ANTHROPIC_API_KEY", "test-key".to_owned());
        settings.insert("FLEETWATCH_ANTHROPIC_URL", "http://127.0.0.1:9/base".to_owned());
        let config = read(&settings).unwrap();
        assert!(!format!("{config:?}").contains("test-key"));
        let model = config.model.unwrap();
        assert_eq!((model.kind, model.name.as_str()), (ModelKind::Anthropic, DEFAULT_MODEL));
        assert_eq!(model.key.unwrap().expose(), "test-key");
        settings.insert("FLEETWATCH_ANTHROPIC_API_KEY_FILE", "/a/file".to_owned());
        assert!(read(&settings).unwrap_err().what.contains("both set"));
    }

    #[test]
    fn a_model_in_the_building_needs_its_address_and_name_and_may_have_a_key() {
        let mut settings = base();
        settings.insert("FLEETWATCH_MODEL_KIND", "openai".to_owned());
        assert_eq!(read(&settings).unwrap_err().name, "FLEETWATCH_OPENAI_URL");
        for (url, fine) in [
            ("http://192.168.1.20:11434", false),
            ("http://localhost:11434", false),
            ("http://127.0.0.1:11434/v1", true),
            ("https://vllm.example", true),
            ("http://[::1]:8080", true),
        ] {
            settings.insert("FLEETWATCH_OPENAI_URL", url.to_owned());
            settings.insert("FLEETWATCH_AI_MODEL", "qwen3:8b".to_owned());
            assert_eq!(read(&settings).map_err(|error| error.name).is_ok(), fine, "{url}");
        }
        let model = read(&settings).unwrap().model.unwrap();
        assert_eq!((model.kind, model.name.as_str(), model.key.is_none()), (ModelKind::OpenAi, "qwen3:8b", true));
        settings.insert("FLEETWATCH_OPENAI_API_KEY", "test-key".to_owned());
        assert!(!format!("{:?}", read(&settings).unwrap()).contains("test-key"));
        settings.remove("FLEETWATCH_AI_MODEL");
        assert_eq!(read(&settings).unwrap_err().name, "FLEETWATCH_AI_MODEL");
    }

    #[test]
    fn settings_of_the_other_kind_stop_the_start() {
        for (kind, name) in [
            ("", "FLEETWATCH_OPENAI_URL"),
            ("anthropic", "FLEETWATCH_OPENAI_API_KEY_FILE"),
            ("openai", "FLEETWATCH_ANTHROPIC_URL"),
            ("openai", "FLEETWATCH_ANTHROPIC_API_KEY"),
        ] {
            let mut settings = base();
            settings.insert("FLEETWATCH_MODEL_KIND", kind.to_owned());
            settings.insert(name, "http://127.0.0.1:9".to_owned());
            assert_eq!(read(&settings).unwrap_err().name, name);
        }
        let mut settings = base();
        settings.insert("FLEETWATCH_MODEL_KIND", "gemini".to_owned());
        assert_eq!(read(&settings).unwrap_err().name, "FLEETWATCH_MODEL_KIND");
    }

    #[test]
    fn only_the_one_flag_is_known() {
        let settings = base();
        let lookup = |name: &str| settings.get(name).map(OsString::from);
        assert!(Config::read(&["--stop-with-stdin".into()], &lookup).unwrap().stop_with_stdin);
        assert_eq!(Config::read(&["--auto-approve".into()], &lookup).unwrap_err().name, "command line");
    }
}
