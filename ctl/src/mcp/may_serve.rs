//! Whether this user may serve another agent. An operator without a PIN may not: the agent runs as that operator, could set
//! the first PIN, and approve.

use crate::client::{ClientError, Control, Places};
use control::status::ExecutorStatus;
use host::link::LinkError;
use host::socket::SocketError;
use protocol::refusal::RefusalCode;
use std::io::ErrorKind;

const NO_PIN: &str = "you are on the operators list and have no PIN, so an agent that runs as you could set one and approve; \
                      run `fleetwatchctl pin set` first, or serve the agent as a user who is no operator";

/// Asks the executor, which alone knows the list.
///
/// # Errors
/// Why not, with what to do.
pub(super) async fn check(places: &Places) -> Result<(), String> {
    let status = async { Control::open(places).await?.status().await };
    judge(status.await)
}

fn judge(status: Result<ExecutorStatus, ClientError>) -> Result<(), String> {
    match status {
        Ok(status) if status.problems.iter().any(|problem| problem.code == RefusalCode::NoPin) => {
            Err(NO_PIN.to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) if is_a_stranger(&error) => Ok(()),
        // Unknown means no.
        Err(error) => Err(format!("whether you are an operator without a PIN is not known: {error}")),
    }
}

// The executor closes on whoever is not on its list, without a word.
fn is_a_stranger(error: &ClientError) -> bool {
    match error {
        ClientError::HungUp(_) | ClientError::Lost(_, LinkError::Closed) => true,
        ClientError::NotReached(_, SocketError::Io { source, .. }) => source.kind() == ErrorKind::PermissionDenied,
        ClientError::Refused(refusal) => refusal.code == RefusalCode::NotPermitted,
        ClientError::Folder(..)
        | ClientError::Lost(..)
        | ClientError::NotReached(..)
        | ClientError::OutOfOrder(_)
        | ClientError::OtherVersion(..)
        | ClientError::Unanswered(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Daemon;
    use crate::testing::executor_status;
    use control::status::Problem;
    use protocol::refusal::Refusal;
    use protocol::shown::Worded;
    use std::io;
    use std::path::PathBuf;

    fn with(code: RefusalCode) -> ExecutorStatus {
        let mut status = executor_status();
        status.problems = vec![Problem { code, advice: Worded::same("x") }];
        status
    }

    fn unreachable(kind: ErrorKind) -> ClientError {
        let source = io::Error::from(kind);
        ClientError::NotReached(Daemon::Executor, SocketError::Io { path: PathBuf::new(), doing: "connect", source })
    }

    #[test]
    fn an_operator_without_a_pin_may_not_serve_and_is_told_what_to_do() {
        assert!(judge(Ok(with(RefusalCode::NoPin))).unwrap_err().contains("fleetwatchctl pin set"));
        judge(Ok(with(RefusalCode::NoFence))).unwrap();
    }

    #[test]
    fn strangers_to_the_executor_may_serve() {
        for error in [
            ClientError::HungUp(Daemon::Executor),
            ClientError::Lost(Daemon::Executor, LinkError::Closed),
            ClientError::Refused(Refusal::bare(RefusalCode::NotPermitted)),
            unreachable(ErrorKind::PermissionDenied),
        ] {
            judge(Err(error)).unwrap();
        }
    }

    #[test]
    fn nobody_may_serve_while_the_executor_cannot_be_asked() {
        for error in [
            unreachable(ErrorKind::Other),
            ClientError::NotReached(Daemon::Executor, SocketError::NoServer { path: PathBuf::new() }),
            ClientError::Lost(Daemon::Executor, LinkError::Timeout),
            ClientError::OutOfOrder(Daemon::Executor),
            ClientError::Refused(Refusal::bare(RefusalCode::StoreFailed)),
        ] {
            assert!(judge(Err(error)).unwrap_err().contains("not known"));
        }
    }
}
