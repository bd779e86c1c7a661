//! Whether this user may serve another agent. An operator without a PIN may not: the agent runs as that operator, could set
//! the first PIN, and approve. The executor alone knows the list, so it is asked; whoever gets no answer is served only
//! when the system itself keeps that user away from the executor (issue line 3.16).

use crate::client::{ClientError, Control, Daemon, Places};
use control::status::ExecutorStatus;
use host::link::LinkError;
use host::socket::SocketError;
use protocol::refusal::RefusalCode;
use std::io::ErrorKind;

const NO_PIN: &str = "you are on the operators list and have no PIN, so an agent that runs as you could set one and approve; \
                      run `fleetwatchctl pin set` first, or serve the agent as a user who is no operator";

/// Why no answer is no leave, and what to do.
const HUNG_UP: &str = "the executor hung up without a word, as it does on whoever is not on its list and whenever it stops; \
                       see with `fleetwatchctl status` that it runs and try again, or serve the agent as a user outside the \
                       group fleetwatch-operators";
const NOT_YET: &str = "this session may not speak to the executor, but you are root or in the group fleetwatch-operators, so \
                       another session of yours may; sign in to the system again, or serve the agent as a user outside it";

/// What is certain of this user when the executor does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Root, or in the operators' group: a process of this user can reach the executor.
    Inside,
    /// The system lets no process of this user near it, so no list helps.
    Outside,
}

/// Asks the executor.
///
/// # Errors
/// Why not, with what to do.
pub(super) async fn check(places: &Places) -> Result<(), String> {
    let uid = host::socket::my_uid();
    let inside = uid == 0 || host::socket::is_member(uid, Daemon::Executor.group());
    let status = async { Control::open(places).await?.status().await };
    judge(status.await, if inside { Standing::Inside } else { Standing::Outside })
}

fn judge(status: Result<ExecutorStatus, ClientError>, standing: Standing) -> Result<(), String> {
    let error = match status {
        Ok(status) if status.problems.iter().any(|problem| problem.code == RefusalCode::NoPin) => {
            return Err(NO_PIN.to_owned());
        }
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    let why = match &error {
        // Its own word that this is no operator.
        ClientError::Refused(refusal) if refusal.code == RefusalCode::NotPermitted => return Ok(()),
        ClientError::NotReached(_, SocketError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            match standing {
                Standing::Inside => NOT_YET.to_owned(),
                Standing::Outside => return Ok(()),
            }
        }
        // A stranger is hung up on, and so is an operator while the executor stops, restarts or is full.
        ClientError::HungUp(_) | ClientError::Lost(_, LinkError::Closed) => HUNG_UP.to_owned(),
        ClientError::Folder(..)
        | ClientError::Lost(..)
        | ClientError::NotReached(..)
        | ClientError::OtherVersion(..)
        | ClientError::OutOfOrder(_)
        | ClientError::Refused(_)
        | ClientError::Unanswered(_) => {
            format!("{error}; start the executor, or see that it answers `fleetwatchctl status`")
        }
    };
    Err(format!("whether you are an operator without a PIN is not known: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        for standing in [Standing::Inside, Standing::Outside] {
            assert!(judge(Ok(with(RefusalCode::NoPin)), standing).unwrap_err().contains("fleetwatchctl pin set"));
            judge(Ok(with(RefusalCode::NoFence)), standing).unwrap();
        }
    }

    #[test]
    fn whoever_is_certainly_no_operator_may_serve() {
        judge(Err(ClientError::Refused(Refusal::bare(RefusalCode::NotPermitted))), Standing::Inside).unwrap();
        judge(Err(unreachable(ErrorKind::PermissionDenied)), Standing::Outside).unwrap();
    }

    #[test]
    fn a_member_of_the_operators_group_whose_session_is_older_may_not_serve() {
        let why = judge(Err(unreachable(ErrorKind::PermissionDenied)), Standing::Inside).unwrap_err();
        assert!(why.contains("not known") && why.contains("fleetwatch-operators"), "{why}");
    }

    #[test]
    fn a_hang_up_says_nothing_of_the_list_and_nobody_is_served() {
        for standing in [Standing::Inside, Standing::Outside] {
            for error in [ClientError::HungUp(Daemon::Executor), ClientError::Lost(Daemon::Executor, LinkError::Closed)]
            {
                let why = judge(Err(error), standing).unwrap_err();
                assert!(why.contains("not known") && why.contains("fleetwatchctl status"), "{why}");
            }
        }
    }

    #[test]
    fn nobody_may_serve_while_the_executor_cannot_be_asked() {
        for standing in [Standing::Inside, Standing::Outside] {
            for error in [
                unreachable(ErrorKind::Other),
                ClientError::NotReached(Daemon::Executor, SocketError::NoServer { path: PathBuf::new() }),
                ClientError::Lost(Daemon::Executor, LinkError::Timeout),
                ClientError::OutOfOrder(Daemon::Executor),
                ClientError::Refused(Refusal::bare(RefusalCode::StoreFailed)),
            ] {
                let why = judge(Err(error), standing).unwrap_err();
                assert!(why.contains("not known") && why.contains("start the executor"), "{why}");
            }
        }
    }
}
