//! Reading the fleet through the guard. The one place in this program that asks for a reading; no write tool passes it.

use crate::units::Units;
use host::clock::Clock;
use policy::observed::Team;
use policy::tool_policy::{ReadTool, ToolPolicy, check_read_arguments};
use protocol::ask::DEVICES;
use protocol::canonical::Canonical;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::{Language, Worded};
use reader::error::ReadError;
use reader::parse::devices;
use reader::quote::{Caps, Quoted, data, quote};
use reader::session::ReadClient;
use reader::token::{Facts, Trouble};
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
    units: Units,
}

#[derive(Debug, Default)]
struct Known {
    last_read_ms: Option<i64>,
    signed_out: bool,
    /// Counts sign-ins and sign-outs: what an earlier sign-in's reading says late is not said of a later one.
    turns: u64,
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
            Self::NotSignedIn => "Not read: sign_in_dead. Fleetwatch is not signed in to the fleet; the person has to run fleetwatchctl login.".to_owned(),
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
        Self { source, clock, known: Mutex::default(), units: Units::default() }
    }

    /// The same with the units that an earlier run has listed.
    pub(crate) fn with_units(self, units: Units) -> Self {
        Self { units, ..self }
    }

    /// One reading by name, its name and arguments checked first.
    ///
    /// # Errors
    /// [`Failure`] by class.
    pub(crate) async fn read(&self, policy: &ToolPolicy, name: &str, arguments: &Value) -> Result<Value, Failure> {
        let tool = policy.guard(name).map_err(Failure::Refused)?;
        let arguments = Canonical::from_value(arguments).map_err(|error| Failure::Refused(error.into()))?;
        check_read_arguments(&tool, &arguments).map_err(Failure::Refused)?;
        let begun = self.known().turns;
        let read = self.fetch(&tool, &arguments).await;
        // What is not understood is told by who asked for it.
        let team = read.as_ref().ok().filter(|_| name == DEVICES).and_then(|answer| devices::team(answer).ok());
        self.take_note(begun, team.as_ref(), |known| match &read {
            Ok(_) => {
                known.last_read_ms = Some(self.clock.boot_ms());
                known.signed_out = false;
            }
            Err(Failure::NotSignedIn) => known.signed_out = true,
            Err(Failure::Failed | Failure::Refused(_)) => {}
        });
        if let Err(failure) = &read {
            tracing::warn!(tool = name, ?failure, "a reading failed");
        }
        read
    }

    // Of a reading that began in this turn, unless somebody signed in or out meanwhile.
    fn take_note(&self, begun: u64, team: Option<&Team>, note: impl FnOnce(&mut Known)) {
        let mut known = self.known();
        if known.turns != begun {
            return;
        }
        note(&mut known);
        if let Some(team) = team {
            self.units.note(team);
        }
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

    /// The device list as it is now, for the comparison with another sign-in's.
    ///
    /// # Errors
    /// The refusal that says why there is none.
    pub(crate) async fn team(&self) -> Result<Team, Refusal> {
        let client = self.live().ok_or_else(|| Refusal::bare(RefusalCode::NoSignIn))?;
        let begun = self.known().turns;
        let team = client.team().await.map_err(|error| error.refusal())?;
        self.take_note(begun, Some(&team), |_| {});
        Ok(team)
    }

    /// The units that the normal sign-in has ever listed.
    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    /// Whether there is a sign-in that can be used.
    pub(crate) fn has_sign_in(&self) -> bool {
        self.live().is_none_or(|client| client.sign_in().facts().usable)
    }

    /// What the server said of an older sign-in is forgotten, also what it is about to say, and its session is over.
    pub(crate) async fn signed_in_anew(&self) {
        self.begin_turn(|| {});
        self.reconnect().await;
    }

    /// The same after signing out, and every unit that was listed is forgotten.
    pub(crate) async fn signed_out(&self) {
        self.begin_turn(|| self.units.forget());
        self.reconnect().await;
    }

    // No reading of before may come between.
    fn begin_turn(&self, also: impl FnOnce()) {
        let mut known = self.known();
        known.turns += 1;
        known.signed_out = false;
        also();
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
    pub(crate) fn trouble(&self) -> Option<Worded> {
        self.facts().and_then(|facts| facts.trouble).map(Trouble::words)
    }

    /// The same when only a new sign-in helps: it is over, or the server did not take it last time.
    pub(crate) fn over(&self) -> Option<Worded> {
        self.facts().filter(Facts::is_dead).and_then(|facts| facts.trouble).map(Trouble::words)
    }

    /// The same as a refusal, in this language.
    pub(crate) fn over_refusal(&self, language: Language) -> Option<Refusal> {
        self.over().map(|words| Refusal::new(RefusalCode::SignInDead, words.get(language)))
    }

    /// Opens a new session at the next reading.
    pub(crate) async fn reconnect(&self) {
        if let Some(client) = self.live() {
            client.close().await;
        }
    }

    fn facts(&self) -> Option<Facts> {
        let refused = self.is_signed_out();
        match &self.source {
            Source::Live(client) => Some(client.sign_in().facts_after(refused)),
            #[cfg(test)]
            Source::Canned(_) => None,
        }
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

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
