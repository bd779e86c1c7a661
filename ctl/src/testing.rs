//! What several tests share: samples, a pseudo-terminal with a person at it, and a scripted executor.

use crate::audit::rows::{GENESIS, Linked};
use crate::client::Places;
use crate::out::Out;
use crate::render::paint::Paint;
use crate::session::{Saying, Session};
use crate::terminal::Terminal;
use control::card::{ArgumentFact, Card, CardFacts, HistoryRow, NamedFact, TargetFact, Waiting};
use control::message::{AuditRow, ExecutorSays, OperatorSays};
use control::status::{ExecutorStatus, QueueStatus, StartReport, Witness};
use host::link::Link;
use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use protocol::ask::AssistantStatus;
use protocol::canonical::Canonical;
use protocol::gate::{Evidence, GateId, GateResult};
use protocol::hello::{Hello, Isolation, Reply, Request};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::shown::{Language, Worded};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn number(number: u64) -> ProposalNumber {
    ProposalNumber::new(number).unwrap()
}

pub(crate) fn sample_card(proposal: u64) -> Card {
    Card {
        facts: CardFacts {
            number: number(proposal),
            tool: "batch_recording".to_owned(),
            heading: Worded::new("Start recording in Hall A", "Iniciar la grabación en Hall A"),
            targets: vec![TargetFact {
                id: "71000000001".to_owned(),
                name: "Hall A".to_owned(),
                known_as: Vec::new(),
                note: String::new(),
                model: "Pearl-2".to_owned(),
                firmware: "4.24.6".to_owned(),
                online: Worded::new("online", "en línea"),
                recording: Worded::new("not recording", "sin grabar"),
                streaming: Worded::new("not streaming", "sin transmitir"),
                event: Worded::new("no event", "sin evento"),
            }],
            arguments: vec![
                ArgumentFact { name: "action".to_owned(), json: "\"start\"".to_owned(), defaulted: false },
                ArgumentFact { name: "device_ids".to_owned(), json: "[\"71000000001-1\"]".to_owned(), defaulted: true },
            ],
            named: vec![NamedFact { label: Worded::new("Channel", "Canal"), value: Worded::same("Program") }],
            effect: Worded::new("A new recording starts.", "Empieza una grabación nueva."),
            undo: Worded::new("Stop the recording.", "Detener la grabación."),
            disruptive: false,
            confirm: None,
            deny_only: Vec::new(),
            reason: "because the lecture starts".to_owned(),
            origin: Worded::new("the model", "el modelo"),
            slot: Worded::new("Simulator: nothing real changes", "Simulador: no cambia nada real"),
            dry_run: false,
            isolation: "none".to_owned(),
        },
        digest: [7; 32],
        ticket: "ticket-of-this-card".to_owned(),
        notes: Vec::new(),
        read_at: Worded::new("10:03:20 CET", "10:03:20 CET"),
        expires_in: 899,
        others_waiting: 2,
        approved_lately: 4,
        gates: vec![
            GateResult {
                gate_id: GateId::Schema,
                passed: true,
                blocked_reason: None,
                evidence: vec![Evidence { name: "schema_version".to_owned(), value: "1".to_owned() }],
            },
            GateResult {
                gate_id: GateId::DeviceResolve,
                passed: false,
                blocked_reason: Some("unknown_device".to_owned()),
                evidence: Vec::new(),
            },
        ],
    }
}

pub(crate) fn sample_row(proposal: u64) -> HistoryRow {
    HistoryRow {
        number: number(proposal),
        heading: Worded::new("Start recording in Hall A", "Iniciar la grabación en Hall A"),
        targets: vec!["71000000001".to_owned()],
        state: ProposalState::Ok,
        code: None,
        detail: "recorder: recording".to_owned(),
        decided_by: "operator".to_owned(),
        surface: "control".to_owned(),
        created_at: Worded::same("10:03 CET"),
        ended_at: Worded::same("10:04 CET"),
        undoable: false,
    }
}

pub(crate) fn sample_waiting(proposal: u64) -> Waiting {
    Waiting {
        number: number(proposal),
        heading: Worded::new("Start recording", "Iniciar la grabación"),
        targets: vec!["71000000001".to_owned()],
        expires_in: 61,
    }
}

pub(crate) fn news(proposal: u64, state: ProposalState) -> News {
    News { number: number(proposal), state, refusal: None, detail: "recorder: recording".to_owned() }
}

/// A chain of audit rows as an executor makes it.
pub(crate) fn audit_chain(count: u64) -> Vec<Linked> {
    let mut previous = GENESIS.to_owned();
    let mut rows = Vec::new();
    for sequence in 1..=count {
        let (at, boot_ms) = (1_790_000_000 + i64::try_from(sequence).unwrap(), 1_000);
        let proposal = (sequence > 1).then_some(7);
        let value = serde_json::json!({
            "at": at, "boot_ms": boot_ms, "detail": "{}", "kind": "start", "previous": previous,
            "principal": "executor", "proposal": proposal, "sequence": sequence, "surface": "",
        });
        let text = Canonical::from_value(&value).unwrap();
        let hash = host::secret::hex(&Sha256::digest(text.as_str().as_bytes()));
        let row = AuditRow {
            sequence,
            at,
            boot_ms,
            kind: "start".to_owned(),
            proposal,
            principal: "executor".to_owned(),
            surface: String::new(),
            detail: "{}".to_owned(),
            hash: hash.clone(),
            mac: "aa".to_owned(),
        };
        rows.push(Linked { row, previous: std::mem::replace(&mut previous, hash) });
    }
    rows
}

