use super::*;
use crate::testing::{self, Paper, Screen, echoes, number, sample_card, sample_row, sample_waiting};
use protocol::propose::ProposalState;
use serde_json::Value;
use tempfile::TempDir;

const PIN: &str = "4711471147";

fn approving(card: Card, reply: impl Fn() -> Option<ExecutorSays> + Send + 'static) -> (TempDir, testing::Heard) {
    let run = tempfile::tempdir().unwrap();
    let heard = testing::executor(run.path(), move |say| {
        if matches!(say, OperatorSays::Show { .. }) {
            return Some(ExecutorSays::Card(Box::new(card.clone())));
        }
        reply()
    });
    (run, heard)
}

async fn approve_on(screen: &Screen, run: &TempDir, paper: &Paper) -> Exit {
    let at = (screen.terminal(), Interrupts::watch().unwrap());
    approve_at(&testing::session(run.path()), &mut paper.out(), (number(7), false), at).await
}

fn approvals(heard: &testing::Heard) -> Vec<Approve> {
    let heard = heard.lock().unwrap();
    let found =
        heard.iter().filter_map(|say| if let OperatorSays::Approve(it) = say { Some(it.clone()) } else { None });
    found.collect()
}

#[tokio::test]
async fn a_typed_pin_approves_the_card_that_was_shown() {
    let (run, heard) = approving(sample_card(7), || Some(ExecutorSays::Ended(testing::news(7, ProposalState::Ok))));
    let (screen, paper) = (Screen::new(), Paper::default());
    screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
    assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Done);
    let sent = approvals(&heard);
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].ticket.as_str(), sent[0].digest), ("ticket-of-this-card", [7; 32]));
    assert_eq!((sent[0].pin.expose(), sent[0].confirm.as_deref()), (PIN, None));
    assert!(screen.text().contains("Written by the assistant, not checked"), "{}", screen.text());
    assert!(!screen.text().contains(PIN) && !paper.text().contains(PIN));
    assert!(paper.text().contains("Proposal 7: ok"), "{}", paper.text());
    assert!(paper.text().contains("Receipt: recorder: recording"), "{}", paper.text());
    assert!(echoes(&screen.slave));
}

#[tokio::test]
async fn a_disruptive_card_asks_for_the_rooms_name_first() {
    let mut card = sample_card(7);
    card.facts.disruptive = true;
    card.facts.confirm = Some("Hall A".to_owned());
    for (typed, want) in [("Hall A", Exit::Done), ("hall a", Exit::Wrong), ("", Exit::Wrong)] {
        let reply = || Some(ExecutorSays::Ended(testing::news(7, ProposalState::Ok)));
        let (run, heard) = approving(card.clone(), reply);
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answers(&[("name exactly: ", &format!("{typed}\r")), ("(Ctrl-C: no): ", &format!("{PIN}\r"))]);
        assert_eq!(approve_on(&screen, &run, &paper).await, want, "{typed:?}");
        let confirmed: Vec<_> = approvals(&heard).into_iter().map(|it| it.confirm).collect();
        let expected = if want == Exit::Done { vec![Some("Hall A".to_owned())] } else { Vec::new() };
        assert_eq!(confirmed, expected, "{typed:?}");
    }
}

#[tokio::test]
async fn a_deny_only_card_asks_nothing_and_sends_nothing() {
    let mut card = sample_card(7);
    card.facts.deny_only = vec![protocol::shown::Worded::same("no words yet")];
    let (run, heard) = approving(card, || None);
    let (screen, paper) = (Screen::new(), Paper::default());
    assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Wrong);
    assert!(screen.text().contains("no words yet") && !screen.text().contains("PIN"), "{}", screen.text());
    assert!(approvals(&heard).is_empty());
}

#[tokio::test]
async fn ctrl_c_at_the_pin_approves_nothing() {
    let (run, heard) = approving(sample_card(7), || None);
    let (screen, paper) = (Screen::new(), Paper::default());
    screen.answer("(Ctrl-C: no): ", "4711\u{3}");
    assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Wrong);
    assert!(approvals(&heard).is_empty());
    assert!(echoes(&screen.slave));
}

