//! A token is planted as the writing sign-in, and everything goes wrong with it: the server repeats it in an error, in a 401, in
//! half an answer, as a session's id. It stands in no log, answer, card, page, history, audit, export, database or backup, in no
//! form (`seed 000, Parts`), and neither do the page's secret and a session's cookie.

use super::{RECORD, printed};
use fleetwatch_tests::needles::Needles;
use fleetwatch_tests::world::{Fate, READING, Seen, World, must, recording, some};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use serde_json::json;
use std::thread::sleep;

const TOKEN: &str = "cnryAA11bb+cnryCC22dd/cnryEE33ff==";

fn needles() -> Needles {
    Needles::new().text("token", TOKEN)
}

fn is_write(seen: &Seen) -> bool {
    seen.body.contains("\"tools/call\"") && seen.body.contains(RECORD)
}

fn http(status: &str, kind: &str, body: &str) -> Fate {
    let realm = format!("www-authenticate: Bearer realm=\"{TOKEN}\", error_description=\"{TOKEN}\"\r\n");
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{realm}mcp-session-id: {TOKEN}\r\n");
    Fate::Answer(format!("{head}content-length: {}\r\n\r\n{body}", body.len()))
}

// A tool's own error in these words.
fn tool_error(words: &str) -> Fate {
    let result = json!({ "content": [{ "type": "text", "text": words }], "isError": true });
    http("200 OK", "application/json", &json!({ "jsonrpc": "2.0", "id": 2, "result": result }).to_string())
}

fn repeated() -> Vec<(&'static str, ProposalState, Fate)> {
    let json_text = json!({ "message": format!("no access with {TOKEN}"), "sent": { "header": TOKEN } }).to_string();
    let map = json!({ "content": [], "structuredContent": { "UNIT-1": format!("busy for {TOKEN}") } });
    let map = json!({ "jsonrpc": "2.0", "id": 2, "result": map }).to_string();
    let rpc = json!({ "jsonrpc": "2.0", "id": 2, "error": { "code": -32_000, "message": TOKEN, "data": TOKEN } });
    let unknown = ProposalState::Unknown;
    vec![
        ("in its words", ProposalState::Error, tool_error(&format!("{TOKEN} may not do this ({TOKEN})"))),
        ("as a header", ProposalState::Error, tool_error(&format!("you sent Authorization: Bearer {TOKEN}, sorry"))),
        ("in data", ProposalState::Error, tool_error(&json_text)),
        ("about a unit", ProposalState::Error, http("200 OK", "application/json", &map)),
        ("as a 401", unknown, http("401 Unauthorized", "text/plain", TOKEN)),
        ("as half an answer", unknown, http("200 OK", "application/json", &format!("{{\"{TOKEN}\": \"{TOKEN}"))),
        ("as an error of the protocol", unknown, http("200 OK", "application/json", &rpc.to_string())),
    ]
}

const ROOMS: [&str; 7] = [
    "Chapel",
    "Courtroom 1",
    "Courtroom 4",
    "Lecture Theatre 1",
    "Lecture Theatre 2",
    "Seminar Room 3",
    "Medical Theatre",
];

/// Everything that was said to anybody, with a name for the test's message.
type Said = Vec<(String, Vec<u8>)>;

fn proposed(world: &World, room: &str) -> ProposalNumber {
    must(
        world.propose(&format!("agent-{room}").replace(' ', "-"), RECORD, &recording("start", &world.room(room), 1)),
        room,
    )
}

fn rule(world: &World, mut fate: impl FnMut(&Seen) -> Fate + Send + 'static) {
    some(world.proxies.as_ref(), "the proxies").0.rule(move |seen| fate(seen));
}

// Each way in which the server repeats it at the write, and what the operator hears.
fn writes_that_fail(world: &World, said: &mut Said) {
    for ((what, state, fate), room) in repeated().into_iter().zip(ROOMS) {
        let (number, unit) = (proposed(world, room), world.room(room));
        let mut operator = world.control();
        let card = must(operator.show(number), "a card");
        sleep(READING);
        rule(world, move |seen| match &fate {
            Fate::Answer(text) if is_write(seen) => Fate::Answer(named(text, &unit)),
            Fate::Answer(_)
            | Fate::Close
            | Fate::CloseAfterAnswer
            | Fate::Hold
            | Fate::Pass
            | Fate::PassAfter(_)
            | Fate::Reset => Fate::Pass,
        });
        let news = must(operator.decide(operator.yes_to(&card)), what);
        assert_eq!(news.state, state, "{what}: {news:?}");
        said.push((format!("the outcome, {what}"), format!("{news:?}").into_bytes()));
        rule(world, |_| Fate::Pass);
    }
}

// The answer with the unit's own id in its place, and with the length that this makes.
fn named(text: &str, unit: &str) -> String {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return text.to_owned() };
    let body = body.replace("UNIT", unit);
    let lines = head.lines().filter(|line| !line.starts_with("content-length"));
    let head: Vec<_> = lines.collect();
    format!("{}\r\ncontent-length: {}\r\n\r\n{body}", head.join("\r\n"), body.len())
}

