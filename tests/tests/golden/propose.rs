//! `propose.sock`.

use crate::sheet::{ID, Sheet};
use crate::values::{head, hello, label, news, number, refusal};
use protocol::hello::{Isolation, Reply, Request};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, Live, News, Origin, ProposalState, Propose, Proposing};
use protocol::refusal::RefusalCode;

pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new("propose", "propose.sock: what the assistant and the executor say to each other");
    sheet.every(
        "propose::AssistantSays",
        asked(),
        |say| format!("assistant.{}", question(say)),
        |say| Request { id: ID, say },
    );
    sheet.every(
        "propose::ExecutorSays",
        answered(),
        |say| format!("executor.{}", answer(say)),
        |say| Reply { id: ID, say },
    );
    sheet.every(
        "propose::LinkKind",
        vec![LinkKind::Poll, LinkKind::Turn],
        |kind| format!("link_kind.{}", link(*kind)),
        hello_as,
    );
    sheet.every(
        "propose::Origin",
        vec![Origin::Command, Origin::Front, Origin::Model, Origin::Undo],
        |origin| format!("origin.{}", origin.as_str()),
        drafted_by,
    );
    sheet.every(
        "propose::Proposing",
        vec![Proposing::Off(RefusalCode::ObserveMode), Proposing::On],
        |proposing| format!("proposing.{}", possible(*proposing)),
        |proposing| proposing,
    );
    sheet.word("assistant.hello_without_witness", hello_as_new());
    sheet.word("executor.news_empty", Reply { id: ID, say: ExecutorSays::News { head: head(), items: Vec::new() } });
    sheet
        .word("news.plain", News { number: number(1), state: ProposalState::Ok, refusal: None, detail: String::new() });
    sheet
}

fn asked() -> Vec<AssistantSays> {
    vec![
        AssistantSays::Ack { numbers: vec![number(1), number(250), number(251)] },
        AssistantSays::Changeable,
        hello_as(LinkKind::Turn),
        AssistantSays::Live,
        AssistantSays::Poll,
        AssistantSays::Propose(drafted_by(Origin::Model)),
        AssistantSays::Standing { number: number(12) },
        AssistantSays::TurnEnd,
    ]
}

fn answered() -> Vec<ExecutorSays> {
    vec![
        ExecutorSays::Acked,
        ExecutorSays::Admitted { number: number(70_000) },
        ExecutorSays::Changeable { json: br#"{"devices":[],"shown":0,"units":0}"#.to_vec() },
        ExecutorSays::Hello { hello: hello(), head: head(), isolation: Isolation::Users, proposing: Proposing::On },
        ExecutorSays::Live(vec![Live {
            number: number(12),
            tool: "batch_recording".to_owned(),
            state: ProposalState::Pending,
            expires_in: 899,
        }]),
        ExecutorSays::News { head: head(), items: vec![news()] },
        ExecutorSays::Refused(refusal()),
        ExecutorSays::Standing(news()),
        ExecutorSays::TurnEnded,
    ]
}

fn hello_as(kind: LinkKind) -> AssistantSays {
    AssistantSays::Hello { hello: hello(), kind, agent: label("model"), witness: Some(head()) }
}

fn hello_as_new() -> Request<AssistantSays> {
    let say = AssistantSays::Hello { hello: hello(), kind: LinkKind::Poll, agent: label("a"), witness: None };
    Request { id: u32::MAX, say }
}

fn drafted_by(origin: Origin) -> Propose {
    Propose {
        request: label("turn-1:2"),
        origin,
        tool: "start_recording".to_owned(),
        arguments: br#"{"device_id":"20311112222"}"#.to_vec(),
        reason: "asked for".to_owned(),
    }
}

// A new word does not compile here until it has a name.
fn question(say: &AssistantSays) -> &'static str {
    match say {
        AssistantSays::Ack { .. } => "ack",
        AssistantSays::Changeable => "changeable",
        AssistantSays::Hello { .. } => "hello",
        AssistantSays::Live => "live",
        AssistantSays::Poll => "poll",
        AssistantSays::Propose(_) => "propose",
        AssistantSays::Standing { .. } => "standing",
        AssistantSays::TurnEnd => "turn_end",
    }
}

fn answer(say: &ExecutorSays) -> &'static str {
    match say {
        ExecutorSays::Acked => "acked",
        ExecutorSays::Admitted { .. } => "admitted",
        ExecutorSays::Changeable { .. } => "changeable",
        ExecutorSays::Hello { .. } => "hello",
        ExecutorSays::Live(_) => "live",
        ExecutorSays::News { .. } => "news",
        ExecutorSays::Refused(_) => "refused",
        ExecutorSays::Standing(_) => "standing",
        ExecutorSays::TurnEnded => "turn_ended",
    }
}

fn link(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Poll => "poll",
        LinkKind::Turn => "turn",
    }
}

fn possible(proposing: Proposing) -> &'static str {
    match proposing {
        Proposing::Off(_) => "off",
        Proposing::On => "on",
    }
}
