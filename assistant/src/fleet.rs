//! Reading the fleet through the guard. The one place in this program that asks for a reading; no write tool passes it.

use crate::watch::sign_ins::Standing;
use host::clock::Clock;
use policy::tool_policy::{ReadTool, ToolPolicy, check_read_arguments};
use protocol::canonical::Canonical;
use protocol::refusal::{Refusal, RefusalCode};
use reader::error::ReadError;
use reader::quote::{Caps, Quoted, data, quote};
use reader::session::ReadClient;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longest text of an article, in characters.
const ARTICLE: usize = 8_000;

/// Where readings come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The fleet's server, with the normal sign-in or without one.
    Live(Box<ReadClient>),
    /// Answers made up by a test.
    #[cfg(test)]
    Canned(std::collections::BTreeMap<&'static str, Value>),
}

/// The fleet as this program can see it.
#[derive(Debug)]
pub(crate) struct Fleet {
    source: Source,
    clock: Clock,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    last_read_ms: Option<i64>,
    signed_out: bool,
}

/// Why there is no reading. Never holds text of the fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server could not be asked, or its answer not understood.
    Failed,
    /// There is no sign-in, or it is dead.
    NotSignedIn,
    /// The request itself is refused, before anybody was asked.
    Refused(Refusal),
}

impl Failure {
    /// What another agent is told.
    pub(crate) fn refusal(&self) -> Refusal {
        match self {
            Self::Failed => Refusal::new(RefusalCode::ReadFailed, "the fleet could not be read"),
            Self::NotSignedIn => {
                Refusal::new(RefusalCode::SignInDead, "Fleetwatch is not signed in to the fleet for reading")
            }
            Self::Refused(refusal) => refusal.clone(),
        }
    }

    /// What the model is told: the class, and of a refused request what was wrong with it.
    pub(crate) fn for_model(&self) -> String {
        match self {
            Self::Failed => "Not read: read_failed. The reading failed; say that it could not be read.".to_owned(),
            Self::NotSignedIn => "Not read: sign_in_dead. Fleetwatch is not signed in to the fleet.".to_owned(),
            Self::Refused(refusal) => format!("Not read: {refusal}"),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotSignedIn { .. } => Self::NotSignedIn,
            ReadError::Failed { .. } => Self::Failed,
            ReadError::NotPermitted(refusal) => Self::Refused(refusal),
        }
    }
}

impl Fleet {
    /// A fleet behind this source.
    pub(crate) fn new(source: Source, clock: Clock) -> Self {
        Self { source, clock, known: Mutex::default() }
    }

    /// One reading by name, its name and arguments checked first.
    ///
    /// # Errors
    /// [`Failure`] by class.
    pub(crate) async fn read(&self, policy: &ToolPolicy, name: &str, arguments: &Value) -> Result<Value, Failure> {
        let tool = policy.guard(name).map_err(Failure::Refused)?;
        let arguments = Canonical::from_value(arguments).map_err(|error| Failure::Refused(error.into()))?;
        check_read_arguments(&tool, &arguments).map_err(Failure::Refused)?;
        let read = self.fetch(&tool, &arguments).await;
        let mut known = self.known();
        match &read {
            Ok(_) => {
                known.last_read_ms = Some(self.clock.boot_ms());
                known.signed_out = false;
            }
            Err(Failure::NotSignedIn) => known.signed_out = true,
            Err(Failure::Failed | Failure::Refused(_)) => {}
        }
        if let Err(failure) = &read {
            tracing::warn!(tool = name, ?failure, "a reading failed");
        }
        read
    }

    async fn fetch(&self, tool: &ReadTool, arguments: &Canonical) -> Result<Value, Failure> {
        match &self.source {
            Source::Live(client) => Ok(client.call(tool, arguments).await?.into_value()),
            #[cfg(test)]
            Source::Canned(answers) => answers.get(tool.as_str()).cloned().ok_or(Failure::Failed),
        }
    }

    /// The client of the normal sign-in.
    pub(crate) fn live(&self) -> Option<&ReadClient> {
        match &self.source {
            Source::Live(client) => Some(client),
            #[cfg(test)]
            Source::Canned(_) => None,
        }
    }

    /// Whether there is a sign-in that can be used.
    pub(crate) fn has_sign_in(&self) -> bool {
        self.live().is_none_or(|client| client.sign_in().facts().usable)
    }

    /// What the server said of an older sign-in is forgotten, and its session is over.
    pub(crate) async fn signed_in_anew(&self) {
        if let Some(client) = self.live() {
            client.close().await;
        }
        self.known().signed_out = false;
    }

    /// How the normal sign-in stands. Good is what has read since this program started.
    pub(crate) fn standing(&self) -> Standing {
        let Some(facts) = self.live().map(|client| client.sign_in().facts()) else { return Standing::Unknown };
        let known = self.known();
        match (facts.is_dead() || known.signed_out, facts.usable && known.last_read_ms.is_some()) {
            (true, _) => Standing::Over,
            (false, true) => Standing::Good,
            (false, false) => Standing::Unknown,
        }
    }

    /// Whether the server did not take the sign-in last time.
    pub(crate) fn is_signed_out(&self) -> bool {
        self.known().signed_out
    }

    /// Boot clock of the last good reading, in milliseconds.
    pub(crate) fn last_read_ms(&self) -> Option<i64> {
        self.known().last_read_ms
    }

    /// What is wrong with the sign-in, with what to do.
    pub(crate) fn trouble(&self) -> Option<String> {
        if let Some(trouble) = self.live().and_then(|client| client.sign_in().facts().trouble) {
            return Some(trouble.words().en);
        }
        let words = "the fleet's server does not take the normal sign-in any more; run fleetwatchctl login";
        self.known().signed_out.then(|| words.to_owned())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reading as the model gets it: redacted, capped and escaped in one block. Articles of the documentation are text, so
/// their texts may be longer than a name or a message.
pub(crate) fn quoted(name: &str, value: Value) -> String {
    quote(name, value, &caps_of(name))
}

/// The same without the block around it, for other agents; nothing when the answer is not understood.
pub(crate) fn quoted_data(name: &str, value: Value) -> Option<Quoted> {
    data(name, value, &caps_of(name))
}

fn caps_of(name: &str) -> Caps {
    let caps = Caps::default();
    if name.starts_with("kb_") { Caps { text: ARTICLE, ..caps } } else { caps }
}
