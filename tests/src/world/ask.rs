//! A person on `ask.sock`.

#![expect(clippy::wildcard_enum_match_arm, reason = "any other word is the end of the test")]

use super::link::{Asker, Frames};
use super::must::some;
use protocol::ask::{AskerSays, AssistantSays, AssistantStatus};
use protocol::hello::Hello;
use protocol::ids::ProposalNumber;
use std::io;
use std::path::Path;

/// One connection, greeted. Dropping it hangs up, which drops the turn.
#[derive(Debug)]
pub struct AskClient {
    link: Asker<AskerSays, AssistantSays>,
    asked: u32,
}

impl AskClient {
    /// Connects and says hello.
    ///
    /// # Errors
    /// What the system says, or that the assistant hung up.
    pub fn open(socket: &Path) -> io::Result<Self> {
        let mut link: Asker<AskerSays, AssistantSays> = Asker::new(Frames::connect(socket)?);
        match link.ask(AskerSays::Hello(Hello::ours())) {
            Some(AssistantSays::Hello(_)) => Ok(Self { link, asked: 0 }),
            other => Err(io::Error::other(format!("no hello but {other:?}"))),
        }
    }

    /// Sends something without waiting for its answers.
    #[track_caller]
    pub fn say(&mut self, say: AskerSays) {
        self.asked = self.link.say(say);
    }

    /// The next word about what was said last; nothing when the assistant hung up.
    #[track_caller]
    pub fn hear(&mut self) -> Option<AssistantSays> {
        self.link.hear(self.asked)
    }

    /// Everything said about this up to `Done`, which is left out.
    #[track_caller]
    pub fn all(&mut self, say: AskerSays) -> Vec<AssistantSays> {
        self.say(say);
        let mut said = Vec::new();
        loop {
            match some(self.hear(), "the assistant's answer") {
                AssistantSays::Done => return said,
                word => said.push(word),
            }
        }
    }

    /// Asks a question.
    #[track_caller]
    pub fn ask(&mut self, question: &str) -> Vec<AssistantSays> {
        self.all(AskerSays::Ask { question: question.to_owned() })
    }

    /// How the assistant is.
    #[track_caller]
    pub fn status(&mut self) -> AssistantStatus {
        let said = self.all(AskerSays::Status).into_iter().find_map(|word| match word {
            AssistantSays::Status(status) => Some(*status),
            _ => None,
        });
        some(said, "the assistant's status")
    }
}

/// The numbers of what was proposed in these words.
#[must_use]
pub fn proposed(said: &[AssistantSays]) -> Vec<ProposalNumber> {
    let number = |word: &AssistantSays| match word {
        AssistantSays::Proposed { number } => Some(*number),
        _ => None,
    };
    said.iter().filter_map(number).collect()
}

/// The text of the answer in these words, and who wrote it as `model NAME` or `keywords WHY`.
#[must_use]
#[track_caller]
pub fn answered(said: &[AssistantSays]) -> (String, String) {
    use protocol::ask::AnsweredBy;
    let answer = said.iter().find_map(|word| match word {
        AssistantSays::Answer { text, by: AnsweredBy::Model { name } } => Some((text.clone(), format!("model {name}"))),
        AssistantSays::Answer { text, by: AnsweredBy::Keywords { why } } => {
            Some((text.clone(), format!("keywords {why}")))
        }
        _ => None,
    });
    some(answer, "an answer")
}
