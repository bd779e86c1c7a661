//! `login`, `logout`: shows where to sign in, carries what is pasted, and says how it ended. No token ever comes here: each
//! daemon keeps its own (issue line 3.1).

pub(crate) mod hosts;
mod talk;
#[cfg(test)]
mod tests;
mod voice;

use crate::client::{Asking, ClientError, Control};
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::render::pick;
use crate::session::Session;
use crate::standstill;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::failed_change;
use control::message::{ExecutorSays, OperatorSays};
use hosts::{Hosts, NotShown};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;
use protocol::signin::{LoginLink, SignedIn};
use std::pin::pin;
use std::time::Duration;
use talk::Talk;
use tokio::time::timeout;
use voice::Voice;

/// The command that shows what became of a sign-in whose answer was lost.
const LOOK: &str = "status";

/// Why it did not end in a sign-in.
#[derive(Debug)]
enum Stop {
    Client(ClientError),
    /// The person went away.
    Cancelled,
    /// The link may not be shown, in words.
    NotShown(NotShown, String),
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// `login` and `login --sandbox`.
pub(crate) async fn login(session: &Session, out: &mut Out, (sandbox, json): (bool, bool)) -> Exit {
    let mut voice = Voice { out, json, language: session.language, sandbox };
    let hosts = match Hosts::of(&session.login_hosts) {
        Ok(hosts) => hosts,
        Err(error) => {
            voice.refused("bad_setting", &error.to_string());
            return Exit::Usage;
        }
    };
    let terminal = Terminal::open().ok();
    if sandbox {
        login_sandbox(session, &mut voice, (&hosts, terminal)).await
    } else {
        login_normal(session, &mut voice, (&hosts, terminal)).await
    }
}

async fn login_normal(session: &Session, voice: &mut Voice<'_>, way: (&Hosts, Option<Terminal>)) -> Exit {
    let begun = async {
        let mut asking = Asking::open(&session.places).await?;
        let AssistantSays::LoginLink(link) = talk::assistant(&mut asking, AskerSays::Login).await? else {
            return Err(Asking::surprise());
        };
        Ok((Talk::Assistant(asking), link))
    };
    let done = followed(begun.await, voice, way).await;
    told(session, voice, done)
}

async fn login_sandbox(session: &Session, voice: &mut Voice<'_>, way: (&Hosts, Option<Terminal>)) -> Exit {
    let language = session.language;
    // Asked first: the new sign-in may end the normal one, and then nobody could tell its units.
    let known = units(session).await;
    match &known {
        Ok((_, None)) => {}
        Ok((_, Some(why))) => {
            let (en, es) = half_known(why);
            let words = pick(language, en, es);
            voice.warn(&format!("{words}: {}", crate::render::refusal(why, language)));
        }
        Err(error) => {
            let words = pick(
                language,
                "the normal sign-in's units are not known, so nothing can be compared",
                "no se conocen las unidades del inicio de sesión normal, así que no se puede comparar",
            );
            voice.warn(&format!("{words}: {error}"));
        }
    }
    let could = match &known {
        Ok((_, why)) => why.as_ref().is_none_or(|why| why.code == RefusalCode::TooLarge),
        Err(_) => false,
    };
    let pin = match standstill::pin("Your PIN, to sign in for writing: ", (&mut *voice.out, voice.json)).await {
        Ok(pin) => pin,
        Err(exit) => return exit,
    };
    let begun = async {
        let mut control = Control::open(&session.places).await?;
        let known = known.ok().map(|(ids, _)| ids);
        let ExecutorSays::LoginLink(link) = control.ask(OperatorSays::Login { known, pin }).await? else {
            return Err(Control::surprise());
        };
        Ok((Talk::Executor(control), link))
    };
    let done = followed(begun.await, voice, way).await;
    // Before the end is told, which is the last line. A link that was not shown ended nothing.
    let ended =
        could && !matches!(done, Err(Stop::NotShown(..) | Stop::Cancelled)) && ended_the_normal_one(session).await;
    if ended {
        voice.warn(ended_words(language));
    }
    let exit = told(session, voice, done);
    if ended && exit == Exit::Done { Exit::Wrong } else { exit }
}

/// Why not every unit of the normal sign-in is compared, in English and in Spanish.
fn half_known(why: &Refusal) -> (&'static str, &'static str) {
    if why.code == RefusalCode::TooLarge {
        return (
            "the normal sign-in reaches more units than can be compared, so only a part of them is",
            "el inicio de sesión normal llega a más unidades de las que se pueden comparar; se compara solo una parte",
        );
    }
    (
        "the normal sign-in's units can't be read now, so those that it listed before are compared",
        "ahora no se pueden leer las unidades del inicio de sesión normal; se comparan las que mostró antes",
    )
}

fn ended_words(language: Language) -> &'static str {
    pick(
        language,
        "this sign-in has ended the normal one, as signing in twice with one account does: use another account for one of the two, then run `fleetwatchctl login`",
        "este inicio de sesión ha terminado el normal, como ocurre al entrar dos veces con una cuenta: use otra cuenta para uno de los dos y ejecute `fleetwatchctl login`",
    )
}

