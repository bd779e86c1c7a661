//! The limits against approval fatigue (`seed 000, Limits against approval fatigue`).

use control::message::OperatorSays;
use fleetwatch_tests::world::{ProposeClient, World, code_of, draft, must, recording, units, until};
use protocol::propose::{AssistantSays, LinkKind, ProposalState};
use protocol::refusal::{Refusal, RefusalCode as Code};
use serde_json::{Value, json};
use std::time::Duration;

const RECORD: &str = "batch_recording";
const SOON: Duration = Duration::from_secs(5);

// What the store can tell is told before anything is read: a flood of refused proposals costs the fleet nothing.
#[track_caller]
fn refused_unread(world: &World, agent: &str, arguments: &Value) -> Refusal {
    let before = world.sim_log().len();
    let Err(refusal) = world.propose(agent, RECORD, arguments) else { must(Err("it was admitted"), agent) };
    assert_eq!(world.sim_log().len(), before, "reads of the fleet for {refusal}");
    refusal
}

#[test]
fn at_most_three_wait_and_deny_all_denies_them_all() {
    let world = World::builder().without_assistant().start();
    let rooms = ["Hall A", "Courtroom 1", "Courtroom 4", "Chapel"].map(|name| world.room(name));
    let changes = rooms.each_ref().map(|unit| recording("start", unit, 1));
    for change in &changes[..3] {
        must(world.propose("a", RECORD, change), "one of three");
    }
    let refusal = refused_unread(&world, "b", &changes[3]);
    assert_eq!((refusal.code, refusal.detail.as_str()), (Code::QueueFull, "3 of 3"));
    let (exit, status) = world.status();
    assert_eq!((exit, status["executor"]["problems"][0]["code"].as_str()), (1, Some("queue_full")), "{status}");
    assert!(world.page().get("/").body.contains("The queue is full"));

    let mut operator = world.control();
    assert_eq!(operator.deny_all().len(), 3);
    assert!(operator.history().iter().all(|row| row.state == ProposalState::Denied));
    assert_eq!(world.audit("denial").len(), 3, "each is a denial of its own");
    must(world.propose("b", RECORD, &changes[3]), "there is room again");
    assert_eq!(world.writes(), []);
}

#[test]
fn withdrawn_proposals_count_toward_the_hour_and_denied_ones_do_not() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let mut operator = world.control();
    for _ in 0..2 {
        let number = must(world.propose("denied", RECORD, &recording("start", &chapel, 1)), "a proposal");
        must(operator.deny(number), "no");
    }
    for count in 1..=10 {
        let mut turn = world.turn(&format!("agent-{count}"));
        must(turn.propose(RECORD, &recording("start", &hall, 1)), "one of ten");
        drop(turn);
        until(SOON, "a withdrawal", || operator.list().is_empty().then_some(()));
    }
    assert_eq!(operator.history().iter().filter(|row| row.state == ProposalState::Withdrawn).count(), 10);
    let refusal = refused_unread(&world, "late", &recording("start", &hall, 1));
    assert_eq!((refusal.code, refusal.detail.as_str()), (Code::HourlyLimit, "10 of 10"));
    let (exit, status) = world.status();
    assert_eq!((exit, status["executor"]["problems"][0]["code"].as_str()), (1, Some("hourly_limit")), "{status}");
    assert_eq!(world.writes(), []);
}

#[test]
fn three_denials_of_one_change_pause_it_and_no_other() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let mut operator = world.control();
    for agent in ["a", "b", "c"] {
        let number = must(world.propose(agent, RECORD, &recording("start", &hall, 1)), "a proposal");
        must(operator.deny(number), "no");
    }
    let refusal = refused_unread(&world, "d", &recording("start", &hall, 1));
    assert_eq!(refusal.code, Code::PausedAfterDenials);
    assert!(refusal.detail.contains("denied 3 times"), "{refusal}");
    must(world.propose("d", "batch_reboot", &units(&hall)), "another tool");
    must(world.propose("d", RECORD, &recording("start", &world.room("Chapel"), 1)), "another room");
    assert_eq!(world.writes(), []);
}

