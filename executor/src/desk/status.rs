//! How the executor is, and what is wrong with what to do.

use super::{Desk, Viewer};
use crate::store::{Limits, StoreError};
use control::status::{ExecutorStatus, Problem, QueueStatus, StartReport};
use protocol::hello::Hello;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use std::sync::PoisonError;

impl Desk {
    /// How the executor is, and whether this operator lacks a PIN while others have theirs.
    pub(crate) async fn status_for(&self, viewer: &Viewer) -> Result<ExecutorStatus, Refusal> {
        let mut status = self.status().await?;
        let people = &self.app.registry;
        if people.any_pin() && !people.has_pin(&viewer.person) {
            let advice = Worded::new(
                "You have no PIN, so whoever runs programs as you could set one and approve. Run fleetwatchctl pin set.",
                "Usted no tiene PIN; quien ejecute programas en su nombre podría definir uno y aprobar. Ejecute \
                 fleetwatchctl pin set.",
            );
            status.problems.push(Problem { code: RefusalCode::NoPin, advice });
        }
        Ok(status)
    }

    /// How the executor is.
    pub(crate) async fn status(&self) -> Result<ExecutorStatus, Refusal> {
        let app = &self.app;
        let (queue, head, frozen, paused_agents, lost) = app
            .store
            .call(|store| {
                Ok((store.queue()?, store.audit_head()?, store.is_frozen()?, store.paused_agents()?, store.has_lost()))
            })
            .await
            .map_err(StoreError::into_refusal)?;
        let limits = Limits::EPIPHAN;
        Ok(ExecutorStatus {
            hello: Hello::ours(),
            uptime_seconds: u64::try_from((app.clock.boot_ms() - app.started_boot_ms) / 1_000).unwrap_or(0),
            isolation: app.isolation(),
            witness: app.witness(),
            slot: app.config.slot.as_str().to_owned(),
            sign_in: app.sign_in_facts().usable,
            fence: app.config.fence.as_ref().map_or_else(|| "none".to_owned(), policy::fence::Fence::describe),
            autonomy: if app.config.proposes() { "propose" } else { "observe" }.to_owned(),
            dry_run: app.config.behaviour.dry_run(),
            frozen,
            queue: QueueStatus {
                pending: queue.0,
                pending_limit: limits.pending,
                hour: queue.1,
                hour_limit: limits.per_hour,
            },
            last_read_seconds: app.last_read_seconds(),
            page: app.page.get().cloned(),
            audit_sequence: head.sequence,
            start: StartReport {
                expired: app.started.expired,
                unknown: app.started.unknown,
                restored: app.started.restored,
                backup: app.started.backup,
            },
            pruned: app
                .pruned
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .map(|pruned| (u64::try_from(app.clock.unix() - pruned.at).unwrap_or(0), pruned.rows)),
            sandbox_missing: host::sandbox::missing(),
            problems: self.problems(queue, (frozen, lost), &paused_agents),
            paused_agents,
        })
    }

    fn problems(&self, queue: (u64, u64), (frozen, lost): (bool, bool), paused: &[String]) -> Vec<Problem> {
        let app = &self.app;
        let limits = Limits::EPIPHAN;
        let mut found = Vec::new();
        let mut say = |wrong: bool, code, en: &str, es: &str| {
            if wrong {
                found.push(Problem { code, advice: Worded::new(en, es) });
            }
        };
        say(
            app.config.fence.is_none(),
            RefusalCode::NoFence,
            "Set FLEETWATCH_WRITE_DEVICE_IDS or FLEETWATCH_WRITE_TEAM_ID and start the executor again.",
            "Defina FLEETWATCH_WRITE_DEVICE_IDS o FLEETWATCH_WRITE_TEAM_ID y vuelva a iniciar el ejecutor.",
        );
        let sign_in = app.sign_in_facts();
        if let Some(trouble) = sign_in.trouble {
            let code = if sign_in.is_dead() { RefusalCode::SignInDead } else { RefusalCode::NoSignIn };
            let words = trouble.words();
            say(true, code, &words.en, &words.es);
        }
        say(
            app.registry.operators() == 0,
            RefusalCode::NotPermitted,
            "Nobody is an operator. Add a person with operator: true to principals.yaml.",
            "Nadie es operador. Añada una persona con operator: true a principals.yaml.",
        );
        say(
            app.registry.operators() > 0 && !app.registry.any_pin(),
            RefusalCode::NoPin,
            "No operator has a PIN. Run fleetwatchctl pin set.",
            "Ningún operador tiene PIN. Ejecute fleetwatchctl pin set.",
        );
        say(
            lost || app.started.restored > 0 || app.witness() == control::status::Witness::Newer,
            RefusalCode::BindingMismatch,
            "The database is or was older than its spent log or the assistant's witness: somebody restored it, or cut its end \
             off. Run fleetwatchctl audit verify.",
            "La base de datos es o fue más antigua que su registro de gastos o que el testigo del asistente: alguien la \
             restauró o le cortó el final. Ejecute fleetwatchctl audit verify.",
        );
        say(
            app.started.torn,
            RefusalCode::BindingMismatch,
            "The spent log's last line was torn: what was approved then may have run. Read the audit and check the unit.",
            "La última línea del registro de gastos estaba cortada: lo aprobado entonces pudo ejecutarse. Lea la \
             auditoría y revise la unidad.",
        );
        say(
            frozen,
            RefusalCode::Frozen,
            "Everything is frozen. Run fleetwatchctl thaw when it may go on.",
            "Todo está congelado. Ejecute fleetwatchctl thaw cuando pueda continuar.",
        );
        say(
            !paused.is_empty(),
            RefusalCode::AgentPaused,
            "Look at what it proposed, then run fleetwatchctl approvals agents resume.",
            "Mire lo que propuso y luego ejecute fleetwatchctl approvals agents resume.",
        );
        say(queue.0 >= limits.pending, RefusalCode::QueueFull, "Decide what waits.", "Decida lo que espera.");
        say(
            queue.1 >= limits.per_hour,
            RefusalCode::HourlyLimit,
            "The hour's proposals are used up. Wait, or deny what should not count.",
            "Las propuestas de esta hora se agotaron. Espere, o deniegue lo que no deba contar.",
        );
        found
    }
}
