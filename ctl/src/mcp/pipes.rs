//! Standard input and output as the server sees them: bounded in both directions. The blocking ends live in threads of
//! their own, so that neither a silent client nor one that takes no answers keeps this command from ending.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// One read, and room between this command and its threads: so many reads.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 8;
const ROOM: usize = 64 * 1024;
/// What a client may say: many times what an agent says.
const PACE: Pace = Pace { burst: 512 * 1024, more: 64 * 1024, every: Duration::from_secs(1) };
/// A client that takes none of its answers for so long is gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// For the last answers to leave.
const LAST: Duration = Duration::from_secs(2);

/// How many bytes may come at once, and how many more after each while.
#[derive(Debug, Clone, Copy)]
struct Pace {
    burst: usize,
    more: usize,
    every: Duration,
}

/// Both directions and the watch over them.
#[derive(Debug)]
pub(super) struct Pipes {
    /// What the client says.
    pub(super) reader: DuplexStream,
    /// What is answered.
    pub(super) writer: DuplexStream,
    /// Whether the client still takes it.
    pub(super) watch: Watch,
}

/// Knows when answers can't be handed over any more.
#[derive(Debug)]
pub(super) struct Watch {
    pump: JoinHandle<bool>,
    gone: Arc<Notify>,
    written: oneshot::Receiver<()>,
}

impl Pipes {
    /// Takes over standard input and output.
    ///
    /// # Errors
    /// One of them is closed, or a thread cannot be made.
    pub(super) fn open() -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        // Not through `stdout()`: its lock is held elsewhere, and its line buffer knows nothing of time.
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Self::over(input, output, PATIENCE)
    }

    fn over(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        patience: Duration,
    ) -> io::Result<Self> {
        let (heard, hears) = mpsc::channel(PIECES);
        let (says, said) = mpsc::channel(PIECES);
        let (finished, written) = oneshot::channel();
        thread::Builder::new().name("input".to_owned()).spawn(move || listen(input, &heard))?;
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            speak(output, said);
            // Nobody waits any more when this fails.
            let _told = finished.send(());
        })?;
        let (reader, into_reader) = tokio::io::duplex(ROOM);
        let (writer, from_writer) = tokio::io::duplex(ROOM);
        tokio::spawn(bring(hears, into_reader, PACE));
        let gone = Arc::new(Notify::new());
        let tell = Arc::clone(&gone);
        let pump = tokio::spawn(async move {
            let taken = carry(from_writer, says, patience).await;
            if !taken {
                tell.notify_one();
            }
            taken
        });
        Ok(Self { reader, writer, watch: Watch { pump, gone, written } })
    }
}

impl Watch {
    /// Waits until answers can't be handed over.
    pub(super) async fn broken(&self) {
        self.gone.notified().await;
    }

    /// Lets the last answers leave; tells whether they were taken, as far as that is known in time.
    pub(super) async fn finish(self) -> bool {
        let Self { pump, written, .. } = self;
        let Ok(taken) = tokio::time::timeout(LAST, pump).await else { return true };
        // An error means that the thread is gone, which is as good.
        let _ended = tokio::time::timeout(LAST, written).await;
        taken.unwrap_or(false)
    }
}

// The thread that reads. It ends with the input, or once nobody listens.
fn listen(mut input: impl Read, heard: &mpsc::Sender<Vec<u8>>) {
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(count) => {
                let piece = piece.get(..count).unwrap_or_default().to_vec();
                if heard.blocking_send(piece).is_err() {
                    return;
                }
            }
        }
    }
}

// The thread that writes. A write that fails ends it, which the carrier sees.
fn speak(mut output: impl Write, mut said: mpsc::Receiver<Vec<u8>>) {
    while let Some(piece) = said.blocking_recv() {
        if output.write_all(&piece).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

// From the reading thread to the server, no faster than a client has any business to be.
async fn bring(mut hears: mpsc::Receiver<Vec<u8>>, mut server: DuplexStream, pace: Pace) {
    let mut refill = tokio::time::interval(pace.every);
    // The first tick comes at once.
    refill.tick().await;
    let mut allowed = pace.burst;
    loop {
        let piece = tokio::select! {
            _ = refill.tick() => {
                allowed = (allowed + pace.more).min(pace.burst);
                continue;
            }
            piece = hears.recv(), if allowed > 0 => piece,
        };
        let Some(piece) = piece else { return };
        allowed = allowed.saturating_sub(piece.len());
        if server.write_all(&piece).await.is_err() {
            return;
        }
    }
}

// From the server to the writing thread; tells whether everything was taken.
async fn carry(mut server: DuplexStream, says: mpsc::Sender<Vec<u8>>, patience: Duration) -> bool {
    let mut piece = vec![0; PIECE];
    loop {
        let count = server.read(&mut piece).await.unwrap_or(0);
        if count == 0 {
            return true;
        }
        let piece = piece.get(..count).unwrap_or_default().to_vec();
        if says.send_timeout(piece, patience).await.is_err() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    const SOON: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn what_is_said_and_answered_passes_unchanged() {
        let (mut client, input) = UnixStream::pair().unwrap();
        let (mut answers, output) = UnixStream::pair().unwrap();
        let Pipes { mut reader, mut writer, watch } = Pipes::over(input, output, SOON).unwrap();
        client.write_all(b"hello\n").unwrap();
        let mut heard = [0; 6];
        reader.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello\n");
        let answer = vec![b'a'; 300_000];
        let sent = answer.clone();
        let taken = tokio::task::spawn_blocking(move || {
            let mut got = Vec::new();
            answers.read_to_end(&mut got).unwrap();
            got
        });
        writer.write_all(&sent).await.unwrap();
        drop(writer);
        assert!(watch.finish().await);
        assert_eq!(taken.await.unwrap(), answer);
        // The client goes away: the server's input ends.
        drop(client);
        assert_eq!(reader.read(&mut heard).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_client_that_takes_no_answers_is_let_go() {
        let (_client, input) = UnixStream::pair().unwrap();
        let (_answers, output) = UnixStream::pair().unwrap();
        let Pipes { reader: _reader, mut writer, watch } =
            Pipes::over(input, output, Duration::from_millis(50)).unwrap();
        let flood = tokio::spawn(async move { while writer.write_all(&[b'x'; PIECE]).await.is_ok() {} });
        tokio::time::timeout(SOON, watch.broken()).await.unwrap();
        assert!(!watch.finish().await);
        flood.abort();
    }

    #[tokio::test]
    async fn a_flood_comes_through_no_faster_than_its_pace() {
        let pace = Pace { burst: 4 * PIECE, more: PIECE, every: Duration::from_secs(3_600) };
        let (says, hears) = mpsc::channel(PIECES);
        let (mut reader, into_reader) = tokio::io::duplex(ROOM);
        tokio::spawn(bring(hears, into_reader, pace));
        tokio::spawn(async move { while says.send(vec![b'x'; PIECE]).await.is_ok() {} });
        let mut got = 0;
        let mut piece = vec![0; PIECE];
        while let Ok(read) = tokio::time::timeout(Duration::from_millis(500), reader.read(&mut piece)).await {
            got += read.unwrap();
        }
        assert_eq!(got, pace.burst);
    }
}
