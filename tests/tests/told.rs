//! What a person is told: what the device reported after each write, times in the venue's zone, and one digest whatever
//! the language (issue lines 2.6, 2.7 and 2.22).

#[cfg(test)]
mod tests {
    use control::message::{ExecutorSays, OperatorSays};
    use fleetwatch_tests::world::{READING, World, must, recording, some, units};
    use protocol::ids::ProposalNumber;
    use protocol::propose::ProposalState;
    use serde_json::{Value, json};
    use std::thread::sleep;

    const RECORD: &str = "batch_recording";

    // A tool, its arguments, and what its receipt says.
    type Row = (&'static str, Value, Vec<String>);

    fn rows(world: &World) -> Vec<Row> {
        let room = |name: &str| world.room(name);
        let state = world.sim.state();
        let (hall, norte) = (room("Hall A"), room("Auditorio Norte"));
        let named = |place: usize| state["streams"][place]["Name"].as_str().unwrap_or_default().to_owned();
        let stream = |place: usize, unit: &str| json!({ "stream_id": state["streams"][place]["StreamID"], "device_id": unit, "channel_id": "1" });
        let events = state["events"].as_array().cloned().unwrap_or_default();
        let event = some(events.iter().find(|event| event["device_id"] == hall.as_str()), "its event")["event"].clone();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        vec![
            (RECORD, recording("start", &room("Chapel"), 1), words(&["channel 1 is recording"])),
            ("batch_reboot", units(&room("Courtroom 4")), words(&["the unit is offline, firmware 4."])),
            ("batch_firmware_update", units(&room("Studio 2")), words(&["the unit is offline, firmware "])),
            (
                "start_stream_endpoint",
                stream(2, &hall),
                words(&["channel 1 streams to 1 of its ", &format!("\"{}\" is held by {hall}", named(2))]),
            ),
            (
                "stop_stream_endpoint",
                stream(1, &norte),
                words(&["channel 1 streams to 0 of its ", &format!("\"{}\" is held by nobody", named(1))]),
            ),
            (
                "confirm_cms_event_on_device",
                json!({ "device_id": hall, "event_id": event["id"] }),
                words(&["the unit reports the event", event["title"].as_str().unwrap_or("?"), "confirmed: yes"]),
            ),
        ]
    }

    #[test]
    fn each_tool_has_a_receipt_that_names_what_it_changed() {
        let world = World::builder().without_assistant().start();
        let mut operator = world.control();
        for (place, (tool, arguments, words)) in rows(&world).into_iter().enumerate() {
            let number = must(world.propose(&format!("agent-{place}"), tool, &arguments), tool);
            let news = must(operator.approve(number), tool);
            assert_eq!(news.state, ProposalState::Ok, "{tool}: {news:?}");
            let kept = world.control().row(number).detail;
            for word in words.iter().map(String::as_str).chain(["read back: "]) {
                assert!(news.detail.contains(word) && kept.contains(word), "{tool}, {word}: {news:?}, {kept}");
            }
        }
        let receipts = world.audit("receipt");
        assert_eq!(receipts.len(), 6, "{receipts:?}");
        assert_eq!(world.writes().len(), 6);
    }

    #[test]
    fn a_stream_is_undone_by_a_proposal_of_its_own() {
        let world = World::builder().without_assistant().start();
        let (hall, state) = (world.room("Hall A"), world.sim.state());
        let arguments = json!({ "stream_id": state["streams"][2]["StreamID"], "device_id": hall, "channel_id": "1" });
        let number = must(world.propose("agent", "start_stream_endpoint", &arguments), "a start");
        let mut operator = world.control();
        must(operator.approve(number), "the start");
        assert!(world.control().row(number).undoable);
        let said = must(operator.ask(OperatorSays::ProposeUndo { number }), "its undo");
        let undo = if let ExecutorSays::Admitted { number } = said { Some(number) } else { None };
        let undo = some(undo, "a number");
        assert_eq!(world.writes().len(), 1, "it waits for a person");
        let card = must(operator.show(undo), "its card");
        assert!(card.facts.heading.en.starts_with("Stop streaming in Hall A"), "{}", card.facts.heading.en);
        assert!(card.facts.deny_only.is_empty(), "the unit itself holds the destination: {:?}", card.facts.deny_only);
        sleep(READING);
        let news = must(operator.decide(operator.yes_to(&card)), "the yes");
        assert_eq!(news.state, ProposalState::Ok, "{news:?}");
        assert!(news.detail.contains("is held by nobody"), "{news:?}");
        let writes = world.writes();
        let tools: Vec<_> = writes.iter().map(|call| call.tool.as_str()).collect();
        assert_eq!(tools, ["start_stream_endpoint", "stop_stream_endpoint"]);
        assert_eq!(writes[1].arguments, arguments);
    }

    // Attack C-07 of docs/past-attacks.md.
    #[test]
    fn a_no_to_one_of_three_leaves_the_other_two_as_they_were() {
        let world = World::builder().without_assistant().start();
        let mut turn = world.turn("agent");
        let numbers = ["Hall A", "Chapel", "Courtroom 1"]
            .map(|room| must(turn.propose(RECORD, &recording("start", &world.room(room), 1)), room));
        turn.end();
        let mut operator = world.control();
        let cards = numbers.map(|number| must(operator.show(number), "a card"));
        sleep(READING);
        must(operator.deny(numbers[1]), "a no to the middle one");
        let waiting: Vec<_> = operator.list().into_iter().map(|row| row.number).collect();
        assert_eq!(waiting, [numbers[0], numbers[2]], "the others wait on");
        for place in [0, 2] {
            let news = must(operator.decide(operator.yes_to(&cards[place])), "a yes");
            assert_eq!(news.state, ProposalState::Ok, "{news:?}");
        }
        let states = numbers.map(|number| world.state_of(number));
        assert_eq!(states, [ProposalState::Ok, ProposalState::Denied, ProposalState::Ok]);
        assert_eq!(world.writes().len(), 2);
    }

    #[test]
    fn times_are_in_the_venues_zone_by_its_name_with_utc_beside_it() {
        let world = World::builder()
            .without_assistant()
            .behaviour("autonomy: propose\ndry_run: false\ntimezone: America/Bogota\n")
            .start();
        let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
        let zoned = |text: &str| text.contains(" America/Bogota (") && text.contains(" UTC)") && !text.contains(" -05");
        let card = must(world.control().show(number), "a card");
        assert!(zoned(&card.read_at.en) && zoned(&card.read_at.es), "{:?}", card.read_at);
        let event = &card.facts.targets[0].event;
        assert!(zoned(&event.en) && zoned(&event.es), "{event:?}");
        must(world.approve(number), "a run");
        let row = world.control().row(number);
        assert!(zoned(&row.created_at.en) && zoned(&row.ended_at.es), "{row:?}");
        let page = world.page();
        for path in [format!("/outcome/{number}"), "/history".to_owned()] {
            let answer = page.get(&path);
            assert!(answer.body.contains(" America/Bogota</span> ("), "{path}: {}", answer.body);
        }
    }

    #[test]
    fn a_card_has_one_digest_whatever_the_language_and_the_surface() {
        let world = World::builder().without_assistant().start();
        let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
        let page = world.page();
        let of = |language: &str| {
            let answer = page.asking("GET", &card_of(number)).set("accept-language", language).send();
            let form = some(answer.form("/approve"), "a form");
            (answer.body, some(form.get("digest").cloned(), "a digest"))
        };
        let ((english, first), (spanish, second)) = (of("en"), of("es"));
        assert!(english.contains("lang=\"en\"") && spanish.contains("lang=\"es\""), "two languages");
        assert!(english.contains("Start recording") && spanish.contains("Iniciar la grabaci"), "two headings");
        let terminal = |language: &str| {
            let output = world.ctl(&["--lang", language, "approvals", "show", "1", "--json"]);
            let card: Value = must(serde_json::from_slice(&output.stdout), "a card");
            card["digest"].as_str().unwrap_or_default().to_owned()
        };
        assert_eq!([second, terminal("en"), terminal("es")], [first.clone(), first.clone(), first]);
    }

    fn card_of(number: ProposalNumber) -> String {
        format!("/card/{number}")
    }
}
