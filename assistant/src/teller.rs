//! Says things to the asker, all under the number of its request.

use host::link::{LinkError, Sender};
use protocol::ask::AssistantSays;
use protocol::hello::Reply;
use std::time::Duration;

const SEND: Duration = Duration::from_secs(5);

/// The asker's end, for one request.
#[derive(Debug)]
pub(crate) struct Teller<'a> {
    sender: &'a mut Sender<Reply<AssistantSays>>,
    id: u32,
}

impl<'a> Teller<'a> {
    /// Answers under `id`.
    pub(crate) fn new(sender: &'a mut Sender<Reply<AssistantSays>>, id: u32) -> Self {
        Self { sender, id }
    }

    /// Says one thing.
    ///
    /// # Errors
    /// [`LinkError`] when the asker does not take it.
    pub(crate) async fn tell(&mut self, say: AssistantSays) -> Result<(), LinkError> {
        self.sender.send(&Reply { id: self.id, say }, SEND).await
    }
}
