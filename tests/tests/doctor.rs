//! `fleetwatchctl doctor` on running daemons (`issue lines 3.19, 3.20`): a healthy world, each way to break one, nothing secret
//! on any line, no call of a tool, and the proof of isolation with two real users.

use fleetwatch_tests::needles::Needles;
use fleetwatch_tests::world::{World, must, recording, skipped, some, until};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const AGENT: u32 = 65_534;
const TOKEN: &str = "cnryDD44dd+cnryEE55ee/cnryFF66ff==";
const SOON: Duration = Duration::from_secs(20);

/// What `doctor --json` said.
struct Said {
    code: i32,
    rows: Vec<Value>,
}

#[track_caller]
fn doctor(world: &World) -> Said {
    let output = world.ctl(&["doctor", "--json"]);
    let value: Value = must(serde_json::from_slice(&output.stdout), "the JSON of doctor");
    let rows = some(value["rows"].as_array().cloned(), "rows");
    let said = Said { code: output.status.code().unwrap_or(-1), rows };
    assert_eq!(value["ok"], Value::from(said.code == 0));
    said
}

impl Said {
    // Part, check and grade of the rows of this grade.
    fn of_grade(&self, grade: &str) -> Vec<(&str, &str)> {
        let rows = self.rows.iter().filter(|row| row["grade"] == grade);
        rows.map(|row| (row["part"].as_str().unwrap_or(""), row["check"].as_str().unwrap_or(""))).collect()
    }

    #[track_caller]
    fn row(&self, part: &str, check: &str) -> (&str, &str) {
        let found = self.rows.iter().find(|row| row["part"] == part && row["check"] == check);
        let row = some(found, &format!("{part} {check} in {:?}", self.rows));
        (row["grade"].as_str().unwrap_or(""), row["found"].as_str().unwrap_or(""))
    }

    // This check fails, says so in these words, and the command ends with 1.
    #[track_caller]
    fn must_fail(&self, (part, check): (&str, &str), words: &str) {
        let (grade, found) = self.row(part, check);
        assert_eq!(grade, "FAIL", "{part} {check}: {found}");
        assert!(found.contains(words), "{part} {check}: {found}");
        assert_eq!(self.code, 1);
    }
}

#[track_caller]
fn set_mode(path: &Path, mode: u32) {
    must(std::fs::set_permissions(path, Permissions::from_mode(mode)), &path.display().to_string());
}

#[track_caller]
fn private(path: &Path, text: &str) {
    use std::io::Write;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    must(must(file, "a private file").write_all(text.as_bytes()), "a private file");
}

fn printed(world: &World, arguments: &[&str]) -> Vec<u8> {
    let output = world.ctl(arguments);
    [output.stdout, output.stderr].concat()
}

#[test]
fn a_healthy_world_has_no_fail_and_nothing_is_called() {
    let mut world = World::builder().sandbox_token(TOKEN).start();
    // The ping's address is a secret too; nobody listens there.
    let ping = world.folder().join("secrets/ping");
    private(&ping, "http://127.0.0.1:9/cnry-topic-1234");
    world.kill_executor();
    world.executor_settings.insert("FLEETWATCH_NOTIFY".to_owned(), "ntfy".into());
    world.executor_settings.insert("FLEETWATCH_NOTIFY_URL_FILE".to_owned(), ping.into());
    world.start_executor();
    until(SOON, "the assistant's poll", || world.asker().status().executor_reached.then_some(()));

    let (calls, models) = (world.sim_log(), world.sim.model_requests());
    let said = doctor(&world);
    assert_eq!((said.code, said.of_grade("FAIL")), (0, vec![]), "{:?}", said.rows);
    assert_eq!(said.of_grade("WARN"), vec![], "{:?}", said.rows);
    assert_eq!(said.row("here", "isolation").0, "INFO");
    assert!(said.row("assistant", "scope").1.starts_with("can write"));
    assert!(said.row("assistant", "model").1.contains("127.0.0.1"));
    for part in ["executor", "assistant"] {
        for check in ["policy", "guard", "redaction", "sign_in", "fleet"] {
            assert_eq!(said.row(part, check).0, "OK", "{part} {check}");
        }
    }
    assert_eq!((world.sim_log(), world.sim.model_requests()), (calls, models), "a tool or the model was called");

    let page = world.page_secret();
    let needles = Needles::new()
        .text("sandbox sign-in", TOKEN)
        .text("normal sign-in", "normal-token-of-this-test")
        .text("model key", "model-key-of-this-test")
        .text("ping", "cnry-topic-1234")
        .text("page secret", &page)
        .text("PIN", world.pin());
    for arguments in [&["doctor"][..], &["doctor", "--json"], &["doctor", "--lang", "es"]] {
        let text = printed(&world, arguments);
        assert!(text.len() > 2_000, "{}", String::from_utf8_lossy(&text));
        assert_eq!(needles.found_in(&text), Vec::<&str>::new(), "{arguments:?}");
    }
    let spanish = String::from_utf8_lossy(&printed(&world, &["doctor", "--lang", "es"])).into_owned();
    assert!(spanish.contains("el PIN es el límite") && spanish.contains("puede escribir"), "{spanish}");
}

