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
    // Pieces that were told and that no other word has closed yet, and pieces that nothing has made void yet.
    open: bool,
    standing: bool,
}

impl<'a> Teller<'a> {
    /// Answers under `id`.
    pub(crate) fn new(sender: &'a mut Sender<Reply<AssistantSays>>, id: u32) -> Self {
        Self { sender, id, open: false, standing: false }
    }

    /// Says one thing.
    ///
    /// # Errors
    /// [`LinkError`] when the asker does not take it.
    pub(crate) async fn tell(&mut self, say: AssistantSays) -> Result<(), LinkError> {
        let piece = matches!(say, AssistantSays::Piece { .. });
        // Any other word parts the pieces before it from those behind it; these two also say what became of them.
        self.open = piece;
        self.standing =
            piece || self.standing && !matches!(say, AssistantSays::Answer { .. } | AssistantSays::PiecesVoid);
        self.sender.send(&Reply { id: self.id, say }, SEND).await
    }

    /// Whether pieces were told that no other word has closed.
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    /// Before the model writes anew: pieces that nothing parts from the next ones are made void.
    ///
    /// # Errors
    /// [`LinkError`] when the asker does not take it.
    pub(crate) async fn part(&mut self) -> Result<(), LinkError> {
        if self.open { self.tell(AssistantSays::PiecesVoid).await } else { Ok(()) }
    }

    /// Before somebody else answers: pieces of the model are made void.
    ///
    /// # Errors
    /// [`LinkError`] when the asker does not take it.
    pub(crate) async fn void(&mut self) -> Result<(), LinkError> {
        if self.standing { self.tell(AssistantSays::PiecesVoid).await } else { Ok(()) }
    }
}
