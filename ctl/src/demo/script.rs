//! The whole story without a terminal (`seed 000, Tests`: one end-to-end replay). Every fact that is printed comes
//! from a daemon's or the simulator's reply.

use super::error::DemoError;
use super::http;
use super::start::Demo;
use crate::ask;
use crate::audit::report_text;
use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::out::Out;
use crate::render::{self, card, pick};
use crate::status::ask_both;
use control::card::Card;
use control::message::{Approve, ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use protocol::ask::AskerSays;
use protocol::ids::ProposalNumber;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;
use serde_json::Value;
use std::time::Duration;
use zeroize::Zeroizing;

/// A little more than a card must have been on screen.
const READING: Duration = Duration::from_millis(2_100);
/// The fault whose end is known: executed, and the outcome unknown.
const CLOSES: &str = "executes-then-closes";

/// What the story found.
#[derive(Debug, Default)]
struct Found {
    outcome: Option<ProposalState>,
    second: Option<RefusalCode>,
    audit_holds: bool,
    writes: Option<usize>,
}

/// Tells the story and judges it.
pub(crate) async fn run(demo: &Demo, fault: Option<&str>, out: &mut Out) -> Exit {
    let mut found = Found::default();
    if let Err(error) = story(demo, &mut found, out).await {
        out.line(&format!("The story stopped: {error}"));
    }
    let (held, verdict) = judge(&found, fault);
    out.line("");
    out.line(&verdict);
    if held { Exit::Done } else { Exit::Wrong }
}

async fn story(demo: &Demo, found: &mut Found, out: &mut Out) -> Result<(), DemoError> {
    let session = &demo.session;
    let language = session.language;
    chapter(out, "Both daemons");
    out.text(&render::status::both(&ask_both(&session.places).await, session.columns));

    chapter(out, "A question");
    question(demo, pick(language, "Which rooms aren't ready?", "¿Qué salas no están listas?"), out).await?;

    chapter(out, "A change, proposed and not made");
    let number = question(demo, pick(language, "Start recording in Hall A", "Graba en Hall A"), out).await?;
    let number = number.ok_or(DemoError::Strange("nothing was proposed"))?;

    chapter(out, "The card, built by the executor");
    let mut control = Control::open(&session.places).await?;
    let card = control.card(number).await?;
    out.text(&card::card(&card, language, session.columns));

    chapter(out, "Approved with the PIN, and run once");
    tokio::time::sleep(READING).await;
    let ended = decide(&mut control, demo, &card).await?;
    if let ExecutorSays::Ended(news) = &ended {
        out.line(&render::news(news, language));
        found.outcome = Some(news.state);
    }

    chapter(out, "The same approval once more");
    match decide(&mut control, demo, &card).await {
        Err(ClientError::Refused(refusal)) => {
            out.line(&format!("{}: {}", pick(language, "Refused", "Rechazada"), render::refusal(&refusal, language)));
            found.second = Some(refusal.code);
        }
        Err(error) => return Err(error.into()),
        Ok(_) => out.line("It was NOT refused."),
    }
    records(demo, &mut control, found, out).await
}

async fn records(demo: &Demo, control: &mut Control, found: &mut Found, out: &mut Out) -> Result<(), DemoError> {
    let session = &demo.session;
    chapter(out, "The records");
    let ExecutorSays::History(rows) = control.ask(OperatorSays::History { most: 20, search: None }).await? else {
        return Err(Control::surprise().into());
    };
    out.text(&render::history::history(&rows, session));
    let ExecutorSays::Audit(report) = control.ask(OperatorSays::AuditVerify).await? else {
        return Err(Control::surprise().into());
    };
    out.line(&report_text(&report));
    found.audit_holds = report.broken.is_none();
    let writes = writes(&http::get(&demo.sim, "/_sim/log").await?);
    let writes = writes.ok_or(DemoError::Strange("its log is no list of calls"))?;
    out.line(&format!("Writes that reached the simulated fleet: {writes}"));
    found.writes = Some(writes);
    Ok(())
}

fn chapter(out: &mut Out, title: &str) {
    out.line(&format!("\n== {title} =="));
}

async fn question(demo: &Demo, words: &str, out: &mut Out) -> Result<Option<ProposalNumber>, ClientError> {
    out.line(&format!("> {words}"));
    let say = AskerSays::Ask { question: words.to_owned() };
    let report = ask::turn(&demo.session, out, say, true).await?;
    Ok(report.proposed.first().map(|(number, _)| *number))
}

async fn decide(control: &mut Control, demo: &Demo, card: &Card) -> Result<ExecutorSays, ClientError> {
    let pin = PinEntry::new(Zeroizing::new(demo.pin.expose().to_owned()));
    let approval = Approve {
        number: card.facts.number,
        ticket: card.ticket.clone(),
        digest: card.digest,
        pin,
        confirm: card.facts.confirm.clone(),
    };
    control.ask(OperatorSays::Approve(approval)).await
}

fn writes(log: &Value) -> Option<usize> {
    let kinds: Vec<_> = log.as_array()?.iter().map(|call| call.get("kind")?.as_str()).collect::<Option<_>>()?;
    Some(kinds.into_iter().filter(|kind| *kind != "read").count())
}

fn judge(found: &Found, fault: Option<&str>) -> (bool, String) {
    let outcome = found.outcome.map_or("none", ProposalState::as_str);
    let second = found.second.map_or("not refused", RefusalCode::as_str);
    let writes = found.writes.map_or_else(|| "not counted".to_owned(), |count| count.to_string());
    let audit = if found.audit_holds { "holds" } else { "does not hold" };
    let facts = format!("outcome {outcome}; second approval {second}; audit {audit}; writes {writes}");
    let safe = found.second.is_some() && found.audit_holds && found.writes == Some(1);
    let held = safe && found.outcome == Some(ProposalState::Ok);
    let verdict = if held {
        "Held".to_owned()
    } else if safe && fault == Some(CLOSES) && found.outcome == Some(ProposalState::Unknown) {
        "As this fault must end: the change ran once, nobody knows how, and nothing tried again".to_owned()
    } else {
        "NOT held".to_owned()
    };
    (held, format!("{verdict}: {facts}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Found {
        Found {
            outcome: Some(ProposalState::Ok),
            second: Some(RefusalCode::ApprovalUsed),
            audit_holds: true,
            writes: Some(1),
        }
    }

    #[test]
    fn the_story_holds_only_if_every_part_of_it_does() {
        assert!(judge(&good(), None).0);
        for broken in [
            Found { outcome: Some(ProposalState::Unknown), ..good() },
            Found { outcome: Some(ProposalState::Error), ..good() },
            Found { outcome: None, ..good() },
            Found { second: None, ..good() },
            Found { audit_holds: false, ..good() },
            Found { writes: Some(0), ..good() },
            Found { writes: Some(2), ..good() },
            Found { writes: None, ..good() },
        ] {
            let (held, verdict) = judge(&broken, None);
            assert!(!held && verdict.starts_with("NOT held"), "{verdict}");
        }
    }

    #[test]
    fn an_unknown_outcome_is_the_expected_end_of_one_fault_and_still_not_a_success() {
        let found = Found { outcome: Some(ProposalState::Unknown), ..good() };
        let (held, verdict) = judge(&found, Some(CLOSES));
        assert!(!held && verdict.starts_with("As this fault must end"), "{verdict}");
        let twice = Found { writes: Some(2), ..found };
        assert!(judge(&twice, Some(CLOSES)).1.starts_with("NOT held"));
    }

    #[test]
    fn whatever_is_not_a_read_counts_as_a_write() {
        let log = json!([{ "kind": "read" }, { "kind": "write" }, { "kind": "odd" }]);
        assert_eq!(writes(&log), Some(2));
        assert_eq!(writes(&json!([{}])), None);
        assert_eq!(writes(&json!({})), None);
    }
}