// It is repeated by every answer to a read or a greeting: cards without a room, refusals, and questions that fail.
fn reads_that_fail(world: &World, number: ProposalNumber, said: &mut Said) {
    let mut operator = world.control();
    let good = must(operator.show(number), "a card");
    sleep(READING);
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32_000, "message": TOKEN, "data": TOKEN } });
    for (what, fate) in [
        ("half an answer", http("200 OK", "application/json", &format!("{{\"{TOKEN}\": \"{TOKEN}"))),
        ("an error of the protocol", http("200 OK", "application/json", &rpc.to_string())),
        ("a server error", http("500 Internal Server Error", "text/plain", TOKEN)),
        ("a 401", http("401 Unauthorized", "text/plain", TOKEN)),
    ] {
        rule(world, move |_| fate.clone());
        let refused = operator.decide(operator.yes_to(&good));
        assert!(refused.is_err(), "{what}: {refused:?}");
        let drafted = world.propose("late", RECORD, &recording("start", &world.room("City Council Chamber"), 1));
        assert!(drafted.is_err(), "{what}: {drafted:?}");
        let card = world.control().show(number);
        said.push((format!("refusals after {what}"), format!("{refused:?} {drafted:?} {card:?}").into_bytes()));
        let page = world.page().get(&format!("/card/{number}"));
        said.push((format!("the page's card after {what}"), page.body.into_bytes()));
        said.push((format!("status after {what}"), printed(world, &["status", "--json"])));
    }
    rule(world, |_| Fate::Pass);
}

fn everything_that_can_be_asked_for(world: &World, said: &mut Said) {
    let backup = world.folder().join("a-backup").display().to_string();
    let export = world.folder().join("an-export").display().to_string();
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["approvals", "list"],
        &["approvals", "history"],
        &["approvals", "history", "--json"],
        &["audit", "verify"],
        &["audit", "export"],
        &["audit", "export", "--format", "csv"],
        &["audit", "export", "--output", &export],
        &["audit", "tail", "--most", "200"],
        &["backup", &backup],
    ] {
        said.push((format!("{arguments:?}"), printed(world, arguments)));
    }
    said.push(("history".to_owned(), format!("{:?}", world.control().history()).into_bytes()));
    let page = world.page();
    for path in ["/", "/history"] {
        said.push((path.to_owned(), page.get(path).body.into_bytes()));
    }
    for row in world.control().history() {
        let shown = page.get(&format!("/outcome/{}", row.number));
        said.push((format!("the outcome page of {}", row.number), shown.body.into_bytes()));
        let file = format!("{:?}", world.ctl(&["approvals", "show", &row.number.to_string()]));
        said.push((format!("show {}", row.number), file.into_bytes()));
    }
    assert!(std::path::Path::new(&backup).is_file() && std::path::Path::new(&export).is_file());
}

#[test]
fn a_planted_sign_in_is_in_no_log_answer_card_page_audit_export_or_backup_in_any_form() {
    let mut builder = World::builder().with_proxies().sandbox_token(TOKEN);
    // The daemons have one level; a library's own switches must not find another.
    for name in ["RUST_LOG", "HYPER_LOG", "REQWEST_LOG"] {
        builder = builder.executor_setting(name, "trace").assistant_setting(name, "trace");
    }
    let mut world = builder.start();
    let mut said = Said::new();
    let number =
        some(fleetwatch_tests::world::proposed(&world.ask("Start recording in Hall A")).first().copied(), "a proposal");
    said.push(("success".to_owned(), format!("{:?}", must(world.approve(number), "the yes")).into_bytes()));
    writes_that_fail(&world, &mut said);
    let waiting = proposed(&world, "Seminar Room 5");
    reads_that_fail(&world, waiting, &mut said);
    everything_that_can_be_asked_for(&world, &mut said);
    let (secret, page) = (world.page_secret(), world.page());
    assert_eq!(page.get("/").status, 200, "a session of this cookie");
    let cookie = some(page.cookie(), "a cookie").split('=').nth(1).map(str::to_owned);
    said.push(("an answer".to_owned(), format!("{:?}", world.ask("Stop recording in Courtroom 2")).into_bytes()));
    assert_eq!(world.stop_executor(), Some(0));

    let needles = needles().text("page secret", &secret).text("cookie", &some(cookie, "its value"));
    let sent = some(world.proxies.as_ref(), "the proxies").0.seen();
    assert!(sent.iter().any(|seen| !needles.found_in(seen.head.as_bytes()).is_empty()), "it was used");
    let found: Vec<_> = said
        .iter()
        .flat_map(|(what, bytes)| needles.found_in(bytes).into_iter().map(move |form| (what, form)))
        .collect();
    assert_eq!(found, [], "it was told");
    let log = world.executor_log();
    assert!(!log.contains("TRACE") && !log.contains("DEBUG"), "there is one level: {log}");
    assert!(log.contains("session for the write"), "and what went wrong is in it: {log}");
    // Logs, database, write-ahead log, spent log, export and backup; all but the file that it came in.
    assert_eq!(needles.found_under(world.folder(), &["secrets/sandbox-token"]), Vec::<String>::new());
}
