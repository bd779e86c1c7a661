//! Both daemons' status as text and as JSON. In English, like every message that is no card.

use super::page::Page;
use super::{safe, span};
use crate::status::{Both, wrong};
use control::status::{ExecutorStatus, Problem, Witness};
use protocol::ask::AssistantStatus;
use serde_json::{Value, json};

/// Both, then what is wrong.
pub(crate) fn both(both: &Both, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.line("Executor");
    match &both.executor {
        Ok(status) => executor(&mut page, status, &both.me),
        // Why stands below, with what to do.
        Err(_) => page.field("  Answers", "no"),
    }
    page.gap();
    page.line("Assistant");
    match &both.assistant {
        Ok(status) => assistant(&mut page, status),
        // Why stands below, with what to do.
        Err(_) => page.field("  Answers", "no"),
    }
    page.gap();
    let wrong = wrong(both);
    if wrong.is_empty() {
        page.line("Nothing is wrong.");
    } else {
        page.line("Something is wrong");
        for (place, what) in wrong.iter().enumerate() {
            page.field(&format!("  {}", place + 1), &safe(what));
        }
    }
    page.into_text()
}

fn executor(page: &mut Page, status: &ExecutorStatus, me: &str) {
    page.field("  Version", &safe(&status.hello.build));
    page.field("  Up for", &span(status.uptime_seconds));
    page.field("  Isolation", status.isolation.as_str());
    page.field("  Sandbox", &sandbox(&status.sandbox_missing));
    page.field("  Witness", status.witness.as_str());
    page.field("  Writes through", &format!("{} ({})", safe(&status.slot), signed_in(status.sign_in)));
    page.field("  Fence", &safe(&status.fence));
    let autonomy = format!("{}{}", safe(&status.autonomy), if status.dry_run { ", dry run" } else { "" });
    page.field("  Autonomy", &autonomy);
    if status.frozen {
        page.field("  Frozen", "yes: nothing is taken in or run");
    }
    for agent in &status.paused_agents {
        page.field("  Paused agent", &safe(agent));
    }
    let queue = &status.queue;
    page.field("  Waiting", &format!("{} of at most {}", queue.pending, queue.pending_limit));
    page.field("  Last hour", &format!("{} of at most {} proposals", queue.hour, queue.hour_limit));
    page.field("  Last read", &ago(status.last_read_seconds));
    page.field("  Approval page", &status.page.as_deref().map_or_else(|| "down".to_owned(), safe));
    if let Some(line) = remote_desk(status, me) {
        page.field("  Remote desk", &line);
    }
    let start = &status.start;
    page.field("  Audit", &format!("{} rows", status.audit_sequence));
    let found = format!("{} expired, {} unknown, {} restored", start.expired, start.unknown, start.restored);
    page.field("  At start", &found);
    if start.backup {
        page.field("  Restored", "a backup took the store's place at this start");
    }
    let pruned = status.pruned.map(|(seconds, rows)| format!("{rows} rows pruned {} ago", span(seconds)));
    page.field("  Old rows", pruned.as_deref().unwrap_or("not pruned yet"));
}

/// What makes the page reachable from another machine: its own port on both ends, as the page's Host check wants it.
pub(crate) fn remote_desk(status: &ExecutorStatus, me: &str) -> Option<String> {
    let address = status.page.as_deref()?.strip_prefix("http://127.0.0.1:")?;
    let port: u16 = address.strip_suffix('/').unwrap_or(address).parse().ok()?;
    Some(format!("ssh -L {port}:127.0.0.1:{port} {}@this-machine", safe(me)))
}

