//! The card: facts built by code from the stored row and a fresh read, one digest, one ticket for each look
//! (`seed 000, The approval page`).

mod facts;
#[cfg(test)]
mod tests;
mod ticket;
mod trace;
mod when;

pub(crate) use when::when;

use crate::app::App;
use crate::binding::BoundRecord;
use crate::desk::{Viewer, YesTo};
use crate::store::{ProposalRow, StoreError, StoredProposal};
use control::card::{Card, CardFacts};
use policy::call::{CheckedCall, Tool};
use policy::observed::Observed;
use policy::room::room_rule;
use policy::tool_policy::ToolPolicy;
use policy::undo::Undo;
use protocol::canonical::Canonical;
use protocol::gate::GateResult;
use protocol::guard::stands;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// One proposal, looked at now: the row, what the row means, what a fresh read found, and the card's facts from all three.
#[derive(Debug)]
pub(crate) struct Looked {
    pub(crate) call: Result<CheckedCall, Refusal>,
    pub(crate) observed: Result<Observed, Refusal>,
    facts: CardFacts,
    digest: [u8; 32],
    expires_in: i64,
    gates: Vec<GateResult>,
}

/// Reads the row and the room, and builds the facts. A failed read is not an error here: the card then has Deny only.
///
/// # Errors
/// `not_waiting` with who decided it, `unknown_proposal`, `store_failed`.
pub(crate) async fn look(app: &App, number: ProposalNumber) -> Result<Looked, Refusal> {
    let (row, stored) = app
        .store
        .call(move |store| {
            let row = store.row(number)?;
            let stored = match store.load(number) {
                Ok(stored) => Ok(stored),
                Err(StoreError::Refused(refusal)) => Err(refusal),
                Err(error) => return Err(error),
            };
            Ok((row, stored))
        })
        .await
        .map_err(StoreError::into_refusal)?;
    if row.state != ProposalState::Pending && stands(RefusalCode::NotWaiting) {
        return Err(Refusal::new(RefusalCode::NotWaiting, &row.who_won()));
    }
    let call = stored
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|stored| call_of((&app.config.tools, &app.slices), stored.record()));
    let observed = match &call {
        Ok(call) => app.observe(call).await,
        Err(refusal) => Err(refusal.clone()),
    };
    let facts = facts::build(&facts::Setting::of(app), &row, &stored, (&call, &observed));
    let record = stored.as_ref().ok().map(StoredProposal::record);
    let digest = digest_of(&facts, record)?;
    // A trace that somebody edited is no reason for anything: only what was bound is shown.
    let gates = record.map(|record| trace::gates(&record.gates)).unwrap_or_default();
    Ok(Looked { call, observed, facts, digest, expires_in: row.expires_in, gates })
}

/// A card for one viewer, with its ticket. Marks it seen.
///
/// # Errors
/// `store_failed`.
pub(crate) async fn card_for(app: &App, viewer: &Viewer, looked: Looked) -> Result<Card, Refusal> {
    let number = looked.facts.number;
    let (digest, session, boot_ms) = (looked.digest, viewer.session, app.clock.boot_ms());
    let (person, surface) = (viewer.person.name().to_string(), viewer.surface.as_str());
    let (ticket, waiting, approved_lately) = app
        .store
        .call(move |store| {
            // The one effect of looking, and only the word expired_seen reads it.
            store.mark_seen(number, surface, &person)?;
            let shown = ticket::Shown { number, digest: &digest, session: &session };
            Ok((ticket::issue(store.keys(), shown, boot_ms)?, store.queue()?.0, store.approved_lately(&person)?))
        })
        .await
        .map_err(StoreError::into_refusal)?;
    let notes = notes(app, &looked);
    let read_at = match &looked.observed {
        Ok(observed) => when(&app.zone, observed.read_unix),
        Err(_) => Worded::new("The room could not be read.", "No se pudo leer la sala."),
    };
    Ok(Card {
        facts: looked.facts,
        digest,
        ticket,
        notes,
        read_at,
        expires_in: u64::try_from(looked.expires_in).unwrap_or(0),
        others_waiting: waiting.saturating_sub(1),
        approved_lately,
        gates: looked.gates,
    })
}

/// Whether this yes is good for the card as it is now: the facts still hold, it may be approved, and the room is named when
/// it must be. The ticket was checked before anything was read.
///
/// # Errors
/// `card_changed`, `not_approvable`, `room_not_confirmed`.
pub(crate) fn check_yes(yes: &YesTo, looked: &Looked) -> Result<CheckedCall, Refusal> {
    check_facts(yes, looked)?;
    match (&looked.facts.confirm, &yes.confirm) {
        (None, _) if !looked.facts.disruptive => {}
        (Some(wanted), Some(typed)) if wanted.trim() == typed.trim() => {}
        (wanted, _) if stands(RefusalCode::RoomNotConfirmed) => {
            return Err(Refusal::new(RefusalCode::RoomNotConfirmed, wanted.as_deref().unwrap_or_default()));
        }
        (None | Some(_), _) => {}
    }
    looked.call.clone()
}

