//! How a world is to be. Everything has a default: thirty rooms, all of them inside the fence, proposals run, one operator
//! with a PIN, the scripted model.

use super::daemon::{AGENTS, OPERATORS, private_file};
use super::must::{must, some};
use super::proxy::Proxy;
use super::running::World;
use super::sim::Sim;
use super::tls::TlsFront;
use policy::tool_policy::SHIPPED;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

const FOLDERS: [&str; 9] =
    ["run", "run/propose", "run/control", "run/ask", "executor", "assistant", "policy", "logs", "secrets"];
const PIN: &str = "4711-0815-42";

/// Which units may be changed.
#[derive(Debug, Clone)]
enum FencePlan {
    AllRooms,
    AllBut(Vec<String>),
    None,
    Rooms(Vec<String>),
    Team(String),
}

/// Settings of a world that is about to start.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent switch of a test")]
pub struct Builder {
    sim: Vec<OsString>,
    fence: FencePlan,
    behaviour: String,
    tool_policy: String,
    principals: Option<String>,
    slot: String,
    sandbox_token: bool,
    sandbox_text: String,
    assistant: bool,
    model: bool,
    chat: bool,
    pin: bool,
    proxy: bool,
    executor: String,
    executor_settings: BTreeMap<String, OsString>,
    assistant_settings: BTreeMap<String, OsString>,
    group: Option<String>,
    agent: Option<u32>,
    keeper: Option<u32>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            sim: Vec::new(),
            fence: FencePlan::AllRooms,
            behaviour: behaviour("propose", false),
            tool_policy: SHIPPED.to_owned(),
            principals: None,
            slot: "sim".to_owned(),
            sandbox_token: true,
            sandbox_text: "sandbox-token-of-this-test".to_owned(),
            assistant: true,
            model: true,
            chat: false,
            pin: true,
            proxy: false,
            executor: "fleetwatch-executor".to_owned(),
            executor_settings: BTreeMap::new(),
            assistant_settings: BTreeMap::new(),
            group: None,
            agent: None,
            keeper: None,
        }
    }
}

fn behaviour(autonomy: &str, dry_run: bool) -> String {
    format!("autonomy: {autonomy}\ndry_run: {dry_run}\ntimezone: UTC\n")
}

impl Builder {
    fn sim_option(mut self, name: &str, value: &str) -> Self {
        self.sim.extend([name.into(), value.into()]);
        self
    }

    /// The fleet has this many rooms.
    #[must_use]
    pub fn rooms(self, count: u32) -> Self {
        self.sim_option("--rooms", &count.to_string())
    }

    /// The sandbox sign-in sees only the first rooms.
    #[must_use]
    pub fn sandbox_rooms(self, count: u32) -> Self {
        self.sim_option("--sandbox-rooms", &count.to_string())
    }

    /// People can sign in to the fleet, with access tokens that are good for so many seconds; nobody has yet.
    #[must_use]
    pub fn oauth(mut self, seconds: u32) -> Self {
        self.sim.push("--oauth".into());
        let world = self.sim_option("--oauth-seconds", &seconds.to_string());
        // An empty setting is an absent one: each daemon's file is then in its own state folder.
        world
            .executor_setting("FLEETWATCH_SANDBOX_TOKEN_FILE", "")
            .executor_setting("FLEETWATCH_OAUTH_CALLBACK_PORT", "0")
            .assistant_setting("FLEETWATCH_TOKEN_FILE", "")
            .assistant_setting("FLEETWATCH_OAUTH_CALLBACK_PORT", "0")
    }

    /// The same where the slot is the sandbox's: both daemons reach the fleet at this https address, whose authority is in
    /// this file.
    #[must_use]
    pub fn oauth_over_tls(self, origin: &str, authority: &Path) -> Self {
        let (url, authority) = (format!("{origin}/mcp"), authority.display().to_string());
        let mut world = self.slot("sandbox").oauth(3_600).sim_option("--oauth-origin", origin);
        for (name, value) in [("FLEETWATCH_EPIPHAN_MCP_URL", &url), ("SSL_CERT_FILE", &authority)] {
            world = world.executor_setting(name, value).assistant_setting(name, value);
        }
        world
    }

