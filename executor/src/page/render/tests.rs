use super::card::{CardView, Yes};
use super::confirm::ConfirmView;
use super::login::Way;
use super::{Foot, Frame, Who, card, confirm, freeze, history, login, outcome, queue, sentence};
use crate::page::door::played::{card as calm_card, number, reboot, row, status};
use control::card::{Card, Waiting};
use protocol::propose::ProposalState;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::{Language, Worded};

const HOSTILE: &str = "</p><script>alert(1)</script>\"><img src=x onerror=alert(1)>' autofocus {{7*7}} &lt;b&gt;";

fn frame(language: Language) -> Frame {
    let status = status(2);
    Frame {
        language,
        waiting: Some(2),
        who: Some(Who { name: "ana".into(), token: "out".into() }),
        foot: Foot::from_status(Some(&status)),
        status: Some(status),
    }
}

fn card_page(card: &Card, language: Language) -> String {
    let yes = if card.facts.disruptive { Yes::Review("review".into()) } else { Yes::Approve("approve".into()) };
    let view = CardView { card, say: None, deny: "deny", yes: &yes };
    card::page(&frame(language), &view)
}

fn confirm_page(card: &Card, language: Language) -> String {
    let room = card.facts.confirm.clone().unwrap();
    let view = ConfirmView {
        card,
        room: &room,
        ticket: "ticket-seen",
        digest: &[9; 32],
        deny: "deny",
        token: "confirm",
        say: None,
    };
    confirm::page(&frame(language), &view)
}

// A card where every text that anybody outside could have written is hostile.
fn hostile(mut card: Card) -> Card {
    let worded = Worded::same(HOSTILE);
    card.facts.heading = worded.clone();
    card.facts.reason = HOSTILE.into();
    for target in &mut card.facts.targets {
        for text in [&mut target.id, &mut target.name, &mut target.model, &mut target.firmware] {
            *text = HOSTILE.into();
        }
        (target.known_as, target.note) = (vec![HOSTILE.into()], HOSTILE.into());
        target.event = worded.clone();
    }
    for argument in &mut card.facts.arguments {
        argument.name = HOSTILE.into();
        argument.json = HOSTILE.into();
    }
    for named in &mut card.facts.named {
        named.value = worded.clone();
    }
    card.facts.confirm = card.facts.disruptive.then(|| HOSTILE.into());
    card.notes = vec![worded];
    for gate in &mut card.gates {
        gate.blocked_reason = (!gate.passed).then(|| HOSTILE.to_owned());
        for fact in &mut gate.evidence {
            (fact.name, fact.value) = (HOSTILE.into(), HOSTILE.into());
        }
    }
    card
}

// Every tag of a page, from `<` to `>`, without closing ones and without what a field holds.
fn tags(page: &str) -> Vec<String> {
    let starts = page.match_indices('<').map(|(at, _)| &page[at..]);
    let tags = starts.filter(|rest| !rest.starts_with("</")).map(|rest| &rest[..=rest.find('>').unwrap()]);
    let bare = |tag: &str| match tag.split_once(" value=\"") {
        Some((before, rest)) => format!("{before} value=\"{}", &rest[rest.find('"').unwrap()..]),
        None => tag.to_owned(),
    };
    tags.map(bare).collect()
}

fn every_page(language: Language) -> Vec<String> {
    let frame = frame(language);
    let waiting = |at| Waiting {
        number: number(at),
        heading: Worded::same(HOSTILE),
        targets: vec![HOSTILE.into()],
        expires_in: 59,
    };
    let mut rows: Vec<_> = ProposalState::ALL.iter().map(|state| row(number(7), *state)).collect();
    for row in &mut rows {
        (row.heading, row.detail, row.decided_by) = (Worded::same(HOSTILE), HOSTILE.into(), HOSTILE.into());
    }
    let refused = Refusal { code: RefusalCode::ReadFailed, detail: HOSTILE.into() };
    let outside = Frame::outside(language);
    let mut pages: Vec<String> = rows.iter().map(|row| outcome::page(&frame, row, "undo")).collect();
    let secret = |with_name| Way::Secret { with_name };
    pages.extend([
        card_page(&hostile(calm_card(7, "Hall A")), language),
        card_page(&hostile(reboot(7, "Hall A")), language),
        confirm_page(&hostile(reboot(7, "Hall A")), language),
        queue::page(&frame, &[waiting(7), waiting(8)], "all"),
        queue::page(&frame, &[], "all"),
        history::page(&frame, &rows, None),
        history::page(&frame, &[], Some(HOSTILE)),
        freeze::page(&frame, "freeze"),
        login::page(&outside, secret(true), Some(number(7)), Some(&Worded::same(HOSTILE))),
        login::page(&outside, secret(false), None, None),
        login::page(&outside, Way::Code, None, None),
        sentence::refusal(&frame, &refused, Some(number(7))),
    ]);
    pages
}

