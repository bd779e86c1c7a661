//! What other agents may do through `ask.sock` (issue line 3.16): read by name, draft a change as their own kind of proposal,
//! and ask what became of it. Nothing here decides, and no model is asked. Each agents' user has a label of its own at the
//! executor, so none is told of, rationed or paused for what another one did.

use crate::changeable;
use crate::desk::Desk;
use crate::fleet;
use crate::poll::Hears;
use crate::propose::{Draft, ExecutorError, ExecutorLink, FRONT};
use crate::teller::Teller;
use crate::tools::{self, CHANGEABLE, PROPOSE};
use crate::turn::{self, Behalf};
use host::clock::Clock;
use host::link::LinkError;
use policy::tool_policy;
use protocol::ask::{AssistantSays, OfferedTool};
use protocol::canonical::Canonical;
use protocol::ids::ProposalNumber;
use protocol::propose::{AssistantSays as Word, ExecutorSays, LinkKind, Origin};
use protocol::refusal::{Refusal, RefusalCode};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

const ANSWER: Duration = Duration::from_secs(5);

/// Readings for other agents at a time: what they ask for never takes all of the reader from the people.
const READS: usize = 2;

/// The executor serves an assistant so many connections a second and no more; other agents get half of them, and a few at
/// once, so that their questions never stand in the way of the people's.
const BETWEEN_MS: i64 = 500;
const AT_ONCE_MS: i64 = 4 * BETWEEN_MS;

/// What all other agents share.
#[derive(Debug)]
pub(crate) struct Front {
    reads: Semaphore,
    // The list of what can be changed is the executor's reading, which may take long: it holds no seat of the others.
    lists: Semaphore,
    // When the executor may be asked next, in milliseconds of the boot clock.
    next: Mutex<i64>,
}

impl Default for Front {
    fn default() -> Self {
        Self { reads: Semaphore::new(READS), lists: Semaphore::new(1), next: Mutex::new(0) }
    }
}

impl Front {
    /// Waits for its place in the row.
    async fn pace(&self, clock: &Clock) {
        let now = clock.boot_ms();
        let at = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let at = (*next).max(now - AT_ONCE_MS + BETWEEN_MS);
            *next = at + BETWEEN_MS;
            at
        };
        if let Ok(wait) = u64::try_from(at - now) {
            tokio::time::sleep(Duration::from_millis(wait)).await;
        }
    }
}

/// The label at the executor of an agent that this asker is: the agents' users have one each, the people's agents one
/// together, since people may see and stop all of it anyway.
pub(crate) fn label(asker: Hears) -> String {
    match asker {
        Hears::All(_) => FRONT.to_owned(),
        Hears::Own(uid) => format!("{FRONT}-{uid}"),
    }
}

/// The tools for other agents: the readings that a model is offered, the list of what can be changed, and the one that proposes.
pub(crate) fn offered(desk: &Desk) -> Vec<OfferedTool> {
    let read = |name: &str| OfferedTool {
        name: name.to_owned(),
        description: tools::description(name).to_owned(),
        schema: tool_policy::read_schema(name).to_string().into_bytes(),
    };
    let mut offered: Vec<_> = desk.tools.reads().map(read).collect();
    offered.push(OfferedTool { schema: tools::changeable_schema().to_string().into_bytes(), ..read(CHANGEABLE) });
    offered.push(propose_tool(desk));
    offered
}

fn propose_tool(desk: &Desk) -> OfferedTool {
    let (changes, schema) = tools::changes(&desk.policy);
    let description = format!(
        "Proposes one change. Nothing runs: a person sees a card and approves or denies it; you get the proposal's number \
         at once and ask proposal_status what became of it. Propose only what the people you work for asked for, with \
         ids from get_changeable_devices, never names. The changes and their arguments:\n{changes}"
    );
    OfferedTool { name: PROPOSE.to_owned(), description, schema: schema.to_string().into_bytes() }
}

