//! The front door of the page: a bounded TCP listener that reads each request whole, understands it strictly, and only
//! then hands a rewritten one to the page's server on a private socket (`architecture.md, Two packages of the plan that
//! need a guard`). The server behind it aborts, freezes or lets itself be fooled by what is stopped here.

mod head;
mod peer;
mod relay;
mod seats;

#[cfg(test)]
mod tests;

pub(super) use head::PEER_HEADER;

use super::door::Door;
use head::{
    BAD, BODY_MOST, BUSY, FOREIGN, HEAD_MOST, Head, LATE, LONG_HEAD, NOBODY, Refused, check_bytes, end_of_head,
};
use peer::Peer;
use seats::{Seat, Seats, UNTOLD};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use zeroize::Zeroizing;

/// One request, from accept to its last byte.
const REQUEST_WAIT: Duration = Duration::from_secs(3);
/// Writing the answer.
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// Reading what a refused peer still sends, so that it sees the answer and not a reset.
const DRAIN_WAIT: Duration = Duration::from_millis(500);
const DRAIN_MOST: usize = 256 * 1024;
/// Most look-ups of a peer at a time.
const LOOKUPS: usize = 4;
/// Waits after a failed accept.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a stop waits for answers that are under way.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// The running gate. Dropping it closes the port and every connection.
#[derive(Debug)]
pub(super) struct Gate {
    accepting: JoinHandle<()>,
    seats: Arc<Seats>,
}

// What every connection needs to know.
#[derive(Debug)]
struct Ways {
    backend: PathBuf,
    port: u16,
    door: Door,
    // A flood of connections must not turn into a flood of threads that read the kernel's table.
    lookups: Arc<Semaphore>,
}

impl Gate {
    /// Serves `listener`, which is bound to 127.0.0.1 at `port`, from the server on the Unix socket `backend`. `door` says
    /// who may see the page.
    pub(super) fn start(listener: TcpListener, port: u16, backend: PathBuf, door: Door) -> Self {
        let seats = Arc::new(Seats::default());
        let ways = Arc::new(Ways { backend, port, door, lookups: Arc::new(Semaphore::new(LOOKUPS)) });
        let accepting = tokio::spawn(accept(listener, ways, Arc::clone(&seats)));
        Self { accepting, seats }
    }

    /// Closes the port, waits a little for answers that are under way, then ends every connection.
    pub(super) async fn stop(self) {
        self.accepting.abort();
        self.seats.end_reading();
        let quiet = async {
            while self.seats.taken() > 0 {
                sleep(FIRST_PAUSE).await;
            }
        };
        let _late = timeout(STOP_WAIT, quiet).await;
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
        self.seats.end_all();
    }
}

