mod further;

use super::{Site, place};
use crate::page::door::Door;
use crate::page::door::played::{PIN, Played, card, number, reboot};
use crate::page::request::{Method, PageAnswer, PageRequest};
use crate::page::session::{LaunchSecret, Sessions, Waits};
use host::clock::{Clock, ManualClock};
use protocol::refusal::RefusalCode;
use protocol::shown::{Language, Worded};
use std::sync::Mutex;
use tempfile::TempDir;
use zeroize::Zeroizing;

const HOST: &str = "127.0.0.1:8767";
const ORIGIN: &str = "http://127.0.0.1:8767";

struct World {
    site: Site,
    desk: Played,
    hand: ManualClock,
    cookie: Option<String>,
    uid: u32,
    _folder: TempDir,
}

impl World {
    fn new(desk: Played) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (clock, hand) = Clock::dangerous_manual(1_000, 5_000, "boot");
        let site = Site {
            door: Door::Played(desk.clone()),
            sessions: Sessions::new(clock.clone()),
            secret: LaunchSecret::make(folder.path()).unwrap(),
            waits: Mutex::new(Waits::default()),
            turn: tokio::sync::Mutex::new(()),
            clock,
            port: 8767,
        };
        Self { site, desk, hand, cookie: None, uid: 1001, _folder: folder }
    }

    async fn signed_in(desk: Played) -> Self {
        let mut world = Self::new(desk);
        let answer = world.enter(&world.secret(), PIN).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        world.cookie = header(&answer, "Set-Cookie").map(|set| set.split(';').next().unwrap().to_owned());
        world.desk.asked();
        world
    }

    fn secret(&self) -> String {
        std::fs::read_to_string(self.site.secret.path()).unwrap().trim_end().to_owned()
    }

    fn request(&self, method: Method, path: &str, body: &str) -> PageRequest {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        PageRequest {
            method,
            path: path.into(),
            query: query.map(str::to_owned),
            host: HOST.into(),
            cookie: self.cookie.clone().map(Zeroizing::new),
            origin: (method == Method::Post).then(|| ORIGIN.into()),
            sec_fetch_site: Some("same-origin".into()),
            language: Language::English,
            peer_uid: Some(self.uid),
            body: Zeroizing::new(body.as_bytes().to_vec()),
        }
    }

    async fn get(&self, path: &str) -> PageAnswer {
        self.site.answer(self.request(Method::Get, path, "")).await
    }

    async fn post(&self, path: &str, body: &str) -> PageAnswer {
        self.site.answer(self.request(Method::Post, path, body)).await
    }

    async fn enter(&self, secret: &str, pin: &str) -> PageAnswer {
        self.post("/login", &format!("secret={secret}&pin={pin}")).await
    }
}

fn header<'a>(answer: &'a PageAnswer, name: &str) -> Option<&'a str> {
    answer.extra.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

fn location(answer: &PageAnswer) -> Option<&str> {
    header(answer, "Location")
}

// The hidden fields of the form that posts to `action`, as a browser would send them.
fn form(page: &str, action: &str) -> String {
    let start = page.find(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("no form {action}"));
    let form = &page[start..start + page[start..].find("</form>").unwrap()];
    let inputs = form.split("type=\"hidden\" name=\"").skip(1);
    let field = |input: &str| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        format!("{name}={}", rest.split('"').next().unwrap())
    };
    inputs.map(field).collect::<Vec<_>>().join("&")
}

#[test]
fn there_are_no_other_places() {
    for path in ["/", "/card/1", "/outcome/9007199254740991", "/history", "/style.css", "/approve", "/deny-all"] {
        assert!(place(path).is_some(), "{path}");
    }
    for path in [
        "",
        "/approve-all",
        "/approve_all",
        "/card",
        "/card/",
        "/card/0",
        "/card/01",
        "/card/+1",
        "/card/1/",
        "/card/x",
        "/card/9007199254740992",
        "/card/99999999999999999999",
        "//",
        "/favicon.ico",
        "/thaw",
        "/ask",
        "/deny/",
        "/%2e",
    ] {
        assert!(place(path).is_none(), "{path}");
    }
}

