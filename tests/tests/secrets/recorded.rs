//! Every byte that the executor says to the assistant, and the assistant to whoever asks, from proposal to outcome: nothing in
//! it approves anything (`seed 000, Parts`).

use super::RECORD;
use fleetwatch_tests::needles::Needles;
use fleetwatch_tests::world::{Answer, READING, Recorder, World, must, proposed, recording, some, until};
use protocol::ids::ProposalNumber;
use protocol::propose::{LinkKind, ProposalState};
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
const TOKEN: &str = "cnryAA11bb+cnryCC22dd/cnryEE33ff==";

fn asked_for(world: &World, question: &str) -> ProposalNumber {
    let said = world.ask(question);
    some(proposed(&said).first().copied(), "a proposal")
}

// What is hidden in a page's forms and long enough to be a secret.
fn hidden(answer: &Answer, actions: &[&str]) -> BTreeMap<String, String> {
    let forms = actions.iter().flat_map(|action| some(answer.form(action), action));
    forms.filter(|(_, value)| value.len() >= 16).collect()
}

// Ids, sessions and MACs of all approvals, as the store has them.
fn of_the_store(world: &World, mut needles: Needles) -> Needles {
    let database = world.database();
    let mut statement = must(database.prepare("SELECT id, session, mac FROM approvals"), "the approvals");
    let rows = must(statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])), "the approvals");
    let rows: Vec<[String; 3]> = must(rows.collect::<Result<_, _>>(), "the approvals");
    assert_eq!(rows.len(), 2);
    for row in rows {
        for (name, value) in ["approval id", "approval session", "approval MAC"].iter().zip(row) {
            needles = needles.text(name, &value);
        }
    }
    needles
}

// Everything that a person's yes on page and terminal was made of.
fn approved_on_both(world: &World) -> Needles {
    let page = world.page();
    let mut needles = Needles::new()
        .text("page secret", &world.page_secret())
        .text("PIN", world.pin())
        .text("write sign-in", TOKEN)
        .text("cookie", some(some(page.cookie(), "a cookie").split('=').nth(1), "a cookie's value"));
    let on_page = asked_for(world, "Start recording in Hall A");
    let card = page.get(&format!("/card/{on_page}"));
    let fields = hidden(&card, &["/approve", "/deny"]);
    assert!(!fields.is_empty(), "{}", card.body);
    for (name, value) in &fields {
        needles = needles.text(&format!("the page's {name}"), value);
    }
    sleep(READING);
    let answer = page.submit("/approve", &some(card.form("/approve"), "a form that approves"));
    assert_eq!(answer.status, 303, "{}", answer.body);
    until(SOON, "an outcome", || (world.state_of(on_page) == ProposalState::Ok).then_some(()));

    let typed = asked_for(world, "Start recording in Chapel");
    let mut operator = world.control();
    let card = must(operator.show(typed), "a card");
    let (_, mac) = some(card.ticket.split_once('.'), "a ticket");
    needles = needles.text("ticket", &card.ticket).text("ticket's MAC", mac).bytes("digest", &card.digest);
    sleep(READING);
    assert_eq!(must(operator.decide(operator.yes_to(&card)), "the yes").state, ProposalState::Ok);
    of_the_store(world, needles)
}

#[test]
fn nothing_that_the_assistant_or_an_asker_is_told_approves_anything() {
    let mut world = World::builder().without_assistant().sandbox_token(TOKEN).start();
    let to_assistant = Recorder::before(&world.socket("propose"));
    world.start_assistant();
    let to_asker = Recorder::before(&world.socket("ask"));
    let needles = approved_on_both(&world);
    // A no, a draft that is refused, one that the queue has no place for, and the news of all that with the next question.
    let denied = asked_for(&world, "Start recording in Courtroom 1");
    must(world.control().deny(denied), "a no");
    let bad = world.ctl(&["propose", RECORD, "--arguments", "{\"action\":\"start\"}", "--reason", "By hand"]);
    assert_eq!(bad.status.code(), Some(1));
    let numbers: Vec<_> = ["Courtroom 4", "Seminar Room 3", "Seminar Room 5"]
        .iter()
        .filter_map(|room| world.propose("other", RECORD, &recording("start", &world.room(room), 1)).ok())
        .collect();
    assert!(!numbers.is_empty());
    assert!(!world.ask("Stop recording in Courtroom 2").is_empty());
    to_assistant.wait_for("channel 1 is recording");

    for (whom, said) in [("assistant", to_assistant.said()), ("asker", to_asker.said())] {
        assert!(said.len() > 200, "the {whom} was told something");
        assert_eq!(needles.found_in(&said), Vec::<&str>::new(), "the {whom} was told");
    }
    // The recorders do hear: what is no secret is in it, bytes and words.
    let head = Needles::new().bytes("audit head", &world.propose_link("other", LinkKind::Poll).head.hash);
    assert!(!head.found_in(&to_assistant.said()).is_empty());
    assert!(String::from_utf8_lossy(&to_asker.said()).contains("Proposal 1"));
    assert_eq!(world.writes().len(), 2);
}
