//! Cards of rooms with hostile names, on every surface where a person reads them.

use super::texts::{Fleet, Names, benign, furnish, hostile, plain, plain_bytes, plain_json};
use control::card::Card;
use fleetwatch_tests::world::{ControlClient, PageClient, World, draft, must};
use policy::limits::NAME;
use protocol::ids::ProposalNumber;
use protocol::propose::MAX_REASON;
use protocol::shown::{Shown, Worded};
use serde_json::{Value, json};
use std::ops::Range;

/// At most so many wait at once.
const TOGETHER: usize = 3;
/// An executor's allowance of proposals, with some to spare.
const PER_RUN: usize = 36;

// Texts and what stands where: text `place` is the room, the next ones its channel, its event and the destination.
struct Texts<'a> {
    all: &'a [String],
    place: usize,
}

impl<'a> Texts<'a> {
    fn at(&self, further: usize) -> &'a str {
        &self.all[(self.place + further) % self.all.len()]
    }

    // As a person reads it: without blanks at its ends, and no longer than a card has room.
    fn shown(&self, further: usize) -> Shown {
        Shown::capped(self.at(further).trim(), NAME)
    }

    fn names(&self) -> Names<'a> {
        Names { device: self.at(0), channel: self.at(1), event: self.at(2) }
    }

    fn stream(&self) -> &'a str {
        self.at(3)
    }

    // A name whose end is missing can only be denied.
    fn is_cut(&self) -> bool {
        (0..4).any(|further| self.shown(further).was_cut())
    }
}

// One executor's run over some texts.
struct Round<'a> {
    world: &'a World,
    fleet: &'a Fleet,
    operator: ControlClient,
    page: PageClient,
}

impl<'a> Round<'a> {
    #[track_caller]
    fn new(world: &'a World, fleet: &'a Fleet) -> Self {
        Self { world, fleet, operator: world.control(), page: world.page() }
    }

    // Names a room and proposes a stream from it, by id.
    #[track_caller]
    fn propose(&self, agent: &str, texts: &Texts<'_>) -> ProposalNumber {
        let unit = &self.fleet.units[texts.place % self.fleet.units.len()];
        let stream = &self.fleet.streams[texts.place % self.fleet.streams.len()];
        furnish(self.world, unit, &texts.names());
        self.world.sim_set(&json!({ "stream": stream, "name": texts.stream() }));
        let arguments = json!({ "device_id": unit, "channel_id": "1", "stream_id": stream }).to_string();
        let reason: String = texts.at(0).chars().take(MAX_REASON).collect();
        let mut turn = self.world.turn(agent);
        let number = turn.draft(draft("start_stream_endpoint", arguments.as_bytes(), &reason));
        let number = must(number, &format!("{:?}", texts.at(0)));
        turn.end();
        number
    }

    // The card and its page, with nothing raw in either.
    #[track_caller]
    fn look(&mut self, number: ProposalNumber) -> (Card, String) {
        let card = must(self.operator.show(number), "the card");
        plain_json(&must(serde_json::to_value(&card), "JSON"), "the card");
        let page = self.page.get(&format!("/card/{number}"));
        assert_eq!(page.status, 200, "{}", page.body);
        plain(&page.body, "the card's page");
        (card, page.body)
    }

    // What a terminal gets of these, looked at side by side.
    #[track_caller]
    fn terminal(&self, numbers: &[ProposalNumber]) {
        let world = self.world;
        std::thread::scope(|scope| {
            for number in numbers.iter().map(ToString::to_string) {
                scope.spawn(move || {
                    let shown = world.ctl(&["approvals", "show", &number]);
                    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
                    plain_bytes(&shown.stdout, "approvals show");
                    plain_bytes(&shown.stderr, "approvals show");
                    json_of(world, &["approvals", "show", &number, "--json"]);
                });
            }
        });
    }

    // What lists several: the queue, the history.
    #[track_caller]
    fn lists(&self) {
        for path in ["/", "/history"] {
            let page = self.page.get(path);
            assert_eq!(page.status, 200, "{path}: {}", page.body);
            plain(&page.body, path);
        }
        for verb in ["list", "history"] {
            plain_bytes(&self.world.ctl(&["approvals", verb]).stdout, verb);
            json_of(self.world, &["approvals", verb, "--json"]);
        }
    }
}

