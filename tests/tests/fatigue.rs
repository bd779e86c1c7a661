//! Yes after yes shows: on the next card, on page and terminal, and in the audit, with how long each card was read (issue
//! line 2.17; `seed 000, Limits against approval fatigue`).

use fleetwatch_tests::world::{READING, World, must, recording, some};
use protocol::propose::ProposalState;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

const RECORD: &str = "batch_recording";
const ROOMS: [&str; 6] = ["Hall A", "Chapel", "Courtroom 1", "Courtroom 4", "Seminar Room 3", "Lecture Theatre 1"];
const NOTE: &str = "You have approved 5 changes within the last half hour";
const SPANISH: &str = "Ha aprobado 5 cambios en la última media hora";

#[test]
fn the_sixth_card_of_one_page_session_asks_for_a_pause_and_the_audit_counts() {
    let world = World::builder().without_assistant().start();
    let page = world.page();
    for (place, room) in ROOMS.iter().enumerate() {
        let number = must(world.propose("a", RECORD, &recording("start", &world.room(room), 1)), room);
        let path = format!("/card/{number}");
        let card = page.get(&path);
        assert_eq!(card.body.contains("You have approved"), place == 5, "{room}: {}", card.body);
        if place == 5 {
            assert!(card.body.contains(NOTE), "{}", card.body);
            let spanish = page.asking("GET", &path).set("accept-language", "es").send();
            assert!(spanish.body.contains(SPANISH), "{}", spanish.body);
            // The same person reads the same at the terminal, and signing in again hides nothing.
            let shown = world.ctl(&["approvals", "show", &number.to_string()]);
            let shown = String::from_utf8_lossy(&shown.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(NOTE), "{shown}");
            assert!(world.page().get(&path).body.contains(NOTE));
        }
        // The last look at the card counts.
        sleep(READING);
        assert_eq!(page.submit("/approve", &some(card.form("/approve"), "the form")).status, 303);
        assert_eq!(world.state_of(number), ProposalState::Ok);
    }
    let rows = world.audit("approval");
    let counts: Vec<_> = rows.iter().filter_map(|row| row.2["approvals_in_session"].as_i64()).collect();
    assert_eq!(counts, [1, 2, 3, 4, 5, 6]);
    for (_, surface, detail) in &rows {
        let seconds = some(detail["seconds_after_card"].as_i64(), "seconds");
        assert!((2..30).contains(&seconds) && surface == "page", "{detail}");
    }
    assert_eq!(world.writes().len(), 6);
}

#[test]
fn how_long_a_card_was_read_is_written_down_for_yes_and_no_alike() {
    let world = World::builder().without_assistant().start();
    let propose = |room: &str| must(world.propose("a", RECORD, &recording("start", &world.room(room), 1)), room);
    let numbers = ROOMS[..3].iter().map(|room| propose(room)).collect::<Vec<_>>();
    // Long after they were made, so that the two times cannot be mixed up.
    sleep(Duration::from_secs(3));
    let mut operator = world.control();
    must(operator.approve(numbers[0]), "yes, read for two seconds");
    must(operator.show(numbers[1]), "a look");
    sleep(Duration::from_millis(1_100));
    must(operator.deny(numbers[1]), "no, read for a second");
    must(operator.deny(numbers[2]), "no, unread");
    let approval = &world.audit("approval")[0].2;
    let (card, proposal) = (&approval["seconds_after_card"], &approval["seconds_after_proposal"]);
    assert!(matches!(card.as_i64(), Some(2 | 3)) && proposal.as_i64() >= Some(5), "{approval}");
    let denials = world.audit("denial");
    assert!(matches!(denials[0].2["seconds_after_card"].as_i64(), Some(1 | 2)), "{denials:?}");
    assert_eq!(denials[1].2["seconds_after_card"], Value::Null, "{denials:?}");
}