#[tokio::test]
async fn without_a_session_there_is_a_form_and_no_fact() {
    let mut world = World::new(Played::with(vec![card(7, "Hall A")]));
    for cookie in [None, Some("fleetwatch_approve=forged")] {
        world.cookie = cookie.map(str::to_owned);
        for (path, status) in [("/", 200), ("/card/7", 403), ("/outcome/7", 403), ("/history", 403)] {
            let answer = world.get(path).await;
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.body.contains("name=\"secret\""));
            assert!(!answer.body.contains("Hall A") && !answer.body.contains("waiting"));
        }
    }
    assert_eq!(world.desk.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn the_right_entry_opens_a_session_and_leads_to_the_card_that_was_asked_for() {
    let world = World::new(Played::with(vec![card(7, "Hall A")]));
    let page = world.get("/card/7").await.body;
    let answer = world.post("/login", &format!("secret={}&pin={PIN}&{}", world.secret(), form(&page, "/login"))).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/card/7")));
    let cookie = header(&answer, "Set-Cookie").unwrap();
    assert!(cookie.starts_with("fleetwatch_approve=") && cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"));
    assert!(!cookie.contains(&world.secret()));
    let elsewhere = world.post("/login", &format!("secret={}&pin={PIN}&card=//evil", world.secret())).await;
    assert_eq!(elsewhere.status, 400);
}

#[tokio::test]
async fn a_name_is_asked_for_only_when_there_are_several_operators() {
    let world = World::new(Played::with(vec![]));
    assert_eq!(world.post("/login", &format!("secret={}&pin={PIN}&name=ana", world.secret())).await.status, 400);
    world.desk.lock().operators = 2;
    assert_eq!(world.enter(&world.secret(), PIN).await.status, 400);
    let answer = world.post("/login", &format!("secret={}&pin={PIN}&name=+ana+", world.secret())).await;
    assert_eq!(answer.status, 303);
    assert_eq!(world.desk.asked(), ["log_in ana"]);
}

#[tokio::test]
async fn a_wrong_secret_never_reaches_the_pin_and_wrong_entries_wait() {
    let world = World::new(Played::with(vec![]));
    for _ in 0..3 {
        let answer = world.enter("wrong", PIN).await;
        assert_eq!(answer.status, 403);
        assert!(answer.body.contains("The launch secret or the PIN is not right."));
    }
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    // During the wait nothing is checked, not even the right entry, and nothing is counted.
    for _ in 0..5 {
        let answer = world.enter(&world.secret(), PIN).await;
        assert_eq!((answer.status, header(&answer, "Retry-After")), (429, Some("2")));
    }
    world.hand.advance(2);
    assert_eq!(world.enter(&world.secret(), "00000000").await.status, 403);
    assert_eq!(world.desk.asked(), ["log_in -"]);
    let answer = world.enter(&world.secret(), PIN).await;
    assert_eq!((answer.status, header(&answer, "Retry-After")), (429, Some("4")));
    world.hand.advance(4);
    assert_eq!(world.enter(&world.secret(), PIN).await.status, 303);
    assert_eq!(world.enter("wrong", PIN).await.status, 403);
    assert_eq!(world.enter(&world.secret(), PIN).await.status, 303);
}

#[tokio::test]
async fn a_locked_pin_says_so_to_whoever_holds_the_secret() {
    let world = World::new(Played::with(vec![]));
    world.desk.lock().refuse = Some(RefusalCode::PinLocked);
    let answer = world.enter(&world.secret(), PIN).await;
    assert_eq!(answer.status, 403);
    assert!(!answer.body.contains("The launch secret or the PIN is not right."));
    assert!(header(&answer, "Set-Cookie").is_none());
}

#[tokio::test]
async fn another_user_with_the_cookie_sees_the_form() {
    let mut world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    assert!(world.get("/").await.body.contains("Hall A"));
    world.uid = 1002;
    assert!(world.get("/").await.body.contains("name=\"secret\""));
}

#[tokio::test]
async fn a_user_who_is_no_operator_sees_nothing_at_all() {
    let mut world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    world.uid = 4_242;
    let answer = world.get("/").await;
    assert_eq!(answer.status, 403);
    assert!(!answer.body.contains("name=\"secret\"") && !answer.body.contains("Hall A"));
}

#[tokio::test]
async fn the_queue_leads_to_cards_even_when_only_one_waits() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    let page = world.get("/").await.body;
    assert!(page.contains("href=\"/card/7\"") && page.contains("<title>1 waiting"));
    assert!(!page.contains("/deny-all") && !page.contains("action=\"/approve\""));
    assert_eq!(world.desk.asked(), ["waiting"]);
}

#[tokio::test]
async fn looking_decides_nothing() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A"), card(8, "Hall B")])).await;
    for path in [
        "/",
        "/card/7",
        "/outcome/7",
        "/history",
        "/style.css",
        "/approve",
        "/deny",
        "/deny-all",
        "/confirm",
        "/logout",
        "/freeze",
        "/undo",
    ] {
        for method in [Method::Get, Method::Head] {
            let body = "number=7&token=x";
            world.site.answer(world.request(method, path, body)).await;
        }
    }
    let asked = world.desk.asked();
    assert!(
        asked.iter().all(|ask| !ask.contains("deny")
            && !ask.contains("approve")
            && !ask.contains("check")
            && !ask.contains("freeze")
            && !ask.contains("undo")),
        "{asked:?}"
    );
    // Nobody reads the answer to a HEAD: it does not mark the card as seen.
    assert_eq!(asked.iter().filter(|ask| *ask == "show 7").count(), 1);
    assert_eq!(world.get("/approve").await.status, 404);
}

