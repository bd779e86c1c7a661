//! The sign-in that writes, on `control.sock`: begun, watched and ended by one operator's connection, kept by this process.
//!
//! It is kept only if it reaches at least one unit and none that the normal sign-in reaches or has listed before (`seed 000,
//! Fence`; issue line 3.5). Which ones those are only the assistant knows; the operator's command carries them here, and could lie.

use crate::app::App;
use crate::desk::{Desk, Viewer};
use control::message::ExecutorSays;
use policy::call::Slot;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use protocol::signin::{LoginLink, MAX_IDS, MAX_PASTED, Pasted, SignedIn};
use reader::oauth::{Attempt, OauthError};
use reader::session::ReadClient;
use reader::token::{NewSignIn, SignedOut};
use serde_json::json;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Longest wait for one answer about the person's progress.
const WAIT: Duration = Duration::from_secs(1);
/// Longest wait for the new sign-in's unit list.
const LOOK: Duration = Duration::from_secs(20);
/// How long the daemon waits for the person, in seconds.
const PERSON: u32 = 300;

/// The sign-in of one connection.
#[derive(Debug, Default)]
pub(crate) struct Login {
    begun: Option<(Attempt, Option<Vec<String>>)>,
}

impl Login {
    /// `Login`; the PIN was checked.
    pub(crate) async fn begin(&mut self, app: &App, known: Option<Vec<String>>) -> Result<ExecutorSays, Refusal> {
        if known.as_ref().is_some_and(|known| known.len() > MAX_IDS) {
            return Err(Refusal::bare(RefusalCode::TooLarge));
        }
        // Begun anew on the same connection: the older one ends first.
        self.begun = None;
        let attempt = app.reads.sign_in().begin(app.config.callback_port).await.map_err(OauthError::refusal)?;
        let link = LoginLink { url: attempt.link().to_owned(), host: attempt.host().to_owned(), seconds: PERSON };
        self.begun = Some((attempt, known));
        Ok(ExecutorSays::LoginLink(link))
    }

    /// `LoginCallback`.
    pub(crate) fn paste(&self, address: &Pasted) -> Result<ExecutorSays, Refusal> {
        let (attempt, _) = self.begun.as_ref().ok_or_else(none_begun)?;
        if address.expose().len() > MAX_PASTED {
            return Err(Refusal::bare(RefusalCode::TooLarge));
        }
        attempt.paste(address.expose()).map_err(OauthError::refusal)?;
        Ok(ExecutorSays::LoginWaiting)
    }

    /// `LoginWait`. When the operator is `gone` before the units are read, the new sign-in is not kept: nobody would know.
    pub(crate) async fn wait(
        &mut self,
        (app, desk): (&App, &Desk),
        viewer: &Viewer,
        gone: impl Future<Output = ()>,
    ) -> Result<ExecutorSays, Refusal> {
        let (attempt, _) = self.begun.as_mut().ok_or_else(none_begun)?;
        let Some(ended) = app.reads.sign_in().signed(attempt, WAIT).await else {
            return Ok(ExecutorSays::LoginWaiting);
        };
        let known = self.begun.take().and_then(|(_, known)| known);
        let new = ended.map_err(OauthError::refusal)?;
        let fits = tokio::select! {
            fits = fits(app, &new, known.as_deref()) => fits,
            () = gone => Err(failed("the operator's command went away before it was kept; forgotten again")),
        };
        let (devices, notes) = match fits {
            Ok(fits) => fits,
            Err(refusal) => return Err(forgotten((desk, viewer), new, refusal).await),
        };
        // Written down before it is kept: a sign-in never changes without a row.
        let compared = known.map_or(0, |known| known.len());
        let row = json!({ "devices": devices, "compared_with": compared });
        let kept = match desk.note_sign_in("signed_in", viewer, row).await {
            Ok(()) => app.reads.sign_in().adopt(&new).await.map_err(|error| failed(&error.to_string())),
            Err(unwritten) => Err(unwritten),
        };
        // The server has given the tokens out: what is not kept must not live on there. If this task itself is ended in the
        // middle, dropping them does the same.
        if let Err(refusal) = kept {
            return Err(forgotten((desk, viewer), new, refusal).await);
        }
        app.signed_out.store(false, Ordering::Relaxed);
        app.reads.close().await;
        let facts = app.reads.sign_in().facts();
        let left = |at: i64| u64::try_from(at.saturating_sub(app.clock.unix())).unwrap_or(0);
        Ok(ExecutorSays::SignedIn(SignedIn {
            scope: facts.scope,
            expires_in: facts.expires_at.map(left),
            renewed: facts.renewed,
            devices: Some(devices),
            notes,
        }))
    }

    /// `Logout`; the PIN was checked.
    pub(crate) async fn end(&mut self, (app, desk): (&App, &Desk), viewer: &Viewer) -> Result<ExecutorSays, Refusal> {
        self.begun = None;
        desk.note_sign_in("signed_out", viewer, json!({})).await?;
        let done = app.reads.sign_in().sign_out().await.map_err(|error| failed(&error.to_string()))?;
        app.signed_out.store(false, Ordering::Relaxed);
        app.reads.close().await;
        match done {
            SignedOut::Nothing => Err(failed("nobody was signed in")),
            SignedOut::NotRevoked => Ok(ExecutorSays::SignedOut { revoked: false }),
            SignedOut::Revoked => Ok(ExecutorSays::SignedOut { revoked: true }),
        }
    }
}

