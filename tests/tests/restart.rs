//! Killing either daemon at any time and starting it again leaves a state that `status` explains, and runs nothing.

use control::message::OperatorSays;
use fleetwatch_tests::world::{READING, World, code_of, must, recording, some, until};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::Duration;

const RECORD: &str = "batch_recording";
const SOON: Duration = Duration::from_secs(20);

fn start(expired: u64, unknown: u64, restored: u64) -> Value {
    json!({ "expired": expired, "unknown": unknown, "restored": restored, "backup": false })
}

// The status once the assistant has found the executor again.
#[track_caller]
fn settled(world: &World) -> (i32, Value) {
    until(SOON, "both daemons", || {
        let (exit, status) = world.status();
        (status["assistant"]["executor_reached"] == true).then_some((exit, status))
    })
}

#[test]
fn status_tells_everything_that_two_daemons_know_of_themselves() {
    let world = World::builder().start();
    let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    let (exit, status) = settled(&world);
    let (executor, assistant) = (&status["executor"], &status["assistant"]);
    assert_eq!(
        (exit, &status["ok"], &executor["problems"], &assistant["problems"]),
        (0, &json!(true), &json!([]), &json!([]))
    );
    for daemon in [executor, assistant] {
        assert!(daemon["build"].as_str().is_some_and(|build| build.starts_with("fleetwatch ")), "{status}");
        assert!(daemon["uptime_seconds"].is_u64() && daemon["wire"].is_u64(), "{status}");
        assert_eq!(daemon["sign_in"], true, "{status}");
    }
    assert_eq!((&executor["isolation"], &executor["slot"]), (&json!("none"), &json!("sim")));
    assert_eq!(
        (&executor["autonomy"], &executor["dry_run"], &executor["frozen"]),
        (&json!("propose"), &json!(false), &json!(false))
    );
    assert_eq!(executor["queue"], json!({ "pending": 1, "pending_limit": 3, "hour": 1, "hour_limit": 10 }));
    assert!(executor["last_read_seconds"].is_u64() && executor["audit_sequence"].is_u64(), "{status}");
    assert!(executor["fence"].as_str().is_some_and(|fence| fence.contains("devices")), "{status}");
    assert!(executor["page"].as_str().is_some_and(|page| page.starts_with("http://127.0.0.1:")), "{status}");
    assert!(assistant["model"].is_string() && assistant["model_host"].is_string() && assistant["witness"].is_u64());
    must(world.control().deny(number), "no");
    assert_eq!(
        world.status().1["executor"]["queue"],
        json!({ "pending": 0, "pending_limit": 3, "hour": 0, "hour_limit": 10 })
    );
}

#[test]
fn an_executor_that_was_killed_while_idle_or_while_something_waited() {
    let mut world = World::builder().start();
    world.kill_executor();
    let (exit, status) = world.status();
    assert!(exit == 1 && status["executor"]["error"].is_string(), "{status}");
    world.start_executor();
    let (exit, status) = settled(&world);
    assert_eq!((exit, &status["executor"]["start"]), (0, &start(0, 0, 0)), "{status}");

    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let unseen = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let seen = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(seen), "a card");
    sleep(READING);
    let yes = operator.yes_to(&card);
    world.kill_executor();
    world.start_executor();
    let (exit, status) = settled(&world);
    assert_eq!((exit, &status["executor"]["start"]), (0, &start(2, 0, 0)), "{status}");
    assert_eq!(world.state_of(unseen), ProposalState::ExpiredUnseen);
    assert_eq!(world.state_of(seen), ProposalState::ExpiredSeen);
    // A yes from before the start is worth nothing.
    assert_eq!(code_of(world.control().decide(yes)), Code::BadTicket);
    // The slots are free again, and the same change can be proposed and run.
    let again = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    assert_eq!(must(world.approve(again), "yes").state, ProposalState::Ok);
    assert_eq!(world.writes().len(), 1);
    assert_eq!(world.control().audit().broken, None);
}

#[test]
fn an_executor_that_was_killed_after_a_decision_keeps_it() {
    let mut world = World::builder().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let ran = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let denied = must(world.propose("a", RECORD, &recording("start", &chapel, 1)), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(ran), "a card");
    sleep(READING);
    let yes = operator.yes_to(&card);
    must(operator.decide(yes.clone()), "yes");
    must(operator.deny(denied), "no");
    let before = operator.audit().rows;
    world.kill_executor();
    world.start_executor();
    let (exit, status) = settled(&world);
    assert_eq!((exit, &status["executor"]["start"]), (0, &start(0, 0, 0)), "{status}");
    assert_eq!(world.state_of(ran), ProposalState::Ok);
    assert_eq!(world.state_of(denied), ProposalState::Denied);
    assert_eq!(code_of(world.control().decide(yes)), Code::BadTicket);
    let report = world.control().audit();
    assert!(report.broken.is_none() && report.rows > before, "{report:?}");
    assert_eq!(world.writes().len(), 1);
}

