//! The end-to-end replay (`seed 000, Tests`): a question, then a proposal, then the card, then Approve; the fleet records
//! exactly one write, and a second Approve is refused. On both surfaces, for every kind of change that can be approved.

use control::card::Card;
use fleetwatch_tests::world::{Answer, Call, READING, World, answered, must, proposed, recording, some, units};
use protocol::ids::ProposalNumber;
use protocol::propose::{News, ProposalState};
use protocol::refusal::RefusalCode;
use serde_json::{Value, json};
use std::thread::sleep;

const STAND_IN: &str = "model fleetwatch-sim-script";

// Asks in plain words and gives the one proposal that came of it.
#[track_caller]
fn asked_for(world: &World, question: &str) -> (ProposalNumber, String) {
    let said = world.ask(question);
    let numbers = proposed(&said);
    assert_eq!(numbers.len(), 1, "{said:?}");
    let (text, by) = answered(&said);
    assert_eq!(by, STAND_IN);
    assert!(text.contains(&format!("Proposal {}", numbers[0])), "{text}");
    (numbers[0], text)
}

#[track_caller]
fn check_news(news: &News, receipt: &str) {
    assert_eq!((news.state, &news.refusal), (ProposalState::Ok, &None), "{news:?}");
    assert!(news.detail.contains(receipt), "{news:?}");
}

fn write(tool: &str, arguments: Value) -> Call {
    Call { tool: tool.to_owned(), arguments, token: "sandbox".to_owned() }
}

#[track_caller]
fn check_audit(world: &World, kinds: &[&str]) {
    let report = world.control().audit();
    assert_eq!(report.broken, None);
    for kind in kinds {
        assert!(!world.audit(kind).is_empty(), "no audit row of kind {kind}");
    }
    assert!(report.rows >= kinds.len() as u64);
}

#[test]
fn a_question_becomes_one_approved_recording_on_the_terminal() {
    let world = World::builder().start();
    let hall = world.room("Hall A");
    let (answer, by) = answered(&world.ask("Which rooms aren't ready?"));
    assert!(by == STAND_IN && answer.contains("Aula 102 (offline)"), "{answer}");

    let (number, _) = asked_for(&world, "Start recording in Hall A");
    let mut operator = world.control();
    assert_eq!(operator.list().iter().map(|waiting| waiting.number).collect::<Vec<_>>(), [number]);
    let card = must(operator.show(number), "the card");
    check_card(&card, &hall);
    assert_eq!(world.writes(), [], "a card writes nothing");

    sleep(READING);
    let yes = operator.yes_to(&card);
    check_news(&must(operator.decide(yes.clone()), "the yes"), "channel 1 is recording");
    let once = [write("batch_recording", recording("start", &hall, 1))];
    assert_eq!(world.writes(), once);

    let second = operator.decide(yes).unwrap_err();
    assert_eq!(second.code, RefusalCode::NotWaiting);
    assert!(second.detail.contains("is ok, by operator (command)"), "{second}");
    assert_eq!(world.control().approve(number).unwrap_err().code, RefusalCode::NotWaiting);
    assert_eq!(world.writes(), once);
    check_audit(&world, &["proposal", "approval", "consumed", "outcome", "approval_refused"]);
}

#[track_caller]
fn check_card(card: &Card, hall: &str) {
    let facts = &card.facts;
    assert_eq!(facts.tool, "batch_recording");
    assert_eq!(facts.heading.en, "Start recording in Hall A, channel \"Program\"");
    let targets: Vec<_> = facts.targets.iter().map(|t| (t.id.as_str(), t.name.as_str(), t.model.as_str())).collect();
    assert_eq!(targets, [(hall, "Hall A", "Pearl-2")]);
    let arguments: Vec<_> = facts.arguments.iter().map(|a| (a.name.as_str(), a.json.clone())).collect();
    assert_eq!(arguments, [("action", "\"start\"".to_owned()), ("device_ids", format!("[\"{hall}-1\"]"))]);
    assert_eq!((facts.deny_only.len(), facts.disruptive, &facts.confirm), (0, false, &None));
    assert!(facts.slot.en.contains("Simulator") && facts.isolation == "none" && !facts.dry_run, "{facts:?}");
    assert_eq!(facts.reason, "Scripted stand-in: the operator asked for it.");
}

#[test]
fn a_question_becomes_one_approved_recording_on_the_page() {
    let world = World::builder().start();
    let hall = world.room("Hall A");
    let (number, _) = asked_for(&world, "Start recording in Hall A");
    let page = world.page();
    let queue = page.get("/");
    assert!(queue.body.contains(&format!("/card/{number}")), "{}", queue.body);

    let card = page.get(&format!("/card/{number}"));
    assert_eq!(card.status, 200);
    for words in ["Hall A", &hall, "Pearl-2", "batch_recording", "Written by the assistant, not checked"] {
        assert!(card.body.contains(words), "{words}: {}", card.body);
    }
    assert_eq!(world.writes(), [], "a card writes nothing");
    let form = some(card.form("/approve"), "a form that approves");
    let deny = some(card.body.find("action=\"/deny\""), "Deny");
    assert!(deny < some(card.body.find("action=\"/approve\""), "Approve"), "Deny comes first");

    sleep(READING);
    let outcome = follow(&world, &page.submit("/approve", &form), number);
    assert!(outcome.body.contains("channel 1 is recording"), "{}", outcome.body);
    let once = [write("batch_recording", recording("start", &hall, 1))];
    assert_eq!(world.writes(), once);

    let second = page.submit("/approve", &form);
    assert_eq!(second.status, 409, "{}", second.body);
    assert!(second.body.contains("not_waiting"), "{}", second.body);
    assert_eq!(world.writes(), once);
    let row = world.control().row(number);
    assert_eq!((row.state, row.decided_by.as_str(), row.surface.as_str()), (ProposalState::Ok, "operator", "page"));
    check_audit(&world, &["proposal", "approval", "consumed", "outcome"]);
}

