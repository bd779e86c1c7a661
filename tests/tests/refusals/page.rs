//! The page refuses whoever does not come from it, is not signed in, or holds another form's token.

use fleetwatch_tests::world::{Answer, Asking, PageClient, READING, World, must, recording, some};
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use std::collections::BTreeMap;
use std::thread::sleep;

const RECORD: &str = "batch_recording";

type Fields = BTreeMap<String, String>;

// A waiting proposal, a browser that has read its card, and the form that would approve it.
#[track_caller]
fn ready(world: &World) -> (ProposalNumber, PageClient, Answer, Fields) {
    let number = must(world.propose("a", RECORD, &recording("start", &world.room("Hall A"), 1)), "a proposal");
    let page = world.page();
    let card = page.get(&format!("/card/{number}"));
    let form = some(card.form("/approve"), "a form that approves");
    sleep(READING);
    (number, page, card, form)
}

fn posting(page: &PageClient, form: &Fields) -> Asking {
    page.asking("POST", "/approve").form(form.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

#[track_caller]
fn still_waits(world: &World, number: ProposalNumber, what: &str) {
    assert_eq!((world.state_of(number), world.writes().len()), (ProposalState::Pending, 0), "{what}");
}

#[test]
fn a_post_from_anywhere_else_is_refused() {
    let world = World::builder().without_assistant().start();
    let (number, page, _, form) = ready(&world);
    let address = page.address().to_owned();
    let port = some(address.rsplit_once(':'), "a port").1.to_owned();
    let asking = || posting(&page, &form);
    let ours = format!("http://{address}");
    let rows: Vec<(&str, Asking, u16)> = vec![
        ("another site", asking().set("origin", "http://evil.example").set("sec-fetch-site", "cross-site"), 403),
        (
            "another site that hides its kind",
            asking().set("origin", "http://evil.example").without("sec-fetch-site"),
            403,
        ),
        ("our origin from a cross-site form", asking().set("sec-fetch-site", "cross-site"), 403),
        ("a sister port", asking().set("origin", "http://127.0.0.1:1").set("sec-fetch-site", "same-site"), 403),
        ("an origin of null", asking().set("origin", "null"), 403),
        ("https", asking().set("origin", &ours.replace("http", "https")), 403),
        ("neither Origin nor Sec-Fetch-Site", asking().without("origin").without("sec-fetch-site"), 403),
        ("typed into the address bar", asking().without("origin").set("sec-fetch-site", "none"), 403),
        ("another host", asking().set("host", &format!("evil.example:{port}")), 403),
        (
            "another host with its own origin",
            asking().set("host", "evil.example").set("origin", "http://evil.example"),
            403,
        ),
        ("the host without its port", asking().set("host", "127.0.0.1"), 403),
        ("no host", asking().without("host"), 400),
        ("no cookie", asking().without("cookie"), 403),
        (
            "another cookie",
            asking().set("cookie", "fleetwatch_approve=0000000000000000000000000000000000000000000"),
            403,
        ),
        ("text instead of a form", asking().set("content-type", "text/plain"), 415),
        ("JSON", asking().set("content-type", "application/json"), 415),
        ("a body without a length", asking().without("content-length"), 411),
    ];
    for (what, asking, status) in rows {
        let answer = asking.send();
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
        assert!(!answer.body.contains("Hall A"), "{what}: no fact for a stranger");
    }
    still_waits(&world, number, "all of them");
    assert_eq!(page.submit("/approve", &form).status, 303, "the same form from the page itself");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_form_fits_one_purpose_one_card_and_one_session() {
    let world = World::builder().without_assistant().start();
    let (number, page, card, form) = ready(&world);
    let deny = some(card.form("/deny"), "Deny");
    let logout = some(card.form("/logout"), "sign out");
    let other = world.page();
    let others_form = some(other.get(&format!("/card/{number}")).form("/approve"), "another session's form");
    let with = |name: &str, value: &str| {
        let mut fields = form.clone();
        fields.insert(name.to_owned(), value.to_owned());
        fields
    };
    let without = |name: &str| {
        let mut fields = form.clone();
        fields.remove(name);
        fields
    };
    let flipped: String = form["digest"].chars().map(|c| if c == '0' { '1' } else { '0' }).collect();
    let rows: Vec<(&str, Fields, u16)> = vec![
        ("no token", without("token"), 400),
        ("an empty token", with("token", ""), 403),
        ("the token of Deny", with("token", &deny["token"]), 403),
        ("the token of signing out", with("token", &logout["token"]), 403),
        ("another session's token", with("token", &others_form["token"]), 403),
        ("another session's whole form", others_form.clone(), 403),
        ("another number", with("number", "2"), 403),
        ("a number with a zero before it", with("number", "01"), 400),
        ("no ticket", without("ticket"), 400),
        ("a made-up ticket", with("ticket", "1.00"), 409),
        ("another session's ticket", with("ticket", &others_form["ticket"]), 409),
        ("another digest", with("digest", &flipped), 409),
        ("half a digest", with("digest", &form["digest"][..32]), 400),
        ("one field too many", with("approve_all", "1"), 400),
        ("a room where none is asked for", with("confirm", "Hall A"), 400),
    ];
    for (what, fields, status) in rows {
        let answer = page.submit("/approve", &fields);
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
    }
    let body = form.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
    let twice = page.asking("POST", "/approve").body(&format!("{body}&number={number}"));
    assert_eq!(twice.send().status, 400, "a field that comes twice");
    for target in [format!("/approve?{body}"), "/approve".into(), "/deny".into(), "/confirm".into(), "/deny-all".into()]
    {
        assert_eq!(page.get(&target).status, 404, "a GET decides nothing: {target}");
    }
    assert_eq!(page.submit("/confirm", &with("confirm", "Hall A")).status, 403, "the second page's door");
    still_waits(&world, number, "all of them");
    assert_eq!(page.submit("/approve", &form).status, 303, "the form as it was");
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn without_the_secret_of_this_start_and_the_pin_nobody_is_in() {
    let world = World::builder().without_assistant().start();
    let (number, page, card, _) = ready(&world);
    let secret = world.page_secret();
    let outside = world.stranger_page();
    for path in ["/", "/history", &format!("/card/{number}"), &format!("/outcome/{number}")] {
        let answer = outside.get(path);
        let wanted = if path == "/" { 200 } else { 403 };
        assert_eq!(answer.status, wanted, "{path}");
        assert!(!answer.body.contains("Hall A") && !answer.body.contains(RECORD), "{path}: {}", answer.body);
        // A secret in a URL opens nothing.
        let in_url = outside.get(&format!("{path}?secret={secret}"));
        assert!(in_url.header("set-cookie").is_none() && !in_url.body.contains("Hall A"), "{path}");
    }
    let fields = |secret: &str, pin: &str| [("secret", secret.to_owned()), ("pin", pin.to_owned())];
    for (secret, pin) in [("", world.pin()), ("wrong", world.pin()), (secret.as_str(), "wrong-pin")] {
        let mut browser = outside.clone();
        let answer = browser.log_in(secret, pin);
        assert!(answer.status == 403 && browser.cookie().is_none(), "{}: {}", answer.status, answer.body);
    }
    // Three were free; the next waits, however right it is.
    let mut browser = outside.clone();
    let answer = browser.log_in(&secret, world.pin());
    assert!(answer.status == 429 && browser.cookie().is_none(), "{}", answer.status);
    let foreign = outside.asking("POST", "/login").set("origin", "http://evil.example");
    let pairs = fields(&secret, world.pin());
    let foreign = foreign.form(pairs.iter().map(|(name, value)| (*name, value.as_str()))).send();
    assert!(foreign.status == 403 && foreign.header("set-cookie").is_none());
    // What was given never comes back.
    for answer in [&card, &page.get("/"), &page.get("/history")] {
        assert!(!answer.body.contains(&secret) && !answer.body.contains(world.pin()));
    }
    let log = world.executor_log();
    assert!(!log.contains(&secret) && !log.contains(world.pin()));
    still_waits(&world, number, "all of them");
}

#[test]
fn signing_out_ends_the_session_and_its_forms() {
    let world = World::builder().without_assistant().start();
    let (number, page, card, form) = ready(&world);
    let logout = some(card.form("/logout"), "sign out");
    assert_eq!(page.submit("/logout", &logout).status, 303);
    assert_eq!(page.submit("/approve", &form).status, 403);
    assert_eq!(page.get("/history").status, 403);
    still_waits(&world, number, "a session that has ended");
}
