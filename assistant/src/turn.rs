//! One question, one turn: the model reads and drafts, code checks every word of it, and the answer goes back.
//!
//! A turn owns its link to the executor. Whatever ends it early (a failed model, the wall clock, an asker who hangs up, the
//! end of this process) drops that link before `TurnEnd`, and the executor withdraws what the turn proposed.

use crate::changeable;
use crate::desk::Desk;
use crate::ids_seen::IdsSeen;
use crate::keyword;
use crate::language;
use crate::later;
use crate::model::reply::Reply;
use crate::model::talk::{Answer, Request, Step, Stop, ToolResult, ToolUse, Usage};
use crate::model::{Model, ModelError};
use crate::named::Rooms;
use crate::pieces::{Pieces, safe};
use crate::poll::{Drafted, Hears};
use crate::prompt::{self, Notes};
use crate::propose::{ASSISTANT, Draft, Drafts, Ending};
use crate::teller::Teller;
use crate::tools::{self, CHANGEABLE, PROPOSE};
use crate::watch::seen::{Readings, Seen};
use host::link::LinkError;
use policy::call::Tool;
use policy::intent::{asks_for_change, mentions_change};
use policy::redact::redact_text;
use protocol::ask::{AnsweredBy, AssistantSays};
use protocol::canonical::Canonical;
use protocol::propose::{MAX_REASON, Origin, Proposing};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;
use serde_json::Value;
use std::time::Duration;

/// Most calls to the model for one question.
const MAX_CALLS: usize = 6;
/// Most tokens for one question, all four kinds together.
const MAX_TOKENS: u64 = 120_000;
/// Fewest bytes that one token stands for, for guessing what a request will cost.
const BYTES_PER_TOKEN: u64 = 4;
/// Most tools that one answer may ask for.
const MAX_USES: usize = 16;
/// Wait before a call that broke off without a word is made anew.
const BREATH: Duration = Duration::from_secs(1);
/// Longest wait for the one read of a keyword answer.
const KEYWORD_READ: Duration = Duration::from_secs(20);

/// Answers one question: by the model, or by keywords when there is none or it fails.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn ask(desk: &Desk, hears: Hears, question: &str, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    let language = language::of(question);
    let asked = asks_for_change(&desk.policy, question);
    let Some(model) = &desk.model else {
        let why = pick(language, "no model is set up", "no hay ningún modelo configurado");
        return by_keywords(desk, question, Failed { why: why.to_owned(), asked, withdrawn: 0 }, teller).await;
    };
    let mut turn = Turn::new(desk, (hears, question), teller, (language, asked)).await;
    let outcome = match tokio::time::timeout(desk.wall, turn.converse(model)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(TurnError::Model(ModelError::Timeout)),
    };
    turn.log(&outcome);
    match outcome {
        Ok(said) => {
            let read = !turn.used.is_empty();
            turn.finish(said).await?;
            if read { tell_over(desk, language, teller).await } else { Ok(()) }
        }
        Err(TurnError::Asker(error)) => Err(error),
        Err(TurnError::Model(error)) => {
            let failed = Failed {
                why: error.said(language),
                asked: turn.asked.clone(),
                withdrawn: turn.drafts.admitted().len(),
            };
            // Dropped without TurnEnd, before anything else is done: the executor withdraws.
            drop(turn);
            by_keywords(desk, question, failed, teller).await
        }
    }
}

/// On whose behalf a change goes that no model drafted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behalf<'a> {
    /// Another agent, under its label: news of it never reach this assistant's own questions.
    Agent(&'a str),
    /// The user who typed it.
    Person(u32),
}

/// Hands over a change that was drafted without a model, as its own turn.
///
/// # Errors
/// [`LinkError`] when the asker is gone.
pub(crate) async fn command(
    desk: &Desk,
    behalf: Behalf<'_>,
    draft: Draft,
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let (label, by) = match behalf {
        Behalf::Agent(label) => (label, None),
        Behalf::Person(uid) => (ASSISTANT, Some(uid)),
    };
    let mut drafts = Drafts::new(label, desk.executor.clone(), desk.poll.head());
    let kept = (draft.tool.clone(), String::from_utf8_lossy(&draft.arguments).into_owned());
    let admitted = drafts.propose(draft).await;
    let say = match (admitted, drafts.finish().await) {
        (Err(refusal), _) => AssistantSays::NotProposed(refusal),
        (Ok(number), Ending::Waiting) => {
            if let Some(by) = by {
                desk.poll.remember_draft(Drafted { by, number, tool: kept.0, arguments: kept.1 });
            }
            AssistantSays::Proposed { number }
        }
        (Ok(_), Ending::Nothing | Ending::Withdrawn) => AssistantSays::NotProposed(Refusal::new(
            RefusalCode::ConnectionLost,
            "the executor went away; the proposal is withdrawn",
        )),
    };
    teller.tell(say).await
}

