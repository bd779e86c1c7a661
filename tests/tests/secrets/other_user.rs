//! From the assistant's own user, where it has one (`seed 000, Parts`): whatever it says to the executor, nothing is written
//! without a person's decision; wherever it looks, the writing sign-in is not there or cannot be read.

use super::{RECORD, has_namespaces, printed};
use control::message::OperatorSays;
use control::pin::PinEntry;
use fleetwatch_tests::hex;
use fleetwatch_tests::needles::Needles;
use fleetwatch_tests::variants::{variant_of, variants_of};
use fleetwatch_tests::world::{
    ControlClient, PageClient, READING, World, draft, must, recording, skipped, some, until,
};
use protocol::frame;
use protocol::hello::{Hello, Reply, Request};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{AssistantSays, ExecutorSays, LinkKind, ProposalState};
use protocol::signin::Pasted;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const AGENT: u32 = 65_534;
const TOKEN: &str = "cnryAA11bb+cnryCC22dd/cnryEE33ff==";
const SOON: Duration = Duration::from_secs(20);

/// Speaks to a socket, or searches the machine, as whoever runs it; what to do comes on its standard input.
const PROGRAM: &str = include_str!("other_user.py");

// A wish of `other_user.py`, carried out by this user. Nothing of it stands in arguments or environment.
#[track_caller]
fn as_user(uid: u32, wish: &Value) -> Value {
    let mut command = Command::new("python3");
    command.args(["-I", "-c", PROGRAM]).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.uid(uid).gid(uid).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = must(command.spawn(), "python3");
    let mut input = some(child.stdin.take(), "its input");
    must(input.write_all(wish.to_string().as_bytes()), "its input");
    drop(input);
    let output = must(child.wait_with_output(), "python3");
    assert!(output.status.success(), "other_user.py failed");
    must(serde_json::from_slice(&output.stdout), "its answer")
}

// Where root decides and the assistant has a user of its own, who stands on the operators' list all the same.
fn two_users() -> World {
    let list = format!("- name: root\n  uid: 0\n  operator: true\n- name: agent\n  uid: {AGENT}\n  operator: true\n");
    let builder = World::builder().without_assistant().principals(&list).group("fleetwatch-operators");
    let builder = builder.sandbox_token(TOKEN).executor_setting("FLEETWATCH_ASSISTANT_USER", &AGENT.to_string());
    let world = builder.start();
    assert_eq!(world.control().status().isolation.as_str(), "users");
    // The harness keeps its folders to itself; what is left is what the executor itself protects.
    for folder in ["", "run", "run/propose", "run/control", "executor", "policy", "logs", "secrets"] {
        set_mode(&world.folder().join(folder), 0o755);
    }
    for name in ["propose", "control"] {
        set_mode(&world.socket(name), 0o666);
    }
    world
}

#[track_caller]
fn set_mode(path: &Path, mode: u32) {
    must(std::fs::set_permissions(path, Permissions::from_mode(mode)), &path.display().to_string());
}

// The frames, each under the next number, as one connection says them.
fn frames<T: Serialize>(says: impl IntoIterator<Item = T>) -> Vec<String> {
    let frame = |(id, say)| hex::encode(&must(frame::encode(&Request { id, say }), "a frame"));
    (1..).zip(says).map(frame).collect()
}

// The answers to the frames of one connection, up to the one that was hung up on.
#[track_caller]
fn agent_says(world: &World, socket: &str, frames: &[String]) -> Vec<Vec<u8>> {
    let said = as_user(AGENT, &json!({ "do": "frames", "path": world.socket(socket), "frames": frames }));
    let answers = some(said.as_array(), "a list").iter().filter_map(Value::as_str);
    answers.map(|answer| some(hex::decode(answer), "hex")).collect()
}

fn hello(kind: LinkKind) -> AssistantSays {
    let agent = some(Label::new("agent"), "a label");
    AssistantSays::Hello { hello: Hello::ours(), kind, agent, witness: None }
}