#[track_caller]
fn json_of(world: &World, arguments: &[&str]) {
    let said = world.ctl(arguments);
    assert_eq!(said.status.code(), Some(0), "{arguments:?}: {said:?}");
    plain_bytes(&said.stdout, "JSON as it is printed");
    plain_json(&must(serde_json::from_slice(&said.stdout), "JSON"), "JSON once it is read");
}

// Another run of the executor, an hour later: whatever was denied is forgotten by then.
#[track_caller]
fn an_hour_later(world: &mut World) {
    assert_eq!(world.stop_executor(), Some(0));
    let sql = "UPDATE proposals SET decided_at = decided_at - 3600 WHERE decided_at IS NOT NULL";
    must(world.database().execute(sql, []), "an hour");
    world.start_executor();
}

// The page's own tags in order, each with the names of its attributes and without their values.
fn tags(page: &str) -> Vec<String> {
    let page = without_whens(page);
    let mut found = Vec::new();
    let mut rest = page.as_str();
    while let Some((_, behind)) = rest.split_once('<') {
        let (mut tag, mut quoted, mut end) = (String::new(), false, behind.len());
        for (place, c) in behind.char_indices() {
            match c {
                '"' => quoted = !quoted,
                '>' if !quoted => {
                    end = place;
                    break;
                }
                _ if !quoted => tag.push(c),
                _ => {}
            }
        }
        found.push(tag);
        rest = &behind[end..];
    }
    found
}

// The page holds dates together, those in names too: an element of its own around a date and nothing else.
fn without_whens(page: &str) -> String {
    const OPEN: &str = "<span class=\"when\">";
    let mut kept = String::new();
    for (place, part) in page.split(OPEN).enumerate() {
        match part.split_once("</span>") {
            Some((date, behind)) if place > 0 => {
                let is_date = (16..=22).contains(&date.len())
                    && date.starts_with(|c: char| c.is_ascii_digit())
                    && date.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || b"-+: ".contains(&b));
                assert!(is_date, "{date:?}");
                kept.extend([date, behind]);
            }
            Some(_) | None => kept.push_str(part),
        }
    }
    kept
}

// How a card looks whose names are harmless: whole, and with one that is too long.
struct Harmless {
    whole: Vec<String>,
    cut: (Vec<String>, Vec<Worded>),
}

impl Harmless {
    #[track_caller]
    fn of(round: &mut Round<'_>) -> Self {
        let names = ["Hall A", "Program", "Faculty senate", "Town feed"].map(str::to_owned);
        let whole = round.propose("harmless", &Texts { all: &names, place: 0 });
        let names = ["H".repeat(NAME + 10), "Program".to_owned(), "Senate".to_owned(), "Town feed".to_owned()];
        let cut = round.propose("harmless", &Texts { all: &names, place: 4 });
        let ((card, page), (long, long_page)) = (round.look(whole), round.look(cut));
        assert!(card.facts.deny_only.is_empty() && page.contains("action=\"/approve\""), "{card:?}");
        assert!(!long.facts.deny_only.is_empty() && !long_page.contains("action=\"/approve\""), "{long:?}");
        // As many wait as when the others are looked at.
        let third = round.propose("harmless", &Texts { all: &names, place: 8 });
        let ((_, page), (_, long_page)) = (round.look(whole), round.look(cut));
        round.look(third);
        round.operator.deny_all();
        Self { whole: tags(&page), cut: (tags(&long_page), long.facts.deny_only) }
    }

