//! A turn as the person sees it: what is being read, what was proposed, the answer. A proposal's facts come from the
//! executor, never from the assistant's text.

use crate::cli::ProposeArgs;
use crate::client::{Asking, ClientError, Control};
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::render::{self, card, pick};
use crate::session::Session;
use crate::verbs::failed;
use control::card::Card;
use protocol::ask::{AnsweredBy, AskerSays, AssistantSays, MAX_QUESTION};
use protocol::ids::ProposalNumber;
use protocol::propose::MAX_REASON;
use protocol::refusal::{Refusal, RefusalCode};
use serde_json::{Value, json};

/// What came of a turn.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The answer and who wrote it.
    pub(crate) answer: Option<(String, AnsweredBy)>,
    /// What was proposed, with the executor's card where it could be asked.
    pub(crate) proposed: Vec<(ProposalNumber, Option<Card>)>,
    /// Drafts that were not admitted.
    pub(crate) not_proposed: Vec<Refusal>,
    /// The tools that were read.
    pub(crate) read: Vec<String>,
}

/// `ask`.
pub(crate) async fn ask(session: &Session, out: &mut Out, question: &str, json: bool) -> Exit {
    if let Some(wrong) = too_long("the question", question, MAX_QUESTION) {
        complain(&wrong);
        return Exit::Usage;
    }
    let say = AskerSays::Ask { question: question.to_owned() };
    let mut report = Report::default();
    let ended = turn_into(session, out, (say, !json), &mut report).await;
    match ended {
        // What was answered without the fleet is an answer all the same; why it could not be read comes behind it.
        Err(error) if json && report.answer.is_some() && error.exit() == Exit::SignInOver => {
            out.json(&report_json(&report));
            Exit::SignInOver
        }
        Err(error) => failed(&error, out, json),
        Ok(()) => {
            if json {
                out.json(&report_json(&report));
            }
            if report.answer.is_some() { Exit::Done } else { Exit::Wrong }
        }
    }
}

/// `propose`.
pub(crate) async fn propose(session: &Session, out: &mut Out, args: ProposeArgs) -> Exit {
    if let Some(wrong) = too_long("the reason", &args.reason, MAX_REASON) {
        complain(&wrong);
        return Exit::Usage;
    }
    // The executor parses them again; this is for the person who mistyped.
    if let Err(error) = protocol::canonical::Canonical::parse(args.arguments.as_bytes()) {
        complain(&format!("--arguments is not the JSON that a tool takes: {error}"));
        return Exit::Usage;
    }
    let arguments = args.arguments.into_bytes();
    let say = AskerSays::Propose { tool: args.tool, arguments, reason: args.reason };
    match turn(session, out, say, !args.json).await {
        Ok(report) => {
            if args.json {
                out.json(&report_json(&report));
            }
            match report.not_proposed.first() {
                _ if !report.proposed.is_empty() => Exit::Done,
                Some(refusal) => Exit::of_refusal(refusal),
                None => Exit::Wrong,
            }
        }
        Err(error) => failed(&error, out, args.json),
    }
}

fn too_long(what: &str, text: &str, most: usize) -> Option<String> {
    let count = text.chars().count();
    (count > most).then(|| format!("{what} has {count} characters, at most {most} are taken"))
}

/// The answer on the terminal while it is written: what was printed of it so far.
#[derive(Debug, Default)]
struct Written {
    words: String,
    printed: String,
}

impl Written {
    fn piece(&mut self, text: &str, (session, out): (&Session, &mut Out)) {
        self.words.push_str(text);
        self.print(&self.words.clone(), (session, out));
    }

    // The end of the answer, or all of it when the pieces do not begin it.
    fn answer(&mut self, text: &str, (session, out): (&Session, &mut Out)) {
        if !text.starts_with(&self.words) {
            self.part((session, out));
        }
        self.print(text, (session, out));
        self.part((session, out));
    }

