//! What stops everything, and what lets it go on.

use super::{Desk, Viewer};
use crate::store::StoreError;
use protocol::ids::{Label, ProposalNumber};
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::json;
use std::sync::atomic::Ordering;

impl Desk {
    /// No to everything until it is thawed.
    ///
    /// # Errors
    /// `not_permitted`, `store_failed`.
    pub(crate) async fn freeze(&self, viewer: &Viewer) -> Result<Vec<ProposalNumber>, Refusal> {
        self.permitted(viewer)?;
        // First, so that the next hello already says so.
        self.app.frozen.store(true, Ordering::SeqCst);
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app.store.call(move |store| store.freeze(&person, surface)).await.map_err(StoreError::into_refusal)
    }

    /// Ends a freeze. The PIN was checked.
    ///
    /// # Errors
    /// `not_permitted`, `store_failed`; the freeze then stands.
    pub(crate) async fn thaw(&self, viewer: &Viewer) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        let (person, surface) = (viewer.person.clone(), viewer.surface);
        self.app.store.call(move |store| store.thaw(&person, surface)).await.map_err(StoreError::into_refusal)?;
        self.app.frozen.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// Lifts an agent's pause. The PIN was checked.
    ///
    /// # Errors
    /// `not_waiting` when it is not paused, `not_permitted`, `store_failed`.
    pub(crate) async fn resume_agent(&self, viewer: &Viewer, agent: Label) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        let (name, surface) = (viewer.person.name().to_string(), viewer.surface.as_str());
        let label = agent.clone();
        let lifted = self.app.store.call(move |store| store.resume_agent(&label, &name, surface)).await;
        if lifted.map_err(StoreError::into_refusal)? {
            return Ok(());
        }
        Err(Refusal::new(RefusalCode::NotWaiting, &format!("the agent {agent} is not paused")))
    }

    /// Writes down that the sign-in changes, or must not.
    pub(crate) async fn note_sign_in(
        &self,
        kind: &'static str,
        viewer: &Viewer,
        detail: serde_json::Value,
    ) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        self.note(kind, viewer, None, detail).await
    }

    /// Writes down that a backup was made or staged.
    pub(crate) async fn note_keep(&self, kind: &'static str, viewer: &Viewer) -> Result<(), Refusal> {
        self.permitted(viewer)?;
        self.note(kind, viewer, None, json!({})).await
    }
}