#[test]
fn hostile_names_stay_text_on_every_page() {
    for page in [Language::English, Language::Spanish].into_iter().flat_map(every_page) {
        for tag in tags(&page) {
            let lower = tag.to_ascii_lowercase();
            for word in ["<script", "<img", "<iframe", "<style", "<base", "onerror", "onload", "style=", "javascript:"]
            {
                assert!(!lower.contains(word), "{tag}");
            }
        }
        assert!(page.starts_with("<!DOCTYPE html><html lang="));
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("autofocus").count() - page.matches("' autofocus {{").count(), focused(&page).len());
    }
}

// The tags that ask for the focus; at most one on a page.
fn focused(page: &str) -> Vec<String> {
    tags(page).into_iter().filter(|tag| tag.ends_with(" autofocus>") || tag.contains(" autofocus ")).collect()
}

#[test]
fn a_page_has_one_heading_landmarks_labels_and_unique_ids() {
    for page in every_page(Language::English) {
        let tags = tags(&page);
        let count = |start: &str| tags.iter().filter(|tag| tag.starts_with(start)).count();
        assert_eq!(count("<h1"), 1);
        assert_eq!((count("<header class=\"top"), count("<main"), count("<footer")), (1, 1, 1));
        let mut ids: Vec<&str> = tags.iter().filter_map(|tag| attribute(tag, "id")).collect();
        for tag in tags.iter().filter(|tag| tag.starts_with("<input") && !tag.contains("type=\"hidden\"")) {
            let label = format!("<label for=\"{}\">", attribute(tag, "id").unwrap());
            assert!(page.contains(&label), "{label}");
        }
        for tag in tags.iter().filter(|tag| tag.starts_with("<th ") || *tag == "<th>") {
            assert!(tag.contains("scope="), "{tag}");
        }
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "{ids:?}");
        assert!(focused(&page).len() <= 1);
        for tag in tags.iter().filter(|tag| tag.starts_with("<form")) {
            // Searching decides nothing.
            let method = if tag.contains("action=\"/history\"") { "get" } else { "post" };
            assert!(tag.contains(&format!("method=\"{method}\"")), "{tag}");
        }
    }
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let rest = &tag[tag.find(&format!(" {name}=\""))? + name.len() + 3..];
    rest.split('"').next()
}

#[test]
fn deny_comes_first_and_has_the_focus_and_approve_never_does() {
    for page in [
        card_page(&calm_card(7, "Hall A"), Language::English),
        card_page(&reboot(7, "Hall A"), Language::Spanish),
        confirm_page(&reboot(7, "Hall A"), Language::English),
    ] {
        let deny = page.find("class=\"deny\"").unwrap();
        let yes = page.find("class=\"yes\"").unwrap();
        assert!(deny < yes);
        let focused = focused(&page);
        assert_eq!(focused.len(), 1);
        assert!(focused[0].contains("class=\"deny\""));
        // Two forms: nothing typed or pressed in one can send the other.
        assert!(page[deny..yes].contains("</form>"));
        // The facts come before both.
        assert!(page.find("19012341234").unwrap() < deny);
    }
}

#[test]
fn a_card_shows_every_fact_and_the_reason_in_its_own_box() {
    let mut card = calm_card(7, "Hall A");
    card.others_waiting = 2;
    card.notes = vec![Worded::new("It would be refused now: an event is on.", "Ahora se rechazaría: hay un evento.")];
    let page = card_page(&card, Language::English);
    for text in [
        "Start recording in Hall A",
        "Proposal 7",
        "19012341234",
        "Pearl-2",
        "4.24.1",
        "none in the next 24 hours",
        "batch_recording",
        "&quot;start&quot;",
        "[&quot;19012341234-1&quot;]",
        "filled in by the tool",
        "Main camera",
        "The channel starts a new file.",
        "Stop the recording.",
        "Written by the assistant, not checked",
        "The lecture starts soon.",
        "It would be refused now: an event is on.",
        "Simulator: nothing real changes",
        "isolation: none",
        "expires in 14 min",
        "2 others wait",
        "3 waiting · ",
        "<span class=\"when\">2026-11-29 21:03 CET</span> (20:03 UTC)",
        protocol::hello::BUILD,
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains(&format!("name=\"digest\" value=\"{}\"", "07".repeat(32))));
    assert!(page.contains("name=\"ticket\" value=\"ticket-7\""));
    let said = page.find("class=\"said\"").unwrap();
    assert!(page[said..].find("not checked").unwrap() < page[said..].find("The lecture").unwrap());
}

