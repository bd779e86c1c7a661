//! `control.sock`.

use crate::sheet::{ID, Sheet};
use crate::values::{hello, label, login_link, news, number, refusal, report, signed_in, worded};
use control::card::{ArgumentFact, Card, CardFacts, HistoryRow, NamedFact, TargetFact, Waiting};
use control::message::{Approve, AuditReport, AuditRow, ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use control::status::{ExecutorDoctor, ExecutorStatus, Problem, QueueStatus, StartReport, Witness};
use protocol::gate::GateId;
use protocol::hello::{Isolation, Reply, Request};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;
use protocol::shown::Worded;
use protocol::signin::Pasted;
use serde_json::json;

pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new("control", "control.sock: what an operator and the executor say to each other");
    sheet.every(
        "message::OperatorSays",
        asked(),
        |say| format!("operator.{}", question(say)),
        |say| Request { id: ID, say },
    );
    sheet.every(
        "message::ExecutorSays",
        answered(),
        |say| format!("executor.{}", answer(say)),
        |say| Reply { id: ID, say },
    );
    sheet.every("status::Witness", witnesses(), |seen| format!("witness.{}", witness(*seen)), |seen| seen);
    sheet.word(
        "operator.pin_set_first",
        Request { id: ID, say: OperatorSays::PinSet { old: None, new: pin("new-pin-2") } },
    );
    sheet.word("operator.approve_plain", Request { id: ID, say: OperatorSays::Approve(approve(None)) });
    sheet.word("executor.audit_whole", audit(None));
    sheet.word("executor.card_bare", bare_card());
    sheet.word("executor.history_waiting", waiting_row());
    sheet
}

fn asked() -> Vec<OperatorSays> {
    vec![
        OperatorSays::AgentResume { agent: label("assistant"), pin: pin("my-pin-22") },
        OperatorSays::Approve(approve(Some("Aula 3".to_owned()))),
        OperatorSays::AuditRows { after: 41 },
        OperatorSays::AuditVerify,
        OperatorSays::Backup { offset: 131_072 },
        OperatorSays::Deny { number: number(2) },
        OperatorSays::DenyAll,
        OperatorSays::Doctor,
        OperatorSays::Freeze,
        OperatorSays::Hello(hello()),
        OperatorSays::History { most: 200, search: Some("Hall A".to_owned()) },
        OperatorSays::List,
        OperatorSays::Login { known: Some(vec!["20311112222".to_owned()]), pin: pin("my-pin-22") },
        OperatorSays::LoginCallback { address: Pasted::new("http://127.0.0.1:8765/callback?code=c&state=s") },
        OperatorSays::LoginWait,
        OperatorSays::Logout { pin: pin("my-pin-22") },
        OperatorSays::PageCode { pin: pin("my-pin-22") },
        OperatorSays::PinSet { old: Some(pin("old-pin-1")), new: pin("new-pin-2") },
        OperatorSays::ProposeUndo { number: number(2) },
        OperatorSays::Restore { pin: Some(pin("my-pin-22")), total: 3, bytes: vec![1, 2, 3] },
        OperatorSays::Show { number: number(3) },
        OperatorSays::Status,
        OperatorSays::Thaw { pin: pin("my-pin-22") },
    ]
}

fn answered() -> Vec<ExecutorSays> {
    vec![
        ExecutorSays::Admitted { number: number(4) },
        ExecutorSays::AgentResumed,
        ExecutorSays::Audit(audit(Some((4, "mac".to_owned())))),
        ExecutorSays::AuditRows(vec![audit_row()]),
        ExecutorSays::BackupPart { total: 3, bytes: vec![1, 2, 3] },
        ExecutorSays::Card(Box::new(card())),
        ExecutorSays::DeniedAll { numbers: vec![number(1), number(2)] },
        ExecutorSays::Doctor(Box::new(doctor())),
        ExecutorSays::Ended(news()),
        ExecutorSays::Frozen { numbers: vec![number(3)] },
        ExecutorSays::Hello(hello()),
        ExecutorSays::History(vec![ended_row(), waiting_row()]),
        ExecutorSays::LoginLink(login_link()),
        ExecutorSays::LoginWaiting,
        ExecutorSays::PageCode { code: "12345678".to_owned(), seconds: 120 },
        ExecutorSays::PinSaved,
        ExecutorSays::Refused(refusal()),
        ExecutorSays::RestorePart,
        ExecutorSays::RestoreStaged,
        ExecutorSays::SignedIn(signed_in()),
        ExecutorSays::SignedOut { revoked: false },
        ExecutorSays::Status(Box::new(status())),
        ExecutorSays::Thawed,
        ExecutorSays::Waiting(vec![waiting()]),
    ]
}