#[track_caller]
fn turned_away_rows(world: &World) -> Vec<(String, String, Value)> {
    world.audit("proposal_refused").into_iter().filter(|row| row.2["code"] == "too_many_requests").collect()
}

#[test]
fn a_flood_that_goes_on_or_meets_the_end_of_the_executor_is_counted_too() {
    let mut world = World::builder().without_assistant().start();
    let mut flood = world.turn("flood");
    let mut turned_away = |count: usize| {
        let codes: Vec<_> = (0..count).map(|_| code_of(flood.draft(draft("no_such_tool", b"{}", "")))).collect();
        codes.iter().filter(|code| **code == Code::TooManyRequests).count()
    };
    let first = turned_away(30);
    // The next one that is let in tells how many were not.
    std::thread::sleep(Duration::from_millis(2_200));
    assert_eq!(turned_away(1), 0);
    let told = |requests: usize| json!({ "code": "too_many_requests", "requests": requests });
    assert_eq!(turned_away_rows(&world).iter().map(|row| row.2.clone()).collect::<Vec<_>>(), [told(first)]);
    let second = turned_away(5);
    assert!(first > 5 && second > 2, "{first} and {second}");
    assert_eq!(world.stop_executor(), Some(0));
    assert_eq!(
        turned_away_rows(&world).iter().map(|row| row.2.clone()).collect::<Vec<_>>(),
        [told(first), told(second)]
    );
}

#[test]
fn a_flood_is_turned_away_and_a_request_id_means_one_thing() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let mut flood = world.turn("flood");
    let codes: Vec<_> = (0..30).map(|_| code_of(flood.draft(draft("no_such_tool", b"{}", "")))).collect();
    assert_eq!(codes[0], Code::ToolUnknown);
    assert_eq!(codes[29], Code::TooManyRequests);
    assert!(world.audit("proposal_refused").len() < 25, "what is turned away is counted, not written one by one");
    let turned_away = codes.iter().filter(|code| **code == Code::TooManyRequests).count();
    // The flood has stopped, and nobody asks again: its row comes all the same, once.
    let rows = until(SOON * 3, "the row", || Some(turned_away_rows(&world)).filter(|rows| !rows.is_empty()));
    let told = json!({ "code": "too_many_requests", "requests": turned_away });
    assert_eq!(rows, [("flood".to_owned(), "propose".to_owned(), told.clone())]);

    let mut turn = world.turn("calm");
    let one = draft(RECORD, recording("start", &hall, 1).to_string().as_bytes(), "why");
    let number = must(turn.draft(one.clone()), "a draft");
    assert_eq!(turn.draft(one.clone()), Ok(number), "the same again is the same proposal");
    let other = protocol::propose::Propose { reason: "another reason".to_owned(), ..one.clone() };
    assert_eq!(code_of(turn.draft(other)), Code::IdConflict);
    let broken = protocol::propose::Propose { arguments: b"{".to_vec(), ..one.clone() };
    assert_eq!(code_of(turn.draft(broken)), Code::IdConflict);
    assert_eq!(world.control().history().len(), 1);
    assert_eq!(world.writes(), []);
}

#[test]
fn a_request_that_was_answered_gets_its_answer_again_whatever_stands_against_a_new_one() {
    let world = World::builder().without_assistant().start();
    let mut turn = world.turn("calm");
    let drafts: Vec<_> = ["Hall A", "Hall B", "Chapel"]
        .map(|room| draft(RECORD, recording("start", &world.room(room), 1).to_string().as_bytes(), "why"))
        .into();
    let numbers: Vec<_> = drafts.iter().map(|one| must(turn.draft(one.clone()), "a draft")).collect();
    let read = world.sim_log().len();
    let again = |turn: &mut ProposeClient| -> Vec<_> { drafts.iter().map(|one| turn.draft(one.clone())).collect() };
    let answers: Vec<_> = numbers.iter().map(|number| Ok(*number)).collect();
    // The queue is full; then the fleet cannot be read either.
    assert_eq!(again(&mut turn), answers);
    world.sim_set(&json!({ "read_fault": { "tool": "get_devices_in_my_team", "kind": "error" } }));
    assert_eq!(again(&mut turn), answers);
    assert_eq!(world.sim_log().len(), read, "nothing is read for an answer that is known");
    assert_eq!(world.control().history().len(), 3);
}