#[tokio::test]
async fn refusals_and_outcomes_have_their_exit_codes() {
    let ended = |state| ExecutorSays::Ended(testing::news(7, state));
    for (say, want) in [
        (ExecutorSays::Refused(Refusal::bare(RefusalCode::TooSoon)), Exit::Wrong),
        (ExecutorSays::Refused(Refusal::bare(RefusalCode::WrongPin)), Exit::Wrong),
        (ExecutorSays::Refused(Refusal::bare(RefusalCode::CardChanged)), Exit::Wrong),
        (ended(ProposalState::Unknown), Exit::Unknown),
        (ended(ProposalState::Error), Exit::Wrong),
        (ended(ProposalState::Refused), Exit::Wrong),
        (ExecutorSays::PinSaved, Exit::Unknown),
    ] {
        let reply = say.clone();
        let (run, _heard) = approving(sample_card(7), move || Some(reply.clone()));
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
        assert_eq!(approve_on(&screen, &run, &paper).await, want, "{say:?}");
        // A changed card is shown again, and not approved.
        let changed = matches!(&say, ExecutorSays::Refused(refusal) if refusal.code == RefusalCode::CardChanged);
        assert_eq!(paper.text().contains("What happens"), changed, "{say:?}");
    }
}

#[tokio::test]
async fn an_executor_lost_after_the_approval_is_an_unknown_outcome() {
    let (run, heard) = approving(sample_card(7), || None);
    let (screen, paper) = (Screen::new(), Paper::default());
    screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
    assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Unknown);
    assert_eq!(approvals(&heard).len(), 1);
}

#[tokio::test]
async fn an_executor_that_left_before_the_approval_has_approved_nothing() {
    let run = tempfile::tempdir().unwrap();
    host::files::ensure_private_dir(&run.path().join("control")).unwrap();
    let path = run.path().join("control/control.sock");
    let listener = host::socket::bind(&path, 0o660, None).unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut link: host::link::Link<protocol::hello::Reply<ExecutorSays>, protocol::hello::Request<OperatorSays>> =
            host::link::Link::new(stream);
        for say in [ExecutorSays::Hello(protocol::hello::Hello::ours()), ExecutorSays::Card(Box::new(sample_card(7)))] {
            let wait = std::time::Duration::from_secs(5);
            let request = link.recv(wait).await.unwrap().unwrap();
            link.send(&protocol::hello::Reply { id: request.id, say }, wait).await.unwrap();
        }
    });
    let (screen, paper) = (Screen::new(), Paper::default());
    screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
    assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Wrong);
}

#[tokio::test]
async fn a_decision_without_an_answer_may_have_been_made_and_says_where_to_look() {
    // It hangs up behind the request, or answers something else.
    for answer in [None, Some(ExecutorSays::PinSaved)] {
        let run = tempfile::tempdir().unwrap();
        testing::executor(run.path(), move |_| answer.clone());
        let session = testing::session(run.path());
        let paper = Paper::default();
        let out = &mut paper.out();
        assert_eq!(deny(&session, out, number(7), true).await, Exit::Unknown);
        assert_eq!(deny_all(&session, out, true).await, Exit::Unknown);
        assert_eq!(undo(&session, out, number(7), true).await, Exit::Unknown);
        assert_eq!(crate::standstill::freeze(&session, out, true).await, Exit::Unknown);
        let looks: Vec<_> = paper.text().lines().map(str::to_owned).collect();
        for (line, look) in looks.iter().zip(["approvals show 7", "approvals list", "approvals list", "status"]) {
            let value: Value = serde_json::from_str(line).unwrap();
            let detail = value["detail"].as_str().unwrap();
            assert_eq!(value["refused"], "lost");
            assert!(detail.ends_with(&format!("may have been done. Look first: fleetwatchctl {look}")), "{detail}");
        }
        assert_eq!((looks.len(), list(&session, out, true).await), (4, Exit::Wrong));
    }
}

#[tokio::test]
async fn a_decision_that_is_refused_or_never_sent_was_not_made() {
    let run = tempfile::tempdir().unwrap();
    let session = testing::session(run.path());
    assert_eq!(deny(&session, &mut Paper::default().out(), number(7), false).await, Exit::Wrong);
    testing::executor(run.path(), |_| Some(ExecutorSays::Refused(Refusal::bare(RefusalCode::NotWaiting))));
    assert_eq!(deny(&session, &mut Paper::default().out(), number(7), false).await, Exit::Wrong);
}