// Never ends by itself: a port that closes for good while the process lives helps nobody.
async fn accept(listener: TcpListener, ways: Arc<Ways>, seats: Arc<Seats>) {
    let mut pause = FIRST_PAUSE;
    // Nobody is taken in whose user is not looked up soon: the others wait in the system's own queue.
    let untold = Arc::new(Semaphore::new(UNTOLD));
    loop {
        let Ok(turn) = Arc::clone(&untold).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, theirs)) => {
                pause = FIRST_PAUSE;
                let Some(seat) = seats.take() else {
                    turn_away(stream);
                    continue;
                };
                let id = seat.id();
                let served = tokio::spawn(serve((stream, theirs), Arc::clone(&ways), seat, turn));
                seats.attach(id, served.abort_handle());
                // Whoever had to give way gives its descriptor back before the next one is taken.
                tokio::task::yield_now().await;
            }
            Err(error) => {
                tracing::warn!(%error, "the approval page cannot accept a connection; trying again");
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

// Says so without waiting, or not at all.
fn turn_away(stream: TcpStream) {
    if let Ok(mut stream) = stream.into_std() {
        let _unheard = stream.write(&relay::own_answer(BUSY));
    }
}

// A request as it goes to the server behind.
struct Understood {
    bytes: Zeroizing<Vec<u8>>,
    is_head: bool,
}

// Why there is no request.
enum Trouble {
    Gone,
    Refused(Refused),
}

impl From<Refused> for Trouble {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

async fn serve((mut stream, theirs): (TcpStream, SocketAddr), ways: Arc<Ways>, seat: Seat, turn: OwnedSemaphorePermit) {
    // Without it each answer waits for the peer's delayed acknowledgement.
    let _slower = stream.set_nodelay(true);
    let whose = uid_of(&stream, theirs, &ways).await;
    // Whoever is nobody is a stranger too. The executor's own sign of life has a person's seat, so that no crowd of strangers
    // makes it look dead; it sees no page for that.
    let own = Some(host::socket::my_uid());
    if !seat.belongs(whose.as_ref().is_ok_and(|uid| *uid == own || ways.door.may_visit(*uid))) {
        return turn_away(stream);
    }
    drop(turn);
    let request = async { understand(&mut stream, whose?, ways.port).await };
    let understood = match timeout(REQUEST_WAIT, request).await {
        Ok(Ok(understood)) => Ok(understood),
        Ok(Err(Trouble::Gone)) => return,
        Ok(Err(Trouble::Refused(refused))) => Err(refused),
        Err(_late) => Err(LATE),
    };
    let answer = match understood {
        // The whole request is here: from now on this connection does not give way to another.
        Ok(request) if seat.keep() => relay::relay(&ways.backend, &request.bytes, request.is_head).await,
        Ok(_) => return,
        Err(refused) => Err(refused),
    };
    let answer = answer.unwrap_or_else(relay::own_answer);
    let _unread = timeout(WRITE_WAIT, stream.write_all(&answer)).await;
    seat.give_way();
    let _closed = timeout(DRAIN_WAIT, drain(&mut stream)).await;
}

async fn understand(stream: &mut TcpStream, uid: Option<u32>, port: u16) -> Result<Understood, Trouble> {
    // Large enough for all that is ever read, so that it never moves and no copy of a PIN stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(HEAD_MOST + BODY_MOST + 1));
    let end = loop {
        let end = end_of_head(&bytes);
        check_bytes(&bytes[..end.unwrap_or(bytes.len())])?;
        match end {
            Some(end) if end <= HEAD_MOST => break end,
            None if bytes.len() <= HEAD_MOST => read_more(stream, &mut bytes).await?,
            Some(_) | None => return Err(LONG_HEAD.into()),
        }
    };
    let head = Head::read(&bytes[..end], port)?;
    let whole = end + head.body;
    while bytes.len() < whole {
        read_more(stream, &mut bytes).await?;
    }
    // A second request behind the first.
    if bytes.len() > whole {
        return Err(BAD.into());
    }
    let rewritten = head.rewritten(uid);
    let mut request = Zeroizing::new(Vec::with_capacity(rewritten.len() + head.body));
    request.extend_from_slice(rewritten.as_bytes());
    request.extend_from_slice(&bytes[end..whole]);
    Ok(Understood { bytes: request, is_head: head.is_head() })
}

async fn uid_of(stream: &TcpStream, theirs: SocketAddr, ways: &Ways) -> Result<Option<u32>, Trouble> {
    let ours = stream.local_addr().map_err(|_| Trouble::Gone)?;
    if !theirs.ip().is_loopback() || !ours.ip().is_loopback() {
        return Err(FOREIGN.into());
    }
    let turn = Arc::clone(&ways.lookups).acquire_owned().await.map_err(|_| Trouble::Gone)?;
    let looked = tokio::task::spawn_blocking(move || {
        let peer = peer::look_up(theirs, ours);
        drop(turn);
        peer
    });
    match looked.await {
        Ok(Peer::Uid(uid)) => Ok(Some(uid)),
        Ok(Peer::Nobody) | Err(_) => Err(NOBODY.into()),
        #[cfg(not(target_os = "linux"))]
        Ok(Peer::Untold) => Ok(None),
    }
}

async fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<(), Trouble> {
    let have = bytes.len();
    bytes.resize(bytes.capacity(), 0);
    let read = stream.read(&mut bytes[have..]).await.unwrap_or(0);
    bytes.truncate(have + read);
    if read == 0 { Err(Trouble::Gone) } else { Ok(()) }
}

async fn drain(stream: &mut TcpStream) {
    let _ended = stream.shutdown().await;
    let mut scrap = Zeroizing::new([0; 4096]);
    let mut seen = 0;
    while seen < DRAIN_MOST {
        match stream.read(scrap.as_mut_slice()).await {
            Ok(0) | Err(_) => return,
            Ok(read) => seen += read,
        }
    }
}
