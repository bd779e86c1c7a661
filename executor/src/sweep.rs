//! What is done once a second: expiries become events, and what the store could not take is offered again.

use crate::app::App;
use crate::decide::Decision;
use crate::intake::Intake;
use crate::store::{Store, StoreError};
use std::sync::PoisonError;
use std::time::Duration;

const ASK_AGAIN: Duration = Duration::from_secs(60);

/// Sweeps until the process ends.
pub(crate) async fn sweep(app: &App, intake: &Intake) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Err(error) = app.store.call(|store| store.expire_due()).await {
            tracing::error!(%error, "expiring what is due");
        }
        prune(app).await;
        intake.note_turned_away(false).await;
        offer_endings(app).await;
        take_back(app).await;
    }
}

/// Once a minute, while the server does not take a sign-in that is not over by itself, asks whether it does again: nobody is
/// told to propose meanwhile, so no other read would show it.
pub(crate) async fn ask_again(app: &App) {
    loop {
        tokio::time::sleep(ASK_AGAIN).await;
        if app.is_refused() {
            app.try_refused().await;
        }
    }
}

/// Once a day, and once soon after the start.
async fn prune(app: &App) {
    let last = app.pruned.lock().unwrap_or_else(PoisonError::into_inner).map_or(0, |pruned| pruned.at);
    if app.clock.unix() - last < 86_400 {
        return;
    }
    match app.store.call(Store::prune).await {
        Ok(pruned) => *app.pruned.lock().unwrap_or_else(PoisonError::into_inner) = Some(pruned),
        Err(error) => tracing::error!(%error, "pruning old rows"),
    }
}

/// Offers what the store has not taken yet. An ending is forgotten only when it is recorded, or never can be.
pub(crate) async fn offer_endings(app: &App) {
    let kept = app.unrecorded.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for ending in kept {
        let number = ending.news().number;
        match app.store.call(move |store| store.record(&ending)).await {
            Ok(()) => {}
            // The row has an outcome already, or is not ours to end: nothing more can be done about it.
            Err(StoreError::Corrupt(why)) => tracing::error!(why, "an outcome that the store will not take"),
            Err(error) => {
                tracing::error!(%error, %number, "an outcome is still not recorded");
                continue;
            }
        }
        let mut kept = app.unrecorded.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|ending| ending.news().number != number);
    }
}

async fn take_back(app: &App) {
    let kept = std::mem::take(&mut *app.to_withdraw.lock().unwrap_or_else(PoisonError::into_inner));
    for turn in kept {
        let again = turn.clone();
        if let Err(error) = app.store.call(move |store| withdraw_turn(store, &turn)).await {
            tracing::error!(%error, "withdrawing a turn");
            app.keep_to_withdraw(again);
        }
    }
}

/// Takes back what a failed turn has waiting; what somebody decided first stands.
///
/// # Errors
/// [`StoreError`] when the store could not be asked; then nothing is sure, and the caller asks again.
pub(crate) fn withdraw_turn(store: &mut Store, turn: &str) -> Result<(), StoreError> {
    for number in store.waiting_of_turn(turn)? {
        match store.decide(number, &Decision::Withdraw { turn }) {
            Ok(_) | Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