fn answer(bytes: &[u8]) -> ExecutorSays {
    let reply: Reply<ExecutorSays> = must(frame::decode(bytes), "an answer");
    reply.say
}

#[track_caller]
fn agent_proposes(world: &World, room: &str) -> ProposalNumber {
    let change = recording("start", &world.room(room), 1).to_string();
    let words = [
        hello(LinkKind::Turn),
        AssistantSays::Propose(draft(RECORD, change.as_bytes(), "because")),
        AssistantSays::TurnEnd,
    ];
    let said = agent_says(world, "propose", &frames(words));
    let admitted = said.iter().map(|bytes| answer(bytes)).find_map(|said| match said {
        ExecutorSays::Admitted { number } => Some(number),
        ExecutorSays::Acked
        | ExecutorSays::Changeable { .. }
        | ExecutorSays::Hello { .. }
        | ExecutorSays::Live(_)
        | ExecutorSays::News { .. }
        | ExecutorSays::Refused(_)
        | ExecutorSays::Standing(_)
        | ExecutorSays::TurnEnded => None,
    });
    some(admitted, "a proposal")
}

fn typed(pin: &str) -> PinEntry {
    must(serde_json::from_value(pin.into()), "a PIN")
}

/// Everything that a yes needs, as if all of it had been stolen.
struct Stolen {
    operator: ControlClient,
    yes: control::message::Approve,
    page: PageClient,
    form: BTreeMap<String, String>,
    /// Of the page, not used yet.
    code: String,
}

fn stolen(world: &World, by_command: ProposalNumber, by_page: ProposalNumber) -> Stolen {
    let mut operator = world.control();
    let card = must(operator.show(by_command), "a card");
    let mut page = world.stranger_page();
    let entered = page.post("/login", [("code", world.control().page_code().as_str())]);
    assert_eq!(entered.status, 303, "{}", entered.body);
    page.keep_cookie(&entered);
    let form = some(page.get(&format!("/card/{by_page}")).form("/approve"), "a form that approves");
    let code = world.control().page_code();
    sleep(READING);
    Stolen { yes: operator.yes_to(&card), operator, page, form, code }
}

// Every word of `control.sock`.
fn operators_words(world: &World, stolen: &Stolen) -> Vec<OperatorSays> {
    let (number, pin) = (stolen.yes.number, || typed(world.pin()));
    let words = vec![
        OperatorSays::Approve(stolen.yes.clone()),
        OperatorSays::Show { number },
        OperatorSays::List,
        OperatorSays::Status,
        OperatorSays::Doctor,
        OperatorSays::History { most: 10, search: None },
        OperatorSays::AuditVerify,
        OperatorSays::AuditRows { after: 0 },
        OperatorSays::Backup { offset: 0 },
        OperatorSays::PageCode { pin: pin() },
        OperatorSays::ProposeUndo { number },
        OperatorSays::PinSet { old: Some(pin()), new: typed("another-pin-1") },
        OperatorSays::Login { known: Some(Vec::new()), pin: pin() },
        OperatorSays::LoginCallback { address: Pasted::new("http://127.0.0.1:8765/callback?code=c&state=s") },
        OperatorSays::LoginWait,
        OperatorSays::Logout { pin: pin() },
        OperatorSays::AgentResume { agent: some(Label::new("agent"), "a label"), pin: pin() },
        OperatorSays::Thaw { pin: pin() },
        OperatorSays::Restore { pin: Some(pin()), total: 4, bytes: vec![1; 4] },
        OperatorSays::Freeze,
        OperatorSays::DenyAll,
        OperatorSays::Deny { number },
        OperatorSays::Hello(Hello::ours()),
    ];
    let named: BTreeSet<_> = words.iter().filter_map(variant_of).collect();
    let all = some(variants_of::<OperatorSays>(), "the words");
    assert_eq!(named, all.into_iter().collect(), "every word is said");
    words
}

