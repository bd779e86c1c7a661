//! `ask.sock`: a hello, then one request at a time. A right to ask is no right to approve, and an asker who hangs up takes
//! its turn with it.

use crate::desk::Desk;
use crate::login::Asker;
use crate::people::People;
use crate::propose::Draft;
use crate::seats::{NoSeat, Seat, Seats};
use crate::teller::Teller;
use crate::turn::Behalf;
use crate::watch::replay::Parts;
use crate::{doctor, front, reports, status, turn};
use host::link::{Link, LinkError, Receiver, Sender};
use host::socket::peer_uid;
use protocol::ask::{AskerSays, AssistantSays, MAX_QUESTION};
use protocol::hello::{Hello, Reply, Request};
use protocol::propose::Origin;
use protocol::refusal::{Refusal, RefusalCode};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};

const HELLO: Duration = Duration::from_secs(5);
/// Longest silence between two requests.
const IDLE: Duration = Duration::from_secs(600);
const SEND: Duration = Duration::from_secs(5);
/// A full house is said only if the asker takes it at once.
const BRIEF: Duration = Duration::from_millis(100);
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

type Hear = Receiver<Request<AskerSays>>;
type Say = Sender<Reply<AssistantSays>>;

/// What every connection needs.
struct House {
    desk: Arc<Desk>,
    people: People,
    seats: Seats,
}

/// Serves askers for ever.
pub(crate) async fn serve(listener: UnixListener, desk: Arc<Desk>) {
    // Those of whom it is not known yet whether they are people, each user with as many as a person has.
    let doors = Seats::new(&desk.clock);
    let (people, seats) = (People::new(&desk.clock), Seats::new(&desk.clock));
    let house = Arc::new(House { desk, people, seats });
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "an asker could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(uid) = peer_uid(&stream) else {
            tracing::warn!("an asker whose uid the system does not know was turned away");
            continue;
        };
        let door = match doors.take(uid, true) {
            Ok(door) => door,
            Err(why) => {
                turn_away(stream, uid, why).await;
                continue;
            }
        };
        let house = Arc::clone(&house);
        tokio::spawn(async move {
            if let Err(error) = house.receive(stream, uid, door).await {
                tracing::info!(uid, %error, "an asker's connection ended");
            }
        });
    }
}

impl House {
    // Who it is may be asked of a name service that hangs, so each connection waits for that by itself.
    async fn receive(&self, stream: UnixStream, uid: u32, door: Seat) -> Result<(), LinkError> {
        let seat = self.seats.take(uid, self.people.is_person(uid).await);
        drop(door);
        match seat {
            Ok(seat) => greet(stream, uid, (self, &seat)).await,
            Err(why) => {
                turn_away(stream, uid, why).await;
                Ok(())
            }
        }
    }
}

async fn turn_away(stream: UnixStream, uid: u32, why: NoSeat) {
    tracing::warn!(uid, %why, "an asker was turned away");
    let (_, mut say): (Hear, Say) = Link::new(stream).into_split();
    goodbye(&mut say, &why.to_string()).await;
}

// Being turned away is told by the closed connection as well.
async fn goodbye(say: &mut Say, why: &str) {
    let refusal = Refusal::new(RefusalCode::TooManyRequests, why);
    say.send(&Reply { id: 0, say: AssistantSays::Refused(refusal) }, BRIEF).await.ok();
}

async fn greet(stream: UnixStream, uid: u32, (house, seat): (&House, &Seat)) -> Result<(), LinkError> {
    let (mut hear, mut say): (Hear, Say) = Link::new(stream).into_split();
    let Some(first) = hear.recv(HELLO).await? else { return Ok(()) };
    let AskerSays::Hello(hello) = first.say else {
        let refusal = Refusal::new(RefusalCode::NotPermitted, "say hello first");
        return say.send(&Reply { id: first.id, say: AssistantSays::Refused(refusal) }, SEND).await;
    };
    say.send(&Reply { id: first.id, say: AssistantSays::Hello(Hello::ours()) }, SEND).await?;
    if !hello.speaks_ours() {
        return Ok(());
    }
    let (mut asker, mut parts) = (Asker::new(uid), Parts::default());
    let mut first = true;
    loop {
        seat.silent();
        let heard = tokio::select! {
            biased;
            () = seat.lost() => {
                goodbye(&mut say, "another user needed this seat after a minute without a request; connect again").await;
                return Ok(());
            }
            heard = hear.recv(IDLE) => heard?,
        };
        let Some(request) = heard else { return Ok(()) };
        seat.asked();
        asker.set_person(house.people.is_person(uid).await);
        // A hello alone is no asker: the watchdog says it every few seconds.
        if std::mem::take(&mut first) {
            tracing::info!(uid, "an asker connected");
        }
        let mut teller = Teller::new(&mut say, request.id);
        tokio::select! {
            answered = answer(&house.desk, (&mut asker, &mut parts), request.say, &mut teller) => answered?,
            // The answer's future is dropped here, and with it the turn.
            gone = hear.closed() => return gone,
        }
    }
}

