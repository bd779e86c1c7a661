//! `ask.sock`.

use crate::sheet::{ID, Sheet};
use crate::values::{hello, number, refusal, report};
use protocol::ask::{AnsweredBy, AskerSays, AssistantDoctor, AssistantSays, AssistantStatus};
use protocol::doctor::{Reach, Tried};
use protocol::hello::{Reply, Request};

pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new("ask", "ask.sock: what an asker and the assistant say to each other");
    sheet.every("ask::AskerSays", asked(), |say| format!("asker.{}", question(say)), |say| Request { id: ID, say });
    sheet.every(
        "ask::AssistantSays",
        answered(),
        |say| format!("assistant.{}", answer(say)),
        |say| Reply { id: ID, say },
    );
    sheet.every("ask::AnsweredBy", writers(), |by| format!("answered_by.{}", writer(by)), |by| by);
    sheet.word("status.bare", bare_status());
    sheet
}

fn asked() -> Vec<AskerSays> {
    vec![
        AskerSays::Ask { question: "¿Está grabando el Aula 3?".to_owned() },
        AskerSays::Doctor { closed: vec!["/var/lib/x/store.db".to_owned()] },
        AskerSays::Hello(hello()),
        AskerSays::Propose {
            tool: "reboot_device".to_owned(),
            arguments: br#"{"device_id":"20311112222"}"#.to_vec(),
            reason: "it hangs".to_owned(),
        },
        AskerSays::Status,
    ]
}

fn answered() -> Vec<AssistantSays> {
    vec![
        AssistantSays::Answer { text: "Two rooms record.".to_owned(), by: AnsweredBy::Model { name: "m".to_owned() } },
        AssistantSays::Doctor(Box::new(doctor())),
        AssistantSays::Done,
        AssistantSays::Hello(hello()),
        AssistantSays::NotProposed(refusal()),
        AssistantSays::Proposed { number: number(12) },
        AssistantSays::Reading { tool: "get_devices".to_owned() },
        AssistantSays::Refused(refusal()),
        AssistantSays::Status(Box::new(full_status())),
    ]
}

fn writers() -> Vec<AnsweredBy> {
    vec![AnsweredBy::Keywords { why: "no key".to_owned() }, AnsweredBy::Model { name: "m".to_owned() }]
}

fn doctor() -> AssistantDoctor {
    let tried = Tried { path: "/var/lib/x/store.db".to_owned(), reach: Reach::Denied };
    AssistantDoctor { report: report(), tried: vec![tried] }
}

fn full_status() -> AssistantStatus {
    AssistantStatus {
        hello: hello(),
        uptime_seconds: 86_400,
        model: Some("m".to_owned()),
        model_host: Some("127.0.0.1".to_owned()),
        sign_in: true,
        last_read_seconds: Some(30),
        executor_reached: true,
        witness: Some(300),
        problems: vec!["one".to_owned(), "two".to_owned()],
    }
}

fn bare_status() -> AssistantStatus {
    AssistantStatus {
        hello: hello(),
        uptime_seconds: 0,
        model: None,
        model_host: None,
        sign_in: false,
        last_read_seconds: None,
        executor_reached: false,
        witness: None,
        problems: Vec::new(),
    }
}

// A new word does not compile here until it has a name.
fn question(say: &AskerSays) -> &'static str {
    match say {
        AskerSays::Ask { .. } => "ask",
        AskerSays::Doctor { .. } => "doctor",
        AskerSays::Hello(_) => "hello",
        AskerSays::Propose { .. } => "propose",
        AskerSays::Status => "status",
    }
}

fn answer(say: &AssistantSays) -> &'static str {
    match say {
        AssistantSays::Answer { .. } => "answer",
        AssistantSays::Doctor(_) => "doctor",
        AssistantSays::Done => "done",
        AssistantSays::Hello(_) => "hello",
        AssistantSays::NotProposed(_) => "not_proposed",
        AssistantSays::Proposed { .. } => "proposed",
        AssistantSays::Reading { .. } => "reading",
        AssistantSays::Refused(_) => "refused",
        AssistantSays::Status(_) => "status",
    }
}

fn writer(by: &AnsweredBy) -> &'static str {
    match by {
        AnsweredBy::Keywords { .. } => "keywords",
        AnsweredBy::Model { .. } => "model",
    }
}