    // Wrapped as a whole, so that a piece goes on where the one before ended; what is printed is never taken back.
    fn print(&mut self, text: &str, (session, out): (&Session, &mut Out)) {
        let page = render::answer(text, session.columns);
        let page = page.trim_end_matches('\n');
        let new = page.strip_prefix(&self.printed).map(str::to_owned);
        let new = new.unwrap_or_else(|| format!("\n{page}"));
        out.text(&new);
        page.clone_into(&mut self.printed);
    }

    fn part(&mut self, (_, out): (&Session, &mut Out)) {
        if !self.printed.is_empty() {
            out.line("");
        }
        *self = Self::default();
    }

    fn void(&mut self, (session, out): (&Session, &mut Out)) {
        self.part((session, out));
        let words = pick(
            session.language,
            "(What was written so far is not the answer.)",
            "(Lo escrito hasta aquí no es la respuesta.)",
        );
        out.line(words);
    }
}

/// One turn from its first word to `Done`, told as it goes if `live`. Dropping the future drops the turn.
///
/// # Errors
/// [`ClientError`] when the assistant refused or was lost.
pub(crate) async fn turn(session: &Session, out: &mut Out, say: AskerSays, live: bool) -> Result<Report, ClientError> {
    let mut report = Report::default();
    turn_into(session, out, (say, live), &mut report).await?;
    Ok(report)
}

/// The same into a report of the caller's, who has what came so far also when the future is dropped.
///
/// # Errors
/// [`ClientError`]
pub(crate) async fn turn_into(
    session: &Session,
    out: &mut Out,
    (say, live): (AskerSays, bool),
    report: &mut Report,
) -> Result<(), ClientError> {
    let mut asking = Asking::open(&session.places).await?;
    asking.say(say).await?;
    let mut written = Written::default();
    loop {
        let say = asking.hear().await?;
        if live {
            write_live(&mut written, &say, (session, out));
        }
        match say {
            AssistantSays::Reading { tool } => {
                if live {
                    let reading = pick(session.language, "reading", "leyendo");
                    out.line(&session.paint.aside(&format!("  {reading} {}", render::safe(&tool))));
                }
                report.read.push(tool);
            }
            AssistantSays::Proposed { number } => {
                // Before the card is asked for: a turn that is dropped meanwhile has proposed it all the same.
                report.proposed.push((number, None));
                let card = facts(session, number).await;
                if live {
                    out.text(&proposed(session, number, &card));
                }
                if let Some(last) = report.proposed.last_mut() {
                    last.1 = card.ok();
                }
            }
            AssistantSays::NotProposed(refusal) => {
                if live {
                    let not = pick(session.language, "Not proposed", "No se propuso");
                    out.line(&format!("{not}: {}", render::refusal(&refusal, session.language)));
                }
                report.not_proposed.push(refusal);
            }
            AssistantSays::Answer { text, by } => {
                if live {
                    out.line(&session.paint.aside(&format!("({})", render::answered_by(&by, session.language))));
                }
                report.answer = Some((text, by));
            }
            AssistantSays::Piece { .. } | AssistantSays::PiecesVoid => {}
            AssistantSays::Done => return Ok(()),
            AssistantSays::Refused(refusal) => return Err(ClientError::Refused(refusal)),
            AssistantSays::CapturePart { .. }
            | AssistantSays::Data { .. }
            | AssistantSays::DeviceIds { .. }
            | AssistantSays::Doctor(_)
            | AssistantSays::Hello(_)
            | AssistantSays::Live(_)
            | AssistantSays::LoginLink(_)
            | AssistantSays::LoginWaiting
            | AssistantSays::Offered(_)
            | AssistantSays::Report { .. }
            | AssistantSays::SignedIn(_)
            | AssistantSays::SignedOut { .. }
            | AssistantSays::Standing(_)
            | AssistantSays::Status(_) => return Err(Asking::surprise()),
        }
    }
}