/// A sabotage that can be taken back: a path, the mode it gets, and which check names it.
const OPENED: [(&str, u32, u32, (&str, &str)); 8] = [
    ("secrets/sandbox-token", 0o644, 0o600, ("executor", "sign_in")),
    ("secrets/normal-token", 0o640, 0o600, ("assistant", "sign_in")),
    ("executor/audit.key", 0o644, 0o600, ("executor", "store")),
    ("executor", 0o755, 0o700, ("executor", "folders")),
    ("assistant", 0o777, 0o700, ("assistant", "folders")),
    ("policy/principals.yaml", 0o666, 0o600, ("executor", "pins")),
    ("run/propose", 0o777, 0o700, ("here", "folders")),
    ("run/ask/ask.sock", 0o666, 0o600, ("here", "sockets")),
];

#[test]
fn whatever_is_opened_to_others_is_named_and_fails() {
    let world = World::builder().start();
    for (name, open, closed, check) in OPENED {
        let path = world.folder().join(name);
        assert_eq!(must(path.metadata(), name).mode() & 0o777, closed, "{name} before");
        set_mode(&path, open);
        let said = doctor(&world);
        set_mode(&path, closed);
        said.must_fail(check, &path.display().to_string());
        assert_eq!(said.of_grade("FAIL"), [check], "only this: {:?}", said.rows);
    }
    assert_eq!(doctor(&world).code, 0, "all is well again");
}

#[test]
fn broken_files_and_a_lost_lock_fail() {
    let world = World::builder().start();
    let policy = world.folder().join("policy/policy.yaml");
    let text = must(std::fs::read_to_string(&policy), "policy.yaml");
    must(std::fs::write(&policy, "autonomy: whatever\n"), "policy.yaml");
    let said = doctor(&world);
    said.must_fail(("executor", "policy"), "policy.yaml");
    said.must_fail(("assistant", "policy"), "policy.yaml");
    must(std::fs::write(&policy, format!("{text}# edited\n")), "policy.yaml");
    let said = doctor(&world);
    assert_eq!((said.code, said.row("executor", "policy").0), (0, "WARN"));
    must(std::fs::write(&policy, &text), "policy.yaml");

    let (spent, aside) = (world.folder().join("executor/spent.log"), world.folder().join("executor/aside"));
    must(std::fs::rename(&spent, &aside), "spent.log");
    doctor(&world).must_fail(("executor", "store"), "spent.log");
    must(std::fs::rename(&aside, &spent), "spent.log");
    assert_eq!(doctor(&world).code, 0);

    must(std::fs::remove_file(world.folder().join("executor/store.lock")), "store.lock");
    doctor(&world).must_fail(("executor", "lock"), "store.lock");
}

#[test]
fn without_a_fence_doctor_fails() {
    let world = World::builder().no_fence().without_assistant().start();
    doctor(&world).must_fail(("executor", "fence"), "none");
    let world = World::builder().no_fence().observe().without_assistant().start();
    assert_eq!(doctor(&world).row("executor", "fence").0, "WARN");
}

