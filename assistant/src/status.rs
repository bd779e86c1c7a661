//! How the assistant is, for `fleetwatchctl status`.

use crate::desk::Desk;
use protocol::ask::AssistantStatus;
use protocol::hello::Hello;

/// The status now. Asks nobody: the executor is polled in the background, the fleet when somebody asks.
pub(crate) fn of(desk: &Desk) -> AssistantStatus {
    let seconds_since = |start: i64| u64::try_from(desk.clock.boot_ms().saturating_sub(start)).unwrap_or(0) / 1000;
    let mut problems = desk.poll.troubles();
    problems.extend(desk.fleet.trouble().map(|words| words.en));
    problems.extend(desk.fleet.units().trouble());
    problems.extend(desk.watch.troubles());
    AssistantStatus {
        hello: Hello::ours(),
        uptime_seconds: seconds_since(desk.started_ms),
        model: desk.model.as_ref().map(|model| model.name().to_owned()),
        model_host: desk.model.as_ref().map(|model| model.host().to_owned()),
        sign_in: desk.fleet.has_sign_in() && !desk.fleet.is_signed_out(),
        last_read_seconds: desk.fleet.last_read_ms().map(seconds_since),
        executor_reached: desk.poll.reached(),
        witness: desk.poll.head().map(|head| head.sequence),
        sandbox_missing: host::sandbox::missing(),
        problems,
    }
}