fn assistant(page: &mut Page, status: &AssistantStatus) {
    page.field("  Version", &safe(&status.hello.build));
    page.field("  Up for", &span(status.uptime_seconds));
    let model = match (&status.model, &status.model_host) {
        (Some(model), Some(host)) => format!("{}; questions and readings go to {}", safe(model), safe(host)),
        (Some(model), None) => safe(model),
        (None, _) => "none: questions are answered by keywords".to_owned(),
    };
    page.field("  Model", &model);
    page.field("  Reads", signed_in(status.sign_in));
    page.field("  Last read", &ago(status.last_read_seconds));
    page.field("  Executor", if status.executor_reached { "reached" } else { "not reached" });
    page.field("  Sandbox", &sandbox(&status.sandbox_missing));
    let witness = status.witness.map_or_else(|| "none yet".to_owned(), |row| format!("audit row {row}"));
    page.field("  Witness", &witness);
}

fn sandbox(missing: &[String]) -> String {
    if missing.is_empty() { "whole".to_owned() } else { format!("without {}", safe(&missing.join(", "))) }
}

fn signed_in(yes: bool) -> &'static str {
    if yes { "signed in" } else { "not signed in" }
}

fn ago(seconds: Option<u64>) -> String {
    seconds.map_or_else(|| "never".to_owned(), |seconds| format!("{} ago", span(seconds)))
}

/// Both for `--json`.
pub(crate) fn both_json(both: &Both) -> Value {
    let executor = both.executor.as_ref().map_or_else(|error| error.json(), |status| executor_json(status, &both.me));
    let assistant = both.assistant.as_ref().map_or_else(|error| error.json(), assistant_json);
    let wrong = wrong(both);
    json!({ "ok": wrong.is_empty(), "wrong": wrong, "executor": executor, "assistant": assistant })
}

