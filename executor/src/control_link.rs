//! One connection of `control.sock`: an operator's words, carried to the desk.

use crate::app::App;
use crate::decide::Surface;
use crate::desk::{Desk, Viewer, YesTo};
use crate::keep::Transfer;
use crate::login::Login;
use crate::principals::Person;
use control::message::{Approve, ExecutorSays, OperatorSays};
use host::link::Link;
use protocol::hello::{Hello, Reply, Request};
use protocol::refusal::{Refusal, RefusalCode};
use sha2::{Digest, Sha256};
use std::future::Future;
use std::time::Duration;
use tokio::net::UnixStream;

const GREETING: Duration = Duration::from_secs(5);
const SEND: Duration = Duration::from_secs(5);
/// A person may read a card for a long time.
const SILENCE: Duration = Duration::from_secs(1_800);

/// Serves one connection to its end. `person` is on the operators list by its uid.
pub(crate) async fn serve(app: &App, desk: &Desk, person: Person, stream: UnixStream) {
    let mut link: Link<Reply<ExecutorSays>, Request<OperatorSays>> = Link::new(stream);
    let Ok(Some(Request { id, say: OperatorSays::Hello(hello) })) = link.recv(GREETING).await else { return };
    let greeted = link.send(&Reply { id, say: ExecutorSays::Hello(Hello::ours()) }, SEND).await;
    let Ok(random) = host::secret::random_bytes::<32>() else { return };
    if greeted.is_err() || !hello.speaks_ours() {
        return;
    }
    let uid = person.uid();
    let (mut transfer, mut login) = (Transfer::default(), Login::default());
    let mut viewer = Viewer { person, surface: Surface::Command, session: Sha256::digest(random).into() };
    while let Ok(Some(Request { id, say })) = link.recv(SILENCE).await {
        // Looked up again for every word: whoever left the list, leaves here.
        let Some(person) = app.registry.person_of_uid(uid) else { return };
        viewer.person = person;
        // For a word that asks the server first: it may be given up, to its own end, when nobody is there to hear of it.
        let gone = async { drop(link.closed().await) };
        let said = answer((app, desk), &viewer, (&mut transfer, &mut login), (say, gone)).await;
        let say = said.unwrap_or_else(ExecutorSays::Refused);
        if link.send(&Reply { id, say }, SEND).await.is_err() {
            return;
        }
    }
}

async fn answer(
    (app, desk): (&App, &Desk),
    viewer: &Viewer,
    (transfer, login): (&mut Transfer, &mut Login),
    (say, gone): (OperatorSays, impl Future<Output = ()>),
) -> Result<ExecutorSays, Refusal> {
    Ok(match say {
        OperatorSays::Approve(Approve { number, ticket, digest, pin, confirm }) => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            ExecutorSays::Ended(desk.approve(viewer, YesTo { number, ticket, digest, confirm }).await?)
        }
        OperatorSays::AgentResume { agent, pin } => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            desk.resume_agent(viewer, agent).await?;
            ExecutorSays::AgentResumed
        }
        OperatorSays::AuditRows { after } => ExecutorSays::AuditRows(desk.audit_rows(after).await?),
        OperatorSays::AuditVerify => ExecutorSays::Audit(desk.verify_audit().await?),
        OperatorSays::Backup { offset } => transfer.backup(app, desk, viewer, offset).await?,
        OperatorSays::Deny { number } => ExecutorSays::Ended(desk.deny(viewer, number).await?),
        OperatorSays::DenyAll => ExecutorSays::DeniedAll { numbers: desk.deny_all(viewer).await? },
        OperatorSays::Doctor => ExecutorSays::Doctor(Box::new(desk.doctor().await?)),
        OperatorSays::Freeze => ExecutorSays::Frozen { numbers: desk.freeze(viewer).await? },
        OperatorSays::Hello(_) => return Err(Refusal::bare(RefusalCode::NotPermitted)),
        OperatorSays::History { most, search } => ExecutorSays::History(desk.history(most, search.as_deref()).await?),
        OperatorSays::List => ExecutorSays::Waiting(desk.waiting().await?),
        OperatorSays::Login { known, pin } => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            login.begin(app, known).await?
        }
        OperatorSays::LoginCallback { address } => login.paste(&address)?,
        OperatorSays::LoginWait => login.wait((app, desk), viewer, gone).await?,
        OperatorSays::Logout { pin } => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            login.end((app, desk), viewer).await?
        }
        OperatorSays::PageCode { pin } => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            let code = desk.page_code(viewer).await?.expose().to_owned();
            ExecutorSays::PageCode { code, seconds: crate::codes::LIFE }
        }
        OperatorSays::ProposeUndo { number } => {
            ExecutorSays::Admitted { number: desk.propose_undo(viewer, number).await? }
        }
        OperatorSays::Restore { pin, total, bytes } => {
            transfer.restore(app, (desk, viewer), pin, (total, bytes)).await?
        }
        OperatorSays::PinSet { old, new } => {
            desk.set_pin(viewer, old.as_ref(), &new).await?;
            ExecutorSays::PinSaved
        }
        OperatorSays::Show { number } => ExecutorSays::Card(Box::new(desk.show(viewer, number).await?)),
        OperatorSays::Status => ExecutorSays::Status(Box::new(desk.status_for(viewer).await?)),
        OperatorSays::Thaw { pin } => {
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            desk.thaw(viewer).await?;
            ExecutorSays::Thawed
        }
    })
}