    #[track_caller]
    fn compare(&self, texts: &Texts<'_>, card: &Card, page: &str) {
        let what = texts.at(0);
        let (own, deny_only) =
            if texts.is_cut() { (&self.cut.0, self.cut.1.as_slice()) } else { (&self.whole, &[][..]) };
        assert_eq!(card.facts.deny_only, deny_only, "{what:?}");
        let tags = tags(page);
        let differs = tags.iter().zip(own).position(|(tag, own)| tag != own);
        assert!(tags.len() == own.len() && differs.is_none(), "{what:?}: {differs:?} of {own:?} in {tags:?}: {page}");
        let target = &card.facts.targets[0];
        assert_eq!(target.name, texts.shown(0).as_str());
        let named = [&card.facts.named[0].value.en, &target.event.en, &card.facts.named[1].value.en];
        for (place, shown) in named.into_iter().enumerate() {
            assert!(shown.contains(texts.shown(place + 1).as_str()), "{shown:?}: {:?}", texts.at(place + 1));
        }
    }
}

#[track_caller]
fn nothing_raw_was_written(world: &World) {
    plain(&world.executor_log(), "the executor's log");
    let database = world.database();
    let mut statement = must(database.prepare("SELECT kind, principal, surface, detail FROM audit"), "the audit");
    let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?]));
    let rows: Vec<[String; 4]> = must(must(rows, "the audit").collect(), "the audit");
    assert!(!rows.is_empty());
    for row in rows {
        row.iter().for_each(|text| plain(text, "a row of the audit"));
        let detail: Value = must(serde_json::from_str(&row[3]), "a detail");
        plain_json(&detail, "a detail of the audit");
    }
}

// Each of these texts once as the name of a room whose card is looked at everywhere.
#[track_caller]
fn walk(all: &[String], places: Range<usize>, check: impl Fn(&Harmless, &Texts<'_>, &Card, &str)) {
    let mut world = World::builder().without_assistant().rooms(14).start();
    let fleet = Fleet::of(&world);
    for unit in &fleet.units {
        furnish(&world, unit, &Names { device: "Idle", channel: "Program", event: "Later" });
    }
    let harmless = Harmless::of(&mut Round::new(&world, &fleet));
    let places: Vec<usize> = places.collect();
    for run in places.chunks(PER_RUN) {
        an_hour_later(&mut world);
        let mut round = Round::new(&world, &fleet);
        for together in run.chunks(TOGETHER) {
            let texts: Vec<_> = together.iter().map(|place| Texts { all, place: *place }).collect();
            let agent = format!("agent-{}", together[0]);
            let numbers: Vec<_> = texts.iter().map(|texts| round.propose(&agent, texts)).collect();
            for (texts, number) in texts.iter().zip(&numbers) {
                let (card, page) = round.look(*number);
                check(&harmless, texts, &card, &page);
            }
            round.terminal(&numbers);
            assert_eq!(round.operator.list().len(), together.len());
            if together.len() < TOGETHER || together[0] == run[0] {
                round.lists();
            }
            round.operator.deny_all();
        }
    }
    nothing_raw_was_written(&world);
    assert_eq!(world.control().audit().broken, None);
    assert_eq!(world.writes(), []);
}

// In two halves, which run side by side.
#[test]
fn hostile_names_hide_nothing_and_are_no_markup_wherever_a_person_reads_them() {
    let all = hostile();
    walk(&all, 0..all.len() / 2, Harmless::compare);
}

#[test]
fn the_other_half_of_them_neither() {
    let all = hostile();
    walk(&all, all.len() / 2..all.len(), Harmless::compare);
}

#[test]
fn benign_names_are_shown_as_themselves_and_can_be_approved() {
    let all = benign();
    walk(&all, 0..all.len(), |harmless, texts, card, page| {
        harmless.compare(texts, card, page);
        let name = texts.at(0).replace('\n', "\\u{a}");
        if name.chars().count() <= NAME {
            assert_eq!(card.facts.targets[0].name, name);
        }
    });
}

#[test]
fn tags_are_told_from_text() {
    let page = "<!DOCTYPE html><p class=\"a>b\">x &lt;b&gt;</p><input value=\"<\" autofocus>";
    assert_eq!(tags(page), ["!DOCTYPE html", "p class=", "/p", "input value= autofocus"]);
    let dated = "<p>at <span class=\"when\">2026-11-29 21:03</span> <span>x</span></p>";
    assert_eq!(tags(dated), ["p", "span", "/span", "/p"]);
}
