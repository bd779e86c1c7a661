//! A sign-in between the person's yes in the browser and the file: kept, or taken back at the server, and nothing between.

use super::{Held, SignIn, SignedOut};
use crate::oauth;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

/// A sign-in that was just made and is not kept yet. Dropping it takes its tokens back at the server, unless it was kept.
#[derive(Debug)]
pub struct NewSignIn {
    pub(super) looks: Arc<SignIn>,
    pub(super) settled: AtomicBool,
}

impl NewSignIn {
    pub(super) fn new(looks: Arc<SignIn>) -> Self {
        Self { looks, settled: AtomicBool::new(false) }
    }

    /// The sign-in to read with before it is kept.
    #[must_use]
    pub fn looks(&self) -> &Arc<SignIn> {
        &self.looks
    }

    /// Takes its tokens back at the server, to the end even if nobody waits for it.
    pub async fn forget(self) -> SignedOut {
        self.settled.store(true, Ordering::SeqCst);
        let revoking = tokio::spawn(revoked(Arc::clone(&self.looks)));
        revoking.await.unwrap_or(SignedOut::NotRevoked)
    }
}

impl Drop for NewSignIn {
    fn drop(&mut self) {
        if self.settled.load(Ordering::SeqCst) {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(revoked(Arc::clone(&self.looks)))),
            Err(_) => tracing::warn!("a sign-in that was not kept lives on at the server: end that session there"),
        }
    }
}

async fn revoked(looks: Arc<SignIn>) -> SignedOut {
    let held = looks.held().clone();
    match held {
        Held::Signed { record, .. } => oauth::revoke_unwanted(looks.endpoint.slot(), &record).await.into(),
        Held::Nothing | Held::Bearer(_) | Held::Foreign => SignedOut::Nothing,
    }
}
