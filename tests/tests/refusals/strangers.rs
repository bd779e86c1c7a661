//! Who may speak is settled before the first byte, and `propose.sock` has no word that decides.

use super::{propose_all, read_all};
use control::message::OperatorSays;
use fleetwatch_tests::world::{Frames, World, must, recording, skipped, some, until};
use protocol::ask::{AskerSays, AssistantSays as AskedSays};
use protocol::frame;
use protocol::hello::{Hello, Reply, Request, WIRE_VERSION};
use protocol::ids::Label;
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, ProposalState};
use protocol::refusal::RefusalCode as Code;
use serde_json::Value;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const RECORD: &str = "batch_recording";
const NOBODY: u32 = 65_534;
const SOON: Duration = Duration::from_secs(5);

// Says hello as another user and prints how many bytes came back before the end.
const STRANGER: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.settimeout(10)
s.connect(sys.argv[1])
try:
    s.sendall(bytes.fromhex(sys.argv[2]))
    print(len(s.recv(4096)))
except (BrokenPipeError, ConnectionResetError):
    print(0)
";

fn is_root(world: &World) -> bool {
    std::fs::metadata(world.folder()).is_ok_and(|folder| folder.uid() == 0)
}

// The file permissions are opened wide: only the executor's own look at the uid is left.
#[track_caller]
fn open_wide(world: &World, name: &str) {
    let socket = world.socket(name);
    let folders = [world.folder().to_owned(), world.folder().join("run"), world.folder().join("run").join(name)];
    for folder in folders {
        must(std::fs::set_permissions(&folder, Permissions::from_mode(0o711)), "a folder's mode");
    }
    must(std::fs::set_permissions(&socket, Permissions::from_mode(0o666)), "a socket's mode");
}

#[track_caller]
fn as_nobody(socket: &Path, hello: &[u8]) -> String {
    let length = must(u32::try_from(hello.len()), "a length").to_be_bytes();
    let frame = fleetwatch_tests::hex::encode(&[&length[..], hello].concat());
    let mut command = Command::new("python3");
    command.args(["-c", STRANGER]).arg(socket).arg(frame).uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = must(command.output(), "python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn assistants_hello() -> Vec<u8> {
    let agent = must(Label::new("a").ok_or("none"), "a label");
    let say = AssistantSays::Hello { hello: Hello::ours(), kind: LinkKind::Turn, agent, witness: None };
    must(frame::encode(&Request { id: 1, say }), "a frame")
}

fn operators_hello() -> Vec<u8> {
    must(frame::encode(&Request { id: 1, say: OperatorSays::Hello(Hello::ours()) }), "a frame")
}

// The first one of a minute has a row; more are counted in the next.
#[track_caller]
fn the_stranger_is_noted(world: &World, surface: &str) {
    let rows = until(SOON, "the audit", || Some(world.audit("stranger")).filter(|rows| !rows.is_empty()));
    assert_eq!((rows.len(), rows[0].1.as_str(), &rows[0].2["uid"]), (1, surface, &Value::from(NOBODY)));
}

fn has_namespaces() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    Command::new("unshare").args(["--mount", "sh", "-c", bind]).output().is_ok_and(|output| output.status.success())
}

#[test]
fn another_user_is_closed_on_without_a_byte_and_audited() {
    for (surface, hello) in [("control", operators_hello()), ("propose", assistants_hello())] {
        let world = World::builder().without_assistant().start();
        if !is_root(&world) {
            skipped("only root can be another user");
            return;
        }
        open_wide(&world, surface);
        for _ in 0..3 {
            assert_eq!(as_nobody(&world.socket(surface), &hello), "0");
        }
        the_stranger_is_noted(&world, surface);
        assert_eq!(world.writes(), []);
    }
}

// One wrong entry each, as that many users; prints the answers' statuses and whether any showed the sign-in form.
const WRONG_ENTRIES: &str = "
import encodings.idna, os, socket, sys
port, count, first = map(int, sys.argv[1:])
body = b'secret=wrong&pin=wrong-pin'
host = b'127.0.0.1:%d' % port
lines = [b'POST /login HTTP/1.1', b'Host: ' + host, b'Origin: http://' + host, b'Sec-Fetch-Site: same-origin',
         b'Content-Type: application/x-www-form-urlencoded', b'Content-Length: %d' % len(body), b'Connection: close']
