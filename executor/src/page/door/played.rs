//! A desk that a test plays: it answers from what it was given and writes down what it was asked.

#![expect(clippy::unused_async, reason = "the played desk has the signatures of the real one")]

use crate::desk::{Person, Surface, Viewer, YesTo};
use control::card::{ArgumentFact, Card, CardFacts, HistoryRow, NamedFact, TargetFact, Waiting};
use control::status::{ExecutorStatus, QueueStatus, StartReport, Witness};
use protocol::gate::{Evidence, GateId, GateResult, NOT_REACHED};
use protocol::hello::{Hello, Isolation};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

pub(in super::super) const PIN: &str = "12345678";
pub(in super::super) const CODE: &str = "0123456789";

/// The played desk; clones are the same desk.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Played(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(in super::super) struct State {
    pub(in super::super) operators: usize,
    /// A uid that is on nobody's list.
    pub(in super::super) stranger: u32,
    pub(in super::super) cards: BTreeMap<ProposalNumber, Card>,
    pub(in super::super) states: BTreeMap<ProposalNumber, ProposalState>,
    /// What each verb was asked, in order.
    pub(in super::super) asked: Vec<String>,
    /// What `check` and `approve` refuse next.
    pub(in super::super) refuse: Option<RefusalCode>,
    /// Whether people sign in with a code.
    pub(in super::super) by_code: bool,
    pub(in super::super) frozen: bool,
}

pub(in super::super) fn number(number: u64) -> ProposalNumber {
    ProposalNumber::new(number).unwrap()
}

/// A calm card: a recording starts in `room`.
pub(in super::super) fn card(at: u64, room: &str) -> Card {
    Card {
        facts: CardFacts {
            number: number(at),
            tool: "batch_recording".into(),
            heading: Worded::new(format!("Start recording in {room}"), format!("Iniciar la grabación en {room}")),
            targets: vec![TargetFact {
                id: "19012341234".into(),
                name: room.into(),
                known_as: Vec::new(),
                note: String::new(),
                model: "Pearl-2".into(),
                firmware: "4.24.1".into(),
                online: Worded::new("yes", "sí"),
                recording: Worded::new("no", "no"),
                streaming: Worded::new("no", "no"),
                event: Worded::new("none in the next 24 hours", "ninguno en las próximas 24 horas"),
            }],
            arguments: vec![
                ArgumentFact { name: "action".into(), json: "\"start\"".into(), defaulted: false },
                ArgumentFact { name: "device_ids".into(), json: "[\"19012341234-1\"]".into(), defaulted: true },
            ],
            named: vec![NamedFact { label: Worded::new("Channel 1", "Canal 1"), value: Worded::same("Main camera") }],
            effect: Worded::new("The channel starts a new file.", "El canal inicia un archivo nuevo."),
            undo: Worded::new("Stop the recording.", "Detenga la grabación."),
            disruptive: false,
            confirm: None,
            deny_only: Vec::new(),
            reason: "The lecture starts soon.".into(),
            origin: Worded::new("the assistant", "el asistente"),
            slot: Worded::new("Simulator: nothing real changes", "Simulador: nada real cambia"),
            dry_run: false,
            isolation: "none".into(),
        },
        digest: [7; 32],
        ticket: format!("ticket-{at}"),
        notes: Vec::new(),
        read_at: Worded::same("2026-11-29 21:03 CET (20:03 UTC)"),
        expires_in: 840,
        others_waiting: 0,
        approved_lately: 0,
        gates: gates(),
    }
}

/// Two gates that passed, one that did not, and one that nobody asked any more.
pub(in super::super) fn gates() -> Vec<GateResult> {
    let gate = |gate_id, blocked: Option<&str>, evidence: &[(&str, &str)]| GateResult {
        gate_id,
        passed: blocked.is_none(),
        blocked_reason: blocked.map(str::to_owned),
        evidence: evidence
            .iter()
            .map(|(name, value)| Evidence { name: (*name).to_owned(), value: (*value).to_owned() })
            .collect(),
    };
    vec![
        gate(GateId::Schema, None, &[("tool", "batch_recording"), ("schema version", "1")]),
        gate(GateId::Policy, None, &[("fence", "3 devices")]),
        gate(GateId::DryRun, Some("dry_run"), &[("dry_run", "true")]),
        gate(GateId::Exec, Some(NOT_REACHED), &[]),
    ]
}

