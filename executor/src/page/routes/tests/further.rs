//! Searching, undoing, freezing, entering by code, and what keeps a session open.

use super::{World, form, header, location};
use crate::page::door::played::{CODE, PIN, Played, card, number};
use protocol::refusal::RefusalCode;

#[tokio::test]
async fn a_search_takes_one_short_text_and_nothing_else() {
    let world = World::signed_in(Played::with(vec![])).await;
    for (query, asked) in [
        ("", "history -"),
        ("?", "history -"),
        ("?q=", "history -"),
        ("?q=++", "history -"),
        ("?q=Hall+A", "history Hall A"),
        ("?q=%20Aula%20Ni%C3%B1o%20", "history Aula Niño"),
    ] {
        let answer = world.get(&format!("/history{query}")).await;
        assert_eq!((answer.status, world.desk.asked()), (200, vec![asked.to_owned()]), "{query}");
    }
    let (fits, long) = ("a".repeat(80), "a".repeat(81));
    assert_eq!(world.get(&format!("/history?q={fits}")).await.status, 200);
    world.desk.asked();
    for bad in [
        format!("q={long}"),
        "q=a&q=b".into(),
        "q=a&all=1".into(),
        "Q=a".into(),
        "a".into(),
        "q=%".into(),
        "q=%4".into(),
        "q=%zz".into(),
        "q=%ff".into(),
        "q=a%0Ab".into(),
        "q=%00".into(),
        "q=a b".into(),
        "q=<b>".into(),
        "q=a?b".into(),
    ] {
        let answer = world.get(&format!("/history?{bad}")).await;
        assert_eq!((answer.status, world.desk.asked()), (400, vec![]), "{bad}");
    }
    let page = world.get("/history?q=%22%3E%3Cscript%3E").await.body;
    assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\"") && page.contains("Nothing was found."), "{page}");
    // Elsewhere a query changes nothing.
    assert_eq!(world.get("/?q=a&b").await.status, 200);
}

#[tokio::test]
async fn the_undo_of_what_ran_leads_to_a_card_of_its_own() {
    use protocol::propose::ProposalState;
    let world = World::signed_in(Played::with(vec![])).await;
    for at in [7, 9] {
        world.desk.lock().states.insert(number(at), ProposalState::Ok);
    }
    let undo = form(&world.get("/outcome/7").await.body, "/undo");
    let other = form(&world.get("/outcome/9").await.body, "/undo");
    let out = form(&world.get("/outcome/7").await.body, "/logout");
    world.desk.asked();
    let mixed = other.replace("number=9", "number=7");
    for wrong in [mixed, format!("number=7&{out}"), "number=7&token=".to_owned()] {
        assert_eq!(world.post("/undo", &wrong).await.status, 403, "{wrong}");
    }
    assert_eq!(world.post("/undo", &format!("{undo}&always=1")).await.status, 400);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    let answer = world.post("/undo", &undo).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/card/8")));
    assert_eq!(world.desk.asked(), ["propose_undo 7"]);
    world.desk.lock().refuse = Some(RefusalCode::QueueFull);
    let answer = world.post("/undo", &undo).await;
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("queue_full") && answer.body.contains("href=\"/outcome/7\""));
}

#[tokio::test]
async fn a_freeze_is_asked_for_first_and_then_said_everywhere() {
    let world = World::signed_in(Played::with(vec![card(7, "Hall A")])).await;
    assert!(world.get("/").await.body.contains("href=\"/freeze\""));
    let page = world.get("/freeze").await.body;
    assert!(page.contains("fleetwatchctl thaw") && page.contains("is denied"));
    let yes = form(&page, "/freeze");
    let deny = form(&world.get("/card/7").await.body, "/deny");
    world.desk.asked();
    assert_eq!(world.post("/freeze", &deny).await.status, 400);
    let token = deny.split_once('&').unwrap().1;
    assert_eq!(world.post("/freeze", token).await.status, 403);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    let answer = world.post("/freeze", &yes).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/")));
    assert_eq!(world.desk.asked(), ["freeze"]);
    for path in ["/", "/history", "/freeze"] {
        let page = world.get(path).await.body;
        assert!(page.contains("Everything is frozen") && page.contains("fleetwatchctl thaw"), "{path}");
    }
    // Whoever is not signed in is not told.
    let stranger = World::new(world.desk.clone());
    assert!(!stranger.get("/").await.body.contains("frozen"));
}

#[tokio::test]
async fn where_people_have_users_of_their_own_a_page_code_is_the_whole_key() {
    let world = World::new(Played::with(vec![card(7, "Hall A")]));
    world.desk.lock().by_code = true;
    world.desk.lock().operators = 2;
    let page = world.get("/card/7").await.body;
    assert!(page.contains("name=\"code\"") && page.contains("fleetwatchctl page-code"));
    for gone in ["name=\"secret\"", "name=\"pin\"", "name=\"name\"", "Hall A"] {
        assert!(!page.contains(gone), "{gone}");
    }
    // The launch secret and the PIN open nothing here.
    assert_eq!(world.enter(&world.secret(), PIN).await.status, 400);
    assert_eq!(world.desk.asked(), Vec::<String>::new());
    for _ in 0..3 {
        let answer = world.post("/login", "code=1111111111").await;
        assert_eq!((answer.status, header(&answer, "Set-Cookie")), (403, None));
        assert!(answer.body.contains("page code is not right"));
    }
    let answer = world.post("/login", &format!("code={CODE}")).await;
    assert_eq!((answer.status, header(&answer, "Retry-After")), (429, Some("2")));
    assert_eq!(world.desk.asked().len(), 3);
    world.hand.advance(2);
    let answer = world.post("/login", &format!("code=+{CODE}+&{}", form(&page, "/login"))).await;
    assert_eq!((answer.status, location(&answer)), (303, Some("/card/7")));
    // Where one user does everything a code opens nothing.
    world.desk.lock().by_code = false;
    assert_eq!(world.post("/login", &format!("code={CODE}")).await.status, 400);
}

#[tokio::test]
async fn an_outcome_page_that_looks_itself_up_keeps_no_session_open() {
    use protocol::propose::ProposalState;
    let world = World::signed_in(Played::with(vec![])).await;
    world.desk.lock().states.insert(number(7), ProposalState::Consumed);
    for _ in 0..29 {
        world.hand.advance(60);
        assert_eq!(world.get("/outcome/7").await.status, 200);
    }
    world.hand.advance(60);
    assert_eq!(world.get("/outcome/7").await.status, 403);
    assert!(world.get("/").await.body.contains("name=\"secret\""));
}