for number in range(count):
    if os.fork() == 0:
        os.setuid(first + number)
        s = socket.create_connection(('127.0.0.1', port), timeout=20)
        s.sendall(b'\\r\\n'.join(lines) + b'\\r\\n\\r\\n' + body)
        answer = b''
        while chunk := s.recv(65536):
            answer += chunk
        print(answer.split(b' ')[1].decode(), b'type=\"password\"' in answer, flush=True)
        os._exit(0)
    os.wait()
";

#[test]
fn sixty_strangers_at_the_sign_in_form_do_not_make_the_operator_wait() {
    let world = World::builder().without_assistant().start();
    if !is_root(&world) {
        skipped("only root can be another user");
        return;
    }
    let port = world.stranger_page().address().rsplit_once(':').map(|(_, port)| port.to_owned()).unwrap_or_default();
    // Fifty wrong entries from anywhere would make everybody wait.
    let output = must(Command::new("python3").args(["-c", WRONG_ENTRIES, &port, "60", "61000"]).output(), "python3");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().collect::<Vec<_>>(), ["403 False"; 60], "{}", String::from_utf8_lossy(&output.stderr));
    // Signs in, or the test ends.
    assert_eq!(world.page().get("/").status, 200);
    assert_eq!(world.audit("pin_wrong"), []);
}

#[test]
fn the_assistants_user_is_no_operator_whatever_the_list_says() {
    let list = format!("- name: root\n  uid: 0\n  operator: true\n- name: agent\n  uid: {NOBODY}\n  operator: true\n");
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let builder = World::builder().without_assistant().without_pin().principals(&list).group("fleetwatch-operators");
    let world = builder.executor_setting("FLEETWATCH_ASSISTANT_USER", &NOBODY.to_string()).start();
    assert_eq!(world.control().status().isolation.as_str(), "users");
    open_wide(&world, "control");
    open_wide(&world, "propose");
    assert_eq!(as_nobody(&world.socket("control"), &operators_hello()), "0");
    the_stranger_is_noted(&world, "control");
    // On its own socket the same user is heard, and the operator there is a stranger.
    assert_ne!(as_nobody(&world.socket("propose"), &assistants_hello()), "0");
    let mut frames = must(Frames::connect(&world.socket("propose")), "propose.sock");
    let hello = assistants_hello();
    let length = must(u32::try_from(hello.len()), "a length").to_be_bytes();
    frames.send_raw(&[&length[..], &hello].concat());
    assert_eq!(frames.recv_raw(), None);
    assert_eq!(world.writes(), []);
}

// Takes as many seats as it is asked to and says how many hellos were answered and how many turned away; sits until its
// input ends.
const GREEDY: &str = "
import socket, sys
path, hello, count = sys.argv[1], bytes.fromhex(sys.argv[2]), int(sys.argv[3])
seats, away = [], 0
for _ in range(count):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(20)
    s.connect(path)
    try:
        s.sendall(hello)
    except (BrokenPipeError, ConnectionResetError):
        pass
    answer = s.recv(4096)
    away += b'which is its share' in answer
    seats.append(s)
print(count - away, away, flush=True)
sys.stdin.read()
";

#[test]
fn one_users_connections_to_ask_sock_keep_no_other_user_out() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let world = World::builder().assistant_user(NOBODY).start();
    let hello = must(frame::encode(&Request { id: 1, say: AskerSays::Hello(Hello::ours()) }), "a frame");
    let length = must(u32::try_from(hello.len()), "a length").to_be_bytes();
    let hello = fleetwatch_tests::hex::encode(&[&length[..], &hello].concat());
    let group = must(std::fs::metadata(world.socket("ask")), "ask.sock").gid();
    let mut seated = Vec::new();
    for (uid, count) in [(61_001, 9), (61_002, 1)] {
        let mut command = Command::new("python3");
        command.args(["-c", GREEDY]).arg(world.socket("ask")).arg(&hello).arg(count.to_string());
        command.uid(uid).gid(group).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = must(command.spawn(), "python3");
        let mut line = String::new();
        let output = some(child.stdout.take(), "its output");
        must(BufReader::new(output).read_line(&mut line), "its word");
        assert_eq!(line, if uid == 61_001 { "6 3\n" } else { "1 0\n" });
        // The operator's own seats are not among them.
        assert_eq!(world.ctl(&["status"]).status.code(), Some(0));
        seated.push(child);
    }
    for mut child in seated {
        drop(child.stdin.take());
        must(child.wait(), "its end");
    }
}