#[tokio::test]
async fn approving_a_calm_card_runs_it_and_ends_on_its_outcome() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    let page = world.get("/card/7").await.body;
    let yes = form(&page, "/approve");
    world.desk.asked();
    let answer = world.post("/approve", &yes).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/outcome/7")));
    assert_eq!(world.desk.asked(), ["approve 7 ticket-7 None"]);
    let outcome = world.get("/outcome/7").await;
    assert!(outcome.body.contains(&policy::words::state(protocol::propose::ProposalState::Ok).en));
    assert_eq!(header(&outcome, "Refresh"), None);
    let again = world.post("/approve", &yes).await;
    assert_eq!(again.status, 409);
    assert!(again.body.contains("href=\"/outcome/7\""));
    assert_eq!(location(&world.get("/card/7").await), Some("/outcome/7"));
}

#[tokio::test]
async fn a_disruptive_card_runs_only_after_its_room_was_named() {
    let world = World::signed_in(Played::with(vec![reboot(7, "Hall A")])).await;
    let first = form(&world.get("/card/7").await.body, "/approve");
    world.desk.asked();
    let second = world.post("/approve", &first).await;
    assert_eq!(second.status, 200);
    assert!(second.body.contains("Confirm: Restart Hall A"));
    assert_eq!(world.desk.asked(), ["check 7 ticket-7 None"]);
    let fields = form(&second.body, "/confirm");
    assert!(fields.contains("ticket=ticket-7&"), "{fields}");
    // The first page's token does not confirm, and nobody can skip the second page.
    assert_eq!(world.post("/confirm", &format!("{first}&confirm=Hall+A")).await.status, 403);
    assert_eq!(world.post("/approve", &fields).await.status, 403);
    assert_eq!(world.post("/confirm", &fields).await.status, 400);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    let answer = world.post("/confirm", &format!("{fields}&confirm=Hall+A")).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/outcome/7")));
    assert_eq!(world.desk.asked(), ["approve 7 ticket-7 Some(\"Hall A\")"]);
}

#[tokio::test]
async fn a_wrong_room_asks_again() {
    let world = World::signed_in(Played::with(vec![reboot(7, "Hall A")])).await;
    let first = form(&world.get("/card/7").await.body, "/approve");
    let second = form(&world.post("/approve", &first).await.body, "/confirm");
    world.desk.lock().refuse = Some(RefusalCode::RoomNotConfirmed);
    let answer = world.post("/confirm", &format!("{second}&confirm=Hall+B")).await;
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("action=\"/confirm\""));
    assert!(answer.body.contains("role=\"alert\"") && answer.body.contains("ticket-7"));
}

#[tokio::test]
async fn what_a_fresh_look_can_mend_shows_the_fresh_card() {
    for code in [RefusalCode::CardChanged, RefusalCode::TooSoon, RefusalCode::BadTicket] {
        let world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
        let yes = form(&world.get("/card/7").await.body, "/approve");
        if let Some(card) = world.desk.lock().cards.get_mut(&number(7)) {
            card.ticket = "fresh".into();
            card.digest = [8; 32];
        }
        world.desk.lock().refuse = Some(code);
        let answer = world.post("/approve", &yes).await;
        assert_eq!(answer.status, 409, "{code}");
        assert!(answer.body.contains("role=\"alert\"") && answer.body.contains("value=\"fresh\""), "{code}");
        assert!(answer.body.contains(&"08".repeat(32)), "{code}");
    }
}

#[tokio::test]
async fn other_refusals_say_their_code_and_where_the_proposal_stands() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    let yes = form(&world.get("/card/7").await.body, "/approve");
    world.desk.lock().refuse = Some(RefusalCode::NotApprovable);
    let answer = world.post("/approve", &yes).await;
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("not_approvable") && answer.body.contains("href=\"/outcome/7\""));
    assert_eq!(world.get("/outcome/99").await.status, 404);
}

