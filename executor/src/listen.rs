//! The two Unix sockets: who may speak is settled before the first byte is decoded.

use crate::app::App;
use crate::assistant_link;
use crate::config::ConfigError;
use crate::control_link;
use crate::desk::Desk;
use crate::intake::Intake;
use crate::store::{StoreError, audit::Step};
use serde_json::json;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

/// Connections of one socket that are served at once.
const MOST: usize = 32;

/// Binds both sockets: `propose.sock` 0600, `control.sock` 0660 for the operators' group.
pub(crate) fn bind(app: &App) -> Result<(UnixListener, UnixListener), ConfigError> {
    let single = app.config.single_user();
    let operators = if single { None } else { host::socket::gid_of_group("fleetwatch-operators") };
    let mode = if single { 0o600 } else { 0o660 };
    let bound = |folder: &str, name: &str, mode, group| {
        host::socket::bind(&app.config.run.join(folder).join(name), mode, group)
            .map_err(|e| ConfigError(format!("{name}: {e}")))
    };
    let propose = bound("propose", "propose.sock", 0o600, None)?;
    let control = bound("control", "control.sock", mode, operators)?;
    Ok((propose, control))
}

/// Serves assistants until the process ends.
pub(crate) async fn serve_propose(app: Arc<App>, intake: Arc<Intake>, listener: UnixListener) {
    accept(listener, |stream| {
        let (app, intake) = (app.clone(), intake.clone());
        async move {
            match host::socket::peer_uid(&stream) {
                Ok(uid) if uid == app.config.assistant_uid => assistant_link::serve(&app, &intake, stream).await,
                Ok(uid) => stranger(&app, "propose", uid).await,
                Err(error) => tracing::warn!(%error, "propose.sock peer"),
            }
        }
    })
    .await;
}

/// Serves operators until the process ends.
pub(crate) async fn serve_control(app: Arc<App>, desk: Desk, listener: UnixListener) {
    accept(listener, |stream| {
        let (app, desk) = (app.clone(), desk.clone());
        async move {
            let uid = match host::socket::peer_uid(&stream) {
                Ok(uid) => uid,
                Err(error) => return tracing::warn!(%error, "control.sock peer"),
            };
            let assistant = uid == app.config.assistant_uid && !app.config.single_user();
            match app.registry.person_of_uid(uid) {
                Some(person) if !assistant => control_link::serve(&app, &desk, person, stream).await,
                Some(_) | None => stranger(&app, "control", uid).await,
            }
        }
    })
    .await;
}

/// Closed on without a word, and audited.
async fn stranger(app: &App, surface: &'static str, uid: u32) {
    let noted: Result<(), StoreError> = app
        .store
        .call(move |store| {
            store.note(&Step {
                kind: "stranger",
                proposal: None,
                principal: "executor",
                surface,
                detail: json!({ "uid": uid }),
            })
        })
        .await;
    if let Err(error) = noted {
        tracing::error!(%error, "audit of a stranger");
    }
}

async fn accept<F: Future<Output = ()> + Send + 'static>(listener: UnixListener, serve: impl Fn(UnixStream) -> F) {
    let permits = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let work = serve(stream);
                tokio::spawn(async move {
                    work.await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of descriptors, most likely; the listener itself stays good.
                tracing::warn!(%error, "accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