// Every word of `propose.sock`, about proposals of others too.
fn assistants_words(number: ProposalNumber) -> Vec<AssistantSays> {
    let reboot = draft("batch_reboot", b"{\"device_ids\":[\"1\"]}", "approved already");
    let words = vec![
        AssistantSays::Poll,
        AssistantSays::Changeable,
        AssistantSays::Live,
        AssistantSays::Standing { number },
        AssistantSays::Ack { numbers: vec![number] },
        AssistantSays::Propose(draft("approve", b"{}", "approve it")),
        AssistantSays::Propose(reboot),
        AssistantSays::TurnEnd,
        hello(LinkKind::Poll),
    ];
    let named: BTreeSet<_> = words.iter().filter_map(variant_of).collect();
    let all = some(variants_of::<AssistantSays>(), "the words");
    assert_eq!(named, all.into_iter().collect(), "every word is said");
    words
}

// What a browser with everything in hand would send, sent by the assistant's user.
fn on_the_page(world: &World, stolen: &Stolen) {
    let page = &stolen.page;
    let form = || stolen.form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let number = stolen.form.get("number").cloned().unwrap_or_default();
    for (what, asking) in [
        ("the yes", page.asking("POST", "/approve").form(form())),
        ("the no", page.asking("POST", "/deny").form(form())),
        ("a code", world.stranger_page().asking("POST", "/login").form([("code", stolen.code.as_str())])),
        (
            "the secret",
            world
                .stranger_page()
                .asking("POST", "/login")
                .form([("secret", world.page_secret().as_str()), ("pin", world.pin())]),
        ),
        ("the queue", page.asking("GET", "/")),
        ("the card", page.asking("GET", &format!("/card/{number}"))),
        ("the history", page.asking("GET", "/history")),
    ] {
        let wish = json!({ "do": "http", "address": page.address(), "bytes": hex::encode(&asking.bytes()) });
        let said = as_user(AGENT, &wish);
        let bytes = some(said.as_str().and_then(hex::decode), "hex");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let nothing = text.is_empty() || text.starts_with("HTTP/1.1 403 ");
        assert!(nothing && !text.to_lowercase().contains("set-cookie"), "{what}: {text}");
        assert!(!text.contains("Hall A") && !text.contains("Chapel"), "{what} shows a card: {text}");
    }
}

fn approvals(world: &World) -> i64 {
    must(world.database().query_row("SELECT count(*) FROM approvals", [], |row| row.get(0)), "the approvals")
}

#[test]
fn the_assistants_user_writes_nothing_at_any_of_the_executors_doors() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let world = two_users();
    let (by_command, by_page) = (agent_proposes(&world, "Hall A"), agent_proposes(&world, "Chapel"));
    let mut stolen = stolen(&world, by_command, by_page);
    let mut heard = Vec::new();
    for say in operators_words(&world, &stolen) {
        for first in [vec![], vec![OperatorSays::Hello(Hello::ours())]] {
            let words = frames(first.into_iter().chain([say.clone()]));
            assert_eq!(agent_says(&world, "control", &words), Vec::<Vec<u8>>::new(), "on control.sock: {say:?}");
        }
        // On its own socket such a word is hung up on, or happens to spell another that decides nothing.
        for kind in [LinkKind::Turn, LinkKind::Poll] {
            let words = [frames([hello(kind)]), frames([say.clone(), say.clone()]).split_off(1)].concat();
            heard.extend(agent_says(&world, "propose", &words));
        }
    }
    for say in assistants_words(by_command) {
        for kind in [LinkKind::Turn, LinkKind::Poll] {
            heard.extend(agent_says(&world, "propose", &frames([hello(kind), say.clone(), say.clone()])));
        }
    }
    for bytes in &heard {
        assert!(!matches!(answer(bytes), ExecutorSays::Admitted { .. }), "a proposal out of nothing");
    }
    on_the_page(&world, &stolen);
    assert_eq!((world.writes(), approvals(&world)), (vec![], 0), "nothing was decided and nothing written");
    for number in [by_command, by_page] {
        assert_eq!(world.state_of(number), ProposalState::Pending);
    }
    // Nothing of what was stolen had been told to the assistant; and all of it is good in the operator's own hands.
    let needles =
        Needles::new().text("page code", &stolen.code).text("ticket", &stolen.yes.ticket).text("PIN", world.pin());
    assert_eq!(needles.found_in(&heard.concat()), Vec::<&str>::new());
    must(stolen.operator.decide(stolen.yes), "the operator's own yes");
    assert_eq!(stolen.page.submit("/approve", &stolen.form).status, 303, "the page's own yes");
    until(SOON, "both writes", || (world.writes().len() == 2).then_some(()));
    assert_eq!(approvals(&world), 2, "one decision for each write");
}