#[tokio::test]
async fn a_deny_only_card_cannot_be_approved_by_a_made_up_post() {
    let mut only = card(7, "Hall A");
    only.facts.deny_only = vec![Worded::new("The read failed.", "La lectura falló.")];
    let world = World::signed_in(Played::with(vec![only, card(8, "Hall B")])).await;
    let other = form(&world.get("/card/8").await.body, "/approve").replace("number=8", "number=7");
    let deny = form(&world.get("/card/7").await.body, "/deny");
    world.desk.asked();
    assert_eq!(world.post("/approve", &other).await.status, 403);
    let token = deny.split("token=").nth(1).unwrap();
    let made_up = format!("number=7&ticket=ticket-7&digest={}&token={token}", "07".repeat(32));
    assert_eq!(world.post("/approve", &made_up).await.status, 403);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn deny_needs_its_own_token_and_ends_on_the_outcome() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A"), card(8, "Hall B")])).await;
    let deny = form(&world.get("/card/7").await.body, "/deny");
    let other = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    world.desk.asked();
    for wrong in [
        deny.replace("number=7", "number=8"),
        "number=7&token=".into(),
        format!("number=7&token={}", "0".repeat(64)),
        form(&other.get("/card/7").await.body, "/deny"),
    ] {
        assert_eq!(world.post("/deny", &wrong).await.status, 403, "{wrong}");
    }
    for bad in ["number=7", "", &format!("{deny}&always=yes"), &format!("{deny}&number=8")] {
        assert_eq!(world.post("/deny", bad).await.status, 400, "{bad}");
    }
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    let answer = world.post("/deny", &deny).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/outcome/7")));
    assert_eq!(world.desk.asked(), ["deny 7"]);
}

#[tokio::test]
async fn deny_all_is_offered_from_two_on_and_needs_its_own_token() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A"), card(8, "Hall B")])).await;
    let page = world.get("/").await.body;
    let all = form(&page, "/deny-all");
    let out = form(&page, "/logout");
    world.desk.asked();
    assert_eq!(world.post("/deny-all", &out).await.status, 403);
    assert_eq!(world.post("/logout", &all).await.status, 403);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    let answer = world.post("/deny-all", &all).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/history")));
    assert_eq!(world.desk.asked(), ["deny_all"]);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let world = World::signed_in(Played::with(vec![])).await;
    let out = form(&world.get("/").await.body, "/logout");
    let answer = world.post("/logout", &out).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/")));
    assert!(header(&answer, "Set-Cookie").unwrap().contains("Max-Age=0"));
    assert!(world.get("/").await.body.contains("name=\"secret\""));
}

#[tokio::test]
async fn a_post_from_elsewhere_decides_nothing_and_signs_nobody_in() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A"), card(8, "Hall B")])).await;
    let card_page = world.get("/card/7").await.body;
    let queue = world.get("/").await.body;
    let posts = [
        ("/approve", form(&card_page, "/approve")),
        ("/deny", form(&card_page, "/deny")),
        ("/deny-all", form(&queue, "/deny-all")),
        ("/logout", form(&queue, "/logout")),
        ("/freeze", form(&world.get("/freeze").await.body, "/freeze")),
        ("/undo", form(&card_page, "/deny")),
        ("/confirm", format!("{}&confirm=x", form(&card_page, "/approve"))),
        ("/login", format!("secret={}&pin={PIN}", world.secret())),
    ];
    world.desk.asked();
    for (path, body) in &posts {
        for (origin, site) in [
            (None, None),
            (Some("null"), None),
            (Some("null"), Some("same-origin")),
            (Some("http://evil.example"), Some("cross-site")),
            (Some(ORIGIN), Some("same-site")),
            (Some(ORIGIN), Some("none")),
            (None, Some("cross-site")),
        ] {
            let mut request = world.request(Method::Post, path, body);
            request.origin = origin.map(str::to_owned);
            request.sec_fetch_site = site.map(str::to_owned);
            let answer = world.site.answer(request).await;
            assert_eq!(answer.status, 403, "{path} {origin:?} {site:?}");
            assert!(header(&answer, "Set-Cookie").is_none());
        }
    }
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    assert_eq!(world.desk.lock().cards.len(), 2);
}

#[tokio::test]
async fn a_post_without_a_session_decides_nothing() {
    let mut world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    let page = world.get("/card/7").await.body;
    let (yes, deny) = (form(&page, "/approve"), form(&page, "/deny"));
    world.desk.asked();
    world.cookie = None;
    for (path, body) in [
        ("/approve", &yes),
        ("/deny", &deny),
        ("/deny-all", &deny),
        ("/confirm", &yes),
        ("/freeze", &deny),
        ("/undo", &deny),
    ] {
        let answer = world.post(path, body).await;
        assert_eq!(answer.status, 403, "{path}");
        assert!(answer.body.contains("Nothing was decided."));
    }
    assert_eq!(world.desk.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn an_outcome_that_is_still_open_is_looked_up_again() {
    use protocol::propose::ProposalState;
    let world = World::signed_in(Played::with(vec![])).await;
    for state in ProposalState::ALL {
        world.desk.lock().states.insert(number(7), state);
        let answer = world.get("/outcome/7").await;
        let open = matches!(state, ProposalState::Approved | ProposalState::Consumed);
        assert_eq!(header(&answer, "Refresh").is_some(), open, "{}", state.as_str());
    }
}
