//! The daemon that signs in, whichever of the two it is.

use crate::client::{Asking, ClientError, Control};
use control::message::{ExecutorSays, OperatorSays};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::signin::{Pasted, SignedIn};

/// The connection that a sign-in lives on: it ends with it.
#[derive(Debug)]
pub(crate) enum Talk {
    /// The normal sign-in's.
    Assistant(Asking),
    /// The writing one's.
    Executor(Control),
}

/// One word to the assistant, one answer.
///
/// # Errors
/// [`ClientError`]; [`ClientError::Unanswered`] when something may have been changed and no answer came.
pub(crate) async fn assistant(asking: &mut Asking, say: AskerSays) -> Result<AssistantSays, ClientError> {
    // What ends a sign-in may have been done when its answer is lost.
    let changes = matches!(say, AskerSays::LoginWait | AskerSays::Logout);
    asking.say(say).await?;
    let heard = async {
        let said = asking.hear().await?;
        let AssistantSays::Done = asking.hear().await? else { return Err(Asking::surprise()) };
        Ok(said)
    };
    let said = heard.await.map_err(|error| if changes { error.of_a_change() } else { error })?;
    if let AssistantSays::Refused(refusal) = said { Err(ClientError::Refused(refusal)) } else { Ok(said) }
}

impl Talk {
    /// `None` while the person is not done.
    ///
    /// # Errors
    /// As [`assistant`].
    pub(crate) async fn wait(&mut self) -> Result<Option<SignedIn>, ClientError> {
        match self {
            Self::Assistant(asking) => {
                let said = assistant(asking, AskerSays::LoginWait).await?;
                if let AssistantSays::SignedIn(done) = said {
                    return Ok(Some(done));
                }
                if matches!(said, AssistantSays::LoginWaiting) { Ok(None) } else { Err(Asking::surprise()) }
            }
            Self::Executor(control) => {
                let said = control.ask(OperatorSays::LoginWait).await?;
                if let ExecutorSays::SignedIn(done) = said {
                    return Ok(Some(done));
                }
                if matches!(said, ExecutorSays::LoginWaiting) { Ok(None) } else { Err(Control::surprise()) }
            }
        }
    }

    /// Carries a pasted address.
    ///
    /// # Errors
    /// [`ClientError`]
    pub(crate) async fn paste(&mut self, line: &str) -> Result<(), ClientError> {
        let address = Pasted::new(line);
        match self {
            Self::Assistant(asking) => assistant(asking, AskerSays::LoginCallback { address }).await.map(|_waiting| ()),
            Self::Executor(control) => control.ask(OperatorSays::LoginCallback { address }).await.map(|_waiting| ()),
        }
    }
}