/// Shows what of an answer has come; any other word stands on a line of its own.
fn write_live(written: &mut Written, say: &AssistantSays, (session, out): (&Session, &mut Out)) {
    if let AssistantSays::Answer { text, .. } = say {
        written.answer(text, (session, out));
    } else if let AssistantSays::Piece { text } = say {
        written.piece(text, (session, out));
    } else if *say == AssistantSays::PiecesVoid {
        written.void((session, out));
    } else {
        written.part((session, out));
    }
}

async fn facts(session: &Session, number: ProposalNumber) -> Result<Card, ClientError> {
    Control::open(&session.places).await?.card(number).await
}

fn proposed(session: &Session, number: ProposalNumber, card: &Result<Card, ClientError>) -> String {
    let language = session.language;
    match card {
        Ok(card) => {
            let hint = if card.facts.deny_only.is_empty() {
                let how =
                    pick(language, "It waits for a person. To approve it", "Espera a una persona. Para aprobarla");
                format!("{how}: {}", session.say(&format!("approvals approve {number}")))
            } else {
                pick(language, "It can only be denied.", "Solo se puede denegar.").to_owned()
            };
            format!("\n{}{hint}\n\n", card::compact(card, language, session.columns))
        }
        Err(error) if not_an_operator(error) => {
            let words = pick(
                language,
                "waits for a person. Its facts are on the operator's side",
                "espera a una persona. Sus datos están del lado del operador",
            );
            format!(
                "\n{} {number} {words}: {}\n\n",
                pick(language, "Proposal", "Propuesta"),
                session.say(&format!("approvals approve {number}"))
            )
        }
        Err(error) => {
            let words =
                pick(language, "was made, but its card could not be read", "se hizo, pero no se pudo leer su tarjeta");
            format!("\n{} {number} {words}: {error}\n\n", pick(language, "Proposal", "Propuesta"))
        }
    }
}

// An asker who may not see the operator's side, or has none on this machine.
fn not_an_operator(error: &ClientError) -> bool {
    match error {
        ClientError::NotReached(..) | ClientError::HungUp(_) => true,
        ClientError::Refused(refusal) => refusal.code == RefusalCode::NotPermitted,
        ClientError::Folder(..)
        | ClientError::Lost(..)
        | ClientError::OutOfOrder(_)
        | ClientError::OtherVersion(..)
        | ClientError::Unanswered(_) => false,
    }
}