fn executor_json(status: &ExecutorStatus, me: &str) -> Value {
    let witness = match status.witness {
        Witness::Newer => "newer",
        Witness::Unwitnessed => "unwitnessed",
        Witness::Agrees => "agrees",
        Witness::BadMac => "bad_mac",
    };
    let problem = |problem: &Problem| json!({ "code": problem.code.as_str(), "advice": problem.advice.en });
    json!({
        "build": status.hello.build,
        "wire": status.hello.wire,
        "uptime_seconds": status.uptime_seconds,
        "isolation": status.isolation.as_str(),
        "witness": witness,
        "slot": status.slot,
        "sign_in": status.sign_in,
        "fence": status.fence,
        "autonomy": status.autonomy,
        "dry_run": status.dry_run,
        "frozen": status.frozen,
        "paused_agents": status.paused_agents,
        "queue": {
            "pending": status.queue.pending,
            "pending_limit": status.queue.pending_limit,
            "hour": status.queue.hour,
            "hour_limit": status.queue.hour_limit,
        },
        "last_read_seconds": status.last_read_seconds,
        "page": status.page,
        "remote_desk": remote_desk(status, me),
        "sandbox_missing": status.sandbox_missing,
        "pruned": status.pruned.map(|(seconds, rows)| json!({ "seconds_ago": seconds, "rows": rows })),
        "audit_sequence": status.audit_sequence,
        "start": {
            "expired": status.start.expired,
            "unknown": status.start.unknown,
            "restored": status.start.restored,
            "backup": status.start.backup,
        },
        "problems": status.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn assistant_json(status: &AssistantStatus) -> Value {
    json!({
        "build": status.hello.build,
        "wire": status.hello.wire,
        "uptime_seconds": status.uptime_seconds,
        "model": status.model,
        "model_host": status.model_host,
        "sign_in": status.sign_in,
        "last_read_seconds": status.last_read_seconds,
        "executor_reached": status.executor_reached,
        "sandbox_missing": status.sandbox_missing,
        "witness": status.witness,
        "problems": status.problems,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assistant_status, executor_status};
    use control::status::StartReport;
    use protocol::refusal::RefusalCode;
    use protocol::shown::Worded;

    fn well() -> Both {
        Both { executor: Ok(executor_status()), assistant: Ok(assistant_status()), me: "ana".to_owned() }
    }

    #[test]
    fn all_well_says_so_and_shows_the_facts() {
        let text = both(&well(), 80);
        for words in ["users", "3 devices", "0 of at most 3", "http://127.0.0.1:8767", "Nothing is wrong."] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(both_json(&well())["ok"], true);
        assert_eq!(both_json(&well())["executor"]["witness"], "agrees");
    }

    #[test]
    fn a_remote_desk_is_told_its_line_and_old_rows_are_counted() {
        let mut status = executor_status();
        status.pruned = Some((7_260, 12));
        for page in ["http://127.0.0.1:41234/", "http://127.0.0.1:41234"] {
            status.page = Some(page.to_owned());
            let both_of = Both { executor: Ok(status.clone()), ..well() };
            let text = both(&both_of, 80);
            assert!(text.contains("ssh -L 41234:127.0.0.1:41234 ana@this-machine"), "{text}");
            assert!(text.contains("12 rows pruned 2 h 1 min ago"), "{text}");
            let value = both_json(&both_of);
            assert_eq!(value["executor"]["remote_desk"], "ssh -L 41234:127.0.0.1:41234 ana@this-machine");
            assert_eq!(value["executor"]["pruned"], json!({ "seconds_ago": 7_260, "rows": 12 }));
        }
        for odd in [None, Some("http://127.0.0.1:x/".to_owned()), Some("http://elsewhere:80/".to_owned())] {
            status.page = odd;
            assert_eq!(remote_desk(&status, "ana"), None);
        }
    }

    #[test]
    fn what_the_sandbox_lacks_is_shown_and_is_no_trouble_by_itself() {
        let whole = both(&well(), 80);
        assert_eq!(
            whole.lines().filter(|line| line.contains("Sandbox") && line.ends_with("whole")).count(),
            2,
            "{whole}"
        );
        let mut status = executor_status();
        status.sandbox_missing = vec!["landlock".to_owned(), "seccomp\u{1b}[2J".to_owned()];
        let both_of = Both { executor: Ok(status), ..well() };
        let text = both(&both_of, 80);
        assert!(text.contains("without landlock, seccomp") && !text.contains('\u{1b}'), "{text}");
        let value = both_json(&both_of);
        assert_eq!((&value["ok"], &value["executor"]["sandbox_missing"][0]), (&json!(true), &json!("landlock")));
    }

    #[test]
    fn each_thing_that_is_wrong_is_told() {
        let mut cases: Vec<(&str, Both)> = Vec::new();
        let mut executor_case = |words, change: fn(&mut ExecutorStatus)| {
            let mut status = executor_status();
            change(&mut status);
            cases.push((words, Both { executor: Ok(status), ..well() }));
        };
        executor_case("no_fence: set it", |status| {
            status.problems.push(Problem { code: RefusalCode::NoFence, advice: Worded::same("set it") });
        });
        executor_case("old database", |status| status.witness = Witness::Newer);
        executor_case("forged", |status| status.witness = Witness::BadMac);
        executor_case("no sign-in for writing", |status| status.sign_in = false);
        executor_case("page is down", |status| status.page = None);
        executor_case("1 started change(s)", |status| {
            status.start = StartReport { expired: 0, unknown: 1, restored: 0, backup: false };
        });
        executor_case("2 spent line(s)", |status| {
            status.start = StartReport { expired: 0, unknown: 0, restored: 2, backup: false };
        });
        let mut assistant_case = |words, change: fn(&mut AssistantStatus)| {
            let mut status = assistant_status();
            change(&mut status);
            cases.push((words, Both { assistant: Ok(status), ..well() }));
        };
        assistant_case("disk", |status| status.problems.push("disk\u{1b}[2J".to_owned()));
        assistant_case("no sign-in for reading", |status| status.sign_in = false);
        assistant_case("does not reach the executor", |status| status.executor_reached = false);
        for (words, case) in cases {
            assert_eq!(wrong(&case).len(), 1, "{words}");
            let text = both(&case, 100);
            assert!(text.contains(words) && !text.contains('\u{1b}'), "{words}: {text}");
            assert_eq!(both_json(&case)["ok"], false, "{words}");
        }
    }
}