// Approves one change and kills the executor where it stops itself; then starts the plain one.
#[track_caller]
fn killed_at(barrier: &str) -> (World, protocol::ids::ProposalNumber) {
    let mut world = World::builder().without_assistant().barrier(barrier).start();
    let hall = world.room("Hall A");
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(number), "a card");
    sleep(READING);
    let yes = operator.yes_to(&card);
    operator.say_and_leave(OperatorSays::Approve(yes));
    until(SOON, barrier, || world.executor().is_stopped().then_some(()));
    world.kill_executor();
    "fleetwatch-executor".clone_into(&mut world.executor_binary);
    world.start_executor();
    (world, number)
}

#[test]
fn what_was_approved_and_not_begun_expires_and_what_was_begun_is_unknown() {
    let (world, number) = killed_at("after_approve");
    assert_eq!(world.state_of(number), ProposalState::Expired);
    assert_eq!(world.status().1["executor"]["start"], start(1, 0, 0));
    assert_eq!(world.writes(), []);
    let (world, number) = killed_at("before_send");
    assert_eq!(world.state_of(number), ProposalState::Unknown);
    let (exit, status) = world.status();
    assert_eq!((exit, &status["executor"]["start"]), (1, &start(0, 1, 0)), "{status}");
    assert!(status["wrong"].to_string().contains("never recorded"), "{status}");
    assert_eq!(code_of(world.approve(number)), Code::NotWaiting);
    assert_eq!(world.writes(), [], "it is not tried again");
}

#[test]
fn the_page_has_a_new_secret_after_each_start_and_knows_no_old_session() {
    let mut world = World::builder().without_assistant().start();
    let (old_secret, mut page) = (world.page_secret(), world.page());
    let file = world.folder().join("executor/page-secret");
    let mode = |path: &std::path::Path| must(std::fs::metadata(path), "its mode").permissions().mode() & 0o7777;
    assert_eq!(mode(&file), 0o600);
    let port = some(page.address().rsplit_once(':'), "a port").1.to_owned();
    world.executor_settings.insert("FLEETWATCH_APPROVE_PORT".to_owned(), port.into());
    world.kill_executor();
    assert!(file.exists(), "a kill leaves it behind");
    world.start_executor();
    assert_ne!(world.page_secret(), old_secret);
    assert_eq!(mode(&file), 0o600);
    assert_eq!(page.get("/history").status, 403, "the old cookie");
    assert_eq!(page.log_in(&old_secret, world.pin()).status, 403, "the old secret");
    assert_eq!(page.log_in(&world.page_secret(), world.pin()).status, 303);
    assert_eq!(page.get("/history").status, 200);
    assert_eq!(world.stop_executor(), Some(0));
    assert!(!file.exists(), "a clean stop takes it away");
}

#[test]
fn stale_sockets_are_replaced_and_a_second_executor_does_not_start() {
    let mut world = World::builder().start();
    let sockets = ["control", "propose", "ask"].map(|name| world.socket(name));
    world.kill_executor();
    world.kill_assistant();
    assert!(sockets.iter().all(|socket| socket.exists()), "a kill leaves them behind");
    world.start_executor();
    world.start_assistant();
    for socket in &sockets {
        assert_eq!(must(std::fs::metadata(socket), "its mode").permissions().mode() & 0o007, 0, "nothing for others");
    }
    let (code, log) = world.executor_that_ends();
    assert_ne!(code, 0, "{log}");
    let (exit, status) = settled(&world);
    assert_eq!(exit, 0, "the first one goes on: {status}");
    assert_eq!(world.page().get("/").status, 200, "with its own secret");
    assert_eq!(world.stop_executor(), Some(0));
    assert!(!world.folder().join("executor/page-secret").exists());
}

#[test]
fn an_assistant_that_was_killed_comes_back_and_nothing_that_waits_is_lost() {
    let mut world = World::builder().start();
    let hall = world.room("Hall A");
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    world.kill_assistant();
    let (exit, status) = world.status();
    assert!(
        exit == 1 && status["assistant"]["error"].is_string() && status["executor"]["build"].is_string(),
        "{status}"
    );
    assert_eq!(world.state_of(number), ProposalState::Pending, "its turn had ended");
    // A person decides without any assistant.
    assert_eq!(must(world.approve(number), "yes").state, ProposalState::Ok);
    world.start_assistant();
    let (exit, status) = settled(&world);
    assert_eq!((exit, &status["assistant"]["problems"]), (0, &json!([])), "{status}");
    assert!(!world.ask("Which rooms are recording?").is_empty());
    assert_eq!(world.writes().len(), 1);
}