struct Failed {
    why: String,
    asked: Vec<Tool>,
    withdrawn: usize,
}

// Behind an answer that was given without a reading: a sign-in that is over helps itself no more, whoever asks next.
async fn tell_over(desk: &Desk, language: Language, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    match desk.fleet.over_refusal(language) {
        Some(refusal) => teller.tell(AssistantSays::Refused(refusal)).await,
        None => Ok(()),
    }
}

async fn by_keywords(desk: &Desk, question: &str, failed: Failed, teller: &mut Teller<'_>) -> Result<(), LinkError> {
    teller.void().await?;
    teller.tell(AssistantSays::Reading { tool: tools::DEVICES.to_owned() }).await?;
    let look = Seen::look(Readings::Fleet(&desk.fleet, &desk.policy), desk.clock.unix());
    let seen = tokio::time::timeout(KEYWORD_READ, look).await.ok().flatten();
    let language = language::of(question);
    let trouble = if seen.is_none() { desk.fleet.trouble() } else { None };
    // An older look is better than none, and the answer says when it was.
    let last = desk.watch.last();
    let seen = match seen {
        Some(seen) if !seen.team.devices.is_empty() || last.is_none() => Some(seen),
        Some(_) | None => last,
    };
    let read_at = desk.time_words(seen.as_ref().map_or_else(|| desk.clock.unix(), |seen| seen.at));
    let posted = desk.watch.posted();
    let facts = keyword::Facts {
        seen: seen.as_ref(),
        trouble: trouble.as_ref().map(|words| words.get(language)),
        rules: &desk.watch.rules,
        posted: posted.as_ref(),
        read_at: &read_at,
        why: &failed.why,
        asks_for_change: !failed.asked.is_empty(),
        later: is_for_later(&failed.asked, question),
        withdrawn: failed.withdrawn,
    };
    let text = keyword::answer(question, &facts, language);
    teller.tell(AssistantSays::Answer { text: safe(&text), by: AnsweredBy::Keywords { why: failed.why } }).await?;
    if trouble.is_some() { tell_over(desk, language, teller).await } else { Ok(()) }
}

/// Why a turn has no answer by the model.
#[derive(Debug)]
enum TurnError {
    Asker(LinkError),
    Model(ModelError),
}

impl From<LinkError> for TurnError {
    fn from(error: LinkError) -> Self {
        Self::Asker(error)
    }
}

impl From<ModelError> for TurnError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

/// The model's final answer.
#[derive(Debug)]
struct Said {
    text: String,
    model: String,
    early: bool,
}

// "Confirm the event at ten" names an event.
fn is_for_later(asked: &[Tool], question: &str) -> bool {
    !asked.is_empty() && !asked.contains(&Tool::ConfirmEvent) && later::names_a_later_time(question)
}

struct Turn<'a, 'b> {
    desk: &'a Desk,
    hears: Hears,
    question: &'a str,
    teller: &'a mut Teller<'b>,
    language: Language,
    // What the operator's own words ask for; empty for a mere question.
    asked: Vec<Tool>,
    // Their words name a later time: nothing is proposed then.
    later: bool,
    // By the executor's hello, when somebody asked for a change.
    proposing: Option<Option<Proposing>>,
    seen: IdsSeen,
    rooms: Rooms,
    drafts: Drafts,
    // The one change of this turn.
    proposed: Option<(Tool, Value)>,
    used: Vec<String>,
    calls: usize,
    usage: Usage,
}