#[test]
fn a_card_that_can_only_be_denied_has_no_way_to_approve() {
    let mut one = calm_card(7, "Hall A");
    one.facts.deny_only = vec![Worded::new("The fresh read failed.", "La lectura falló.")];
    let mut two = reboot(7, "Hall A");
    two.facts.deny_only = one.facts.deny_only.clone();
    // A disruptive change without a room to name cannot be confirmed.
    let mut three = reboot(7, "Hall A");
    three.facts.confirm = None;
    for card in [one, two, three] {
        let page = card_page(&card, Language::English);
        for gone in ["/approve", "/confirm", "class=\"yes\"", "ticket-7", "Approve"] {
            assert!(!page.contains(gone), "{gone}");
        }
        assert!(page.contains("action=\"/deny\""));
    }
}

#[test]
fn the_second_page_names_tool_and_room_and_keeps_the_first_ones_ticket() {
    let page = confirm_page(&reboot(7, "Hall A"), Language::English);
    assert!(page.contains("<title>2 waiting · Confirm: Restart Hall A · Fleetwatch</title>"));
    assert!(page.contains("name=\"ticket\" value=\"ticket-seen\""));
    assert!(page.contains(&format!("name=\"digest\" value=\"{}\"", "09".repeat(32))));
    assert!(page.contains("action=\"/confirm\"") && !page.contains("action=\"/approve\""));
    assert!(page.contains("name=\"confirm\" type=\"text\" required"));
    // The name is shown, never filled in.
    assert!(!page.contains("name=\"confirm\" value"));
}