/// One reading: guarded as any other, redacted and cut as for a model.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn read(
    desk: &Desk,
    label: &str,
    (tool, arguments): (&str, &[u8]),
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let say = match reading(desk, label, (tool, arguments)).await {
        Ok(quoted) => AssistantSays::Data { json: quoted.json, cut: quoted.cut },
        Err(refusal) => AssistantSays::Refused(refusal),
    };
    teller.tell(say).await
}

async fn reading(desk: &Desk, label: &str, (tool, arguments): (&str, &[u8])) -> Result<reader::quote::Quoted, Refusal> {
    if tool == CHANGEABLE {
        return what_can_change(desk, label, arguments).await;
    }
    // The guard speaks first, so that a write tool is refused as such.
    desk.policy.guard(tool)?;
    let name = desk.tools.readable(tool).ok_or_else(|| {
        Refusal::new(RefusalCode::NotPermitted, &format!("{tool}: pictures of rooms are not given to other agents"))
    })?;
    let arguments = Canonical::parse(arguments)?;
    // Never closed.
    let _seat = desk.front.reads.acquire().await.map_err(|_| Refusal::bare(RefusalCode::TooManyRequests))?;
    let value = desk.fleet.read(&desk.policy, name, arguments.value()).await.map_err(|failure| failure.refusal())?;
    fleet::quoted_data(name, value)
        .ok_or_else(|| Refusal::new(RefusalCode::ReadFailed, "the fleet's answer was not understood"))
}

// The executor's own reading, redacted and cut like any other. It has a bucket for it and one reading at a time.
async fn what_can_change(desk: &Desk, label: &str, arguments: &[u8]) -> Result<reader::quote::Quoted, Refusal> {
    let arguments = Canonical::parse(arguments)?;
    // Never closed.
    let _seat = desk.front.lists.acquire().await.map_err(|_| Refusal::bare(RefusalCode::TooManyRequests))?;
    desk.front.pace(&desk.clock).await;
    let value = changeable::read(desk, label, arguments.value()).await?;
    fleet::quoted_data(CHANGEABLE, value)
        .ok_or_else(|| Refusal::new(RefusalCode::ReadFailed, "the executor's answer was not understood"))
}

/// Hands over a change that another agent drafted, as a turn of its own.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn draft(
    desk: &Desk,
    label: &str,
    (tool, arguments, reason): (String, Vec<u8>, String),
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    desk.front.pace(&desk.clock).await;
    turn::command(desk, Behalf::Agent(label), Draft { origin: Origin::Front, tool, arguments, reason }, teller).await
}

/// What the agents under this label have waiting.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn live(desk: &Desk, label: &str, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    let say = match ask(desk, label, Word::Live).await {
        Ok(ExecutorSays::Live(live)) => AssistantSays::Live(live),
        other => refused(other),
    };
    teller.tell(say).await
}

/// Where a proposal under this label stands. What people, or agents of other users, proposed is none of its business.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn standing(
    desk: &Desk,
    label: &str,
    number: ProposalNumber,
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let say = match ask(desk, label, Word::Standing { number }).await {
        Ok(ExecutorSays::Standing(news)) if news.number == number => AssistantSays::Standing(news),
        other => refused(other),
    };
    teller.tell(say).await
}

async fn ask(desk: &Desk, label: &str, word: Word) -> Result<ExecutorSays, ExecutorError> {
    desk.front.pace(&desk.clock).await;
    let mut link = ExecutorLink::open_as(label, &desk.executor, LinkKind::Poll, desk.poll.head()).await?;
    link.exchange(word, ANSWER).await
}

