//! Our sockets as a test speaks to them: blocking, one frame at a time, raw bytes too.

use super::must::must;
use protocol::frame::{self, MAX_FRAME};
use protocol::hello::{Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longer than any answer takes: a write may wait for its answer for a minute.
const PATIENCE: Duration = Duration::from_secs(90);

/// A connection to one of the sockets.
#[derive(Debug)]
pub struct Frames {
    stream: UnixStream,
}

impl Frames {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub fn connect(path: &Path) -> io::Result<Self> {
        Self::over(UnixStream::connect(path)?)
    }

    /// The same on a connection that somebody else made.
    ///
    /// # Errors
    /// What the system says.
    pub fn over(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream })
    }

    /// Sends one message. A peer that has hung up is no error here: it shows when the answer is read.
    #[track_caller]
    pub fn send<T: Serialize>(&mut self, message: &T) {
        let bytes = must(frame::encode(message), "a frame");
        let length = must(u32::try_from(bytes.len()), "a length");
        self.send_raw(&[&length.to_be_bytes()[..], &bytes].concat());
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        match self.stream.write_all(bytes) {
            Err(error) if !is_gone(&error) => must(Err(error), "writing to a socket"),
            Ok(()) | Err(_) => {}
        }
    }

    /// The bytes of the next frame; nothing when the peer hung up.
    #[track_caller]
    pub fn recv_raw(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        if !self.fill(&mut length) {
            return None;
        }
        let length = must(usize::try_from(u32::from_be_bytes(length)), "a length");
        assert!(length <= MAX_FRAME, "a frame of {length} bytes");
        let mut bytes = vec![0; length];
        self.fill(&mut bytes).then_some(bytes)
    }

    /// The next message; nothing when the peer hung up.
    #[track_caller]
    pub fn recv<T: DeserializeOwned>(&mut self) -> Option<T> {
        self.recv_raw().map(|bytes| must(frame::decode(&bytes), "a message"))
    }

    // False at the end of the stream.
    #[track_caller]
    fn fill(&mut self, bytes: &mut [u8]) -> bool {
        match self.stream.read_exact(bytes) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof || is_gone(&error) => false,
            Err(error) => must(Err(error), "reading from a socket"),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)
}

/// A connection on which numbered questions are answered.
#[derive(Debug)]
pub struct Asker<Say, Hear> {
    /// The connection below, for what no well-behaved client does.
    pub frames: Frames,
    next: u32,
    words: PhantomData<fn(Say) -> Hear>,
}

impl<Say: Serialize, Hear: DeserializeOwned> Asker<Say, Hear> {
    /// Over this connection, with question 1 as the next.
    #[must_use]
    pub fn new(frames: Frames) -> Self {
        Self { frames, next: 1, words: PhantomData }
    }

    /// Sends a question without waiting, and gives its number.
    #[track_caller]
    pub fn say(&mut self, say: Say) -> u32 {
        let id = self.next;
        self.next += 1;
        self.frames.send(&Request { id, say });
        id
    }

    /// The next answer; nothing when the peer hung up.
    #[track_caller]
    pub fn hear(&mut self, id: u32) -> Option<Hear> {
        let reply: Reply<Hear> = self.frames.recv()?;
        assert_eq!(reply.id, id, "the answer belongs to another question");
        Some(reply.say)
    }

    /// A question and its one answer; nothing when the peer hung up instead.
    #[track_caller]
    pub fn ask(&mut self, say: Say) -> Option<Hear> {
        let id = self.say(say);
        self.hear(id)
    }
}