#[test]
fn both_languages_are_whole() {
    let english = every_page(Language::English);
    let spanish = every_page(Language::Spanish);
    for (en, es) in english.iter().zip(&spanish) {
        assert!(en.contains("<html lang=\"en\">") && es.contains("<html lang=\"es\">"));
        assert_ne!(en, es);
    }
    let page = card_page(&calm_card(7, "Aula 3"), Language::Spanish);
    for text in ["Denegar", "Aprobar y ejecutar", "Escrito por el asistente, sin comprobar", "caduca en 14 min"] {
        assert!(page.contains(text), "{text}");
    }
    for text in ["Deny", "Approve", "expires", "What happens", "Signed in"] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn a_page_for_nobody_holds_no_fact() {
    let way = |with_name| Way::Secret { with_name };
    let page = login::page(&Frame::outside(Language::English), way(false), Some(number(7)), None);
    for text in ["waiting", "isolation", "sim", "Sign out", "/history"] {
        assert!(!page.contains(text), "{text}");
    }
    assert!(page.contains("name=\"card\" value=\"7\""));
    assert!(!page.contains("name=\"name\""));
    assert!(login::page(&Frame::outside(Language::English), way(true), None, None).contains("name=\"name\""));
}

#[test]
fn the_queue_says_when_nothing_new_may_come() {
    let mut frame = frame(Language::English);
    let page = |frame: &Frame| queue::page(frame, &[], "all");
    assert!(!page(&frame).contains("queue is full"));
    if let Some(status) = &mut frame.status {
        status.queue.pending = 3;
        status.queue.hour = 10;
    }
    let full = page(&frame);
    assert!(full.contains("The queue is full: 3 proposals wait."));
    assert!(full.contains("The hour's limit is reached: 10 proposals."));
}

#[test]
fn many_approvals_lately_ask_for_a_pause() {
    let page = |approved_lately| {
        let card = Card { approved_lately, ..calm_card(7, "Hall A") };
        card_page(&card, Language::English)
    };
    assert!(!page(4).contains("You have approved"));
    assert!(page(5).contains("You have approved 5 changes within the last half hour"));
}

#[test]
fn why_names_each_gate_its_verdict_and_what_it_saw() {
    let page = card_page(&calm_card(7, "Hall A"), Language::English);
    let details = &page[page.find("<details").unwrap()..page.find("</details>").unwrap()];
    // Folded up, and all of it there.
    assert!(details.starts_with("<details class=\"why\"><summary>"), "{details}");
    let rows = ["schema", "policy", "dry_run", "exec"].map(|gate| {
        let at = details.find(&format!("<code class=\"small\">{gate}</code>")).unwrap();
        details[..at]
            .rsplit_once("<span class=\"state ")
            .unwrap()
            .1
            .split_once('>')
            .unwrap()
            .1
            .split('<')
            .next()
            .unwrap()
    });
    assert_eq!(rows, ["passed", "passed", "blocked", "not reached"]);
    for text in ["Is the proposal well formed?", "schema version", "3 devices", "This is a dry run"] {
        assert!(details.contains(text), "{text}");
    }
    assert!(page.find("</details>").unwrap() < page.find("class=\"deny\"").unwrap());
    let mut card = calm_card(7, "Hall A");
    card.gates.clear();
    assert!(!card_page(&card, Language::English).contains("<details"));
}

#[test]
fn a_freeze_is_said_on_every_page_and_not_offered_twice() {
    let mut frame = frame(Language::English);
    assert!(queue::page(&frame, &[], "all").contains("href=\"/freeze\""));
    assert!(freeze::page(&frame, "token").contains("value=\"token\""));
    if let Some(status) = &mut frame.status {
        status.frozen = true;
    }
    let row = row(number(7), ProposalState::Denied);
    for page in [
        queue::page(&frame, &[], "all"),
        outcome::page(&frame, &row, "undo"),
        history::page(&frame, &[row], None),
        freeze::page(&frame, "token"),
    ] {
        assert!(page.contains("Everything is frozen") && page.contains("<code>fleetwatchctl thaw</code>"));
        assert!(!page.contains("href=\"/freeze\"") && !page.contains("action=\"/freeze\""));
    }
}

#[test]
fn the_undo_is_offered_only_for_what_ran_and_can_be_undone() {
    let frame = frame(Language::English);
    for state in ProposalState::ALL {
        for undoable in [true, false] {
            let mut row = row(number(7), state);
            row.undoable = undoable;
            let page = outcome::page(&frame, &row, "token-undo");
            let offered = page.contains("action=\"/undo\"") && page.contains("value=\"token-undo\"");
            assert_eq!(offered, undoable && state == ProposalState::Ok, "{}", state.as_str());
        }
    }
}

#[test]
fn surfaces_and_isolation_speak_the_readers_language() {
    let rows = [row(number(7), ProposalState::Ok)];
    let spanish = frame(Language::Spanish);
    for page in [history::page(&spanish, &rows, None), outcome::page(&spanish, &rows[0], "undo")] {
        assert!(page.contains("(página)") && page.contains("aislamiento: ninguno"), "{page}");
    }
    assert!(history::page(&frame(Language::English), &rows, None).contains("(page)"));
}

#[test]
fn every_card_names_its_units_by_id_beside_the_heading() {
    for page in
        [card_page(&calm_card(7, "Hall A"), Language::English), confirm_page(&reboot(7, "Hall A"), Language::English)]
    {
        let head = &page[page.find("<h1").unwrap()..page.find("</header></").map_or(page.len(), |at| at)];
        assert!(head.contains("<code class=\"id\"><bdi>19012341234</bdi></code>"));
    }
}

#[test]
fn one_card_has_one_digest_in_both_languages() {
    let card = reboot(7, "Hall A");
    let digest = format!("name=\"digest\" value=\"{}\"", "07".repeat(32));
    for language in [Language::English, Language::Spanish] {
        assert_eq!(card_page(&card, language).matches(&digest).count(), 1);
    }
}

#[test]
fn every_argument_byte_and_target_id_is_visible_text_of_the_page() {
    let odd: Vec<char> = "aZ0 \"\\<&';>\n\0\u{1b}\u{202e}\u{200b}\u{a0}é字".chars().collect();
    let mut dice: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..200 {
        let mut text = String::new();
        for _ in 0..24 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            text.push(odd[usize::try_from(dice % 18).unwrap()]);
        }
        let shown = protocol::shown::Shown::whole(&text).into_string();
        let mut card = reboot(7, "Hall A");
        card.facts.arguments[0].name.clone_from(&shown);
        card.facts.arguments[0].json.clone_from(&shown);
        card.facts.targets[0].id.clone_from(&shown);
        for language in [Language::English, Language::Spanish] {
            let page = card_page(&card, language);
            let seen = visible(&page);
            // Once as the name, once as the value, and the id beside the heading and in its row.
            assert_eq!(seen.matches(&shown).count(), 4, "{shown:?}\n{seen}");
        }
    }
}

// The text between the tags, as a reader sees it.
fn visible(page: &str) -> String {
    let texts = page.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text);
    let text = texts.collect::<Vec<_>>().join("\n");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
