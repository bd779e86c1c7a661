//! One connection of `propose.sock`: a turn, or polling.

use crate::app::App;
use crate::intake::{Agent, Intake, UNDO_AGENT};
use crate::store::WitnessVerdict;
use crate::sweep::withdraw_turn;
use control::status::Witness;
use host::link::Link;
use protocol::guard::stands;
use protocol::hello::{AuditHead, Hello, Reply, Request};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, Origin, Proposing};
use protocol::refusal::{Refusal, RefusalCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;

type Wire = Link<Reply<ExecutorSays>, Request<AssistantSays>>;

const GREETING: Duration = Duration::from_secs(5);
const SEND: Duration = Duration::from_secs(5);
/// A turn takes at most a minute of the model's time; a silent one is over.
const TURN_SILENCE: Duration = Duration::from_secs(120);
/// An ack names no more than what one answer can hold.
const MOST_ACKED: usize = 100;
const POLL_SILENCE: Duration = Duration::from_secs(60);

/// Serves one connection to its end.
pub(crate) async fn serve(app: &Arc<App>, intake: &Arc<Intake>, stream: UnixStream) {
    // A flood of connections is dropped before it costs a read of the store or a row of the audit.
    if !intake.admits_connection() {
        return;
    }
    let mut link = Wire::new(stream);
    let Some((agent, kind)) = greet(app, intake, &mut link).await else { return };
    match kind {
        LinkKind::Poll => poll((app, intake), &mut link, &agent).await,
        LinkKind::Turn => {
            // Whatever ends this task, the turn is taken back unless it ended as it should.
            let mut open = OpenTurn { app, turn: Some(agent.turn.clone()) };
            let ended = turn(intake, &mut link, &agent).await;
            open.turn = None;
            if !ended {
                withdraw(app, &agent).await;
            }
        }
    }
}

/// A turn that has not ended: dropped in the middle, it is left to the sweep.
struct OpenTurn<'a> {
    app: &'a App,
    turn: Option<String>,
}

impl Drop for OpenTurn<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.app.keep_to_withdraw(turn);
        }
    }
}

async fn greet(app: &App, intake: &Intake, link: &mut Wire) -> Option<(Agent, LinkKind)> {
    let Ok(Some(Request { id, say })) = link.recv(GREETING).await else { return None };
    let AssistantSays::Hello { hello, kind, agent, witness } = say else { return None };
    // The executor's own label: nobody else speaks, is paused or is told news under it.
    if agent.as_str() == UNDO_AGENT {
        return None;
    }
    if let Some(witness) = witness {
        judge(app, intake, witness).await?;
    }
    let head = app.store.call(|store| store.audit_head()).await.ok()?;
    let say =
        ExecutorSays::Hello { hello: Hello::ours(), head, isolation: app.isolation(), proposing: proposing(intake) };
    link.send(&Reply { id, say }, SEND).await.ok()?;
    if !hello.speaks_ours() {
        return None;
    }
    let turn = uuid::Uuid::from_bytes(host::secret::random_bytes::<16>().ok()?).to_string();
    Some((Agent { label: agent, turn }, kind))
}

fn proposing(intake: &Intake) -> Proposing {
    match intake.possible() {
        // A draft would end with this code, by a read of its own.
        Ok(()) if intake.is_refused() => Proposing::Off(RefusalCode::SignInDead),
        Ok(()) => Proposing::On,
        Err(refusal) => Proposing::Off(refusal.code),
    }
}

/// Compares the witness with our history. An error closes the link: an unknown state is a refusal.
async fn judge(app: &App, intake: &Intake, witness: AuditHead) -> Option<()> {
    // Once an old database was seen, nothing that the peer says clears it before the next start.
    if app.witness() == Witness::Newer {
        return Some(());
    }
    let verdict = app.store.call(move |store| store.judge_witness(&witness)).await;
    match verdict.inspect_err(|error| tracing::error!(%error, "witness")).ok()? {
        WitnessVerdict::Fits => app.set_witness(Witness::Agrees),
        WitnessVerdict::BadMac => {
            app.set_witness(Witness::BadMac);
            intake.note_bad_witness(witness.sequence).await;
        }
        WitnessVerdict::Newer => app.set_witness(Witness::Newer),
    }
    Some(())
}

