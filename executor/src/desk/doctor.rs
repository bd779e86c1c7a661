//! What the executor finds when it looks at itself (`issue line 3.19`). The facts are gathered here; each ruling on them
//! is a pure function in `rows`. Nobody is signed in and no tool is called.

mod rows;
#[cfg(test)]
#[path = "doctor/tests.rs"]
mod tests;

use super::Desk;
use crate::store::{Limits, StoreError};
use control::status::{ExecutorDoctor, QueueStatus};
use protocol::doctor::{Check, MOST_PATHS, Report};
use protocol::refusal::Refusal;
use reader::doctor as shared;
use rows::{Autonomy, Past};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

impl Desk {
    /// Looks at everything that this process can see.
    ///
    /// # Errors
    /// `store_failed`.
    pub(crate) async fn doctor(&self) -> Result<ExecutorDoctor, Refusal> {
        let app = &self.app;
        let (look, queue, head, frozen, paused, lost) = app
            .store
            .call(|store| {
                let (look, queue) = (store.look()?, store.queue()?);
                Ok((look, queue, store.audit_head()?, store.is_frozen()?, store.paused_agents()?, store.has_lost()))
            })
            .await
            .map_err(StoreError::into_refusal)?;
        let limits = Limits::EPIPHAN;
        let queue =
            QueueStatus { pending: queue.0, pending_limit: limits.pending, hour: queue.1, hour_limit: limits.per_hour };
        let refused = app.signed_out.load(Ordering::Relaxed);
        let set = Autonomy { proposes: app.config.proposes(), dry_run: app.config.behaviour.dry_run() };
        let fence = app.config.fence.as_ref().map(policy::fence::Fence::describe);
        let past = Past { sequence: head.sequence, witness: app.witness(), started: app.started, lost };
        let zone = app.config.behaviour.timezone();
        let closed = self.closed();
        let mut rows = vec![
            shared::policy_files(&app.config.policy_dir, &app.config.policy_hash),
            shared::guard(&app.config.tools),
            shared::redaction(),
            shared::sign_in(app.reads.sign_in(), refused, app.config.slot.as_str()).await,
            shared::server(Check::Fleet, &app.config.mcp_url).await,
            rows::fence(fence.as_deref(), set.proposes),
            rows::autonomy(set),
            rows::queue(queue),
            rows::frozen(frozen),
            rows::agents(&paused),
            rows::pins(app.registry.operators(), &app.registry.without_pin(), &app.registry.is_on_disk()),
            rows::page(app.page.get().map(String::as_str), app.config.single_user()),
            rows::notify(app.notifier.as_ref().map(|notifier| notifier.service())),
            rows::sqlite(&look),
            rows::store(&look.wrong_files),
            rows::lock(&look.alone),
            rows::disk(&look.free),
            rows::backup(look.backup_age),
            rows::audit(past),
            rows::clock(zone, app.clock.boot_id()),
            shared::own_folder(&app.config.state),
            shared::service(),
            shared::sandbox(),
        ];
        rows.extend(rows::untried(&closed.left_out));
        let report = Report::new(&app.config.policy_hash, rows);
        Ok(ExecutorDoctor { report, isolation: app.isolation(), closed: closed.paths })
    }

    /// What the assistant must not be able to open (`issue line 3.20`).
    fn closed(&self) -> Closed {
        let config = &self.app.config;
        let process = PathBuf::from(format!("/proc/{}", std::process::id()));
        let files = ["store.db", "store.db-wal", "spent.log", "audit.key", "page-secret"];
        let mut paths: Vec<PathBuf> = files.iter().map(|name| config.state.join(name)).collect();
        paths.extend([config.token_file.clone(), config.principals.clone()]);
        paths.push(config.run.join("control").join("control.sock"));
        // The binding key is in memory alone.
        paths.extend(["environ", "fd", "mem"].map(|name| process.join(name)));
        paths.extend(config.notify.iter().map(|(_, file)| file.clone()));
        // Older databases, a staged restore, and whatever else came to lie there.
        let entries = std::fs::read_dir(&config.state).into_iter().flatten();
        let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        found.sort();
        paths.extend(found);
        Closed::of(paths)
    }
}

/// The paths that the assistant is asked to try, and those that no question can hold.
#[derive(Debug, PartialEq, Eq)]
struct Closed {
    paths: Vec<String>,
    left_out: Vec<PathBuf>,
}

impl Closed {
    /// Each path once, the first ones first. One that is no text has no name in a question, and beyond [`MOST_PATHS`] none
    /// is asked for; both are told rather than forgotten.
    fn of(paths: Vec<PathBuf>) -> Self {
        let mut closed = Self { paths: Vec::new(), left_out: Vec::new() };
        for path in paths {
            let text = path.to_str().filter(|_| closed.paths.len() < MOST_PATHS).map(str::to_owned);
            match text {
                Some(text) if !closed.paths.contains(&text) => closed.paths.push(text),
                None if !closed.is_asked(&path) => closed.left_out.push(path),
                Some(_) | None => {}
            }
        }
        closed
    }

    fn is_asked(&self, path: &Path) -> bool {
        self.paths.iter().any(|asked| Path::new(asked) == path)
    }
}