/// The units of the normal sign-in, and why they are only those that it listed before, where they are.
async fn units(session: &Session) -> Result<(Vec<String>, Option<Refusal>), ClientError> {
    let mut asking = Asking::open(&session.places).await?;
    let AssistantSays::DeviceIds { ids, unread } = talk::assistant(&mut asking, AskerSays::DeviceIds).await? else {
        return Err(Asking::surprise());
    };
    Ok((ids, unread))
}

async fn ended_the_normal_one(session: &Session) -> bool {
    match units(session).await {
        Ok((_, Some(why))) | Err(ClientError::Refused(why)) => why.code == RefusalCode::SignInDead,
        Ok((_, None)) | Err(_) => false,
    }
}

/// Shows the link of what was begun, waits, and takes a pasted address when there is a terminal.
async fn followed(
    begun: Result<(Talk, LoginLink), ClientError>,
    voice: &mut Voice<'_>,
    (hosts, mut terminal): (&Hosts, Option<Terminal>),
) -> Result<SignedIn, Stop> {
    let (mut talk, link) = begun?;
    hosts.check(&link).map_err(|why| {
        let words = why.words(hosts, voice.language);
        Stop::NotShown(why, words)
    })?;
    voice.link(&link);
    loop {
        let Some(person) = &mut terminal else {
            // No terminal to paste into: the browser on this machine has to come back by itself.
            if let Some(done) = talk.wait().await? {
                return Ok(done);
            }
            continue;
        };
        match line_or_done(person, &mut talk, voice.language).await? {
            Ok(done) => {
                if !voice.json {
                    voice.out.line("");
                }
                return Ok(done);
            }
            Err(Ok(line)) if line.is_empty() => {}
            Err(Ok(line)) => match talk.paste(&line).await {
                Ok(()) => {}
                Err(ClientError::Refused(refusal)) => voice.not_taken(&refusal),
                Err(error) => return Err(error.into()),
            },
            Err(Err(TerminalError::Cancelled)) => return Err(Stop::Cancelled),
            Err(Err(error)) => {
                complain(&error.to_string());
                terminal = None;
            }
        }
    }
}

type Line = Result<zeroize::Zeroizing<String>, TerminalError>;

// Whichever comes first: the end, or a line. The terminal is as before afterwards.
async fn line_or_done(
    terminal: &mut Terminal,
    talk: &mut Talk,
    language: Language,
) -> Result<Result<SignedIn, Line>, ClientError> {
    let prompt = pick(
        language,
        "Waiting. Is the browser on another machine? Paste the address that it ends at: ",
        "Esperando. ¿El navegador está en otra máquina? Pegue la dirección en la que termina: ",
    );
    let mut typed = pin!(terminal.ask(prompt, Typing::Visible));
    loop {
        if let Ok(line) = timeout(Duration::from_millis(1), &mut typed).await {
            return Ok(Err(line));
        }
        if let Some(done) = talk.wait().await? {
            return Ok(Ok(done));
        }
    }
}

fn told(session: &Session, voice: &mut Voice<'_>, done: Result<SignedIn, Stop>) -> Exit {
    match done {
        Ok(done) => {
            voice.done(&done);
            Exit::Done
        }
        Err(Stop::Client(error)) => failed_change(&error, session, (&mut *voice.out, voice.json), LOOK),
        Err(Stop::Cancelled) => {
            let words = ("cancelled; nobody was signed in", "cancelado; no se inició ninguna sesión");
            voice.refused("cancelled", pick(session.language, words.0, words.1))
        }
        Err(Stop::NotShown(why, words)) => voice.refused(why.code(), &words),
    }
}

/// `logout` and `logout --sandbox`.
pub(crate) async fn logout(session: &Session, out: &mut Out, (sandbox, json): (bool, bool)) -> Exit {
    let mut voice = Voice { out, json, language: session.language, sandbox };
    let done = if sandbox {
        let pin = match standstill::pin("Your PIN, to sign out for writing: ", (&mut *voice.out, json)).await {
            Ok(pin) => pin,
            Err(exit) => return exit,
        };
        let said = async { Control::open(&session.places).await?.ask(OperatorSays::Logout { pin }).await };
        match said.await {
            Ok(ExecutorSays::SignedOut { revoked }) => Ok(revoked),
            Ok(_) => Err(Control::surprise_of_a_change()),
            Err(error) => Err(error),
        }
    } else {
        let said = async {
            let mut asking = Asking::open(&session.places).await?;
            talk::assistant(&mut asking, AskerSays::Logout).await
        };
        match said.await {
            Ok(AssistantSays::SignedOut { revoked }) => Ok(revoked),
            Ok(_) => Err(Asking::surprise().of_a_change()),
            Err(error) => Err(error),
        }
    };
    match done {
        Ok(revoked) => {
            voice.signed_out(revoked);
            Exit::Done
        }
        Err(error) => failed_change(&error, session, (&mut *voice.out, json), LOOK),
    }
}