impl<'a, 'b> Turn<'a, 'b> {
    async fn new(
        desk: &'a Desk,
        (hears, question): (Hears, &'a str),
        teller: &'a mut Teller<'b>,
        (language, asked): (Language, Vec<Tool>),
    ) -> Self {
        let proposing = if asked.is_empty() {
            None
        } else {
            desk.poll.refresh().await;
            Some(desk.poll.proposing())
        };
        let drafts = Drafts::new(ASSISTANT, desk.executor.clone(), desk.poll.head());
        let later = is_for_later(&asked, question);
        Self {
            desk,
            hears,
            question,
            teller,
            language,
            asked,
            later,
            proposing,
            seen: IdsSeen::default(),
            rooms: Rooms::default(),
            drafts,
            proposed: None,
            used: Vec::new(),
            calls: 0,
            usage: Usage::default(),
        }
    }

    // The one rule for offering propose_change: the operator asked, and the executor can admit something now.
    fn may_propose(&self) -> bool {
        !self.later && self.could_propose()
    }

    fn could_propose(&self) -> bool {
        !self.asked.is_empty() && self.proposing == Some(Some(Proposing::On))
    }

    async fn converse(&mut self, model: &Model) -> Result<Said, TurnError> {
        let desk = self.desk;
        let offered = desk.tools.offered(self.may_propose());
        let news = desk.poll.news(self.hears);
        let notes = Notes {
            now: desk.now_words(),
            proposing: self.proposing,
            later: self.later && self.could_propose(),
            news: &news,
        };
        let mut steps = vec![prompt::first_step(self.question, &notes)];
        let mut said = Said { text: String::new(), model: model.name().to_owned(), early: true };
        while self.calls < MAX_CALLS {
            let request = Request { system: &desk.system, offers: offered, steps: &steps };
            let size = model.size(request)? as u64;
            if self.calls > 0 && self.usage.total().saturating_add(size / BYTES_PER_TOKEN) > MAX_TOKENS {
                break;
            }
            let answer = self.hear(model, request).await?;
            self.calls += 1;
            self.usage.add(answer.usage);
            said.model.clone_from(&answer.model);
            let text = answer.text();
            if !text.is_empty() {
                said.text = text;
            }
            match answer.stop {
                Stop::Ended if answer.text().is_empty() => return Err(ModelError::NotUnderstood.into()),
                Stop::Ended => return Ok(Said { early: false, ..said }),
                Stop::Cut => break,
                Stop::Tools => {}
            }
            let uses = answer.tool_uses()?;
            // Nobody would read the results of the last call's tools, and a draft among them would surprise.
            if self.calls == MAX_CALLS {
                break;
            }
            let results = self.use_tools(&uses).await?;
            steps.push(Step::Answered(answer.parts));
            steps.push(Step::Results(results));
            if self.usage.total() >= MAX_TOKENS {
                break;
            }
        }
        Ok(said)
    }

    // One answer. An API that breaks off before a word of it was told is asked once more.
    async fn hear(&mut self, model: &Model, request: Request<'_>) -> Result<Answer, TurnError> {
        self.teller.part().await?;
        let mut breath = Some(BREATH);
        loop {
            let mut reply = model.ask(request).await?;
            match (self.tell_pieces(&mut reply).await, breath.take()) {
                (Ok(()), _) => return Ok(reply.finish()?),
                (Err(TurnError::Model(error)), Some(breath)) if error.is_passing() && !self.teller.is_open() => {
                    tracing::info!(error = error.class(), "the model's API broke off an answer");
                    tokio::time::sleep(breath).await;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    async fn tell_pieces(&mut self, reply: &mut Reply) -> Result<(), TurnError> {
        let mut pieces = Pieces::default();
        while let Some(words) = reply.text().await? {
            if let Some(text) = pieces.push(&words) {
                self.teller.tell(AssistantSays::Piece { text }).await?;
            }
        }
        Ok(())
    }

    async fn use_tools(&mut self, uses: &[ToolUse]) -> Result<Vec<ToolResult>, LinkError> {
        let mut results = Vec::with_capacity(uses.len());
        for (place, one) in uses.iter().enumerate() {
            let (text, failed) = if place < MAX_USES {
                self.use_tool(one).await?
            } else {
                ("Not done: too many tools at once. Ask for fewer.".to_owned(), true)
            };
            results.push(ToolResult { id: one.id.clone(), text, failed });
        }
        Ok(results)
    }

    // The text for the model, and whether it tells of a failure.
    async fn use_tool(&mut self, one: &ToolUse) -> Result<(String, bool), LinkError> {
        if one.name == PROPOSE && self.may_propose() {
            self.used.push(PROPOSE.to_owned());
            return self.propose(&one.input).await;
        }
        if one.name == CHANGEABLE && self.may_propose() {
            return self.read_changeable(&one.input).await;
        }
        let desk = self.desk;
        let Some(name) = desk.tools.readable(&one.name) else {
            self.used.push("(unknown)".to_owned());
            return Ok(("There is no tool of that name here. Nothing was done.".to_owned(), true));
        };
        self.used.push(name.to_owned());
        self.teller.tell(AssistantSays::Reading { tool: name.to_owned() }).await?;
        match desk.fleet.read(&desk.policy, name, &one.input).await {
            Ok(value) => {
                // Articles are no readings of the fleet; an id in one is no target.
                if name.starts_with("get_") {
                    self.seen.collect(&value);
                    self.rooms.collect(name, &value);
                }
                Ok((crate::fleet::quoted(name, value), false))
            }
            Err(failure) => Ok((failure.for_model(), true)),
        }
    }

    async fn read_changeable(&mut self, input: &Value) -> Result<(String, bool), LinkError> {
        self.used.push(CHANGEABLE.to_owned());
        self.teller.tell(AssistantSays::Reading { tool: CHANGEABLE.to_owned() }).await?;
        match changeable::read(self.desk, ASSISTANT, input).await {
            Ok(value) => {
                self.seen.collect(&value);
                self.rooms.collect(CHANGEABLE, &value);
                if let Some(last) = self.desk.watch.last() {
                    self.rooms.rivals(&last.team);
                }
                Ok((crate::fleet::quoted(CHANGEABLE, value), false))
            }
            Err(refusal) => Ok((format!("Not read: {}", told(&refusal)), true)),
        }
    }

    async fn propose(&mut self, input: &Value) -> Result<(String, bool), LinkError> {
        // A room with a unit in both teams: the id is all that is wrong, so nobody is bothered with a refusal.
        if let Some(unit) = self.rooms.namesake(&input["arguments"]) {
            let text = format!(
                "Not proposed yet: that unit is not on the list of get_changeable_devices. Unit {unit} on that list has the \
                 same name; propose the change with its id."
            );
            return Ok((text, true));
        }
        let draft = match self.draft(input) {
            Ok(draft) => draft,
            Err(refusal) => return self.not_proposed(refusal).await,
        };
        let (tool, arguments) = (draft.tool.clone(), String::from_utf8_lossy(&draft.arguments).into_owned());
        match self.drafts.propose(draft).await {
            Ok(number) => {
                let arguments_read = serde_json::from_str(&arguments).unwrap_or_default();
                self.proposed = Tool::from_name(&tool).map(|tool| (tool, arguments_read));
                self.desk.poll.remember_draft(Drafted { by: self.hears.uid(), number, tool, arguments });
                self.teller.tell(AssistantSays::Proposed { number }).await?;
                let text = format!(
                    "Proposal {number} waits for a person, who approves or denies it on their own page. Nothing has changed yet."
                );
                Ok((text, false))
            }
            Err(refusal) => self.not_proposed(refusal).await,
        }
    }

    // What is checked here is refused without asking the executor; it checks everything again that it can know.
    fn draft(&self, input: &Value) -> Result<Draft, Refusal> {
        let asked = tools::asked(input).map_err(|what| Refusal::new(RefusalCode::BadArguments, what))?;
        if asked.reason.chars().count() > MAX_REASON {
            return Err(Refusal::bare(RefusalCode::ReasonTooLong));
        }
        let tool = Tool::from_name(asked.tool).ok_or_else(|| {
            let known = self.desk.policy.is_write(asked.tool);
            Refusal::bare(if known { RefusalCode::ToolNotProposable } else { RefusalCode::ToolUnknown })
        })?;
        if !self.asked.contains(&tool) {
            return Err(Refusal::new(RefusalCode::NotPermitted, "the operator's own words do not ask for this change"));
        }
        let arguments = Canonical::from_value(asked.arguments)?;
        if let Some(field) = self.seen.unread(arguments.value()) {
            let what = format!("{field}: this id was not read from the fleet in this conversation; read it first");
            return Err(Refusal::new(RefusalCode::BadArguments, &what));
        }
        if !self.rooms.named(self.question, arguments.value(), &self.desk.rooms) {
            return Err(Refusal::new(RefusalCode::NotPermitted, "the operator's own words do not name this room"));
        }
        if !self.drafts.admitted().is_empty() {
            let what = "one change is proposed at a time; the operator can ask for the next one";
            return Err(Refusal::new(RefusalCode::NotPermitted, what));
        }
        Ok(Draft {
            origin: Origin::Model,
            tool: tool.as_str().to_owned(),
            arguments: arguments.as_str().as_bytes().to_vec(),
            reason: asked.reason.to_owned(),
        })
    }

    async fn not_proposed(&mut self, refusal: Refusal) -> Result<(String, bool), LinkError> {
        let mut text = format!("Not proposed: {}", told(&refusal));
        if matches!(refusal.code, RefusalCode::OutsideFence | RefusalCode::TargetUnknown) {
            text.push_str(" Only the units that get_changeable_devices lists can be changed.");
        }
        self.teller.tell(AssistantSays::NotProposed(refusal)).await?;
        Ok((text, true))
    }

    async fn finish(self, said: Said) -> Result<(), LinkError> {
        let mut text = said.text;
        if said.early {
            text.push_str(pick(
                self.language,
                "\n\n(Stopped early: this question reached its limit.)",
                "\n\n(Se detuvo antes de terminar: esta pregunta llegó a su límite.)",
            ));
        }
        let next = self.one_at_a_time();
        match self.drafts.finish().await {
            Ending::Nothing | Ending::Waiting => {
                if let Some(next) = next {
                    text.push_str("\n\n");
                    text.push_str(&next);
                }
            }
            Ending::Withdrawn => text.push_str(pick(
                self.language,
                "\n\n(The executor went away: what was proposed for this question has been withdrawn.)",
                "\n\n(El ejecutor dejó de responder: lo que se propuso para esta pregunta se ha retirado.)",
            )),
        }
        self.teller
            .tell(AssistantSays::Answer { text: safe(text.trim()), by: AnsweredBy::Model { name: said.model } })
            .await
    }

    // What code says to somebody who asked for several changes or for a later one, or spoke of one and was not taken to
    // ask for it.
    fn one_at_a_time(&self) -> Option<String> {
        let could = self.desk.poll.proposing() == Some(Proposing::On);
        if self.asked.is_empty() && could && mentions_change(&self.desk.policy, self.question) {
            return Some(
                pick(
                    self.language,
                    "(This was not taken as an order, so nothing was proposed. A message that begins with /propose always asks for a change.)",
                    "(Esto no se tomó como una orden; no se propuso nada. Un mensaje que empieza con /propose siempre pide un cambio.)",
                )
                .to_owned(),
            );
        }
        if !self.could_propose() {
            return None;
        }
        if self.later {
            return Some(later::nothing_is_scheduled(self.language).to_owned());
        }
        let named = self.rooms.all_named(self.question, &self.desk.rooms);
        let Some((tool, arguments)) = &self.proposed else {
            let none = named.len() != 1 && later::asks_for_all(self.question);
            return none.then(|| later::one_room_at_a_time(self.language).to_owned());
        };
        let done = arguments.to_string();
        let others: Vec<_> = named.into_iter().filter(|other| !done.contains(other.id)).collect();
        let first = others.first()?;
        let order = |room: &str| later::order(self.language, *tool, arguments, room);
        // A name may stand in words to be typed only when they then name that room, ask for that change, and no more.
        let fits = |words: &String| {
            let rooms = self.rooms.all_named(words, &self.desk.rooms);
            rooms.len() == 1
                && rooms.first() == Some(first)
                && asks_for_change(&self.desk.policy, words) == [*tool]
                && !later::names_a_later_time(words)
                && safe(words) == *words
        };
        let next = order(first.name).filter(fits).or_else(|| order(first.id))?;
        Some(later::the_next_one(self.language, &others, &next))
    }

    // Counts and classes only: no word of question, answer or fleet.
    fn log(&self, outcome: &Result<Said, TurnError>) {
        let outcome = match outcome {
            Ok(said) if said.early => "stopped_early",
            Ok(_) => "answered",
            Err(TurnError::Asker(_)) => "asker_gone",
            Err(TurnError::Model(error)) => error.class(),
        };
        tracing::info!(
            outcome,
            question_chars = self.question.chars().count(),
            tools = %self.used.join(","),
            proposals = ?self.drafts.admitted().iter().map(|number| number.get()).collect::<Vec<_>>(),
            calls = self.calls,
            input_tokens = self.usage.input,
            output_tokens = self.usage.output,
            cache_read_tokens = self.usage.cache_read,
            cache_write_tokens = self.usage.cache_write,
            "a question was handled"
        );
    }
}

// A refusal for the model. Its detail can repeat the fleet's own words: they stay inside the block.
fn told(refusal: &Refusal) -> String {
    let words = format!("{}: {}", refusal.code, policy::words::refusal(refusal.code).en);
    if refusal.detail.is_empty() {
        return words;
    }
    let detail = serde_json::json!({ "detail": redact_text(&refusal.detail) });
    format!("{words} {}", crate::fleet::quoted(PROPOSE, detail))
}

fn pick<'a>(language: Language, en: &'a str, es: &'a str) -> &'a str {
    match language {
        Language::English => en,
        Language::Spanish => es,
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