/// A disruptive card: `room` restarts.
pub(in super::super) fn reboot(at: u64, room: &str) -> Card {
    let mut card = card(at, room);
    card.facts.tool = "batch_reboot".into();
    card.facts.heading = Worded::new(format!("Restart {room}"), format!("Reiniciar {room}"));
    card.facts.disruptive = true;
    card.facts.confirm = Some(room.into());
    card
}

impl Played {
    /// A desk with these cards waiting.
    pub(in super::super) fn with(cards: Vec<Card>) -> Self {
        let played = Self::default();
        {
            let mut state = played.lock();
            state.operators = 1;
            state.stranger = 4_242;
            state.cards = cards.into_iter().map(|card| (card.facts.number, card)).collect();
        }
        played
    }

    pub(in super::super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// What was asked since the last look.
    pub(in super::super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().asked)
    }

    fn note(&self, what: String) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.asked.push(what);
        state
    }

    fn end(&self, state: &mut State, number: ProposalNumber, as_state: ProposalState) -> Result<News, Refusal> {
        state.cards.remove(&number).ok_or_else(|| Refusal::bare(RefusalCode::NotWaiting))?;
        state.states.insert(number, as_state);
        Ok(News { number, state: as_state, refusal: None, detail: String::new() })
    }

    pub(super) fn operators(&self) -> usize {
        self.lock().operators
    }

    pub(super) fn may_visit(&self, uid: Option<u32>) -> bool {
        uid != Some(self.lock().stranger)
    }

    pub(super) async fn log_in(&self, name: Option<&str>, pin: &str) -> Result<Person, Refusal> {
        let state = self.note(format!("log_in {}", name.unwrap_or("-")));
        if let Some(code) = state.refuse {
            return Err(Refusal::bare(code));
        }
        if pin == PIN {
            Ok(Person::dangerous_made_up(name.unwrap_or("ana"), 1001))
        } else {
            Err(Refusal::bare(RefusalCode::WrongPin))
        }
    }

    pub(super) fn opens_by_code(&self) -> bool {
        self.lock().by_code
    }

    pub(super) async fn log_in_with_code(&self, code: &str) -> Result<Person, Refusal> {
        let state = self.note("log_in_with_code".into());
        if state.by_code && code == CODE {
            Ok(Person::dangerous_made_up("ana", 1001))
        } else {
            Err(Refusal::bare(RefusalCode::NotPermitted))
        }
    }

    pub(super) async fn waiting(&self) -> Result<Vec<Waiting>, Refusal> {
        let state = self.note("waiting".into());
        let row = |card: &Card| Waiting {
            number: card.facts.number,
            heading: card.facts.heading.clone(),
            targets: card.facts.targets.iter().map(|target| target.id.clone()).collect(),
            expires_in: card.expires_in,
        };
        Ok(state.cards.values().map(row).collect())
    }

    pub(super) async fn show(&self, viewer: &Viewer, number: ProposalNumber) -> Result<Card, Refusal> {
        assert_eq!(viewer.surface, Surface::Page);
        let state = self.note(format!("show {number}"));
        let gone =
            if state.states.contains_key(&number) { RefusalCode::NotWaiting } else { RefusalCode::UnknownProposal };
        state.cards.get(&number).cloned().ok_or_else(|| Refusal::bare(gone))
    }

    pub(super) async fn check(&self, _viewer: &Viewer, yes: &YesTo) -> Result<Card, Refusal> {
        let state = self.note(format!("check {} {} {:?}", yes.number, yes.ticket, yes.confirm));
        match state.refuse {
            Some(code) if code != RefusalCode::RoomNotConfirmed => Err(Refusal::bare(code)),
            Some(_) | None => {
                let mut card =
                    state.cards.get(&yes.number).cloned().ok_or_else(|| Refusal::bare(RefusalCode::NotWaiting))?;
                card.ticket = "another ticket".into();
                Ok(card)
            }
        }
    }

    pub(super) async fn approve(&self, _viewer: &Viewer, yes: YesTo) -> Result<News, Refusal> {
        let mut state = self.note(format!("approve {} {} {:?}", yes.number, yes.ticket, yes.confirm));
        if let Some(code) = state.refuse {
            return Err(Refusal::bare(code));
        }
        self.end(&mut state, yes.number, ProposalState::Ok)
    }

    pub(super) async fn deny(&self, _viewer: &Viewer, number: ProposalNumber) -> Result<News, Refusal> {
        let mut state = self.note(format!("deny {number}"));
        self.end(&mut state, number, ProposalState::Denied)
    }

    pub(super) async fn deny_all(&self, _viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        let mut state = self.note("deny_all".into());
        Ok(std::mem::take(&mut state.cards).into_keys().collect())
    }

    pub(super) async fn freeze(&self, _viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        let mut state = self.note("freeze".into());
        state.frozen = true;
        Ok(std::mem::take(&mut state.cards).into_keys().collect())
    }

    pub(super) async fn propose_undo(
        &self,
        _viewer: &Viewer,
        number: ProposalNumber,
    ) -> Result<ProposalNumber, Refusal> {
        let state = self.note(format!("propose_undo {number}"));
        match state.refuse {
            Some(code) => Err(Refusal::bare(code)),
            None => Ok(self::number(number.get() + 1)),
        }
    }

    pub(super) async fn fate(&self, number: ProposalNumber) -> Result<HistoryRow, Refusal> {
        let state = self.note(format!("fate {number}"));
        let found = state.states.get(&number).copied();
        let found = found.or_else(|| state.cards.contains_key(&number).then_some(ProposalState::Pending));
        found.map(|found| row(number, found)).ok_or_else(|| Refusal::bare(RefusalCode::UnknownProposal))
    }

    pub(super) async fn history(&self, _most: u16, search: Option<&str>) -> Result<Vec<HistoryRow>, Refusal> {
        let state = self.note(format!("history {}", search.unwrap_or("-")));
        Ok(state.states.iter().map(|(number, state)| row(*number, *state)).collect())
    }

    pub(super) async fn status(&self) -> Result<ExecutorStatus, Refusal> {
        let state = self.lock();
        Ok(ExecutorStatus { frozen: state.frozen, ..status(state.cards.len() as u64) })
    }
}