fn audit_row() -> AuditRow {
    AuditRow {
        sequence: 7,
        at: 1_900_000_000,
        boot_ms: 5_000,
        kind: "denial".to_owned(),
        proposal: Some(3),
        principal: "ana".to_owned(),
        surface: "page".to_owned(),
        detail: "{}".to_owned(),
        hash: "ab".repeat(32),
        mac: "cd".repeat(32),
    }
}

fn doctor() -> ExecutorDoctor {
    let closed = vec!["/var/lib/x/store.db".to_owned()];
    ExecutorDoctor { report: report(), isolation: Isolation::Users, closed }
}

fn pin(text: &str) -> PinEntry {
    serde_json::from_value(json!(text)).unwrap()
}

fn approve(confirm: Option<String>) -> Approve {
    Approve { number: number(1), ticket: "ticket".to_owned(), digest: [0x33; 32], pin: pin("old-pin-1"), confirm }
}

fn audit(broken: Option<(u64, String)>) -> AuditReport {
    AuditReport { rows: 3, broken, head: "ab".repeat(32) }
}

fn facts() -> CardFacts {
    CardFacts {
        number: number(1),
        tool: "reboot_device".to_owned(),
        heading: worded("heading"),
        targets: vec![target()],
        arguments: vec![ArgumentFact { name: "device_id".to_owned(), json: "\"1\"".to_owned(), defaulted: true }],
        named: vec![NamedFact { label: worded("label"), value: worded("value") }],
        effect: worded("effect"),
        undo: worded("undo"),
        disruptive: true,
        confirm: Some("Aula 3".to_owned()),
        deny_only: vec![worded("why")],
        reason: "it hangs".to_owned(),
        origin: worded("origin"),
        slot: worded("slot"),
        dry_run: true,
        isolation: "isolation: none".to_owned(),
    }
}

fn target() -> TargetFact {
    TargetFact {
        id: "20311112222".to_owned(),
        name: "Aula 3".to_owned(),
        known_as: vec!["the small one".to_owned()],
        note: "Keys at the desk".to_owned(),
        model: "Pearl Mini".to_owned(),
        firmware: "4.24.1".to_owned(),
        online: worded("online"),
        recording: worded("recording"),
        streaming: worded("streaming"),
        event: worded("event"),
    }
}

fn card() -> Card {
    Card {
        facts: facts(),
        digest: [0x44; 32],
        ticket: "ticket".to_owned(),
        notes: vec![worded("note")],
        read_at: worded("read"),
        expires_in: 900,
        others_waiting: 2,
        approved_lately: 4,
        gates: vec![crate::words::gate(GateId::Schema, None)],
    }
}

fn bare_card() -> Card {
    let facts = CardFacts {
        targets: Vec::new(),
        arguments: Vec::new(),
        named: Vec::new(),
        disruptive: false,
        confirm: None,
        deny_only: Vec::new(),
        dry_run: false,
        ..facts()
    };
    Card { facts, notes: Vec::new(), ..card() }
}

fn waiting() -> Waiting {
    Waiting { number: number(5), heading: worded("heading"), targets: vec!["20311112222".to_owned()], expires_in: 60 }
}

fn ended_row() -> HistoryRow {
    HistoryRow {
        number: number(4),
        heading: worded("heading"),
        targets: vec!["20311112222".to_owned()],
        state: ProposalState::Refused,
        code: Some(RefusalCode::Stale),
        detail: "detail".to_owned(),
        decided_by: "ana".to_owned(),
        surface: "page".to_owned(),
        created_at: worded("created"),
        ended_at: worded("ended"),
        undoable: true,
    }
}

fn waiting_row() -> HistoryRow {
    HistoryRow {
        targets: Vec::new(),
        state: ProposalState::Pending,
        code: None,
        detail: String::new(),
        decided_by: String::new(),
        surface: String::new(),
        ..ended_row()
    }
}

