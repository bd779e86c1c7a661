//! `login`, `logout`: shows where to sign in, carries what is pasted, and says how it ended. No token ever comes here: each
//! daemon keeps its own (issue line 3.1).

use crate::client::{Asking, ClientError, Control};
use crate::exit::Exit;
use crate::out::{Out, complain};
use crate::render::{pick, safe};
use crate::session::Session;
use crate::standstill;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::failed;
use control::message::{ExecutorSays, OperatorSays};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::refusal::RefusalCode;
use protocol::shown::Language;
use protocol::signin::{LoginLink, Pasted, SignedIn};
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// The daemon that signs in.
#[derive(Debug)]
enum Talk {
    Assistant(Asking),
    Executor(Control),
}

/// Why it did not end in a sign-in.
#[derive(Debug)]
enum Stop {
    Client(ClientError),
    /// The person went away.
    Cancelled,
    /// The daemon gave a link that leads elsewhere than it says.
    OddLink,
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl Talk {
    /// One word, one answer.
    async fn assistant(asking: &mut Asking, say: AskerSays) -> Result<AssistantSays, ClientError> {
        asking.say(say).await?;
        let said = asking.hear().await?;
        let AssistantSays::Done = asking.hear().await? else { return Err(Asking::surprise()) };
        if let AssistantSays::Refused(refusal) = said { Err(ClientError::Refused(refusal)) } else { Ok(said) }
    }

    /// `None` while the person is not done.
    async fn wait(&mut self) -> Result<Option<SignedIn>, ClientError> {
        match self {
            Self::Assistant(asking) => {
                let said = Self::assistant(asking, AskerSays::LoginWait).await?;
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

    async fn paste(&mut self, line: &str) -> Result<(), ClientError> {
        let address = Pasted::new(line);
        match self {
            Self::Assistant(asking) => {
                Self::assistant(asking, AskerSays::LoginCallback { address }).await.map(|_waiting| ())
            }
            Self::Executor(control) => control.ask(OperatorSays::LoginCallback { address }).await.map(|_waiting| ()),
        }
    }
}

/// `login` and `login --sandbox`.
pub(crate) async fn login(session: &Session, out: &mut Out, sandbox: bool) -> Exit {
    let terminal = Terminal::open().ok();
    if sandbox { login_sandbox(session, out, terminal).await } else { login_normal(session, out, terminal).await }
}

async fn login_normal(session: &Session, out: &mut Out, terminal: Option<Terminal>) -> Exit {
    let begun = async {
        let mut asking = Asking::open(&session.places).await?;
        let AssistantSays::LoginLink(link) = Talk::assistant(&mut asking, AskerSays::Login).await? else {
            return Err(Asking::surprise());
        };
        Ok((Talk::Assistant(asking), link))
    };
    let (talk, link) = match begun.await {
        Ok(begun) => begun,
        Err(error) => return failed(&error, out, false),
    };
    let done = follow(session, out, talk, (&link, terminal)).await;
    told(session, out, done)
}

async fn login_sandbox(session: &Session, out: &mut Out, terminal: Option<Terminal>) -> Exit {
    // Asked first: the new sign-in may end the normal one, and then nobody could tell its units.
    let known = device_ids(session).await;
    if let Err(error) = &known {
        let words = pick(
            session.language,
            "the normal sign-in's units are not known, so nothing can be compared",
            "no se conocen las unidades del inicio de sesión normal, así que no se puede comparar",
        );
        complain(&format!("{words}: {error}"));
    }
    let could = known.is_ok();
    let Some(pin) = standstill::pin("Your PIN, to sign in for writing: ").await else { return Exit::Wrong };
    let begun = async {
        let mut control = Control::open(&session.places).await?;
        let ExecutorSays::LoginLink(link) = control.ask(OperatorSays::Login { known: known.ok(), pin }).await? else {
            return Err(Control::surprise());
        };
        Ok((Talk::Executor(control), link))
    };
    let (talk, link) = match begun.await {
        Ok(begun) => begun,
        Err(error) => return failed(&error, out, false),
    };
    let done = follow(session, out, talk, (&link, terminal)).await;
    let exit = told(session, out, done);
    if exit == Exit::Done && could && ended_the_normal_one(session).await {
        complain(ended_words(session.language));
        return Exit::Wrong;
    }
    exit
}

fn ended_words(language: Language) -> &'static str {
    pick(
        language,
        "this sign-in has ended the normal one, as signing in twice with one account does: use another account for one of the two, then run `fleetwatchctl login`",
        "este inicio de sesión ha terminado el normal, como ocurre al entrar dos veces con una cuenta: use otra cuenta para uno de los dos y ejecute `fleetwatchctl login`",
    )
}

async fn device_ids(session: &Session) -> Result<Vec<String>, ClientError> {
    let mut asking = Asking::open(&session.places).await?;
    let AssistantSays::DeviceIds { ids } = Talk::assistant(&mut asking, AskerSays::DeviceIds).await? else {
        return Err(Asking::surprise());
    };
    Ok(ids)
}

async fn ended_the_normal_one(session: &Session) -> bool {
    match device_ids(session).await {
        Err(ClientError::Refused(refusal)) => refusal.code == RefusalCode::SignInDead,
        Ok(_) | Err(_) => false,
    }
}

/// Shows the link, waits, and takes a pasted address when there is a terminal.
async fn follow(
    session: &Session,
    out: &mut Out,
    mut talk: Talk,
    (link, mut terminal): (&LoginLink, Option<Terminal>),
) -> Result<SignedIn, Stop> {
    let language = session.language;
    if !leads_to(&link.url, &link.host) {
        return Err(Stop::OddLink);
    }
    let minutes = link.seconds / 60;
    out.text(&match language {
        Language::English => {
            format!("Open this link in a browser and sign in within {minutes} minutes:\n\n  {}\n\n", safe(&link.url))
        }
        Language::Spanish => {
            format!(
                "Abra este enlace en un navegador e inicie sesión en {minutes} minutos:\n\n  {}\n\n",
                safe(&link.url)
            )
        }
    });
    loop {
        let Some(person) = &mut terminal else {
            // No terminal to paste into: the browser on this machine has to come back by itself.
            if let Some(done) = talk.wait().await? {
                return Ok(done);
            }
            continue;
        };
        match line_or_done(person, &mut talk, language).await? {
            Ok(done) => {
                out.line("");
                return Ok(done);
            }
            Err(Ok(line)) if line.is_empty() => {}
            Err(Ok(line)) => match talk.paste(&line).await {
                Ok(()) => {}
                Err(ClientError::Refused(refusal)) => out.line(&crate::render::refusal(&refusal, language)),
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

/// Whether the link is one of https, or of http on this machine, and leads to that host and no other.
fn leads_to(url: &str, host: &str) -> bool {
    if !url.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
        return false;
    }
    let (rest, local) = match (url.strip_prefix("https://"), url.strip_prefix("http://127.0.0.1:")) {
        (Some(rest), _) => (rest, false),
        (None, Some(_)) => (url.trim_start_matches("http://"), true),
        (None, None) => return false,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    !authority.contains('@') && name == host && port.bytes().all(|b| b.is_ascii_digit()) && (!local || !port.is_empty())
}

fn told(session: &Session, out: &mut Out, done: Result<SignedIn, Stop>) -> Exit {
    let language = session.language;
    match done {
        Ok(done) => {
            out.text(&words(&done, language));
            Exit::Done
        }
        Err(Stop::Client(error)) => failed(&error, out, false),
        Err(Stop::Cancelled) => {
            complain(pick(language, "cancelled; nobody was signed in", "cancelado; no se inició ninguna sesión"));
            Exit::Wrong
        }
        Err(Stop::OddLink) => {
            complain(pick(
                language,
                "the daemon's link does not lead to the server that it names; it is not shown",
                "el enlace del servicio no lleva al servidor que nombra; no se muestra",
            ));
            Exit::Wrong
        }
    }
}

fn words(done: &SignedIn, language: Language) -> String {
    let mut text = pick(language, "Signed in.", "Sesión iniciada.").to_owned();
    if let Some(devices) = done.devices {
        let reaches = pick(language, "Units reached", "Unidades a las que llega");
        text.push_str(&format!(" {reaches}: {devices}."));
    }
    if let Some(scope) = &done.scope {
        let granted = pick(language, "Granted", "Concedido");
        text.push_str(&format!(" {granted}: {}.", safe(scope)));
    }
    if !done.renewed {
        text.push_str(pick(
            language,
            " The server gave nothing to renew it with: sign in again when it runs out.",
            " El servidor no dio nada para renovarla: inicie sesión de nuevo cuando caduque.",
        ));
    }
    text.push('\n');
    for note in &done.notes {
        text.push_str(&safe(note.get(language)));
        text.push('\n');
    }
    text
}

/// `logout` and `logout --sandbox`.
pub(crate) async fn logout(session: &Session, out: &mut Out, sandbox: bool) -> Exit {
    let done = if sandbox {
        let Some(pin) = standstill::pin("Your PIN, to sign out for writing: ").await else { return Exit::Wrong };
        let said = async { Control::open(&session.places).await?.ask(OperatorSays::Logout { pin }).await };
        match said.await {
            Ok(ExecutorSays::SignedOut { revoked }) => Ok(revoked),
            Ok(_) => Err(Control::surprise()),
            Err(error) => Err(error),
        }
    } else {
        let said = async {
            let mut asking = Asking::open(&session.places).await?;
            Talk::assistant(&mut asking, AskerSays::Logout).await
        };
        match said.await {
            Ok(AssistantSays::SignedOut { revoked }) => Ok(revoked),
            Ok(_) => Err(Asking::surprise()),
            Err(error) => Err(error),
        }
    };
    match done {
        Ok(true) => out.line(pick(
            session.language,
            "Signed out, here and at the server.",
            "Sesión cerrada, aquí y en el servidor.",
        )),
        Ok(false) => out.line(pick(
            session.language,
            "Signed out here. The server did not confirm it: end that session there too.",
            "Sesión cerrada aquí. El servidor no lo confirmó: termine esa sesión también allí.",
        )),
        Err(error) => return failed(&error, out, false),
    }
    Exit::Done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Paper, Screen};
    use host::link::Link;
    use protocol::hello::{Hello, Reply, Request};
    use protocol::refusal::Refusal;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    const WAIT: Duration = Duration::from_secs(10);

    #[test]
    fn only_a_link_to_the_named_host_is_shown() {
        for (url, host) in [
            ("https://login.example/authorize?a=b", "login.example"),
            ("https://login.example:8443/authorize", "login.example"),
            ("https://login.example?x", "login.example"),
            ("http://127.0.0.1:4711/authorize", "127.0.0.1"),
        ] {
            assert!(leads_to(url, host), "{url}");
        }
        for (url, host) in [
            ("http://login.example/authorize", "login.example"),
            ("https://login.example@evil.example/", "login.example"),
            ("https://evil.example/login.example", "login.example"),
            ("https://login.example.evil.example/", "login.example"),
            ("https://login.example\\@evil.example/", "login.example"),
            ("https://login.example:x@evil.example/", "login.example"),
            ("javascript:alert(1)", "login.example"),
            ("http://127.0.0.1:@evil.example/", "127.0.0.1"),
            ("http://127.0.0.1:/authorize", "127.0.0.1"),
            ("https://login.example/\u{1b}[2J", "login.example"),
            ("file:///etc/passwd", ""),
        ] {
            assert!(!leads_to(url, host), "{url}");
        }
    }

    type Heard = Arc<Mutex<Vec<AskerSays>>>;

    // Waits until something was pasted, then has a sign-in.
    fn assistant(run: &Path, url: &'static str) -> Heard {
        host::files::ensure_private_dir(&run.join("ask")).unwrap();
        let listener = host::socket::bind(&run.join("ask/ask.sock"), 0o660, None).unwrap();
        let heard = Heard::default();
        let kept = Arc::clone(&heard);
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
            let mut pasted = false;
            while let Ok(Some(request)) = link.recv(WAIT).await {
                kept.lock().unwrap().push(request.say.clone());
                let say = match request.say {
                    AskerSays::Login => AssistantSays::LoginLink(LoginLink {
                        url: url.to_owned(),
                        host: "login.example".to_owned(),
                        seconds: 300,
                    }),
                    AskerSays::LoginCallback { address } if address.expose() == "right" => {
                        pasted = true;
                        AssistantSays::LoginWaiting
                    }
                    AskerSays::LoginCallback { .. } => {
                        AssistantSays::Refused(Refusal::new(RefusalCode::SignInFailed, "not this one"))
                    }
                    AskerSays::LoginWait if pasted => AssistantSays::SignedIn(SignedIn {
                        scope: Some("devices".to_owned()),
                        expires_in: Some(60),
                        renewed: false,
                        devices: None,
                        notes: Vec::new(),
                    }),
                    AskerSays::LoginWait => AssistantSays::LoginWaiting,
                    AskerSays::Ask { .. }
                    | AskerSays::Capture
                    | AskerSays::DeviceIds
                    | AskerSays::Digest { .. }
                    | AskerSays::Doctor { .. }
                    | AskerSays::Draft { .. }
                    | AskerSays::Hello(_)
                    | AskerSays::History { .. }
                    | AskerSays::Live
                    | AskerSays::Logout
                    | AskerSays::Offered
                    | AskerSays::Propose { .. }
                    | AskerSays::Read { .. }
                    | AskerSays::Replay { .. }
                    | AskerSays::ReplayPart { .. }
                    | AskerSays::Standing { .. }
                    | AskerSays::Status => AssistantSays::Hello(Hello::ours()),
                };
                let hello = matches!(say, AssistantSays::Hello(_));
                link.send(&Reply { id: request.id, say }, WAIT).await.unwrap();
                if !hello {
                    link.send(&Reply { id: request.id, say: AssistantSays::Done }, WAIT).await.unwrap();
                }
            }
        });
        heard
    }

    #[tokio::test]
    async fn a_pasted_address_goes_to_the_daemon_and_a_wrong_one_is_asked_for_again() {
        let run = tempfile::tempdir().unwrap();
        let heard = assistant(run.path(), "https://login.example/authorize?state=s");
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answers(&[("ends at: ", "wrong\r"), ("ends at: ", "right\r")]);
        let session = testing::session(run.path());
        let exit = login_normal(&session, &mut paper.out(), Some(screen.terminal())).await;
        let text = paper.text();
        assert_eq!(exit, Exit::Done, "{text}");
        assert!(text.contains("https://login.example/authorize?state=s") && text.contains("not this one"), "{text}");
        assert!(text.contains("Signed in. Granted: devices. The server gave nothing to renew it with"), "{text}");
        let pasted = heard.lock().unwrap().iter().filter(|say| matches!(say, AskerSays::LoginCallback { .. })).count();
        assert_eq!(pasted, 2);
    }

    #[tokio::test]
    async fn ctrl_c_ends_the_wait_and_an_odd_link_is_not_shown() {
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), "https://login.example/authorize");
        let (screen, paper) = (Screen::new(), Paper::default());
        screen.answer("ends at: ", "\u{3}");
        let session = testing::session(run.path());
        assert_eq!(login_normal(&session, &mut paper.out(), Some(screen.terminal())).await, Exit::Wrong);
        let run = tempfile::tempdir().unwrap();
        assistant(run.path(), "https://evil.example/authorize");
        let paper = Paper::default();
        assert_eq!(login_normal(&testing::session(run.path()), &mut paper.out(), None).await, Exit::Wrong);
        assert!(!paper.text().contains("evil"), "{}", paper.text());
    }

    #[tokio::test]
    async fn a_normal_sign_in_that_the_other_one_has_ended_is_noticed_behind_it() {
        let dead = Refusal::new(RefusalCode::SignInDead, "get_devices_in_my_team");
        for (say, ended) in [
            (AssistantSays::Refused(dead), true),
            (AssistantSays::Refused(Refusal::bare(RefusalCode::ReadFailed)), false),
            (AssistantSays::DeviceIds { ids: Vec::new() }, false),
        ] {
            let run = tempfile::tempdir().unwrap();
            host::files::ensure_private_dir(&run.path().join("ask")).unwrap();
            let listener = host::socket::bind(&run.path().join("ask/ask.sock"), 0o660, None).unwrap();
            tokio::spawn(async move {
                let (stream, _) = listener.accept().await.unwrap();
                let mut link: Link<Reply<AssistantSays>, Request<AskerSays>> = Link::new(stream);
                for said in [vec![AssistantSays::Hello(Hello::ours())], vec![say, AssistantSays::Done]] {
                    let id = link.recv(WAIT).await.unwrap().unwrap().id;
                    for say in said {
                        link.send(&Reply { id, say }, WAIT).await.unwrap();
                    }
                }
            });
            assert_eq!(ended_the_normal_one(&testing::session(run.path())).await, ended);
        }
        for (language, words) in
            [(Language::English, "has ended the normal one"), (Language::Spanish, "ha terminado el normal")]
        {
            let said = ended_words(language);
            assert!(said.contains(words) && said.contains("fleetwatchctl login"), "{said}");
        }
    }
}
