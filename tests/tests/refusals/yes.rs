//! A yes that is not a person's yes to this very card, read for two seconds, with their PIN and the room named.

use super::{propose_all, read_all};
use control::message::Approve;
use fleetwatch_tests::world::{ControlClient, READING, World, code_of, must, recording, some, units};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode as Code;
use std::thread::sleep;

const RECORD: &str = "batch_recording";

#[test]
fn a_proposal_that_nobody_approves_never_runs() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let number = must(world.propose("a", RECORD, &recording("start", &hall, 1)), "a proposal");
    let mut operator = world.control();
    for _ in 0..3 {
        must(operator.show(number), "looking is not approving");
        sleep(READING / 3);
    }
    assert_eq!((world.state_of(number), world.writes().len()), (ProposalState::Pending, 0));
    let none = some(ProposalNumber::new(999), "a number");
    assert_eq!(code_of(operator.show(none)), Code::UnknownProposal);
    assert_eq!(code_of(operator.deny(none)), Code::UnknownProposal);
}

#[test]
fn the_ticket_is_this_cards_this_sessions_and_two_seconds_old() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let changes = [(RECORD, recording("start", &hall, 1)), (RECORD, recording("start", &chapel, 1))];
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let fresh = must(operator.show(numbers[0]), "the card");
    assert_eq!(code_of(operator.decide(operator.yes_to(&fresh))), Code::TooSoon);

    let mut elsewhere = world.control();
    let other_session = must(elsewhere.show(numbers[0]), "the card in another session");
    let cards = read_all(&mut operator, &numbers);
    let yes = operator.yes_to(&cards[0]);
    let (time, mac) = some(yes.ticket.split_once('.'), "a time and a MAC");
    let later = format!("{}.{mac}", must(time.parse::<i64>(), "a time") + 1);
    let tickets = [
        String::new(),
        "garbage".to_owned(),
        format!("{time}."),
        format!("{time}.{}", "0".repeat(mac.len())),
        format!(".{mac}"),
        format!("99999999999999.{mac}"),
        later,
        cards[1].ticket.clone(),
        other_session.ticket.clone(),
    ];
    for ticket in tickets {
        let wrong = Approve { ticket: ticket.clone(), ..yes.clone() };
        assert_eq!(code_of(operator.decide(wrong)), Code::BadTicket, "{ticket:?}");
    }
    let of_other = Approve { number: numbers[1], ..yes.clone() };
    assert_eq!(code_of(operator.decide(of_other)), Code::BadTicket);
    let other_digest = Approve { digest: cards[1].digest, ..yes.clone() };
    assert_eq!(code_of(operator.decide(other_digest)), Code::BadTicket);
    // The whole yes, replayed in another session.
    assert_eq!(code_of(elsewhere.decide(yes.clone())), Code::BadTicket);
    assert_eq!(world.writes(), []);
    assert!(world.audit("approval_refused").len() >= 12, "each is audited");
    must(operator.decide(yes), "the right ticket");
    assert_eq!(world.writes().len(), 1);
}

// A yes with another PIN.
#[track_caller]
fn with_pin(operator: &ControlClient, card: &control::card::Card, pin: &str) -> Approve {
    Approve { pin: must(serde_json::from_value(pin.into()), "a PIN"), ..operator.yes_to(card) }
}

#[test]
fn five_wrong_pins_lock_it_even_for_the_right_one() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let numbers = propose_all(&world, &[(RECORD, recording("start", &hall, 1))]);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    for pin in ["", "0000000000", "4711-0815-4", "4711-0815-42 ", "4711-0815-42\n"] {
        assert_eq!(code_of(operator.decide(with_pin(&operator, &cards[0], pin))), Code::WrongPin, "{pin:?}");
    }
    let refusal = operator.decide(operator.yes_to(&cards[0])).unwrap_err();
    assert_eq!(refusal.code, Code::PinLocked);
    assert!(refusal.detail.contains("again in"), "{refusal}");
    // The lock is the person's, not the connection's, and holds on the page too.
    assert_eq!(code_of(world.control().decide(operator.yes_to(&cards[0]))), Code::PinLocked);
    let mut page = world.stranger_page();
    assert_eq!(page.log_in(&world.page_secret(), world.pin()).status, 403);
    assert_eq!((world.state_of(numbers[0]), world.writes().len()), (ProposalState::Pending, 0));
    // No is always safe.
    must(operator.deny(numbers[0]), "a no needs no PIN");
}

#[test]
fn a_disruptive_change_needs_the_rooms_own_name() {
    let world = World::builder().without_assistant().start();
    let chapel = world.room("Chapel");
    let numbers = propose_all(&world, &[("batch_reboot", units(&chapel))]);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let names = [None, Some(""), Some("chapel"), Some("Chapel."), Some("Hall A"), Some(chapel.as_str()), Some("yes")];
    for name in names {
        let yes = Approve { confirm: name.map(str::to_owned), ..operator.yes_to(&cards[0]) };
        let refusal = operator.decide(yes).unwrap_err();
        assert_eq!((refusal.code, refusal.detail.as_str()), (Code::RoomNotConfirmed, "Chapel"), "{name:?}");
    }
    assert_eq!(world.writes(), []);
    must(operator.decide(operator.yes_to(&cards[0])), "the right name");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn whoever_comes_second_is_told_who_won() {
    let world = World::builder().without_assistant().start();
    let (hall, chapel) = (world.room("Hall A"), world.room("Chapel"));
    let changes = [(RECORD, recording("start", &hall, 1)), (RECORD, recording("start", &chapel, 1))];
    let numbers = propose_all(&world, &changes);
    let mut operator = world.control();
    let cards = read_all(&mut operator, &numbers);
    let page = world.page();
    let form = some(page.get(&format!("/card/{}", numbers[1])).form("/deny"), "Deny");
    must(operator.deny(numbers[0]), "no");
    assert_eq!(page.submit("/deny", &form).status, 303);
    for (card, surface) in cards.iter().zip(["command", "page"]) {
        let refusal = operator.decide(operator.yes_to(card)).unwrap_err();
        assert_eq!(refusal.code, Code::NotWaiting);
        assert!(refusal.detail.ends_with(&format!("is denied, by operator ({surface})")), "{refusal}");
        assert_eq!(code_of(operator.deny(card.facts.number)), Code::NotWaiting);
    }
    assert_eq!(world.writes(), []);
}

#[test]
fn of_many_yeses_side_by_side_one_runs() {
    let world = World::builder().without_assistant().start();
    let hall = world.room("Hall A");
    let numbers = propose_all(&world, &[(RECORD, recording("start", &hall, 1))]);
    let mut operators: Vec<_> = (0..4).map(|_| world.control()).collect();
    let cards: Vec<_> = operators.iter_mut().map(|operator| must(operator.show(numbers[0]), "a card")).collect();
    sleep(READING);
    let ended: Vec<_> = std::thread::scope(|scope| {
        let yeses = operators.iter_mut().zip(&cards);
        let running: Vec<_> = yeses
            .map(|(operator, card)| scope.spawn(move || operator.decide(operator.yes_to(card)).map_err(|r| r.code)))
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let ran = ended.iter().filter(|ended| ended.as_ref().is_ok_and(|news| news.state == ProposalState::Ok)).count();
    let late = ended.iter().filter(|ended| matches!(ended, Err(Code::NotWaiting))).count();
    assert_eq!((ran, late), (1, 3), "{ended:?}");
    assert_eq!(world.writes().len(), 1);
}
