//! From the command line to the one function that does it.

use crate::cli::{ApprovalsVerb, AuditVerb, Cli, PinVerb, Verb};
use crate::client::ClientError;
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::session::Session;
use crate::{approvals, ask, audit, demo, pin, standstill, status};

/// Runs one command.
pub(crate) async fn run(cli: Cli, out: &mut Out) -> Exit {
    let session = match Session::new(&cli) {
        Ok(session) => session,
        Err(error) => {
            complain(&error.to_string());
            return Exit::Usage;
        }
    };
    match cli.verb {
        Verb::Status { json } => status::show(&session, out, json).await,
        Verb::Ask { question, json } => ask::ask(&session, out, &question.join(" "), json).await,
        Verb::Propose(args) => ask::propose(&session, out, args).await,
        Verb::Freeze { json } => standstill::freeze(&session, out, json).await,
        Verb::Thaw => standstill::thaw(&session, out).await,
        Verb::Approvals { verb } => decide(verb, &session, out).await,
        Verb::Audit { verb: AuditVerb::Verify { json } } => audit::verify(&session, out, json).await,
        Verb::Pin { verb: PinVerb::Set } => pin::set(&session, out).await,
        Verb::Demo(args) => demo::run(&args, session.language, out).await,
        Verb::SweepDemo { folder } => demo::sweep(&folder),
    }
}

async fn decide(verb: ApprovalsVerb, session: &Session, out: &mut Out) -> Exit {
    match verb {
        ApprovalsVerb::List { json } => approvals::list(session, out, json).await,
        ApprovalsVerb::Show { number, json } => approvals::show(session, out, number, json).await,
        ApprovalsVerb::Approve { number, json } => approvals::approve(session, out, number, json).await,
        ApprovalsVerb::Deny { number, json } => approvals::deny(session, out, number, json).await,
        ApprovalsVerb::ResumeAgent { agent } => standstill::resume_agent(session, out, agent).await,
        ApprovalsVerb::DenyAll { json } => approvals::deny_all(session, out, json).await,
        ApprovalsVerb::History { most, json } => approvals::history(session, out, most, json).await,
    }
}

/// Says why a daemon did not do what was asked.
pub(crate) fn failed(error: &ClientError, out: &mut Out, json: bool) -> Exit {
    if json {
        out.json(&error.json());
    } else {
        complain(&error.to_string());
    }
    Exit::Wrong
}
