//! `ask.sock`.

use crate::sheet::{ID, Sheet};
use crate::values::{hello, login_link, news, number, refusal, report, signed_in};
use protocol::ask::{AnsweredBy, AskerSays, AssistantDoctor, AssistantSays, AssistantStatus, OfferedTool};
use protocol::doctor::{Reach, Tried};
use protocol::hello::{Reply, Request};
use protocol::propose::{Live, ProposalState};
use protocol::shown::Language;
use protocol::signin::Pasted;

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
        AskerSays::Capture,
        AskerSays::DeviceIds,
        AskerSays::Doctor { closed: vec!["/var/lib/x/store.db".to_owned()] },
        AskerSays::Digest { language: Language::Spanish },
        AskerSays::Hello(hello()),
        AskerSays::History { days: 7, language: Language::English },
        AskerSays::Login,
        AskerSays::LoginCallback { address: Pasted::new("http://127.0.0.1:8765/callback?code=c&state=s") },
        AskerSays::LoginWait,
        AskerSays::Logout,
        AskerSays::Draft {
            tool: "batch_reboot".to_owned(),
            arguments: br#"{"device_ids":["20311112222"]}"#.to_vec(),
            reason: "it hangs".to_owned(),
        },
        AskerSays::Live,
        AskerSays::Offered,
        AskerSays::Propose {
            tool: "reboot_device".to_owned(),
            arguments: br#"{"device_id":"20311112222"}"#.to_vec(),
            reason: "it hangs".to_owned(),
        },
        AskerSays::Read { tool: "get_device_info".to_owned(), arguments: br#"{"device_id":"20311112222"}"#.to_vec() },
        AskerSays::Standing { number: number(12) },
        AskerSays::Replay { language: Language::English },
        AskerSays::ReplayPart { tool: "get_devices".to_owned(), bytes: b"{}".to_vec() },
        AskerSays::Status,
    ]
}

fn answered() -> Vec<AssistantSays> {
    vec![
        AssistantSays::Answer { text: "Two rooms record.".to_owned(), by: AnsweredBy::Model { name: "m".to_owned() } },
        AssistantSays::CapturePart { tool: "get_devices".to_owned(), bytes: b"{}".to_vec(), last: true },
        AssistantSays::DeviceIds { ids: vec!["20311112222".to_owned()], unread: Some(refusal()) },
        AssistantSays::Doctor(Box::new(doctor())),
        AssistantSays::Done,
        AssistantSays::Hello(hello()),
        AssistantSays::LoginLink(login_link()),
        AssistantSays::LoginWaiting,
        AssistantSays::NotProposed(refusal()),
        AssistantSays::Piece { text: "Two rooms record.".to_owned() },
        AssistantSays::PiecesVoid,
        AssistantSays::Proposed { number: number(12) },
        AssistantSays::Reading { tool: "get_devices".to_owned() },
        AssistantSays::Refused(refusal()),
        AssistantSays::Report { text: "2 rooms, 2 online".to_owned(), good: true },
        AssistantSays::SignedIn(signed_in()),
        AssistantSays::SignedOut { revoked: true },
        AssistantSays::Data { json: r#"{"devices":[]}"#.to_owned(), cut: true },
        AssistantSays::Live(vec![Live {
            number: number(12),
            tool: "batch_recording".to_owned(),
            state: ProposalState::Approved,
            expires_in: 0,
        }]),
        AssistantSays::Offered(vec![OfferedTool {
            name: "get_device_info".to_owned(),
            description: "Details of one unit.".to_owned(),
            schema: br#"{"type":"object"}"#.to_vec(),
        }]),
        AssistantSays::Standing(news()),
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
        sandbox_missing: vec!["landlock".to_owned(), "seccomp".to_owned()],
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
        sandbox_missing: Vec::new(),
        witness: None,
        problems: Vec::new(),
    }
}

// A new word does not compile here until it has a name.
fn question(say: &AskerSays) -> &'static str {
    match say {
        AskerSays::Ask { .. } => "ask",
        AskerSays::Capture => "capture",
        AskerSays::DeviceIds => "device_ids",
        AskerSays::Doctor { .. } => "doctor",
        AskerSays::Digest { .. } => "digest",
        AskerSays::Hello(_) => "hello",
        AskerSays::History { .. } => "history",
        AskerSays::Login => "login",
        AskerSays::LoginCallback { .. } => "login_callback",
        AskerSays::LoginWait => "login_wait",
        AskerSays::Logout => "logout",
        AskerSays::Draft { .. } => "draft",
        AskerSays::Live => "live",
        AskerSays::Offered => "offered",
        AskerSays::Propose { .. } => "propose",
        AskerSays::Read { .. } => "read",
        AskerSays::Standing { .. } => "standing",
        AskerSays::Replay { .. } => "replay",
        AskerSays::ReplayPart { .. } => "replay_part",
        AskerSays::Status => "status",
    }
}

fn answer(say: &AssistantSays) -> &'static str {
    match say {
        AssistantSays::Answer { .. } => "answer",
        AssistantSays::CapturePart { .. } => "capture_part",
        AssistantSays::DeviceIds { .. } => "device_ids",
        AssistantSays::Doctor(_) => "doctor",
        AssistantSays::Done => "done",
        AssistantSays::Hello(_) => "hello",
        AssistantSays::LoginLink(_) => "login_link",
        AssistantSays::LoginWaiting => "login_waiting",
        AssistantSays::NotProposed(_) => "not_proposed",
        AssistantSays::Piece { .. } => "piece",
        AssistantSays::PiecesVoid => "pieces_void",
        AssistantSays::Proposed { .. } => "proposed",
        AssistantSays::Reading { .. } => "reading",
        AssistantSays::Refused(_) => "refused",
        AssistantSays::Report { .. } => "report",
        AssistantSays::SignedIn(_) => "signed_in",
        AssistantSays::SignedOut { .. } => "signed_out",
        AssistantSays::Data { .. } => "data",
        AssistantSays::Live(_) => "live",
        AssistantSays::Offered(_) => "offered",
        AssistantSays::Standing(_) => "standing",
        AssistantSays::Status(_) => "status",
    }
}

fn writer(by: &AnsweredBy) -> &'static str {
    match by {
        AnsweredBy::Keywords { .. } => "keywords",
        AnsweredBy::Model { .. } => "model",
    }
}