// Says these words as another user and prints, for each after the hello, all that was said of it.
const AGENT: &str = "
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.settimeout(60)
s.connect(sys.argv[1])
def frame():
    data = b''
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], 'big'):
        more = s.recv(1 if len(data) < 4 else 4 + int.from_bytes(data[:4], 'big') - len(data))
        if not more:
            sys.exit('hung up')
        data += more
    return data[4:]
for number, word in enumerate(sys.argv[2:]):
    s.sendall(bytes.fromhex(word))
    for _ in range(2 if number else 1):
        answer = frame()
        if number:
            print(answer.hex())
";

// What an agent's user is told about this one word: its answer, and that it is done.
#[track_caller]
fn as_agent(world: &World, uid: u32, say: AskerSays) -> AskedSays {
    let framed = |id, say| {
        let bytes = must(frame::encode(&Request { id, say }), "a frame");
        let length = must(u32::try_from(bytes.len()), "a length").to_be_bytes();
        fleetwatch_tests::hex::encode(&[&length[..], &bytes].concat())
    };
    let group = must(std::fs::metadata(world.socket("ask")), "ask.sock").gid();
    let mut command = Command::new("python3");
    command.args(["-c", AGENT]).arg(world.socket("ask"));
    command.args([framed(1, AskerSays::Hello(Hello::ours())), framed(2, say)]);
    let output = must(command.uid(uid).gid(group).current_dir("/").output(), "python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let bytes = some(text.lines().next().and_then(fleetwatch_tests::hex::decode), "an answer");
    must(frame::decode::<Reply<AskedSays>>(&bytes), "an answer").say
}

#[test]
fn an_agents_user_is_told_of_its_own_proposals_alone() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let world = World::builder().assistant_user(NOBODY).start();
    let (one, two) = (61_001, 61_002);
    let arguments = recording("start", &world.room("Hall A"), 1).to_string().into_bytes();
    let draft = AskerSays::Draft { tool: RECORD.to_owned(), arguments, reason: "An agent asked for it.".to_owned() };
    let AskedSays::Proposed { number } = as_agent(&world, one, draft) else { must(Err("not proposed"), "a draft") };
    let live = |uid| {
        let AskedSays::Live(live) = as_agent(&world, uid, AskerSays::Live) else { must(Err("no list"), "what waits") };
        live.len()
    };
    assert_eq!((live(one), live(two)), (1, 0));
    let told = as_agent(&world, one, AskerSays::Standing { number });
    assert!(matches!(&told, AskedSays::Standing(news) if news.state == ProposalState::Pending), "{told:?}");
    let told = as_agent(&world, two, AskerSays::Standing { number });
    assert!(matches!(&told, AskedSays::Refused(refusal) if refusal.code == Code::UnknownProposal), "{told:?}");
    assert_eq!(world.audit("proposal").iter().map(|row| row.0.clone()).collect::<Vec<_>>(), ["front-61001"]);
    must(world.control().deny(number), "no");
}