async fn answer(
    desk: &Desk,
    (asker, parts): (&mut Asker, &mut Parts),
    said: AskerSays,
    teller: &mut Teller<'_>,
) -> Result<(), LinkError> {
    let label = front::label(asker.hears());
    match said {
        AskerSays::DeviceIds => told(teller, asker.device_ids(desk).await).await?,
        AskerSays::Login => told(teller, asker.begin(desk).await).await?,
        AskerSays::LoginCallback { address } => told(teller, asker.paste(&address)).await?,
        AskerSays::LoginWait => told(teller, asker.wait(desk).await).await?,
        AskerSays::Logout => told(teller, asker.end(desk).await).await?,
        AskerSays::Hello(_) => refuse(teller, RefusalCode::NotPermitted, "hello was said already").await?,
        AskerSays::Doctor { closed } => {
            teller.tell(AssistantSays::Doctor(Box::new(doctor::of(desk, &closed).await))).await?;
        }
        AskerSays::Status => teller.tell(AssistantSays::Status(Box::new(status::of(desk)))).await?,
        AskerSays::Capture => reports::capture(desk, teller).await?,
        AskerSays::Digest { language } => reports::digest(desk, language, teller).await?,
        AskerSays::History { days, language } => reports::history(desk, (days, language), teller).await?,
        AskerSays::Replay { language } => reports::replay(desk, std::mem::take(parts), language, teller).await?,
        AskerSays::ReplayPart { tool, bytes } => {
            if let Err(refusal) = parts.add(&desk.policy, &tool, &bytes) {
                teller.tell(AssistantSays::Refused(refusal)).await?;
            }
        }
        AskerSays::Ask { question } => match fitting(&question) {
            Ok(question) => turn::ask(desk, asker.hears(), question, teller).await?,
            Err((code, what)) => refuse(teller, code, what).await?,
        },
        // Not everybody who may ask is a person: what an agent's user sends stands under that user's own label.
        AskerSays::Propose { tool, arguments, reason } if !asker.is_person() => {
            front::draft(desk, &label, (tool, arguments, reason), teller).await?;
        }
        AskerSays::Propose { tool, arguments, reason } => {
            let draft = Draft { origin: Origin::Command, tool, arguments, reason };
            turn::command(desk, Behalf::Person(asker.hears().uid()), draft, teller).await?;
        }
        AskerSays::Draft { tool, arguments, reason } => {
            front::draft(desk, &label, (tool, arguments, reason), teller).await?;
        }
        AskerSays::Live => front::live(desk, &label, teller).await?,
        AskerSays::Offered => teller.tell(AssistantSays::Offered(front::offered(desk))).await?,
        AskerSays::Read { tool, arguments } => front::read(desk, &label, (&tool, &arguments), teller).await?,
        AskerSays::Standing { number } => front::standing(desk, &label, number, teller).await?,
    }
    teller.tell(AssistantSays::Done).await
}

async fn told(teller: &mut Teller<'_>, said: Result<AssistantSays, Refusal>) -> Result<(), LinkError> {
    teller.tell(said.unwrap_or_else(AssistantSays::Refused)).await
}

fn fitting(question: &str) -> Result<&str, (RefusalCode, &'static str)> {
    let question = question.trim();
    if question.is_empty() {
        return Err((RefusalCode::BadArguments, "the question is empty"));
    }
    if question.chars().count() > MAX_QUESTION {
        return Err((RefusalCode::TooLarge, "a question has at most 1,000 characters"));
    }
    if question.chars().any(is_no_text) {
        let what = "the question holds characters that move the cursor or turn the text around; type it without them";
        return Err((RefusalCode::BadArguments, what));
    }
    Ok(question)
}

/// Control characters and those that reorder what stands around them; line ends and tabs are text.
fn is_no_text(c: char) -> bool {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

async fn refuse(teller: &mut Teller<'_>, code: RefusalCode, what: &str) -> Result<(), LinkError> {
    teller.tell(AssistantSays::Refused(Refusal::new(code, what))).await
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
