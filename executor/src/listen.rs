//! The two Unix sockets: who may speak is settled before the first byte is decoded.

use crate::app::App;
use crate::assistant_link;
use crate::config::ConfigError;
use crate::control_link;
use crate::desk::Desk;
use crate::intake::Intake;
use crate::launch::{CONTROL, PROPOSE};
use crate::serve::ServeError;
use crate::store::{StoreError, audit::Step};
use host::activation::Handed;
use serde_json::json;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::AbortHandle;

/// Connections of one socket that are served at once.
const MOST: usize = 32;

/// Open files that are enough for everything at once: both sockets' connections, the page's seats with four each (the
/// browser's, the way to the page's server, and that server's two) and a read of the fleet for each, and the store. The
/// page's server does not survive a failed accept, so it must never meet one.
pub(crate) const DESCRIPTORS: u64 = 1_024;

/// Both sockets: `propose.sock` 0600, `control.sock` 0660 for the operators' group. What was handed over is listened on
/// anew, the other is bound here.
pub(crate) fn bind(app: &App, handed: &mut Handed) -> Result<(UnixListener, UnixListener), ServeError> {
    let single = app.config.single_user();
    let mode = if single { 0o600 } else { 0o660 };
    let at = |folder: &str, name: &str| app.config.run.join(folder).join(name);
    let propose = at("propose", "propose.sock");
    let propose = match handed.unix(PROPOSE) {
        Some(listener) => host::socket::adopt(listener, &propose, 0o600),
        None => host::socket::bind(&propose, 0o600, None),
    };
    let propose = propose.map_err(|error| ServeError::Socket("propose.sock", error))?;
    let control = at("control", "control.sock");
    let control = match handed.unix(CONTROL) {
        Some(listener) => host::socket::adopt(listener, &control, mode),
        None => host::socket::bind(&control, mode, if single { None } else { Some(operators_group()?) }),
    };
    let control = control.map_err(|error| ServeError::Socket("control.sock", error))?;
    Ok((propose, control))
}

fn operators_group() -> Result<u32, ConfigError> {
    host::socket::gid_of_group("fleetwatch-operators").ok_or_else(|| {
        ConfigError("this machine has no group fleetwatch-operators; make it and put the operators into it".to_owned())
    })
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

/// Closed on without a word, and audited; a flood of strangers is one row a minute with their number.
async fn stranger(app: &App, surface: &'static str, uid: u32) {
    let Some(more) = app.strangers.take() else { return };
    let noted: Result<(), StoreError> = app
        .store
        .call(move |store| {
            store.note(&Step {
                kind: "stranger",
                proposal: None,
                principal: "executor",
                surface,
                detail: json!({ "uid": uid, "more_since_the_last": more }),
            })
        })
        .await;
    if let Err(error) = noted {
        tracing::error!(%error, "audit of a stranger");
    }
}

/// Serves at most [`MOST`] connections; a new one beyond that ends the oldest, so that silent ones keep nobody out.
async fn accept<F: Future<Output = ()> + Send + 'static>(listener: UnixListener, serve: impl Fn(UnixStream) -> F) {
    let mut seats: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                seats.retain(|seat| !seat.is_finished());
                if seats.len() >= MOST
                    && let Some(oldest) = seats.pop_front()
                {
                    oldest.abort();
                    // Its descriptor is given back before the next one is taken.
                    tokio::task::yield_now().await;
                }
                seats.push_back(tokio::spawn(serve(stream)).abort_handle());
            }
            Err(error) => {
                // Out of descriptors, most likely; the listener itself stays good.
                tracing::warn!(%error, "accept");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
