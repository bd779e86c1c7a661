//! What became of a proposal, who drafted it, and which sign-in it would use.

use crate::call::Slot;
use crate::limits;
use protocol::propose::{Origin, ProposalState};
use protocol::shown::Worded;

/// Where a proposal stands, as a sentence.
#[must_use]
pub fn state(state: ProposalState) -> Worded {
    let (en, es) = match state {
        ProposalState::Approved => ("Approved. It has not started yet.", "Aprobada. Aún no ha empezado."),
        ProposalState::Consumed => {
            ("It has started. What happened is not recorded yet.", "Ha empezado. El resultado aún no está registrado.")
        }
        ProposalState::Denied => ("Denied. Nothing ran.", "Denegada. No se ejecutó nada."),
        ProposalState::Error => ("The device reported a problem.", "El dispositivo informó de un problema."),
        ProposalState::Expired => (
            "Approved, but not started in time. Nothing ran.",
            "Aprobada, pero no empezó a tiempo. No se ejecutó nada.",
        ),
        ProposalState::ExpiredSeen => (
            "It expired after somebody saw it. Nothing ran.",
            "Caducó después de que alguien la viera. No se ejecutó nada.",
        ),
        ProposalState::ExpiredUnseen => {
            ("It expired before anybody saw it. Nothing ran.", "Caducó sin que nadie la viera. No se ejecutó nada.")
        }
        ProposalState::Ok => ("Done. The device accepted it.", "Hecho. El dispositivo lo aceptó."),
        ProposalState::Pending => ("It waits for a person.", "Espera la decisión de una persona."),
        ProposalState::Refused => {
            ("Refused by a check. Nothing ran.", "Rechazada por una comprobación. No se ejecutó nada.")
        }
        ProposalState::Revoked => (
            "Denied after approval, before it began. Nothing ran.",
            "Denegada tras aprobarse, antes de empezar. No se ejecutó nada.",
        ),
        ProposalState::Unknown => (
            "It may or may not have run. Check the unit first.",
            "Puede que se haya ejecutado o que no. Revise primero la unidad.",
        ),
        ProposalState::Withdrawn => {
            ("Taken back by its proposer. Nothing ran.", "Retirada por quien la propuso. No se ejecutó nada.")
        }
    };
    Worded::new(en, es)
}

/// Who drafted it.
#[must_use]
pub fn origin(origin: Origin) -> Worded {
    let (en, es) = match origin {
        Origin::Command => (
            "Sent through the assistant as typed by a person",
            "Enviada a través del asistente como escrita por una persona",
        ),
        Origin::Front => {
            ("Drafted by another agent, via the assistant", "Redactada por otro agente, a través del asistente")
        }
        Origin::Model => ("Drafted by the assistant's model", "Redactada por el modelo del asistente"),
        Origin::Undo => (
            "Drafted by Fleetwatch to undo an earlier change",
            "Redactada por Fleetwatch para deshacer un cambio anterior",
        ),
    };
    Worded::new(en, es)
}

/// The label of the box with the drafter's reason (`seed 000, Flow 3`). Always the same: whoever the assistant says wrote
/// it, it came through the assistant.
#[must_use]
pub fn reason_label() -> Worded {
    Worded::new("Written by the assistant, not checked", "Escrito por el asistente, sin comprobar")
}

/// Which sign-in a run would use.
#[must_use]
pub fn slot(slot: Slot) -> Worded {
    let (en, es) = match slot {
        Slot::Sandbox => (
            "Sandbox sign-in: a real unit of the sandbox team changes",
            "Cuenta de pruebas: cambia una unidad real del equipo de pruebas",
        ),
        Slot::Sim => ("Simulator: nothing real changes", "Simulador: no cambia nada real"),
    };
    Worded::new(en, es)
}

/// The note on a card for a person who approved `count` changes within the last half hour, when that is many
/// (issue line 2.17).
#[must_use]
pub fn pause_note(count: u64) -> Option<Worded> {
    (count >= limits::MANY_APPROVALS).then(|| {
        Worded::new(
            format!(
                "You have approved {count} changes within the last half hour. Read each card as if it were the first."
            ),
            format!("Ha aprobado {count} cambios en la última media hora. Lea cada tarjeta como si fuera la primera."),
        )
    })
}

/// The note on a card while `dry_run` is true.
#[must_use]
pub fn dry_run_note() -> Worded {
    Worded::new(
        "Dry run: an approval ends before the write, and nothing changes.",
        "Simulacro: una aprobación termina antes de la escritura y no cambia nada.",
    )
}
