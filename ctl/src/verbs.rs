//! From the command line to the one function that does it.

use crate::audit::export::Export;
use crate::cli::{AgentsVerb, ApprovalsVerb, AuditVerb, Cli, PinVerb, PolicyVerb, Verb};
use crate::client::ClientError;
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::render::pick;
use crate::session::{Session, width};
use crate::{
    approvals, ask, audit, chat, demo, digest, doctor, keep, login, manual, mcp, page_code, pin, policy_check,
    standstill, status, up,
};
use serde_json::json;

/// Runs one command.
pub(crate) async fn run(cli: Cli, out: &mut Out) -> Exit {
    let mut session = match Session::new(&cli) {
        Ok(session) => session,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    match cli.verb {
        Verb::Status { json } => status::show(&session, out, json).await,
        Verb::Doctor { json } => doctor::doctor(&session, out, json).await,
        Verb::Ask { question, json } => ask::ask(&session, out, &question.join(" "), json).await,
        Verb::Chat => {
            session.columns = width();
            chat::run(&session, out).await
        }
        Verb::Digest(args) => digest::digest(&session, out, &args).await,
        Verb::History { days, json } => digest::history(&session, out, days, json).await,
        Verb::Propose(args) => ask::propose(&session, out, args).await,
        Verb::Freeze { json } => standstill::freeze(&session, out, json).await,
        Verb::Thaw { json } => standstill::thaw(&session, out, json).await,
        Verb::Approvals { verb } => decide(verb, &session, out).await,
        Verb::Audit { verb } => audited(verb, &session, out).await,
        Verb::Pin { verb: PinVerb::Set { json } } => pin::set(&session, out, json).await,
        Verb::PageCode { json } => page_code::page_code(&session, out, json).await,
        Verb::Backup { file, json } => keep::backup(&session, out, &file, json).await,
        Verb::Restore { file, json } => keep::restore(&session, out, &file, json).await,
        Verb::Login { sandbox, json } => login::login(&session, out, (sandbox, json)).await,
        Verb::Logout { sandbox, json } => login::logout(&session, out, (sandbox, json)).await,
        Verb::Mcp => mcp::serve(&session).await,
        Verb::Demo(args) => demo::run(&args, session.language, out).await,
        Verb::Completions { shell } => manual::completions(shell, out),
        Verb::Man { folder, json } => manual::man(&folder, out, json),
        Verb::Policy { verb: PolicyVerb::Check { files, kind, json } } => {
            policy_check::check(&session, out, (&files, kind), json)
        }
        Verb::Up(args) => up::up(&session, out, &args).await,
        Verb::Down { json } => up::down(&session, out, json).await,
        Verb::KeepLog { log } => up::keep_log(&log),
        Verb::StartDetached { daemon, state } => up::start_detached(daemon, state),
        Verb::SweepDemo { folder } => demo::sweep(&folder),
    }
}

async fn audited(verb: AuditVerb, session: &Session, out: &mut Out) -> Exit {
    match verb {
        AuditVerb::Export { format, after, output } => {
            audit::export::export(session, out, &Export { format, after, output: output.as_deref() }).await
        }
        AuditVerb::Tail { follow, most, json } => audit::tail(session, out, most, (follow, json)).await,
        AuditVerb::Verify { file: Some(file), json } => audit::verify_file(&file, out, json),
        AuditVerb::Verify { file: None, json } => audit::verify(session, out, json).await,
    }
}

async fn decide(verb: ApprovalsVerb, session: &Session, out: &mut Out) -> Exit {
    match verb {
        ApprovalsVerb::List { json } => approvals::list(session, out, json).await,
        ApprovalsVerb::Show { number, why, json } => approvals::show(session, out, number, (why, json)).await,
        ApprovalsVerb::Approve { number, json } => approvals::approve(session, out, number, json).await,
        ApprovalsVerb::Deny { number, json } => approvals::deny(session, out, number, json).await,
        ApprovalsVerb::Agents { verb: AgentsVerb::Resume { agent, json } } => {
            standstill::resume_agent(session, out, agent, json).await
        }
        ApprovalsVerb::DenyAll { json } => approvals::deny_all(session, out, json).await,
        ApprovalsVerb::History { most, search, json } => {
            approvals::history(session, out, (most, search.as_deref()), json).await
        }
        ApprovalsVerb::Undo { number, json } => approvals::undo(session, out, number, json).await,
    }
}

/// The same after a change: without an answer it may have been done, and `look` is the command that shows it.
pub(crate) fn failed_change(error: &ClientError, session: &Session, (out, json): (&mut Out, bool), look: &str) -> Exit {
    if !matches!(error, ClientError::Unanswered(_)) {
        return failed(error, out, json);
    }
    let words = pick(
        session.language,
        "It was sent and may have been done. Look first",
        "Se envió y puede haberse hecho. Compruébelo antes",
    );
    not_known(("lost", &format!("{error}. {words}: {}", session.say(look))), (out, json))
}

/// Says that something was sent of which nobody knows what became.
pub(crate) fn not_known((code, words): (&str, &str), (out, json): (&mut Out, bool)) -> Exit {
    if json {
        out.json(&json!({ "refused": code, "detail": words }));
    } else {
        complain(words);
    }
    Exit::Unknown
}

/// Says why a daemon did not do what was asked.
pub(crate) fn failed(error: &ClientError, out: &mut Out, json: bool) -> Exit {
    if json {
        out.json(&error.json());
    } else {
        complain(&error.to_string());
    }
    error.exit()
}

/// Says why nothing was done that needed a person or a file here.
pub(crate) fn not_done((code, words): (&str, &str), (out, json): (&mut Out, bool)) -> Exit {
    if json {
        out.json(&json!({ "refused": code, "detail": words }));
    } else {
        complain(words);
    }
    Exit::Wrong
}