/// How many units the new sign-in reaches, and what a person should know; or why it must not be kept.
async fn fits(app: &App, new: &NewSignIn, known: Option<&[String]>) -> Result<(u32, Vec<Worded>), Refusal> {
    let looks = ReadClient::new(Arc::clone(new.looks()), Arc::new(app.config.tools.clone()));
    let looks = looks.map_err(|error| failed(&error.to_string()))?.with_call_limit(LOOK);
    let team = looks.team().await;
    looks.close().await;
    let team = team.map_err(|error| failed(&format!("its unit list could not be read ({error}); forgotten again")))?;
    let ids: BTreeSet<String> = team.devices.iter().map(|device| device.id.as_str().to_lowercase()).collect();
    judge(app.config.slot, &ids, known)
}

fn judge(slot: Slot, ids: &BTreeSet<String>, known: Option<&[String]>) -> Result<(u32, Vec<Worded>), Refusal> {
    if ids.is_empty() && stands(RefusalCode::SignInFailed) {
        return Err(failed("it reaches no unit, so nothing could ever be changed with it; forgotten again"));
    }
    let devices = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    // An empty list compares nothing.
    let Some(known) = known.filter(|known| !known.is_empty()) else {
        let note = Worded::new(
            "Kept without comparing it with the normal sign-in's units, which are not known. Sign in there, then run this again.",
            "Guardado sin compararlo con las unidades del inicio de sesión normal, que no se conocen. Inicie sesión allí y repita esto.",
        );
        return Ok((devices, vec![note]));
    };
    let shared: Vec<&String> = known.iter().filter(|id| ids.contains(&id.to_lowercase())).collect();
    match (shared.first(), slot) {
        (None, _) => Ok((devices, Vec::new())),
        (Some(_), Slot::Sandbox) if !stands(RefusalCode::SignInFailed) => Ok((devices, Vec::new())),
        (Some(_), Slot::Sim) => {
            let note = Worded::new(
                "Both sign-ins reach the same units. That is allowed for the simulator alone.",
                "Los dos inicios de sesión llegan a las mismas unidades. Solo se permite con el simulador.",
            );
            Ok((devices, vec![note]))
        }
        (Some(id), Slot::Sandbox) => Err(failed(&format!(
            "it reaches {} unit(s) that the normal sign-in reaches too or has listed before, {id} among them; sign in to the sandbox team, or begin anew with fleetwatchctl logout; forgotten again",
            shared.len()
        ))),
    }
}

async fn forgotten((desk, viewer): (&Desk, &Viewer), new: NewSignIn, refusal: Refusal) -> Refusal {
    let done = new.forget().await;
    let refusal = with_what_lives_on(done, refusal);
    let detail = json!({ "detail": policy::redact::redact_text(&refusal.detail) });
    match desk.note_sign_in("sign_in_refused", viewer, detail).await {
        Ok(()) => refusal,
        Err(unwritten) => with_what_lives_on(done, unwritten),
    }
}

fn with_what_lives_on(done: SignedOut, refusal: Refusal) -> Refusal {
    if done == SignedOut::Revoked {
        return refusal;
    }
    let more = "its tokens could not be taken back at the server: end that session there";
    let detail = if refusal.detail.is_empty() { more.to_owned() } else { format!("{}; {more}", refusal.detail) };
    Refusal::new(refusal.code, &detail)
}

fn none_begun() -> Refusal {
    failed("no sign-in is under way on this connection")
}

fn failed(why: &str) -> Refusal {
    Refusal::new(RefusalCode::SignInFailed, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    fn known(list: &[&str]) -> Vec<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn a_sandbox_that_overlaps_or_is_empty_is_refused() {
        for (ours, theirs) in [(ids(&[]), known(&[])), (ids(&["a1", "b2"]), known(&["B2"]))] {
            let refusal = judge(Slot::Sandbox, &ours, Some(&theirs)).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::SignInFailed);
            assert!(refusal.detail.contains("forgotten again"), "{refusal}");
        }
        judge(Slot::Sim, &ids(&[]), None).unwrap_err();
    }

    #[test]
    fn one_unit_of_as_many_as_travel_is_enough() {
        let all: Vec<String> = (0..MAX_IDS).map(|at| format!("203{at:08}")).collect();
        let last = all[MAX_IDS - 1].as_str();
        let refusal = judge(Slot::Sandbox, &ids(&["a1", last]), Some(&all)).unwrap_err();
        assert!(refusal.detail.contains("1 unit(s)") && refusal.detail.contains(last), "{refusal}");
        assert!(
            refusal.detail.contains("fleetwatchctl logout") && refusal.detail.ends_with("forgotten again"),
            "{refusal}"
        );
    }

    #[test]
    fn different_units_are_kept_and_unknown_ones_with_a_warning() {
        assert_eq!(judge(Slot::Sandbox, &ids(&["a1"]), Some(&known(&["b2"]))), Ok((1, Vec::new())));
        for unknown in [None, Some([].as_slice())] {
            let (devices, notes) = judge(Slot::Sandbox, &ids(&["a1"]), unknown).unwrap();
            assert!(devices == 1 && notes[0].en.contains("without comparing"), "{unknown:?}");
        }
    }

    #[test]
    fn only_the_simulator_may_share_its_units() {
        let (_, notes) = judge(Slot::Sim, &ids(&["a1"]), Some(&known(&["a1"]))).unwrap();
        assert!(notes[0].en.contains("simulator alone") && notes[0].es.contains("Solo"));
    }
}