// A decision ends on its outcome page.
#[track_caller]
fn follow(world: &World, answer: &Answer, number: ProposalNumber) -> Answer {
    assert_eq!((answer.status, answer.header("location")), (303, Some(format!("/outcome/{number}").as_str())));
    let outcome = world.page().get(&format!("/outcome/{number}"));
    assert_eq!(outcome.status, 200);
    outcome
}

#[test]
fn a_manual_recording_is_stopped_once_and_a_room_restarted_once() {
    let world = World::builder().start();
    let (court, chapel) = (world.room("Courtroom 2"), world.room("Chapel"));

    // On the terminal.
    let (number, _) = asked_for(&world, "stop recording in Courtroom 2");
    let mut operator = world.control();
    let card = must(operator.show(number), "the card");
    assert!(card.facts.disruptive && card.facts.deny_only.is_empty(), "{card:?}");
    assert_eq!(card.facts.confirm.as_deref(), Some("Courtroom 2"));
    assert_eq!(card.notes, [], "nothing stands against it");
    sleep(READING);
    let unnamed = control::message::Approve { confirm: None, ..operator.yes_to(&card) };
    assert_eq!(operator.decide(unnamed).unwrap_err().code, RefusalCode::RoomNotConfirmed);
    check_news(&must(operator.decide(operator.yes_to(&card)), "the yes"), "channel 1 is stopped");
    let stopped = write("batch_recording", recording("stop", &court, 1));
    assert_eq!(world.writes(), std::slice::from_ref(&stopped));

    // On the page, with the page that names the room.
    let (number, _) = asked_for(&world, "restart Chapel");
    let page = world.page();
    let card = page.get(&format!("/card/{number}"));
    let review = some(card.form("/approve"), "the way on");
    sleep(READING);
    let confirm = page.submit("/approve", &review);
    assert_eq!((confirm.status, world.writes().len()), (200, 1), "{}", confirm.body);
    let mut form = some(confirm.form("/confirm"), "the form that names the room");
    form.insert("confirm".to_owned(), "Chapelle".to_owned());
    let again = page.submit("/confirm", &form);
    assert_eq!((again.status, world.writes().len()), (409, 1), "{}", again.body);
    form.insert("confirm".to_owned(), "Chapel".to_owned());
    let outcome = follow(&world, &page.submit("/confirm", &form), number);
    assert!(outcome.body.contains("the unit is offline"), "{}", outcome.body);
    assert_eq!(world.writes(), [stopped, write("batch_reboot", units(&chapel))]);
    assert_eq!(page.submit("/confirm", &form).status, 409);
    assert_eq!(world.writes().len(), 2);
    check_audit(&world, &["approval", "consumed", "outcome"]);
}

#[test]
fn the_same_in_spanish() {
    let world = World::builder().start();
    let hall = world.room("Hall A");
    let (answer, _) = answered(&world.ask("¿Qué salas no están listas?"));
    assert!(answer.starts_with("[guion de prueba, no es un modelo real]"), "{answer}");
    assert!(answer.contains("Aula 102 (desconectada)"), "{answer}");

    let (number, text) = asked_for(&world, "Graba en Hall A, canal 2");
    assert!(text.starts_with("[guion de prueba, no es un modelo real]"), "{text}");
    let page = world.page();
    let card = page.asking("GET", &format!("/card/{number}")).set("accept-language", "es-MX,es;q=0.9").send();
    for words in ["Denegar", "Aprobar y ejecutar", "Escrito por el asistente, sin comprobar"] {
        assert!(card.body.contains(words), "{words}: {}", card.body);
    }
    let form = some(card.form("/approve"), "a form that approves");
    sleep(READING);
    follow(&world, &page.submit("/approve", &form), number);
    assert_eq!(world.writes(), [write("batch_recording", recording("start", &hall, 2))]);
    let news = world.ask("¿Qué salas están grabando?");
    assert!(answered(&news).0.contains("Hall A"), "{news:?}");
}

#[test]
fn what_the_device_refuses_is_an_error_and_what_it_does_is_told() {
    let world = World::builder().without_assistant().start();
    let court = world.room("Courtroom 2");
    // It records already: the device says no, in words.
    let number = must(world.propose("a", "batch_recording", &recording("start", &court, 1)), "a proposal");
    let news = must(world.approve(number), "the yes");
    assert_eq!(news.state, ProposalState::Error);
    assert_eq!(news.detail, format!("{court}-1: Device is busy; read back: channel 1 is recording"));
    assert_eq!(world.writes().len(), 1);
    let arguments = json!({ "device_ids": [format!("{court}-1")], "action": "start" });
    assert_eq!(world.writes()[0].arguments, arguments);
    assert_eq!(world.approve(number).unwrap_err().code, RefusalCode::NotWaiting);
    assert_eq!(world.writes().len(), 1);
}