#[test]
fn propose_sock_has_no_word_that_decides() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let numbers = propose_all(&world, &[(RECORD, recording("start", &hall, 1))]);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    // Good for one approval, on the other socket.
    let yes = operator.yes_to(&cards[0]);
    let number = numbers[0];
    let decisive = [
        OperatorSays::Approve(yes.clone()),
        OperatorSays::Deny { number },
        OperatorSays::DenyAll,
        OperatorSays::Doctor,
        OperatorSays::Show { number },
        OperatorSays::List,
        OperatorSays::Status,
        OperatorSays::AuditVerify,
        OperatorSays::History { most: 10, search: None },
        OperatorSays::PinSet { old: None, new: yes.pin.clone() },
        OperatorSays::Hello(Hello::ours()),
    ];
    for say in &decisive {
        let mut first = must(Frames::connect(&world.socket("propose")), "propose.sock");
        first.send(&Request { id: 1, say: say.clone() });
        assert_eq!(first.recv_raw(), None, "as the first word: {say:?}");
        for kind in [LinkKind::Turn, LinkKind::Poll] {
            let mut link = world.propose_link("a", kind);
            link.frames().send(&Request { id: 2, say: say.clone() });
            // Closed on; or its bytes happen to be a word of this socket, which decides nothing.
            if let Some(answer) = link.frames().recv_raw() {
                let reply: Reply<ExecutorSays> = must(frame::decode(&answer), "an answer");
                let decides = matches!(reply.say, ExecutorSays::Admitted { .. } | ExecutorSays::Hello { .. });
                assert!(!decides, "on a {kind:?} link: {say:?} is answered with {reply:?}");
            }
        }
    }
    assert_eq!((world.state_of(number), world.writes().len()), (ProposalState::Pending, 0));
    assert_eq!(operator.list().len(), 1);
    must(operator.decide(yes), "the same yes on its own socket");
    assert_eq!(world.writes().len(), 1);
}

// Fewer than the connections that the executor serves at once, or it would not read them.
const ROUNDS: u32 = 50;

#[test]
fn random_bytes_on_propose_sock_do_nothing() {
    let world = World::builder().without_assistant().start();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..ROUNDS {
        let count = next() % 200;
        let bytes: Vec<u8> = (0..count).map(|_| next().to_le_bytes()[0]).collect();
        let length = must(u32::try_from(bytes.len()), "a length").to_be_bytes();
        let mut frames = must(Frames::connect(&world.socket("propose")), "propose.sock");
        frames.send_raw(&[&length[..], &bytes].concat());
        // A hello that random bytes happen to spell would be answered; nothing else is.
        if let Some(answer) = frames.recv_raw() {
            let reply: Reply<ExecutorSays> = must(frame::decode(&answer), "an answer");
            assert!(matches!(reply.say, ExecutorSays::Hello { .. }), "round {round}: {reply:?}");
        }
    }
    assert!(world.control().history().is_empty());
    assert_eq!(world.writes(), []);
    let hall = world.room("Hall A");
    must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a well-behaved assistant is still heard");
}

#[test]
fn another_wire_version_gets_a_hello_and_nothing_more() {
    let world = World::builder().without_assistant().start();
    let hello = Hello { wire: WIRE_VERSION + 1, ..Hello::ours() };
    let agent = must(Label::new("a").ok_or("none"), "a label");
    let assistant = AssistantSays::Hello { hello: hello.clone(), kind: LinkKind::Turn, agent, witness: None };
    let mut frames = must(Frames::connect(&world.socket("propose")), "propose.sock");
    frames.send(&Request { id: 1, say: assistant });
    assert!(frames.recv_raw().is_some());
    frames.send(&Request { id: 2, say: AssistantSays::Poll });
    assert_eq!(frames.recv_raw(), None);
    let mut frames = must(Frames::connect(&world.socket("control")), "control.sock");
    frames.send(&Request { id: 1, say: OperatorSays::Hello(hello) });
    assert!(frames.recv_raw().is_some());
    frames.send(&Request { id: 2, say: OperatorSays::Status });
    assert_eq!(frames.recv_raw(), None);
    // Whoever does not begin with a hello hears nothing at all.
    let mut frames = must(Frames::connect(&world.socket("control")), "control.sock");
    frames.send(&Request { id: 1, say: OperatorSays::Status });
    assert_eq!(frames.recv_raw(), None);
    // A length beyond every frame is not waited for.
    let mut frames = must(Frames::connect(&world.socket("propose")), "propose.sock");
    frames.send_raw(&(1_u32 << 30).to_be_bytes());
    assert_eq!(frames.recv_raw(), None);
    assert_eq!(world.writes(), []);
}