fn status() -> ExecutorStatus {
    ExecutorStatus {
        hello: hello(),
        uptime_seconds: 86_400,
        isolation: Isolation::None,
        witness: Witness::Agrees,
        slot: "sim".to_owned(),
        sign_in: true,
        fence: "devices 1".to_owned(),
        autonomy: "propose".to_owned(),
        dry_run: false,
        frozen: false,
        paused_agents: vec!["assistant".to_owned()],
        queue: QueueStatus { pending: 1, pending_limit: 3, hour: 2, hour_limit: 10 },
        last_read_seconds: Some(4),
        page: Some("127.0.0.1:8767".to_owned()),
        audit_sequence: 300,
        start: StartReport { expired: 1, unknown: 2, restored: 3, backup: false },
        pruned: Some((60, 3)),
        sandbox_missing: vec!["landlock".to_owned()],
        problems: vec![Problem { code: RefusalCode::NoPin, advice: Worded::new("set one", "ponga uno") }],
    }
}

fn witnesses() -> Vec<Witness> {
    vec![Witness::Newer, Witness::Unwitnessed, Witness::Agrees, Witness::BadMac]
}

// A new word does not compile here until it has a name.
fn question(say: &OperatorSays) -> &'static str {
    match say {
        OperatorSays::AgentResume { .. } => "agent_resume",
        OperatorSays::Approve(_) => "approve",
        OperatorSays::AuditRows { .. } => "audit_rows",
        OperatorSays::AuditVerify => "audit_verify",
        OperatorSays::Backup { .. } => "backup",
        OperatorSays::Deny { .. } => "deny",
        OperatorSays::DenyAll => "deny_all",
        OperatorSays::Doctor => "doctor",
        OperatorSays::Freeze => "freeze",
        OperatorSays::Hello(_) => "hello",
        OperatorSays::History { .. } => "history",
        OperatorSays::List => "list",
        OperatorSays::Login { .. } => "login",
        OperatorSays::LoginCallback { .. } => "login_callback",
        OperatorSays::LoginWait => "login_wait",
        OperatorSays::Logout { .. } => "logout",
        OperatorSays::PageCode { .. } => "page_code",
        OperatorSays::PinSet { .. } => "pin_set",
        OperatorSays::ProposeUndo { .. } => "propose_undo",
        OperatorSays::Restore { .. } => "restore",
        OperatorSays::Show { .. } => "show",
        OperatorSays::Status => "status",
        OperatorSays::Thaw { .. } => "thaw",
    }
}

fn answer(say: &ExecutorSays) -> &'static str {
    match say {
        ExecutorSays::Admitted { .. } => "admitted",
        ExecutorSays::AgentResumed => "agent_resumed",
        ExecutorSays::Audit(_) => "audit",
        ExecutorSays::AuditRows(_) => "audit_rows",
        ExecutorSays::BackupPart { .. } => "backup_part",
        ExecutorSays::Card(_) => "card",
        ExecutorSays::DeniedAll { .. } => "denied_all",
        ExecutorSays::Doctor(_) => "doctor",
        ExecutorSays::Ended(_) => "ended",
        ExecutorSays::Frozen { .. } => "frozen",
        ExecutorSays::Hello(_) => "hello",
        ExecutorSays::History(_) => "history",
        ExecutorSays::LoginLink(_) => "login_link",
        ExecutorSays::LoginWaiting => "login_waiting",
        ExecutorSays::PageCode { .. } => "page_code",
        ExecutorSays::PinSaved => "pin_saved",
        ExecutorSays::Refused(_) => "refused",
        ExecutorSays::RestorePart => "restore_part",
        ExecutorSays::RestoreStaged => "restore_staged",
        ExecutorSays::SignedIn(_) => "signed_in",
        ExecutorSays::SignedOut { .. } => "signed_out",
        ExecutorSays::Status(_) => "status",
        ExecutorSays::Thawed => "thawed",
        ExecutorSays::Waiting(_) => "waiting",
    }
}

fn witness(seen: Witness) -> &'static str {
    match seen {
        Witness::Newer => "newer",
        Witness::Unwitnessed => "unwitnessed",
        Witness::Agrees => "agrees",
        Witness::BadMac => "bad_mac",
    }
}