#[test]
fn a_daemon_that_does_not_answer_fails_and_the_other_goes_on() {
    let mut world = World::builder().start();
    world.kill_assistant();
    let said = doctor(&world);
    said.must_fail(("assistant", "answers"), "fleetwatch-assistant");
    assert_eq!(said.row("executor", "guard").0, "OK");
    world.start_assistant();
    world.kill_executor();
    until(SOON, "the assistant's next poll", || (!world.asker().status().executor_reached).then_some(()));
    let said = doctor(&world);
    said.must_fail(("executor", "answers"), "fleetwatch-executor");
    said.must_fail(("assistant", "answers"), "executor");
    assert_eq!(said.row("assistant", "guard").0, "OK");
}

#[test]
fn daemons_with_different_policies_fail() {
    let mut world = World::builder().start();
    let policy = world.folder().join("policy/policy.yaml");
    let text = must(std::fs::read_to_string(&policy), "policy.yaml");
    world.kill_assistant();
    must(std::fs::write(&policy, format!("{text}lead_minutes: 45\n")), "policy.yaml");
    world.start_assistant();
    let said = doctor(&world);
    said.must_fail(("here", "policy"), "different");
    assert_eq!((said.row("executor", "policy").0, said.row("assistant", "policy").0), ("WARN", "OK"));
}

#[test]
fn a_sign_in_that_the_server_no_longer_takes_fails_and_an_unreached_server_warns() {
    let mut world = World::builder().start();
    let dead = world.folder().join("secrets/dead-token");
    private(&dead, "dead-token-of-this-test");
    world.kill_executor();
    world.executor_settings.insert("FLEETWATCH_SANDBOX_TOKEN_FILE".to_owned(), dead.into());
    world.start_executor();
    assert_eq!(doctor(&world).row("executor", "sign_in").0, "OK", "nobody asked yet");
    let change = recording("start", &world.room("Hall A"), 1);
    let refused = world.propose("a", "batch_recording", &change).unwrap_err();
    assert_eq!(refused.code.as_str(), "sign_in_dead");
    doctor(&world).must_fail(("executor", "sign_in"), "does not take the sandbox sign-in any more");
    world.sim.daemon.kill();
    let said = doctor(&world);
    assert_eq!((said.row("executor", "fleet").0, said.row("assistant", "fleet").0), ("WARN", "WARN"));
    assert_eq!(said.row("assistant", "model_host").0, "WARN");
}

// Only root can be another user, on a machine with other groups.
fn has_namespaces() -> bool {
    let bind = "mount --bind /etc/group /etc/group";
    Command::new("unshare").args(["--mount", "sh", "-c", bind]).output().is_ok_and(|output| output.status.success())
}

fn opened(world: &World, name: &str) -> PathBuf {
    let path = world.folder().join(name);
    set_mode(&path, 0o644);
    path
}

#[test]
fn the_assistants_own_user_is_kept_out_and_whatever_it_can_open_is_named() {
    if !has_namespaces() {
        skipped("only root can be another user, on a machine with another group (mount namespaces)");
        return;
    }
    let world = World::builder().assistant_user(AGENT).start();
    let said = doctor(&world);
    let (grade, found) = said.row("here", "isolation");
    assert!(grade == "OK" && found.starts_with("kept out"), "{found}");
    assert_eq!((said.code, said.of_grade("FAIL")), (0, vec![]), "{:?}", said.rows);
    assert!(world.audit("stranger").is_empty(), "the executor was called");

    // The folder is open and one file in it; everything else stays shut.
    set_mode(&world.folder().join("executor"), 0o755);
    let still = doctor(&world);
    assert_eq!(still.row("here", "isolation").0, "OK", "each file is shut by itself");
    let named = [
        "executor/store.db",
        "executor/store.db-wal",
        "executor/audit.key",
        "secrets/sandbox-token",
        "policy/principals.yaml",
    ];
    for name in named {
        let path = opened(&world, name);
        let said = doctor(&world);
        said.must_fail(("here", "isolation"), &path.display().to_string());
        let (_, found) = said.row("here", "isolation");
        assert!(!found.contains("spent.log") && !found.contains("environ"), "{found}");
        set_mode(&path, 0o600);
    }
    set_mode(&world.socket("control"), 0o666);
    doctor(&world).must_fail(("here", "isolation"), "control.sock");
}