#[tokio::test]
async fn list_show_deny_and_history_say_what_the_executor_said() {
    let run = tempfile::tempdir().unwrap();
    let heard = testing::executor(run.path(), |say| {
        Some(match say {
            OperatorSays::List => ExecutorSays::Waiting(vec![sample_waiting(7), sample_waiting(12)]),
            OperatorSays::Show { number } => ExecutorSays::Card(Box::new(sample_card(number.get()))),
            OperatorSays::Deny { number } => ExecutorSays::Ended(testing::news(number.get(), ProposalState::Denied)),
            OperatorSays::DenyAll => ExecutorSays::DeniedAll { numbers: vec![number(7), number(12)] },
            OperatorSays::History { .. } => ExecutorSays::History(vec![sample_row(7)]),
            OperatorSays::ProposeUndo { .. } => ExecutorSays::Admitted { number: number(13) },
            OperatorSays::AgentResume { .. }
            | OperatorSays::Approve(_)
            | OperatorSays::AuditRows { .. }
            | OperatorSays::AuditVerify
            | OperatorSays::Backup { .. }
            | OperatorSays::Doctor
            | OperatorSays::Freeze
            | OperatorSays::Hello(_)
            | OperatorSays::Login { .. }
            | OperatorSays::LoginCallback { .. }
            | OperatorSays::LoginWait
            | OperatorSays::Logout { .. }
            | OperatorSays::PageCode { .. }
            | OperatorSays::PinSet { .. }
            | OperatorSays::Restore { .. }
            | OperatorSays::Status
            | OperatorSays::Thaw { .. } => ExecutorSays::Refused(Refusal::bare(RefusalCode::NotPermitted)),
        })
    });
    let session = testing::session(run.path());
    for json in [false, true] {
        let paper = Paper::default();
        let out = &mut paper.out();
        assert_eq!(list(&session, out, json).await, Exit::Done);
        assert_eq!(show(&session, out, number(7), (true, json)).await, Exit::Done);
        assert_eq!(deny(&session, out, number(12), json).await, Exit::Done);
        assert_eq!(deny_all(&session, out, json).await, Exit::Done);
        assert_eq!(history(&session, out, (20, Some("hall")), json).await, Exit::Done);
        assert_eq!(undo(&session, out, number(7), json).await, Exit::Done);
        let text = paper.text();
        if json {
            let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(values[0][1]["number"], 12);
            assert_eq!(values[1]["tool"], "batch_recording");
            assert_eq!((&values[2]["number"], &values[2]["state"]), (&json!(12), &json!("denied")));
            assert_eq!(values[3], json!({ "denied": [7, 12] }));
            assert_eq!(values[4][0]["state"], "ok");
            assert_eq!(values[5], json!({ "number": 13, "undoes": 7 }));
            assert_eq!(values[1]["gates"][1]["blocked_reason"], "unknown_device");
        } else {
            for words in [
                "12   1 min 1 s",
                "approvals approve 7",
                "Proposal 12: denied",
                "Denied: 7, 12",
                "operator",
                "approvals show 13",
                "blocked: unknown_device",
            ] {
                assert!(text.contains(words), "{words}: {text}");
            }
        }
    }
    assert!(approvals(&heard).is_empty());
    let search = OperatorSays::History { most: 20, search: Some("hall".to_owned()) };
    assert_eq!(heard.lock().unwrap().iter().filter(|say| **say == search).count(), 2);
}

#[tokio::test]
async fn an_undo_is_offered_only_after_a_change_that_has_one() {
    for undoable in [true, false] {
        let run = tempfile::tempdir().unwrap();
        testing::executor(run.path(), move |say| {
            if matches!(say, OperatorSays::Show { .. }) {
                return Some(ExecutorSays::Card(Box::new(sample_card(7))));
            }
            if matches!(say, OperatorSays::History { .. }) {
                let mut row = sample_row(7);
                row.undoable = undoable;
                return Some(ExecutorSays::History(vec![sample_row(17), row]));
            }
            Some(ExecutorSays::Ended(testing::news(7, ProposalState::Ok)))
        });
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
        assert_eq!(approve_on(&screen, &run, &paper).await, Exit::Done);
        assert_eq!(paper.text().contains("To undo it: fleetwatchctl approvals undo 7"), undoable, "{}", paper.text());
    }
}

#[tokio::test]
async fn an_executor_that_is_not_there_is_named_with_what_to_do() {
    let run = tempfile::tempdir().unwrap();
    let paper = Paper::default();
    assert_eq!(list(&testing::session(run.path()), &mut paper.out(), true).await, Exit::Wrong);
    let value: Value = serde_json::from_str(&paper.text()).unwrap();
    let error = value["error"].as_str().unwrap();
    assert!(error.contains("fleetwatch-executor does not answer") && error.contains("--run-dir"), "{error}");
}

#[tokio::test]
async fn a_card_of_another_number_is_not_shown() {
    let run = tempfile::tempdir().unwrap();
    testing::executor(run.path(), |_| Some(ExecutorSays::Card(Box::new(sample_card(8)))));
    let paper = Paper::default();
    assert_eq!(show(&testing::session(run.path()), &mut paper.out(), number(7), (false, false)).await, Exit::Wrong);
    assert_eq!(paper.text(), "");
}
