//! A waiting card pings the operator, once, with a link and nothing that decides (issue line 2.14). What becomes of the
//! ping changes nothing.

use fleetwatch_tests::world::{World, code_of, must, recording, some, until};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const RECORD: &str = "batch_recording";
const SOON: Duration = Duration::from_secs(10);
/// A ping that is not sent needs no longer than one that is.
const QUIET: Duration = Duration::from_secs(1);
const TOPIC: &str = "topic-that-is-a-secret";

/// A service on this machine that takes pings, or takes them and never answers.
struct Service {
    port: u16,
    taken: Arc<Mutex<Vec<String>>>,
    // How many unanswered pings the executor has given up.
    given_up: Arc<AtomicUsize>,
}

impl Service {
    #[track_caller]
    fn open(answers: bool) -> Self {
        let listener = must(TcpListener::bind("127.0.0.1:0"), "a port");
        let port = must(listener.local_addr(), "its port").port();
        let taken = Arc::<Mutex<Vec<String>>>::default();
        let (kept, given_up) = (taken.clone(), Arc::<AtomicUsize>::default());
        let counted = given_up.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let text = request(&stream);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(text);
                if answers {
                    let _gone =
                        (&stream).write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                } else {
                    let counted = counted.clone();
                    std::thread::spawn(move || {
                        while matches!((&stream).read(&mut [0; 64]), Ok(1..)) {}
                        counted.fetch_add(1, Ordering::SeqCst);
                    });
                }
            }
        });
        Self { port, taken, given_up }
    }

    fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[track_caller]
    fn wait_for(&self, count: usize) -> Vec<String> {
        until(SOON, "a ping", || (self.taken().len() >= count).then_some(()));
        std::thread::sleep(QUIET);
        let taken = self.taken();
        assert_eq!(taken.len(), count, "{taken:?}");
        taken
    }
}

// One whole request with its body.
fn request(mut stream: &TcpStream) -> String {
    let (mut seen, mut part) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        seen.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if length.is_none_or(|length: usize| body.len() >= length) {
            return text;
        }
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[track_caller]
fn world(kind: &str, port: u16) -> (World, tempfile::TempDir) {
    let folder = must(tempfile::tempdir(), "a folder");
    let file = folder.path().join("ping");
    must(std::fs::write(&file, format!("http://127.0.0.1:{port}/{TOPIC}\n")), "the address");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    must(std::fs::set_permissions(&file, private), "its mode");
    let world = World::builder()
        .without_assistant()
        .executor_setting("FLEETWATCH_NOTIFY", kind)
        .executor_setting("FLEETWATCH_NOTIFY_URL_FILE", &file.display().to_string())
        .start();
    (world, folder)
}

#[test]
fn each_admitted_proposal_pings_once_and_a_refused_one_never() {
    for kind in ["ntfy", "slack", "teams"] {
        let service = Service::open(true);
        let (world, _folder) = world(kind, service.port);
        let hall = world.room("Hall A");
        let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
        let ping = some(service.wait_for(1).pop(), "a ping");
        assert!(ping.starts_with(&format!("POST /{TOPIC} HTTP/1.1\r\n")), "{ping}");
        let link = format!("{}card/{number}", some(world.control().status().page, "the page"));
        assert!(ping.contains(&link) && ping.contains("Hall A"), "{kind}: {ping}");

        must(world.propose("a", RECORD, &recording("start", "19990000000", 1)).err().ok_or("admitted"), "no such unit");
        assert_eq!(code_of(world.propose("a", "no_such_tool", &recording("start", &hall, 1))), Code::ToolUnknown);
        // Looking and deciding tell nobody either.
        let mut operator = world.control();
        let card = must(operator.show(number), "the card");
        must(operator.deny(number), "no");
        let second = must(world.propose("a", RECORD, &recording("start", &world.room("Chapel"), 1)), "another");
        let pings = service.wait_for(2);
        assert!(pings[1].contains(&format!("/card/{second}")), "{kind}: {}", pings[1]);

        let secrets =
            [world.pin(), &world.page_secret(), &card.ticket, "fleetwatch_approve", "authorization", "Bearer"];
        let token = must(std::fs::read_to_string(&world.sim.sandbox), "the token");
        let token = some(token.split_whitespace().last(), "the token").to_owned();
        for ping in &pings {
            for secret in secrets.iter().copied().chain([token.as_str()]) {
                assert!(!ping.contains(secret), "{kind}: {secret} in {ping}");
            }
            assert!(!ping.to_lowercase().contains("/approve"), "{kind}: {ping}");
        }
        assert!(!world.executor_log().contains(TOPIC), "the address is a secret");
        assert_eq!(world.writes(), []);
    }
}

#[test]
fn a_dead_or_slow_service_delays_nothing() {
    let closed = must(TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()), "a port").port();
    let slow = Service::open(false);
    for port in [closed, slow.port] {
        let (mut world, _folder) = world("ntfy", port);
        let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
        assert_eq!(slow.given_up.load(Ordering::SeqCst), 0, "the number came while the ping was still open");
        if port == slow.port {
            slow.wait_for(1);
        }
        let news = must(world.approve(number), "a yes");
        assert_eq!((news.state, world.writes().len()), (ProposalState::Ok, 1));
        assert_eq!(world.stop_executor(), Some(0), "a ping under way keeps no process");
        assert!(!world.executor_log().contains(TOPIC), "the address is a secret");
    }
}
