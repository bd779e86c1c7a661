//! The approval page in a real browser (`issue 1, 1.31`), over the demo's daemons. `peers/page.mjs` is the person; what
//! it saw is judged here. The pictures are in `target/screenshots`.

#[cfg(test)]
mod tests {
    use control::message::{ExecutorSays, OperatorSays};
    use fleetwatch_tests::demo::{Demo, PATIENCE, PROMPT};
    use fleetwatch_tests::world::{World, must, recording, skipped, some, units, until};
    use fleetwatch_tests::{target_folder, workspace_root};
    use protocol::ids::ProposalNumber;
    use protocol::propose::ProposalState;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;
    use std::env;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    const GOOD_DAY: [&str; 13] = [
        "login",
        "queue",
        "card-again",
        "card",
        "card-why",
        "card-disruptive",
        "confirm",
        "confirm-again",
        "outcome",
        "history",
        "card-undo",
        "freeze",
        "frozen",
    ];
    const BAD_DAY: [&str; 11] = [
        "es-login",
        "es-queue",
        "es-card-deny-only",
        "es-card-again",
        "es-card",
        "es-outcome-unknown",
        "es-confirm",
        "es-outcome-refused",
        "es-outcome-expired",
        "es-refusal",
        "es-history",
    ];

    // A missing browser must fail the test, never skip it.
    fn peers() -> (PathBuf, PathBuf) {
        let path = env::var_os("PATH").unwrap_or_default();
        let chromium = env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file());
        let node = target_folder().join("peers/node");
        for package in ["playwright-core", "axe-core"] {
            let there = node.join("node_modules").join(package).join("package.json").is_file();
            assert!(there, "the Node package {package} is missing: run tests/install-peers");
        }
        let Some(chromium) = chromium else { panic!("chromium is missing: run tests/install-peers") };
        (chromium, node)
    }

    fn tell(story: &str, demo: &Demo, more: &Value) -> Value {
        let mut places = json!({ "page": demo.page, "secret": demo.secret, "pin": demo.pin });
        places.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tell_at(story, places)
    }

    // Tells the story in the browser and gives what was seen.
    fn tell_at(story: &str, mut places: Value) -> Value {
        let (chromium, node) = peers();
        let temporary = tempfile::tempdir().unwrap();
        places["shots"] = json!(target_folder().join("screenshots"));
        let mut child = Command::new("node")
            .arg(workspace_root().join("tests/peers/page.mjs"))
            .arg(node)
            .arg(story)
            .env("CHROMIUM", chromium)
            .env("TMPDIR", temporary.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("node is missing: run tests/install-peers");
        child.stdin.take().unwrap().write_all(places.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{story}: {said}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    fn propose(demo: &mut Demo, words: &str) {
        let shown = demo.enter(words);
        assert!(shown.contains("It waits for a person."), "{words}: {shown}");
    }

    fn text(value: &Value) -> &str {
        value.as_str().unwrap_or_else(|| panic!("no text but {value}"))
    }

    fn holds(whole: &Value, parts: &[&str]) {
        for part in parts {
            assert!(text(whole).contains(part), "{part:?} is not in\n{}", text(whole));
        }
    }

    fn only_the_page_itself(seen: &Value, page: &str) {
        assert_eq!(seen["origins"], json!([page.trim_end_matches('/')]), "something came from elsewhere");
        assert_eq!(seen["complaints"], json!([]), "the browser complained");
    }

    #[test]
    fn a_person_signs_in_reads_a_card_approves_and_names_the_room_of_a_reboot() {
        let mut demo = Demo::start(&[]);
        propose(&mut demo, "Start recording in Hall A");
        propose(&mut demo, "Restart Courtroom 4");
        propose(&mut demo, "Stop recording in Courtroom 2");
        let seen =
            tell("with-script", &demo, &json!({ "numbers": { "start": 1, "reboot": 2 }, "room": "Courtroom 4" }));
        only_the_page_itself(&seen, &demo.page);

        assert_eq!(seen["login"]["focus"], "secret");
        assert_eq!(
            seen["cookies"],
            json!([{ "httpOnly": true, "sameSite": "Strict", "length": seen["cookies"][0]["length"] }])
        );
        assert!(seen["cookies"][0]["length"].as_u64() >= Some(32), "{}", seen["cookies"]);
        assert_eq!(seen["cookieInScript"], "");
        let entries = seen["queue"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 3);
        holds(&entries[0], &["Proposal 1", "20301000003"]);

        // Too soon: the card again, nothing sent, Deny focused again.
        holds(&seen["tooSoon"]["alert"], &["less than two seconds"]);
        assert_eq!(seen["tooSoon"]["focus"], "Deny");

        let card = &seen["card"];
        assert_eq!(card["focus"], "Deny");
        assert_eq!(card["buttons"], json!(["Deny", "Approve and run"]));
        assert_ne!(card["tabs"][0], "Deny", "the first Tab leaves Deny");
        holds(&card["heading"], &["Start recording in Hall A"]);
        holds(
            &card["text"],
            &["20301000003", "Pearl-2", "\"start\"", "[\"20301000003-1\"]", "Written by the assistant, not checked"],
        );
        holds(
            &card["text"],
            &["Scripted stand-in: the operator asked for it.", "Simulator: nothing real changes", "How to undo it"],
        );
        holds(&card["foot"], &["isolation: none"]);
        assert_eq!(card["approve"], json!({ "there": true, "denyToo": true }), "on a small screen");
        holds(&seen["outcome"]["facts"], &["read back: channel 1 is recording", "operator", "page"]);
        assert_eq!(
            seen["back"],
            json!({ "path": "/outcome/1", "buttons": ["Propose the undo"] }),
            "going back must not offer a yes again"
        );

        let why = &card["why"];
        assert_eq!(why["before"], json!(false), "folded up until somebody asks");
        holds(
            &why["text"],
            &["Is the proposal well formed?", "passed", "device_resolve", "Was the room read just now?"],
        );
        is_as_kept("card", text(&card["tree"]));
        is_as_kept("confirm", text(&seen["confirm"]["tree"]));

        assert_eq!(seen["disruptive"]["focus"], "Deny");
        assert_eq!(seen["disruptive"]["buttons"], json!(["Deny", "Go on and name the room"]));
        let confirm = &seen["confirm"];
        assert_eq!(confirm["focus"], "Deny");
        assert_eq!(confirm["approve"], json!({ "there": true, "denyToo": true }), "on a small screen");
        holds(&confirm["heading"], &["Courtroom 4"]);
        assert!(!text(&confirm["alert"]).is_empty());
        assert_eq!(seen["history"]["rows"].as_array().unwrap().len(), 3);
        let search = &seen["search"];
        assert_eq!(search["path"], "/history?q=Courtroom+4");
        assert_eq!(search["rows"].as_array().unwrap().len(), 1);
        holds(&search["rows"][0], &["Courtroom 4"]);
        holds(&search["none"], &["Nothing was found."]);
        assert_eq!(search["bad"], 400);

        // The undo is a card of its own, and was approved by hand like any other.
        holds(&seen["undo"]["heading"], &["Stop recording in Hall A"]);
        holds(&seen["undo"]["text"], &["Drafted by Fleetwatch to undo an earlier change", "\"stop\""]);
        holds(&seen["undone"]["facts"], &["operator", "page"]);

        holds(&seen["freeze"]["asked"], &["Freeze everything?", "fleetwatchctl thaw"]);
        holds(&seen["freeze"]["banner"], &["Everything is frozen", "fleetwatchctl thaw"]);
        assert_eq!(seen["freeze"]["waiting"], 0);
        assert_eq!(seen["freeze"]["links"], 0, "it is not offered twice");
        assert_eq!(seen["out"]["cookies"], 0);

        looks_right(&seen, &GOOD_DAY);
        let tools: Vec<_> = demo.writes().into_iter().map(|(tool, _)| tool).collect();
        assert_eq!(tools, ["batch_recording", "batch_reboot", "batch_recording"]);
        assert_eq!(demo.leave("/quit\n"), 0);
    }

    // Nothing is wider than the screen, at twice the text either, Deny is in view, and axe finds nothing.
    fn looks_right(seen: &Value, wanted: &[&str]) {
        let pages = seen["pages"].as_object().unwrap();
        let names: BTreeSet<_> = pages.keys().map(String::as_str).collect();
        assert_eq!(names, wanted.iter().copied().collect(), "these were looked at");
        for (name, found) in pages {
            for part in ["wide", "zoomed", "denyHidden", "axe"] {
                assert_eq!(found[part], json!([]), "{part} on {name}");
            }
            assert!(text(&found["title"]).contains("Fleetwatch"), "{name}");
        }
    }

    // What a screen reader reads, names and order; dates, clocks and minutes left are no part of it.
    fn is_as_kept(name: &str, tree: &str) {
        let path = workspace_root().join("tests/data/accessibility").join(format!("{name}.txt"));
        let found = tree.lines().map(without_times).collect::<Vec<_>>().join("\n") + "\n";
        if env::var_os("FLEETWATCH_BLESS").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &found).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, kept, "{}; FLEETWATCH_BLESS=1 writes it anew", path.display());
    }

    // Dates, times of day and minutes left, by their digits.
    fn without_times(line: &str) -> String {
        let words: Vec<_> = line.split(' ').collect();
        let masked = words.iter().enumerate().map(|(place, word)| {
            let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let is_digits = !core.is_empty() && core.chars().all(|c| c.is_ascii_digit() || c == ':' || c == '-');
            let is_minutes = words.get(place + 1).is_some_and(|next| next.starts_with("min"));
            let is_time = is_digits && (core.contains([':', '-']) || is_minutes);
            if is_time { word.replace(|c: char| c.is_ascii_digit(), "0") } else { (*word).to_owned() }
        });
        masked.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn without_script_it_works_the_same_enter_is_a_no_and_two_clicks_are_one_yes() {
        let mut demo = Demo::start(&[]);
        propose(&mut demo, "Start recording in Hall A");
        propose(&mut demo, "Start recording in Chapel");
        propose(&mut demo, "Start recording in Studio 2");
        let seen = tell("without-script", &demo, &json!({ "numbers": { "start": 1, "deny": 2, "twice": 3 } }));
        only_the_page_itself(&seen, &demo.page);
        assert_eq!(seen["card"]["focus"], "Denegar");
        assert_eq!(seen["card"]["lang"], "es");
        holds(
            &seen["card"]["text"],
            &["20301000003", "[\"20301000003-1\"]", "Escrito por el asistente, sin comprobar"],
        );
        holds(&seen["outcome"]["facts"], &["operator", "página"]);
        // What became of each is told by itself, with a prompt behind it.
        let mut shown = demo.enter("/history");
        while !(1..=3).all(|number| shown.contains(&format!("Proposal {number} "))) {
            shown += &must(demo.terminal.wait_for(PROMPT, PATIENCE), "the history");
        }
        let state = |number: u32| {
            let (_, rest) = shown.split_once(&format!("Proposal {number} ")).unwrap();
            rest.split_once("State").unwrap().1.split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!([state(1), state(2), state(3)], ["ok.", "denied.", "ok."], "{shown}");
        assert_eq!(demo.writes().len(), 2);
        assert_eq!(demo.leave("/quit\n"), 0);
    }

    #[test]
    fn the_keyboard_alone_is_enough() {
        let mut demo = Demo::start(&[]);
        propose(&mut demo, "Start recording in Hall A");
        propose(&mut demo, "Restart Courtroom 4");
        let seen = tell("keyboard", &demo, &json!({ "numbers": { "start": 1, "reboot": 2 }, "room": "Courtroom 4" }));
        only_the_page_itself(&seen, &demo.page);
        // Nobody gets to a yes by Enter alone.
        assert_eq!(seen["cardFocus"], "Deny");
        assert_eq!(seen["path"], json!(["Approve and run", "Go on and name the room", "Approve and run"]));
        holds(&seen["started"]["facts"], &["read back: channel 1 is recording"]);
        holds(&seen["rebooted"]["facts"], &["operator", "page"]);
        let rings = seen["rings"].as_array().unwrap();
        assert!(rings.len() > 10 && rings.iter().all(|ring| ring == true), "a focus that cannot be seen: {rings:?}");
        let tools: Vec<_> = demo.writes().into_iter().map(|(tool, _)| tool).collect();
        assert_eq!(tools, ["batch_recording", "batch_reboot"]);
        assert_eq!(demo.leave("/quit\n"), 0);
    }

    // One that is over, one that ends unknown, one that is refused after the yes, one that can only be denied.
    fn a_bad_day(world: &World) -> Value {
        let propose =
            |agent: &str, (tool, arguments): (&str, &Value)| must(world.propose(agent, tool, arguments), tool).get();
        let record = |room: &str| recording("start", &world.room(room), 1);
        let expired = propose("a", ("batch_recording", &record("Courtroom 1")));
        let over = format!("UPDATE proposals SET expires_at = 1 WHERE number = {expired}");
        // What was bound is not touched but for its end: the sweep ends it.
        assert_eq!(must(world.database().execute(&over, []), "its end"), 1);
        until(Duration::from_secs(10), "the expiry", || world.control().list().is_empty().then_some(()));
        world.sim_set(&json!({ "fault": "executes-then-closes", "once": true }));
        let unknown = propose("b", ("batch_recording", &record("Chapel")));
        let courtroom = world.room("Courtroom 4");
        world.sim_set(&json!({ "device": courtroom, "recording": { "channel": "1", "state": "recording" } }));
        let refused = propose("c", ("batch_reboot", &units(&courtroom)));
        let deny_only = propose("d", ("batch_recording", &record("Hall A")));
        world.sim_set(&json!({ "device": world.room("Hall A"), "online": false }));
        json!({ "expired": expired, "unknown": unknown, "refused": refused, "denyOnly": deny_only })
    }

    #[test]
    fn the_pages_of_a_bad_day_are_as_good_and_no_browser_clock_counts() {
        let world = World::builder().without_assistant().start();
        let numbers = a_bad_day(&world);
        let page = some(world.control().status().page, "the page");
        // Ten minutes wrong, either way.
        let now = some(world.sim.state()["now_ms"].as_i64(), "the time");
        let clocks = [now - 600_000, now + 600_000];
        let places = json!({
            "page": page, "secret": world.page_secret(), "pin": world.pin(), "numbers": numbers, "room": "Courtroom 4",
            "clocks": clocks,
        });
        let seen = tell_at("all-pages", places);
        only_the_page_itself(&seen, &page);
        holds(&seen["denyOnly"]["text"], &["Esto solo se puede denegar"]);
        assert_eq!(seen["denyOnly"]["buttons"], json!(["Denegar"]));
        // The same words whatever the browser believes; and the yes went through.
        let clock = |part: &str| seen[part]["clock"].as_i64().unwrap();
        assert!(clock("late") - clock("early") > 1_000_000, "the browser's clock was moved");
        holds(&seen["early"]["text"], &["caduca en 14 min"]);
        holds(&seen["late"]["text"], &["caduca en 14 min"]);
        holds(&seen["unknown"]["verdict"], &[&policy::words::state(ProposalState::Unknown).es]);
        holds(&seen["unknown"]["facts"], &["read back: channel 1 is recording"]);
        holds(&seen["refused"]["verdict"], &[&policy::words::state(ProposalState::Refused).es]);
        holds(&seen["expired"]["verdict"], &[&policy::words::state(ProposalState::ExpiredUnseen).es]);
        // When it ended is told by the store's clock.
        let ended =
            world.control().row(some(numbers["expired"].as_u64().and_then(ProposalNumber::new), "a number")).ended_at;
        holds(&seen["expired"]["facts"], &[&ended.es]);
        assert_ne!(seen["refusal"]["status"], 200);
        looks_right(&seen, &BAD_DAY);
        assert_eq!(world.writes().len(), 1);
    }

    #[test]
    fn where_people_have_users_of_their_own_the_door_is_a_page_code() {
        if !is_root() {
            skipped("page codes need users of their own, which only root can set up here");
            return;
        }
        let builder = World::builder().without_assistant().group("fleetwatch-operators");
        let world = builder.executor_setting("FLEETWATCH_ASSISTANT_USER", "65534").start();
        let mut operator = world.control();
        let page = some(operator.status().page, "the page");
        let pin = must(serde_json::from_value(json!(world.pin())), "a PIN");
        let said = must(operator.ask(OperatorSays::PageCode { pin }), "a page code");
        let code = if let ExecutorSays::PageCode { code, .. } = said { Some(code) } else { None };
        let seen = tell_at("with-code", json!({ "page": page, "code": code }));
        only_the_page_itself(&seen, &page);
        assert_eq!(seen["lang"], "es");
        looks_right(&seen, &["es-login-code", "es-login-code-again", "es-queue-empty"]);
    }

    fn is_root() -> bool {
        use std::os::unix::fs::MetadataExt;
        tempfile::tempdir().and_then(|folder| std::fs::metadata(folder.path())).is_ok_and(|folder| folder.uid() == 0)
    }
}
