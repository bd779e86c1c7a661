//! One answer while it arrives: words as they come, then the whole. An answer whose end is missing is none.

use super::error::ModelError;
use super::sse::{Decoder, Event};
use super::talk::{Answer, Usage};
use super::{anthropic, openai};
use crate::config::ModelKind;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use std::collections::VecDeque;

/// Largest answer, in bytes, with all that the stream puts around its words.
const MAX_STREAM: usize = 8 * 1024 * 1024;
/// Fewest bytes that one token stands for, where a server does not count.
const BYTES_PER_TOKEN: u64 = 4;

/// An answer that has begun.
#[derive(Debug)]
pub(crate) struct Reply {
    response: Response,
    decoder: Decoder,
    waiting: VecDeque<Event>,
    assembly: Assembly,
    sent: usize,
    received: usize,
    words: usize,
}

#[derive(Debug)]
enum Assembly {
    Anthropic(anthropic::Assembly),
    OpenAi(openai::Assembly),
}

impl Reply {
    /// Takes the response to a request of `sent` bytes.
    ///
    /// # Errors
    /// [`ModelError`] by its status, or when it is no stream of events.
    pub(super) fn begin(response: Response, kind: ModelKind, sent: usize) -> Result<Self, ModelError> {
        if response.status().as_u16() != 200 {
            return Err(ModelError::of_status(response.status().as_u16()));
        }
        let content = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !content.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(ModelError::NotUnderstood);
        }
        let assembly = match kind {
            ModelKind::Anthropic => Assembly::Anthropic(anthropic::Assembly::default()),
            ModelKind::OpenAi => Assembly::OpenAi(openai::Assembly::default()),
        };
        let (decoder, waiting) = (Decoder::default(), VecDeque::new());
        Ok(Self { response, decoder, waiting, assembly, sent, received: 0, words: 0 })
    }

    /// The next words for the person who asked, untrusted and raw; nothing when the answer is at its end.
    ///
    /// # Errors
    /// [`ModelError`] when the API failed, hung up, or says what is not understood.
    pub(crate) async fn text(&mut self) -> Result<Option<String>, ModelError> {
        loop {
            if self.is_ended() {
                return Ok(None);
            }
            while let Some(event) = self.waiting.pop_front() {
                let words = match &mut self.assembly {
                    Assembly::Anthropic(assembly) => assembly.take(&event)?,
                    Assembly::OpenAi(assembly) => assembly.take(&event)?,
                };
                if let Some(words) = words {
                    self.words += words.len();
                    return Ok(Some(words));
                }
            }
            if self.is_ended() {
                return Ok(None);
            }
            let chunk = self.response.chunk().await.map_err(|error| ModelError::from_http(&error))?;
            let chunk = chunk.ok_or(ModelError::HungUp)?;
            self.received += chunk.len();
            if self.received > MAX_STREAM {
                return Err(ModelError::TooLarge);
            }
            self.waiting.extend(self.decoder.push(&chunk)?);
        }
    }

    /// The whole answer, once [`Reply::text`] gave nothing more.
    ///
    /// # Errors
    /// [`ModelError`] when it is not whole or the model declined.
    pub(crate) fn finish(self) -> Result<Answer, ModelError> {
        let tokens = |bytes: usize| bytes as u64 / BYTES_PER_TOKEN;
        match self.assembly {
            Assembly::Anthropic(assembly) => assembly.finish(),
            Assembly::OpenAi(assembly) => {
                assembly.finish(Usage { input: tokens(self.sent), output: tokens(self.words), ..Usage::default() })
            }
        }
    }

    fn is_ended(&self) -> bool {
        match &self.assembly {
            Assembly::Anthropic(assembly) => self.waiting.is_empty() && assembly.is_ended(),
            Assembly::OpenAi(assembly) => self.waiting.is_empty() && assembly.is_ended(),
        }
    }
}