/// Tells whether the turn ended as it should.
async fn turn(intake: &Arc<Intake>, link: &mut Wire, agent: &Agent) -> bool {
    while let Ok(Some(Request { id, say })) = link.recv(TURN_SILENCE).await {
        let answer = match say {
            // A draft of the executor's own cannot come from here.
            AssistantSays::Propose(draft) if draft.origin == Origin::Undo => {
                ExecutorSays::Refused(Refusal::bare(RefusalCode::NotPermitted))
            }
            AssistantSays::Propose(draft) => match intake.propose(agent, draft).await {
                Ok(number) => ExecutorSays::Admitted { number },
                Err(refusal) => ExecutorSays::Refused(refusal),
            },
            AssistantSays::TurnEnd => {
                // The turn has ended whether or not the assistant waits for the answer.
                let _ = link.send(&Reply { id, say: ExecutorSays::TurnEnded }, SEND).await;
                return true;
            }
            AssistantSays::Ack { .. }
            | AssistantSays::Changeable
            | AssistantSays::Hello { .. }
            | AssistantSays::Live
            | AssistantSays::Poll
            | AssistantSays::Standing { .. } => ExecutorSays::Refused(Refusal::bare(RefusalCode::NotPermitted)),
        };
        if link.send(&Reply { id, say: answer }, SEND).await.is_err() {
            return false;
        }
    }
    false
}

async fn poll((app, intake): (&App, &Intake), link: &mut Wire, agent: &Agent) {
    while let Ok(Some(Request { id, say })) = link.recv(POLL_SILENCE).await {
        let label = agent.label.clone();
        let answer = match say {
            AssistantSays::Poll => {
                app.store
                    .call(move |store| {
                        let items = store.news(&label)?;
                        Ok(ExecutorSays::News { head: store.audit_head()?, items })
                    })
                    .await
            }
            AssistantSays::Ack { numbers } if numbers.len() > MOST_ACKED && stands(RefusalCode::TooLarge) => {
                Ok(ExecutorSays::Refused(Refusal::bare(RefusalCode::TooLarge)))
            }
            AssistantSays::Ack { numbers } => {
                app.store.call(move |store| store.ack(&label, &numbers).map(|()| ExecutorSays::Acked)).await
            }
            AssistantSays::Changeable => Ok(match intake.changeable(agent).await {
                Ok(json) => ExecutorSays::Changeable { json },
                Err(refusal) => ExecutorSays::Refused(refusal),
            }),
            AssistantSays::Live => app.store.call(move |store| store.live(&label).map(ExecutorSays::Live)).await,
            AssistantSays::Standing { number } => {
                app.store.call(move |store| store.standing(&label, number).map(ExecutorSays::Standing)).await
            }
            AssistantSays::Hello { .. } | AssistantSays::Propose(_) | AssistantSays::TurnEnd => {
                Ok(ExecutorSays::Refused(Refusal::bare(RefusalCode::NotPermitted)))
            }
        };
        let say = answer.unwrap_or_else(|error| ExecutorSays::Refused(error.into_refusal()));
        if link.send(&Reply { id, say }, SEND).await.is_err() {
            return;
        }
    }
}

/// The turn failed or hung up: what it proposed and nobody decided is taken back (`seed 000, Fallback`).
async fn withdraw(app: &App, agent: &Agent) {
    let turn = agent.turn.clone();
    if let Err(error) = app.store.call(move |store| withdraw_turn(store, &turn)).await {
        tracing::error!(%error, "withdrawing a turn; trying again");
        app.keep_to_withdraw(agent.turn.clone());
    }
}
