//! Start and stop: two listeners, one line that says where they are, and then the wait for the end.

use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::clock;
use crate::config::{Config, Tokens};
use crate::faults::Faults;
use crate::fleet::rooms;
use crate::front::Front;
use crate::log::CallLog;
use crate::model::Stand;
use crate::web;
use crate::world::World;

/// Runs the simulator until it is told to stop.
pub(crate) fn start(config: &Config) -> Result<(), Box<dyn Error>> {
    let world = Arc::new(build(config)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(config, world))?;
    // Connections that still stall must not keep the process.
    runtime.shutdown_background();
    Ok(())
}

fn build(config: &Config) -> Result<World, Box<dyn Error>> {
    let rooms = usize::try_from(config.rooms)?;
    let sandbox = usize::try_from(config.sandbox_rooms.unwrap_or(config.rooms))?;
    let fleet = rooms::fleet(rooms, sandbox, clock::now_ms());
    let world = World::new(
        Tokens::read(config)?,
        if config.two_teams { fleet.apart() } else { fleet },
        CallLog::open(config.log.as_deref())?,
        Faults::new(config.fault, config.fault_once),
    );
    Ok(if config.oauth { world.with_sign_ins(config.oauth_seconds, config.oauth_origin.clone()) } else { world })
}

async fn run(config: &Config, world: Arc<World>) -> io::Result<()> {
    let (fleet, fleet_port) = web::open(config.port).await?;
    let (model, model_port) = web::open(config.model_port).await?;
    let front = Front::new(Arc::clone(&world));
    let stand = Stand::new(world);
    tokio::spawn(web::serve(fleet, move |request| front.clone().answer(request)));
    tokio::spawn(web::serve(model, move |request| stand.clone().answer(request)));
    announce(fleet_port, model_port)?;
    stop_requested(config.stop_with_stdin).await
}

/// The one line of standard output: where to connect.
fn announce(fleet: u16, model: u16) -> io::Result<()> {
    let line = json!({
        "mcp": format!("http://127.0.0.1:{fleet}/mcp"),
        "model": format!("http://127.0.0.1:{model}"),
        "pid": std::process::id(),
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

async fn stop_requested(with_stdin: bool) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (ended, end) = oneshot::channel();
    if with_stdin {
        std::thread::spawn(move || {
            let mut sink = [0_u8; 256];
            while matches!(io::stdin().lock().read(&mut sink), Ok(count) if count > 0) {}
            let _ = ended.send(());
        });
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = end => {}
        }
    } else {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
    Ok(())
}