fn refused(answer: Result<ExecutorSays, ExecutorError>) -> AssistantSays {
    let refusal = match answer {
        Ok(ExecutorSays::Refused(refusal)) | Err(ExecutorError::Refused(refusal)) => refusal,
        Err(ExecutorError::Version) => Refusal::bare(RefusalCode::WireVersion),
        Ok(
            ExecutorSays::Acked
            | ExecutorSays::Admitted { .. }
            | ExecutorSays::Changeable { .. }
            | ExecutorSays::Hello { .. }
            | ExecutorSays::Live(_)
            | ExecutorSays::News { .. }
            | ExecutorSays::Standing(_)
            | ExecutorSays::TurnEnded,
        )
        | Err(
            ExecutorError::Confused
            | ExecutorError::Link(_)
            | ExecutorError::HungUp
            | ExecutorError::NoLabel
            | ExecutorError::Socket(_),
        ) => Refusal::new(RefusalCode::ConnectionLost, "the executor does not answer; ask again later"),
    };
    AssistantSays::Refused(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ExecutorDouble, LATE, World};
    use crate::tools::DEVICES;
    use host::link::Link;
    use protocol::ask::AskerSays;
    use protocol::hello::Reply;
    use protocol::propose::{News, ProposalState};
    use serde_json::Value;
    use serde_json::json;
    use tokio::net::UnixStream;

    // The one word that is told.
    macro_rules! told {
        ($teller:ident, $told:expr) => {{
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (_, mut sender) = Link::<Reply<AssistantSays>, AskerSays>::new(ours).into_split();
            let mut asker: Link<AskerSays, Reply<AssistantSays>> = Link::new(theirs);
            let $teller = &mut Teller::new(&mut sender, 1);
            $told.await.unwrap();
            asker.recv(LATE).await.unwrap().unwrap().say
        }};
    }

    fn code(say: &AssistantSays) -> RefusalCode {
        let AssistantSays::Refused(refusal) = say else { panic!("not refused: {say:?}") };
        refusal.code
    }

    #[tokio::test]
    async fn every_offered_schema_is_strict_and_no_write_tool_is_offered() {
        let world = World::new(Vec::new()).await;
        let offered = offered(&world.desk);
        assert_eq!(offered.len(), 21);
        assert_eq!(offered[19].name, CHANGEABLE);
        for tool in &offered {
            let schema: Value = serde_json::from_slice(&tool.schema).unwrap();
            assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
            assert!(!world.desk.policy.is_write(&tool.name) && !tool.description.is_empty(), "{}", tool.name);
        }
        let propose: Value = serde_json::from_slice(&offered[20].schema).unwrap();
        assert_eq!(propose["properties"]["tool"]["enum"].as_array().unwrap().len(), 6);
    }

    #[tokio::test]
    async fn a_reading_is_redacted_and_no_name_can_close_a_block() {
        let world = World::new(Vec::new()).await;
        let said = told!(teller, read(&world.desk, FRONT, (DEVICES, b"{}"), teller));
        let AssistantSays::Data { json, cut } = said else { panic!("{said:?}") };
        assert!(!cut && json.contains("Hall A"), "{json}");
        assert!(!json.contains("</fleet_data>") && !json.contains("abcdefghijklmnop"), "{json}");
    }

    #[tokio::test]
    async fn what_is_no_read_for_other_agents_is_refused_before_anybody_is_asked() {
        let world = World::new(Vec::new()).await;
        for (tool, arguments, want) in [
            ("batch_reboot", "{}", RefusalCode::NotPermitted),
            ("get_channel_image", "{}", RefusalCode::NotPermitted),
            ("get_everything", "{}", RefusalCode::ToolUnknown),
            (DEVICES, "{\"a\":1}", RefusalCode::BadArguments),
            (DEVICES, "{\"a\":1,\"a\":1}", RefusalCode::DuplicateKey),
            (DEVICES, "nothing", RefusalCode::NotJson),
        ] {
            let said = told!(teller, read(&world.desk, FRONT, (tool, arguments.as_bytes()), teller));
            assert_eq!(code(&said), want, "{tool} {arguments}");
        }
    }

    #[tokio::test]
    async fn what_can_be_changed_is_asked_of_the_executor_as_another_agent_and_no_name_closes_a_block() {
        let world = World::new(Vec::new()).await;
        let said = told!(teller, read(&world.desk, "front-61001", (CHANGEABLE, b"{}"), teller));
        let AssistantSays::Data { json, cut } = said else { panic!("{said:?}") };
        assert!(!cut && json.contains("29000000001") && !json.contains("</fleet_data>"), "{json}");
        assert_eq!(world.executor.labels(LinkKind::Poll), ["front-61001"]);
        assert_eq!(
            code(&told!(teller, read(&world.desk, FRONT, (CHANGEABLE, b"{\"a\":1}"), teller))),
            RefusalCode::BadArguments
        );
        let mut executor = ExecutorDouble::new();
        executor.changeable = Err(Refusal::bare(RefusalCode::NoFence));
        let world = World::with(Vec::new(), executor).await;
        assert_eq!(
            code(&told!(teller, read(&world.desk, "front-61001", (CHANGEABLE, b"{}"), teller))),
            RefusalCode::NoFence
        );
    }

    #[tokio::test]
    async fn a_draft_goes_as_another_agents_under_its_own_label() {
        let world = World::new(Vec::new()).await;
        let drafted = ("batch_reboot".to_owned(), b"{}".to_vec(), "r".to_owned());
        let said = told!(teller, draft(&world.desk, "front-61001", drafted, teller));
        assert_eq!(said, AssistantSays::Proposed { number: ProposalNumber::new(1).unwrap() });
        let turn = world.executor.turn().await;
        assert!(matches!(turn.as_slice(), [Word::Propose(draft), Word::TurnEnd] if draft.origin == Origin::Front));
        let labels = world.executor.labels(LinkKind::Turn);
        assert_eq!(labels, ["front-61001"]);
    }

    #[tokio::test]
    async fn where_a_proposal_stands_is_asked_of_the_executor() {
        let number = ProposalNumber::new(3).unwrap();
        let news = News { number, state: ProposalState::Denied, refusal: None, detail: String::new() };
        let mut executor = ExecutorDouble::new();
        executor.news.push(news.clone());
        let world = World::with(Vec::new(), executor).await;
        assert_eq!(told!(teller, standing(&world.desk, "front-61001", number, teller)), AssistantSays::Standing(news));
        let other = ProposalNumber::new(4).unwrap();
        assert_eq!(code(&told!(teller, standing(&world.desk, FRONT, other, teller))), RefusalCode::UnknownProposal);
        assert_eq!(told!(teller, live(&world.desk, "front-61002", teller)), AssistantSays::Live(Vec::new()));
        assert_eq!(world.executor.labels(LinkKind::Poll), ["front-61001", FRONT, "front-61002"]);
    }

    #[tokio::test]
    async fn other_agents_ask_the_executor_no_faster_than_their_pace() {
        let (clock, front) = (Clock::system().unwrap(), Front::default());
        let began = clock.boot_ms();
        for _ in 0..6 {
            front.pace(&clock).await;
        }
        // Four at once, then one every half second.
        assert!(clock.boot_ms() - began >= 2 * BETWEEN_MS - 50, "{}", clock.boot_ms() - began);
    }

    #[test]
    fn each_agents_user_has_a_label_of_its_own_and_the_peoples_agents_one() {
        let labels = [Hears::Own(61_001), Hears::Own(u32::MAX), Hears::All(0), Hears::All(1_000)].map(label);
        assert_eq!(labels, ["front-61001", "front-4294967295", FRONT, FRONT]);
        for label in labels {
            assert!(protocol::ids::Label::new(&label).is_some(), "{label}");
        }
    }

    #[tokio::test]
    async fn a_list_of_what_can_change_that_hangs_holds_no_seat_of_the_other_readings() {
        let mut executor = ExecutorDouble::new();
        executor.hangs_over_the_list = true;
        let world = World::with(Vec::new(), executor).await;
        let list = || reading(&world.desk, FRONT, (CHANGEABLE, b"{}"));
        let devices = async {
            while world.executor.labels(LinkKind::Poll).is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            reading(&world.desk, FRONT, (DEVICES, b"{}")).await
        };
        let read = tokio::select! {
            _ = list() => panic!("it hangs"),
            _ = list() => panic!("it waits"),
            read = tokio::time::timeout(LATE, devices) => read.unwrap(),
        };
        assert!(read.unwrap().json.contains("Hall A"));
    }

    #[tokio::test]
    async fn an_executor_that_is_away_is_told_as_such() {
        let mut world = World::new(Vec::new()).await;
        world.desk.executor.path = world.folder.path().join("nobody.sock");
        assert_eq!(code(&told!(teller, live(&world.desk, "front-61002", teller))), RefusalCode::ConnectionLost);
    }
}