/// The same without the second confirmation.
///
/// # Errors
/// `card_changed`, `not_approvable`.
pub(crate) fn check_facts(yes: &YesTo, looked: &Looked) -> Result<(), Refusal> {
    if !host::secret::same(&looked.digest, &yes.digest) && stands(RefusalCode::CardChanged) {
        return Err(Refusal::bare(RefusalCode::CardChanged));
    }
    if let Some(reason) = looked.facts.deny_only.first()
        && stands(RefusalCode::NotApprovable)
    {
        return Err(Refusal::new(RefusalCode::NotApprovable, &reason.en));
    }
    Ok(())
}

/// Whether the ticket is the one of this card, this session and this number, and at least two seconds old now. Gives how
/// many seconds ago the card was shown.
///
/// # Errors
/// `bad_ticket`, `too_soon`.
pub(crate) async fn check_ticket(app: &App, viewer: &Viewer, yes: &YesTo) -> Result<i64, Refusal> {
    let (number, digest, session, ticket) = (yes.number, yes.digest, viewer.session, yes.ticket.clone());
    let now = app.clock.boot_ms();
    app.store
        .call(move |store| {
            let shown = ticket::Shown { number, digest: &digest, session: &session };
            Ok(ticket::check(store.keys(), &ticket, shown, now)?)
        })
        .await
        .map_err(StoreError::into_refusal)
}

/// The call that the stored arguments mean under the policy in force; a changed schema is a changed policy.
fn call_of((tools, slices): (&ToolPolicy, &BTreeMap<Tool, i64>), record: &BoundRecord) -> Result<CheckedCall, Refusal> {
    let arguments = Canonical::parse(record.arguments.as_bytes())?;
    let call = tools.check_call(&record.tool, &arguments)?;
    let same = i64::from(call.schema_version()) == record.schema_version
        && slices.get(&call.tool()) == Some(&record.policy_version);
    if !same && stands(RefusalCode::PolicyChanged) {
        return Err(Refusal::bare(RefusalCode::PolicyChanged));
    }
    Ok(call)
}

/// SHA-256 over the facts and the whole bound record in canonical form: the same in both languages and on every surface,
/// another for every other record, even where the card shows no difference (`issue line 2.6`).
fn digest_of(facts: &CardFacts, record: Option<&BoundRecord>) -> Result<[u8; 32], Refusal> {
    let facts = serde_json::to_value(facts).map_err(|_| Refusal::bare(RefusalCode::StoreFailed))?;
    let whole = json!({ "facts": facts, "record": record.map(BoundRecord::to_value) });
    Ok(Sha256::digest(Canonical::from_value(&whole)?.as_str().as_bytes()).into())
}

/// What the run would refuse for the room's state now: information, not a gate.
fn notes(app: &App, looked: &Looked) -> Vec<Worded> {
    let (Ok(call), Ok(observed)) = (&looked.call, &looked.observed) else { return Vec::new() };
    let none = BTreeMap::new();
    let now = app.clock.unix();
    let mut notes = Vec::new();
    for target in call.targets() {
        let Some(device) = observed.team.device(&target.master) else { continue };
        let recorders = observed.recorders.get(&target.master).unwrap_or(&none);
        let event = observed.events.get(&target.master).and_then(Option::as_ref);
        notes.extend(room_rule(call, device, recorders, event, now).iter().map(policy::room::Blocked::words));
    }
    notes
}

/// A row's plain words without a fresh read, for lists.
pub(crate) fn heading_of(app: &App, row: &ProposalRow) -> Worded {
    facts::heading_without_read(&facts::Setting::of(app), row, |id| app.name_of(id))
}

/// A call's plain words without a fresh read, for pings.
pub(crate) fn heading_of_call(app: &App, call: &CheckedCall) -> Worded {
    facts::heading_of_call(call, |id| app.name_of(id))
}

/// The undo of a change that ran, when code knows one.
pub(crate) fn undo_of(app: &App, row: &ProposalRow) -> Option<Undo> {
    if row.state != ProposalState::Ok {
        return None;
    }
    let arguments = Canonical::parse(row.arguments.as_bytes()).ok()?;
    let call = app.config.tools.check_call(&row.tool, &arguments).ok()?;
    policy::undo::undo_of(&call)
}

/// A row's target ids, for lists.
pub(crate) fn targets_of(row: &ProposalRow) -> Vec<String> {
    Canonical::parse(row.targets.as_bytes())
        .ok()
        .and_then(|list| {
            let ids = list.value().as_array()?;
            Some(
                ids.iter()
                    .filter_map(|id| id.as_str())
                    .map(|id| protocol::shown::Shown::whole(id).into_string())
                    .collect(),
            )
        })
        .unwrap_or_default()
}