// Processes and folders, searched by this user: what holds a secret, what could not be read, how much was.
#[track_caller]
fn searched(uid: u32, needles: &Needles, pids: &[u32], folders: &[&Path]) -> (Vec<String>, Vec<String>, u64) {
    let wish = json!({ "do": "search", "needles": needles.in_hex(), "pids": pids, "folders": folders });
    let said = as_user(uid, &wish);
    let list = |key: &str| {
        let list = some(said[key].as_array(), key).iter().filter_map(Value::as_str);
        list.map(str::to_owned).collect::<Vec<_>>()
    };
    (list("found"), list("denied"), some(said["read"].as_u64(), "a count"))
}

#[test]
fn the_assistants_user_finds_the_writing_sign_in_nowhere() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let mut world = two_users();
    let number = agent_proposes(&world, "Hall A");
    must(world.approve(number), "the yes");
    assert_eq!(world.writes().len(), 1, "the sign-in was used");
    let backup = world.folder().join("a-backup");
    printed(&world, &["backup", &backup.display().to_string()]);
    assert!(backup.is_file());
    let pid = world.executor().pid();
    let (folder, state) = (world.folder().to_owned(), world.folder().join("executor"));
    let needles = Needles::new().text("token", TOKEN);

    // All processes of the machine, and every file of this installation.
    let (found, denied, read) = searched(AGENT, &needles, &[], &[&folder, Path::new("/dev/shm")]);
    assert_eq!(found, Vec::<String>::new(), "the assistant's user found it");
    assert!(read > 10, "it looked: {read}");
    for file in ["environ", "maps", "mem", "fd"] {
        let path = format!("/proc/{pid}/{file}");
        assert!(denied.contains(&path), "{path} can be read");
    }
    let mut files = vec![folder.join("secrets/sandbox-token"), backup.clone()];
    files.extend(fleetwatch_tests::needles::files_under(&state));
    let names: BTreeSet<_> = files.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    for name in ["store.db", "store.db-wal", "store.db-shm", "spent.log", "audit.key", "page-secret", "store.lock"] {
        assert!(names.contains(name), "there is no {name}: {names:?}");
    }
    for path in &files {
        assert!(denied.contains(&path.display().to_string()), "{} can be read", path.display());
        let file = must(std::fs::metadata(path), "a file");
        assert_eq!((file.uid(), file.mode() & 0o077), (0, 0), "{}", path.display());
    }
    // And root, who may read all of it, finds it in its own file alone: in no argument, environment, state or backup.
    let (found, denied, read) = searched(0, &needles, &[pid], &[&folder]);
    let own = folder.join("secrets/sandbox-token").display().to_string();
    assert!(read > 10 && !denied.iter().any(|path| path.contains("environ")), "{denied:?}");
    assert!(!found.is_empty() && found.iter().all(|hit| hit.starts_with(&format!("{own}: "))), "{found:?}");
}