/// A session whose sockets lie in `run`.
pub(crate) fn session(run: &Path) -> Session {
    Session {
        places: Places { run: run.to_owned(), executor: None, assistant: None },
        language: Language::English,
        columns: 80,
        paint: Paint::Off,
        saying: Saying::Shell("fleetwatchctl".to_owned()),
        login_hosts: crate::login::hosts::Setting::default(),
    }
}

/// Output that a test can read.
#[derive(Clone, Default)]
pub(crate) struct Paper(Rc<RefCell<Vec<u8>>>);

impl Paper {
    pub(crate) fn out(&self) -> Out {
        Out::over(Box::new(self.clone()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pseudo-terminal; what appears on it is kept.
pub(crate) struct Screen {
    master: File,
    pub(crate) slave: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let pty = openpty(None, None).unwrap();
        let screen = Self { master: File::from(pty.master), slave: File::from(pty.slave), seen: Arc::default() };
        let (mut master, seen) = (screen.master.try_clone().unwrap(), Arc::clone(&screen.seen));
        std::thread::spawn(move || {
            let mut bytes = [0; 256];
            while let Ok(count @ 1..) = master.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        screen
    }

    pub(crate) fn terminal(&self) -> Terminal {
        Terminal::over(self.slave.try_clone().unwrap()).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        // The thread that reads may be a moment behind.
        std::thread::sleep(Duration::from_millis(50));
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub(crate) fn type_now(&self, keys: &str) {
        (&self.master).write_all(keys.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }

    /// Types `keys` once `prompt` stands on the screen.
    pub(crate) fn answer(&self, prompt: &str, keys: &str) {
        self.answers(&[(prompt, keys)]);
    }

    /// The same, one after the other.
    pub(crate) fn answers(&self, talk: &[(&str, &str)]) {
        let talk: Vec<_> = talk.iter().map(|(prompt, keys)| ((*prompt).to_owned(), (*keys).to_owned())).collect();
        let (mut master, seen) = (self.master.try_clone().unwrap(), Arc::clone(&self.seen));
        std::thread::spawn(move || {
            for (prompt, keys) in talk {
                for _ in 0..500 {
                    if String::from_utf8_lossy(&seen.lock().unwrap()).contains(&prompt) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(10));
                }
                // A person reads first; what comes together with the prompt would be type-ahead.
                std::thread::sleep(Duration::from_millis(100));
                master.write_all(keys.as_bytes()).unwrap();
            }
        });
    }
}

/// Whether a terminal echoes and edits lines, as a shell expects it.
pub(crate) fn echoes(tty: &File) -> bool {
    let flags = tcgetattr(tty).unwrap().local_flags;
    flags.contains(LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG)
}

/// What the scripted executor heard.
pub(crate) type Heard = Arc<Mutex<Vec<OperatorSays>>>;

/// An executor that answers by `answer`; nothing means that it hangs up.
pub(crate) fn executor(run: &Path, answer: impl Fn(&OperatorSays) -> Option<ExecutorSays> + Send + 'static) -> Heard {
    host::files::ensure_private_dir(&run.join("control")).unwrap();
    let listener = host::socket::bind(&run.join("control/control.sock"), 0o660, None).unwrap();
    let heard = Heard::default();
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut link: Link<Reply<ExecutorSays>, Request<OperatorSays>> = Link::new(stream);
            while let Ok(Some(request)) = link.recv(Duration::from_secs(10)).await {
                let say = if matches!(request.say, OperatorSays::Hello(_)) {
                    Some(ExecutorSays::Hello(Hello::ours()))
                } else {
                    log.lock().unwrap().push(request.say.clone());
                    answer(&request.say)
                };
                let Some(say) = say else { break };
                link.send(&Reply { id: request.id, say }, Duration::from_secs(10)).await.unwrap();
            }
        }
    });
    heard
}

pub(crate) fn executor_status() -> ExecutorStatus {
    ExecutorStatus {
        hello: Hello::ours(),
        uptime_seconds: 61,
        isolation: Isolation::Users,
        witness: Witness::Agrees,
        slot: "sandbox".to_owned(),
        sign_in: true,
        fence: "3 devices".to_owned(),
        autonomy: "propose".to_owned(),
        dry_run: false,
        frozen: false,
        paused_agents: vec![],
        queue: QueueStatus { pending: 0, pending_limit: 3, hour: 1, hour_limit: 10 },
        last_read_seconds: Some(4),
        page: Some("http://127.0.0.1:8767".to_owned()),
        audit_sequence: 12,
        start: StartReport { expired: 0, unknown: 0, restored: 0, backup: false },
        pruned: None,
        sandbox_missing: Vec::new(),
        problems: Vec::new(),
    }
}

pub(crate) fn assistant_status() -> AssistantStatus {
    AssistantStatus {
        hello: Hello::ours(),
        uptime_seconds: 60,
        model: Some("some-model".to_owned()),
        model_host: Some("api.example.com".to_owned()),
        sign_in: true,
        last_read_seconds: None,
        executor_reached: true,
        witness: Some(12),
        sandbox_missing: Vec::new(),
        problems: Vec::new(),
    }
}