fn report_json(report: &Report) -> Value {
    let answer = report.answer.as_ref().map(|(text, by)| {
        let (kind, detail) = match by {
            AnsweredBy::Keywords { why } => ("keywords", why),
            AnsweredBy::Model { name } => ("model", name),
        };
        json!({ "text": text, "by": kind, "detail": detail })
    });
    let proposed: Vec<_> = report
        .proposed
        .iter()
        .map(|(number, card)| json!({ "number": number, "card": card.as_ref().map(card::card_json) }))
        .collect();
    json!({
        "answer": answer,
        "proposed": proposed,
        "not_proposed": report.not_proposed.iter().map(render::refusal_json).collect::<Vec<_>>(),
        "read": report.read,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Paper, number, sample_card};
    use control::message::{ExecutorSays, OperatorSays};
    use host::link::Link;
    use protocol::hello::{Hello, Reply, Request};
    use std::path::Path;
    use std::time::Duration;

    const WAIT: Duration = Duration::from_secs(10);

    fn assistant(run: &Path, script: Vec<AssistantSays>) {
        host::files::ensure_private_dir(&run.join("ask")).unwrap();
        let listener = host::socket::bind(&run.join("ask/ask.sock"), 0o660, None).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
                while let Ok(Some(request)) = link.recv(WAIT).await {
                    let says = if matches!(request.say, AskerSays::Hello(_)) {
                        vec![AssistantSays::Hello(Hello::ours())]
                    } else {
                        script.clone()
                    };
                    for say in says {
                        link.send(&Reply { id: request.id, say }, WAIT).await.unwrap();
                    }
                }
            }
        });
    }

    fn story() -> Vec<AssistantSays> {
        vec![
            AssistantSays::Reading { tool: "get_devices_in_my_team".to_owned() },
            AssistantSays::Proposed { number: number(7) },
            AssistantSays::NotProposed(Refusal::bare(RefusalCode::QueueFull)),
            AssistantSays::Answer {
                text: "It waits.\nProposal 8: recording\u{1b}[2J in Hall Z".to_owned(),
                by: AnsweredBy::Model { name: "some-model".to_owned() },
            },
            AssistantSays::Done,
        ]
    }

    #[tokio::test]
    async fn a_turn_shows_reading_the_executors_facts_and_who_answered() {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), story());
        let heard = testing::executor(run.path(), |_| Some(ExecutorSays::Card(Box::new(sample_card(7)))));
        let paper = Paper::default();
        assert_eq!(ask(&testing::session(run.path()), &mut paper.out(), "record", false).await, Exit::Done);
        let text = paper.text();
        for words in [
            "reading get_devices_in_my_team",
            "Start recording in Hall A",
            "71000000001",
            "fleetwatchctl approvals approve 7",
            "Not proposed: queue_full",
            "(Answered by the model some-model)",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(*heard.lock().unwrap(), [OperatorSays::Show { number: number(7) }]);
    }

    fn piece(text: &str) -> AssistantSays {
        AssistantSays::Piece { text: text.to_owned() }
    }

    fn answers(text: &str) -> AssistantSays {
        AssistantSays::Answer { text: text.to_owned(), by: AnsweredBy::Model { name: "m".to_owned() } }
    }

    async fn printed(script: &[AssistantSays], json: bool) -> String {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), script.to_vec());
        let paper = Paper::default();
        assert_eq!(ask(&testing::session(run.path()), &mut paper.out(), "record", json).await, Exit::Done);
        paper.text()
    }

    #[tokio::test]
    async fn pieces_are_printed_as_they_come_and_the_answer_only_once() {
        let long = "A sentence that goes on for so long that it cannot stand on one line of a narrow terminal at all.";
        let whole = format!("Hall A is fine. {long}\n\n- Chapel\u{1b}[2J: off.\n- Aula 3. And more. The end");
        let pieces =
            ["Hall A is fine.", &format!(" {long}"), "\n\n- Chapel\u{1b}[2J: off.", "\n- Aula 3.", " And more."];
        assert!(whole.starts_with(&pieces.concat()));
        let plain = printed(&[answers(&whole), AssistantSays::Done], false).await;
        for kept in 0..=pieces.len() {
            let mut script: Vec<_> = pieces[..kept].iter().map(|text| piece(text)).collect();
            script.extend([answers(&whole), AssistantSays::Done]);
            let text = printed(&script, false).await;
            assert_eq!(text, plain, "{kept} pieces");
            assert!(!text.contains('\u{1b}'), "{text}");
            assert_eq!(printed(&script, true).await, printed(&script[kept..], true).await, "json tells no pieces");
        }
    }

    #[tokio::test]
    async fn void_pieces_are_said_to_be_none_and_another_answer_comes_whole() {
        let script = [piece("Hall A is."), AssistantSays::PiecesVoid, answers("Offline: none."), AssistantSays::Done];
        let text = printed(&script, false).await;
        let want = "Hall A is.\n(What was written so far is not the answer.)\nOffline: none.\n(Answered";
        assert!(text.starts_with(want), "{text}");
        let reading = AssistantSays::Reading { tool: "get_x".to_owned() };
        let script = [piece("Let me look."), reading, piece("One."), answers("Two."), AssistantSays::Done];
        let text = printed(&script, false).await;
        assert!(text.starts_with("Let me look.\n  reading get_x\nOne.\nTwo.\n(Answered"), "{text}");
    }

    #[tokio::test]
    async fn without_the_operators_side_only_the_number_is_told() {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), story());
        let paper = Paper::default();
        assert_eq!(ask(&testing::session(run.path()), &mut paper.out(), "record", false).await, Exit::Done);
        let text = paper.text();
        assert!(text.contains("Proposal 7 waits for a person. Its facts are on the operator's side"), "{text}");
        assert!(!text.contains("Hall A"), "{text}");
    }

    #[tokio::test]
    async fn json_comes_once_and_whole() {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), story());
        let paper = Paper::default();
        let args = ProposeArgs {
            tool: "batch_recording".to_owned(),
            arguments: "{}".to_owned(),
            reason: String::new(),
            json: true,
        };
        assert_eq!(propose(&testing::session(run.path()), &mut paper.out(), args).await, Exit::Done);
        let value: Value = serde_json::from_str(&paper.text()).unwrap();
        assert_eq!(value["proposed"][0], json!({ "number": 7, "card": null }));
        assert_eq!(value["not_proposed"][0]["refused"], "queue_full");
        assert_eq!(value["answer"]["by"], "model");
    }

    #[tokio::test]
    async fn a_keyword_answer_says_why_and_no_answer_is_exit_one() {
        let by = AnsweredBy::Keywords { why: "no key is set".to_owned() };
        let answer = AssistantSays::Answer { text: "Two rooms are offline.".to_owned(), by };
        let refused = AssistantSays::Refused(Refusal::bare(RefusalCode::TooManyRequests));
        let by = AnsweredBy::Keywords { why: "no key is set".to_owned() };
        let unread = AssistantSays::Answer { text: "The fleet cannot be read now.".to_owned(), by };
        let over = AssistantSays::Refused(Refusal::new(RefusalCode::SignInDead, "run fleetwatchctl login"));
        for (script, want, words) in [
            (vec![answer, AssistantSays::Done], Exit::Done, "(Keyword answer: no key is set)"),
            (vec![AssistantSays::Done], Exit::Wrong, ""),
            (vec![unread, over.clone(), AssistantSays::Done], Exit::SignInOver, "The fleet cannot be read"),
            (vec![over], Exit::SignInOver, ""),
            (vec![refused], Exit::Wrong, ""),
        ] {
            let run = tempfile::tempdir().unwrap();
            assistant(run.path(), script);
            let paper = Paper::default();
            for json in [false, true] {
                assert_eq!(ask(&testing::session(run.path()), &mut paper.out(), "offline?", json).await, want);
                assert!(paper.text().contains(words) || json, "{}", paper.text());
            }
        }
    }

    #[tokio::test]
    async fn a_dropped_turn_hangs_up_on_the_assistant() {
        let run = tempfile::tempdir().unwrap();
        host::files::ensure_private_dir(&run.path().join("ask")).unwrap();
        let listener = host::socket::bind(&run.path().join("ask/ask.sock"), 0o660, None).unwrap();
        let (asked, turn_runs) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
            let hello = link.recv(WAIT).await.unwrap().unwrap();
            link.send(&Reply { id: hello.id, say: AssistantSays::Hello(Hello::ours()) }, WAIT).await.unwrap();
            link.recv(WAIT).await.unwrap().unwrap();
            asked.send(()).unwrap();
            tokio::time::timeout(WAIT, link.closed()).await.unwrap()
        });
        let paper = Paper::default();
        let session = testing::session(run.path());
        let out = &mut paper.out();
        let say = AskerSays::Ask { question: "slow".to_owned() };
        tokio::select! {
            ended = turn(&session, out, say, true) => panic!("{ended:?}"),
            running = turn_runs => running.unwrap(),
        }
        server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn mistyped_arguments_and_long_texts_are_usage_errors() {
        let run = tempfile::tempdir().unwrap();
        let session = testing::session(run.path());
        let out = &mut Paper::default().out();
        for (arguments, reason) in [("{\"a\":1.5}", "r".to_owned()), ("{", "r".to_owned()), ("{}", "r".repeat(301))] {
            let args = ProposeArgs { tool: "t".to_owned(), arguments: arguments.to_owned(), reason, json: false };
            assert_eq!(propose(&session, out, args).await, Exit::Usage, "{arguments}");
        }
        assert_eq!(ask(&session, out, &"q".repeat(1_001), false).await, Exit::Usage);
    }
}