/// One row of the history.
pub(in super::super) fn row(number: ProposalNumber, state: ProposalState) -> HistoryRow {
    HistoryRow {
        number,
        heading: Worded::new("Start recording in Hall A", "Iniciar la grabación en Hall A"),
        targets: vec!["19012341234".into()],
        state,
        code: (state == ProposalState::Refused).then_some(RefusalCode::RoomRecording),
        detail: "recorder: recording".into(),
        decided_by: if state == ProposalState::Pending { String::new() } else { "ana".into() },
        surface: "page".into(),
        created_at: Worded::same("2026-11-29 21:03 CET"),
        ended_at: Worded::same(if state.is_final() { "2026-11-29 21:05 CET" } else { "" }),
        undoable: state == ProposalState::Ok,
    }
}

/// A calm executor with `pending` proposals.
pub(in super::super) fn status(pending: u64) -> ExecutorStatus {
    ExecutorStatus {
        hello: Hello::ours(),
        uptime_seconds: 60,
        isolation: Isolation::None,
        witness: Witness::Agrees,
        slot: "sim".into(),
        sign_in: true,
        fence: "3 devices".into(),
        autonomy: "propose".into(),
        dry_run: false,
        frozen: false,
        paused_agents: vec![],
        queue: QueueStatus { pending, pending_limit: 3, hour: pending, hour_limit: 10 },
        last_read_seconds: Some(1),
        page: None,
        audit_sequence: 4,
        start: StartReport { expired: 0, unknown: 0, restored: 0, backup: false },
        pruned: None,
        sandbox_missing: Vec::new(),
        problems: Vec::new(),
    }
}