// Which readings the writing sign-in has made, by tool.
#[track_caller]
fn readings(world: &World, tool: &str) -> usize {
    world.sim_log().iter().filter(|call| call["token"] == "sandbox" && call["tool"] == tool).count()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a stop watch of a test")]
fn a_flood_of_questions_about_what_can_change_is_one_reading_and_shows_the_fence_alone() {
    let world = World::builder().without_assistant().fence_rooms(&["Hall A", "Hall C"]).start();
    let mut link = world.propose_link("a", LinkKind::Poll);
    let list = must(link.changeable(), "the list");
    let names: Vec<_> = list["devices"].as_array().unwrap().iter().map(|unit| unit["name"].clone()).collect();
    assert_eq!(
        (names.as_slice(), &list["units"], &list["shown"]),
        (&[json!("Hall A"), json!("Hall C")][..], &json!(2), &json!(2))
    );
    let hall = &list["devices"][0];
    assert_eq!((&hall["device_id"], &hall["online"]), (&json!(world.room("Hall A")), &json!(true)));
    assert_eq!(
        (&hall["channels"][0]["recorder"], &hall["event"]["title"]),
        (&json!("stopped"), &json!("Faculty senate"))
    );
    assert_eq!(list["streams"].as_array().unwrap().len(), 5);
    let text = list.to_string();
    assert!(text.contains("ingest.example.net") && !text.contains("never-show") && !text.contains("://"), "{text}");
    let began = std::time::Instant::now();
    let answers: Vec<_> = (0..40).map(|_| link.changeable().map_err(|refusal| refusal.code)).collect();
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    let told = answers.iter().filter(|answer| answer.as_ref() == Ok(&list)).count();
    // Twenty at once, then one in two seconds; the list is kept for ten.
    assert!((19..=20 + seconds / 2).contains(&told), "{told} in {seconds} s");
    assert!(answers.iter().flat_map(|answer| answer.as_ref().err()).all(|code| *code == Code::TooManyRequests));
    for tool in ["get_devices_in_my_team", "get_stream_endpoints", "get_recorder_status_for_devices"] {
        assert!((1..=1 + seconds / 10).contains(&readings(&world, tool)), "{tool} in {seconds} s");
    }
    // What was turned away is written down once the flood has stopped, as a flood of drafts is.
    let rows = until(SOON * 3, "the row", || Some(turned_away_rows(&world)).filter(|rows| !rows.is_empty()));
    let flood = json!({ "code": "too_many_requests", "requests": 40 - told, "asked": "changeable" });
    assert_eq!(rows, [("a".to_owned(), "propose".to_owned(), flood)]);
    // A proposal has its own allowance, and a turn has no such word.
    must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    assert_eq!(code_of(world.turn("b").ask(AssistantSays::Changeable)), Code::NotPermitted);
    must(world.control().ask(OperatorSays::Freeze), "freeze");
    assert_eq!(code_of(world.propose_link("c", LinkKind::Poll).changeable()), Code::Frozen, "not even what is kept");
}

#[test]
fn a_large_fleet_is_told_in_part_and_in_words_and_what_cannot_be_read_is_no_list() {
    let mut world = World::builder().without_assistant().rooms(700).start();
    let list = must(world.propose_link("a", LinkKind::Poll).changeable(), "the list");
    let shown = list["shown"].as_u64().unwrap();
    assert!(list["units"] == 700 && (200..=500).contains(&shown), "{shown}");
    assert_eq!(list["left_out"][0], format!("{shown} of 700 units are shown; the others do not fit."));
    assert!(readings(&world, "get_recorder_status_for_devices") <= 5);
    // What is kept for ten seconds goes with the process.
    world.kill_executor();
    world.start_executor();
    world.sim_set(&json!({ "read_fault": { "tool": "get_stream_endpoints", "kind": "error" } }));
    let refusal = world.propose_link("a", LinkKind::Poll).changeable().unwrap_err();
    assert!(refusal.code == Code::ReadFailed && refusal.detail.starts_with("get_stream_endpoints"), "{refusal}");
}