    /// The sandbox sign-in's rooms are a team of their own, over a front that speaks TLS: both daemons in the slot of a real
    /// team. `front` is led to the fleet once the world is up.
    #[must_use]
    pub fn two_teams(mut self, front: &TlsFront) -> Self {
        self.sim.push("--two-teams".into());
        self.oauth_over_tls(front.url().trim_end_matches("/mcp"), &front.file("ca.pem"))
    }

    /// What goes wrong at every write; [`super::Sim::set`] can change it later.
    #[must_use]
    pub fn fault(self, kind: &str) -> Self {
        self.sim_option("--fault", kind)
    }

    /// `autonomy: observe`.
    #[must_use]
    pub fn observe(mut self) -> Self {
        self.behaviour = behaviour("observe", false);
        self
    }

    /// `dry_run: true`.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.behaviour = behaviour("propose", true);
        self
    }

    /// The whole text of `policy.yaml`.
    #[must_use]
    pub fn behaviour(mut self, text: &str) -> Self {
        text.clone_into(&mut self.behaviour);
        self
    }

    /// The whole text of `tool_policy.yaml`.
    #[must_use]
    pub fn tool_policy(mut self, text: &str) -> Self {
        text.clone_into(&mut self.tool_policy);
        self
    }

    /// The whole text of `principals.yaml`. The default is one operator named `operator`, this user.
    #[must_use]
    pub fn principals(mut self, text: &str) -> Self {
        self.principals = Some(text.to_owned());
        self
    }

    /// Only these rooms are inside the fence.
    #[must_use]
    pub fn fence_rooms(mut self, names: &[&str]) -> Self {
        self.fence = FencePlan::Rooms(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// All rooms but these are inside the fence.
    #[must_use]
    pub fn fence_all_but(mut self, names: &[&str]) -> Self {
        self.fence = FencePlan::AllBut(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// The fence is a team.
    #[must_use]
    pub fn fence_team(mut self, team: &str) -> Self {
        self.fence = FencePlan::Team(team.to_owned());
        self
    }

    /// There is no fence.
    #[must_use]
    pub fn no_fence(mut self) -> Self {
        self.fence = FencePlan::None;
        self
    }

    /// Another sign-in slot.
    #[must_use]
    pub fn slot(mut self, slot: &str) -> Self {
        slot.clone_into(&mut self.slot);
        self
    }

    /// The executor has no sign-in.
    #[must_use]
    pub fn without_sandbox_token(mut self) -> Self {
        self.sandbox_token = false;
        self
    }

    /// The bearer of the sandbox sign-in.
    #[must_use]
    pub fn sandbox_token(mut self, text: &str) -> Self {
        text.clone_into(&mut self.sandbox_text);
        self
    }

    /// No assistant: the test plays it.
    #[must_use]
    pub fn without_assistant(mut self) -> Self {
        self.assistant = false;
        self
    }

    /// The scripted model speaks the chat-completions API, and wants no key.
    #[must_use]
    pub fn chat_model(mut self) -> Self {
        self.chat = true;
        self
    }

    /// The assistant has no key for a model.
    #[must_use]
    pub fn without_model(mut self) -> Self {
        self.model = false;
        self
    }

    /// The operator has no PIN yet.
    #[must_use]
    pub fn without_pin(mut self) -> Self {
        self.pin = false;
        self
    }

    /// A proxy stands between the executor and the fleet, and another between the assistant and its model.
    #[must_use]
    pub fn with_proxies(mut self) -> Self {
        self.proxy = true;
        self
    }

    /// The executor that stops itself at this barrier (`tests/run` builds it).
    #[must_use]
    pub fn barrier(mut self, name: &str) -> Self {
        "fleetwatch-executor-barriers".clone_into(&mut self.executor);
        self.executor_setting("FLEETWATCH_BARRIER", name)
    }

    /// One more setting of the executor, or another value.
    #[must_use]
    pub fn executor_setting(mut self, name: &str, value: &str) -> Self {
        self.executor_settings.insert(name.to_owned(), value.into());
        self
    }

    /// One more setting of the assistant, or another value.
    #[must_use]
    pub fn assistant_setting(mut self, name: &str, value: &str) -> Self {
        self.assistant_settings.insert(name.to_owned(), value.into());
        self
    }

    /// The executor's machine has one more group. Only root can do this.
    #[must_use]
    pub fn group(mut self, name: &str) -> Self {
        self.group = Some(name.to_owned());
        self
    }

    /// The assistant runs as this user, with folders, files and a socket of its own as an installation gives them. Only root
    /// can do this; everything else runs as root.
    #[must_use]
    pub fn assistant_user(mut self, uid: u32) -> Self {
        self.agent = Some(uid);
        self.group("fleetwatch-operators").executor_setting("FLEETWATCH_ASSISTANT_USER", &uid.to_string())
    }

    /// The executor runs as this user, with folders and files of its own as an installation gives them, and root is the
    /// operator. Only root can do this, together with [`Self::assistant_user`].
    #[must_use]
    pub fn executor_user(mut self, uid: u32) -> Self {
        self.keeper = Some(uid);
        self
    }

    /// Starts everything and waits until it is up.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> World {
        let folder = must(tempfile::Builder::new().prefix("fw-").tempdir(), "a folder");
        for name in FOLDERS {
            must(DirBuilder::new().mode(0o700).create(folder.path().join(name)), name);
        }
        let me = must(std::fs::metadata(folder.path()), "my folder").uid();
        let principals =
            self.principals.clone().unwrap_or_else(|| format!("- name: operator\n  uid: {me}\n  operator: true\n"));
        let file = |name: &str, text: &str| private_file(&folder.path().join(name), text);
        file("policy/tool_policy.yaml", &self.tool_policy);
        file("policy/policy.yaml", &self.behaviour);
        file("policy/principals.yaml", &principals);
        file("secrets/model-key", "model-key-of-this-test\n");

        let sim = Sim::start(folder.path(), &self.sim, &self.sandbox_text);
        if !self.sandbox_token {
            must(std::fs::remove_file(&sim.sandbox), "the sandbox token");
        }
        let (model_host, fleet) = (sim.model.trim_start_matches("http://").to_owned(), sim.address().to_owned());
        let proxies = self.proxy.then(|| (Proxy::start(&fleet), Proxy::start(&model_host)));
        let (fleet, model) = match &proxies {
            Some((fleet, model)) => (format!("http://{}/mcp", fleet.address()), format!("http://{}", model.address())),
            None => (sim.mcp.clone(), sim.model.clone()),
        };
        let runs_as = self.keeper.unwrap_or(me);
        let mut executor = self.executor_table(folder.path(), &sim, (&fleet, runs_as));
        let assistant = self.assistant_table(folder.path(), &sim, (&model, runs_as));
        if self.keeper.is_some() {
            // PINs are set through it, so it lies with the executor.
            let people = folder.path().join("executor/principals.yaml");
            must(std::fs::rename(folder.path().join("policy/principals.yaml"), &people), "principals.yaml");
            executor.insert("FLEETWATCH_PRINCIPALS_FILE".to_owned(), people.into());
        }
        let mut world = World::new(folder, sim, proxies, PIN);
        world.executor_binary = self.executor;
        world.executor_settings = executor;
        world.assistant_settings = assistant;
        world.groups = self.group.map(|name| {
            let groups = world.folder().join("group");
            let known = std::fs::read_to_string("/etc/group").unwrap_or_default();
            let agents = if self.agent.is_some() { format!("fleetwatch-agents:x:{AGENTS}:\n") } else { String::new() };
            must(std::fs::write(&groups, format!("{known}{name}:x:{OPERATORS}:\n{agents}")), "a list of groups");
            groups
        });
        world.keeper = self.keeper;
        world.start_executor();
        if self.pin {
            must(world.control().set_pin(None, PIN), "the first PIN");
        }
        world.agent = self.agent;
        if let Some(uid) = self.agent {
            world.give_to_assistant(uid);
        }
        if self.assistant {
            world.start_assistant();
        }
        world
    }

    fn shared(&self, folder: &Path, me: u32) -> BTreeMap<String, OsString> {
        let me: OsString = me.to_string().into();
        BTreeMap::from([
            ("FLEETWATCH_RUN_DIR".to_owned(), folder.join("run").into()),
            ("FLEETWATCH_POLICY_DIR".to_owned(), folder.join("policy").into()),
            ("FLEETWATCH_SLOT".to_owned(), (&self.slot).into()),
            ("FLEETWATCH_ASSISTANT_USER".to_owned(), me.clone()),
            ("FLEETWATCH_EXECUTOR_USER".to_owned(), me),
        ])
    }

    #[track_caller]
    fn executor_table(&self, folder: &Path, sim: &Sim, (fleet, me): (&str, u32)) -> BTreeMap<String, OsString> {
        let mut settings = self.shared(folder, me);
        settings.extend([
            ("FLEETWATCH_EPIPHAN_MCP_URL".to_owned(), fleet.into()),
            ("FLEETWATCH_EXECUTOR_STATE_DIR".to_owned(), folder.join("executor").into()),
            ("FLEETWATCH_PRINCIPALS_FILE".to_owned(), folder.join("policy/principals.yaml").into()),
            ("FLEETWATCH_SANDBOX_TOKEN_FILE".to_owned(), (&sim.sandbox).into()),
            ("FLEETWATCH_APPROVE_PORT".to_owned(), "0".into()),
        ]);
        if let FencePlan::Team(team) = &self.fence {
            settings.insert("FLEETWATCH_WRITE_TEAM_ID".to_owned(), team.into());
        }
        let inside = |name: &str| match &self.fence {
            FencePlan::AllRooms => true,
            FencePlan::AllBut(names) => !names.iter().any(|out| out == name),
            FencePlan::Rooms(names) => names.iter().any(|out| out == name),
            FencePlan::None | FencePlan::Team(_) => false,
        };
        let state = sim.state();
        let devices = some(state["devices"].as_array(), "the devices");
        let ids = devices.iter().filter(|device| device["Name"].as_str().is_some_and(inside));
        let ids: Vec<_> = ids.filter_map(|device| device["Id"].as_str()).collect();
        if !ids.is_empty() {
            settings.insert("FLEETWATCH_WRITE_DEVICE_IDS".to_owned(), ids.join(",").into());
        }
        settings.extend(self.executor_settings.clone());
        settings
    }

    fn assistant_table(&self, folder: &Path, sim: &Sim, (model, me): (&str, u32)) -> BTreeMap<String, OsString> {
        let mut settings = self.shared(folder, me);
        settings.extend([
            ("FLEETWATCH_EPIPHAN_MCP_URL".to_owned(), (&sim.mcp).into()),
            ("FLEETWATCH_ASSISTANT_STATE_DIR".to_owned(), folder.join("assistant").into()),
            ("FLEETWATCH_TOKEN_FILE".to_owned(), (&sim.normal).into()),
        ]);
        if self.chat {
            settings.extend([
                ("FLEETWATCH_MODEL_KIND".to_owned(), "openai".into()),
                ("FLEETWATCH_OPENAI_URL".to_owned(), model.into()),
                ("FLEETWATCH_AI_MODEL".to_owned(), "a-model-in-the-building".into()),
            ]);
        } else if self.model {
            settings.insert("FLEETWATCH_ANTHROPIC_URL".to_owned(), model.into());
            settings.insert("FLEETWATCH_ANTHROPIC_API_KEY_FILE".to_owned(), folder.join("secrets/model-key").into());
        }
        settings.extend(self.assistant_settings.clone());
        settings
    }
}
