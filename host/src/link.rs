//! A framed link over a Unix socket: a 4-byte length, then one message. The type fixes what each end may say.
//!
//! The length is checked before anything is allocated for it, every read and write has a deadline, and after any
//! error the link is dead: a stream that lost its place is never read again. A frame's bytes are wiped after use,
//! since a message may carry a PIN.

use protocol::frame::{self, FrameError, MAX_FRAME};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, LengthDelimitedCodec};
use zeroize::{Zeroize, Zeroizing};

#[cfg(test)]
mod tests;

const LENGTH_BYTES: usize = 4;
const READ_STEP: usize = 4096;

/// Both directions of a link: says `Out`, hears `In`.
#[derive(Debug)]
pub struct Link<Out, In> {
    receiver: Receiver<In>,
    sender: Sender<Out>,
}

impl<Out: Serialize, In: DeserializeOwned> Link<Out, In> {
    /// A link over `stream`. Check the peer's uid first.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        Self { receiver: Receiver::new(read), sender: Sender::new(write) }
    }

    /// Says `message` within `deadline`.
    ///
    /// # Errors
    /// [`LinkError`]; the link is dead afterwards.
    pub async fn send(&mut self, message: &Out, deadline: Duration) -> Result<(), LinkError> {
        if self.receiver.dead {
            return Err(LinkError::Closed);
        }
        let sent = self.sender.send(message, deadline).await;
        self.receiver.dead |= sent.is_err();
        sent
    }

    /// The next message, or `None` when the peer ended the stream between two messages. Dropping the future loses
    /// nothing: what has arrived waits for the next call.
    ///
    /// # Errors
    /// [`LinkError`]; the link is dead afterwards.
    pub async fn recv(&mut self, deadline: Duration) -> Result<Option<In>, LinkError> {
        if self.sender.dead {
            return Err(LinkError::Closed);
        }
        let heard = self.receiver.recv(deadline).await;
        self.sender.dead |= heard.is_err();
        heard
    }

    /// As [`Receiver::closed`].
    ///
    /// # Errors
    /// As [`Receiver::closed`]; the link is dead afterwards.
    pub async fn closed(&mut self) -> Result<(), LinkError> {
        if self.sender.dead {
            return Err(LinkError::Closed);
        }
        let closed = self.receiver.closed().await;
        self.sender.dead |= closed.is_err();
        closed
    }

    /// The two directions, so that one task can wait for the peer's words or its hang-up while another speaks.
    /// From here on an error in one does not end the other. Dropping the sender tells the peer that the stream
    /// has ended.
    #[must_use]
    pub fn into_split(self) -> (Receiver<In>, Sender<Out>) {
        (self.receiver, self.sender)
    }
}

/// The half of a link that hears `In`.
pub struct Receiver<In> {
    stream: OwnedReadHalf,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
    // Bytes that have arrived and are not yet part of a message that was handed out.
    pending: usize,
    dead: bool,
    heard: PhantomData<fn() -> In>,
}

impl<In> fmt::Debug for Receiver<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The buffer may hold a secret.
        f.debug_struct("Receiver").field("pending", &self.pending).field("dead", &self.dead).finish_non_exhaustive()
    }
}

impl<In: DeserializeOwned> Receiver<In> {
    fn new(stream: OwnedReadHalf) -> Self {
        Self { stream, codec: codec(), buffer: BytesMut::new(), pending: 0, dead: false, heard: PhantomData }
    }

    /// The next message, or `None` when the peer ended the stream between two messages. Dropping the future loses
    /// nothing: what has arrived waits for the next call.
    ///
    /// # Errors
    /// [`LinkError`]; this half is dead afterwards.
    pub async fn recv(&mut self, deadline: Duration) -> Result<Option<In>, LinkError> {
        if self.dead {
            return Err(LinkError::Closed);
        }
        let heard = match tokio::time::timeout(deadline, self.next_frame()).await {
            Ok(Ok(Some(mut frame))) => {
                let message = frame::decode(&frame).map_err(LinkError::from);
                frame.zeroize();
                message.map(Some)
            }
            Ok(Ok(None)) => Ok(None),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(LinkError::Timeout),
        };
        self.dead = heard.is_err();
        heard
    }

    /// Waits until the peer hangs up, while nothing is expected from it. A peer that shuts down only its sending
    /// side counts as gone. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`LinkError::Unexpected`] when the peer speaks instead, [`LinkError::Io`] when the stream fails; this half
    /// is dead afterwards.
    pub async fn closed(&mut self) -> Result<(), LinkError> {
        if self.dead {
            return Err(LinkError::Closed);
        }
        let closed = if self.pending > 0 {
            Err(LinkError::Unexpected)
        } else {
            match self.read_more().await {
                Ok(0) | Err(LinkError::Closed) => Ok(()),
                Ok(_) => Err(LinkError::Unexpected),
                Err(error) => Err(error),
            }
        };
        self.dead = closed.is_err();
        closed
    }

    async fn next_frame(&mut self) -> Result<Option<BytesMut>, LinkError> {
        loop {
            // The codec's only error is a length beyond the limit.
            let frame = self.codec.decode(&mut self.buffer).map_err(|_| LinkError::TooLarge)?;
            if let Some(frame) = frame {
                self.pending -= LENGTH_BYTES + frame.len();
                return Ok(Some(frame));
            }
            if self.read_more().await? == 0 {
                // Not the codec's own test for the end: it forgets a length that came without its message.
                return if self.pending == 0 { Ok(None) } else { Err(LinkError::Closed) };
            }
        }
    }

    async fn read_more(&mut self) -> Result<usize, LinkError> {
        // The codec reserves room for a whole frame once it knows the length; this is for the length itself.
        if self.buffer.capacity() == self.buffer.len() {
            self.buffer.reserve(READ_STEP);
        }
        let count = self.stream.read_buf(&mut self.buffer).await?;
        self.pending += count;
        Ok(count)
    }
}

impl<In> Drop for Receiver<In> {
    fn drop(&mut self) {
        self.buffer.as_mut().zeroize();
    }
}

/// The half of a link that says `Out`.
pub struct Sender<Out> {
    stream: OwnedWriteHalf,
    dead: bool,
    said: PhantomData<fn(Out)>,
}

impl<Out> fmt::Debug for Sender<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("dead", &self.dead).finish_non_exhaustive()
    }
}

impl<Out: Serialize> Sender<Out> {
    fn new(stream: OwnedWriteHalf) -> Self {
        Self { stream, dead: false, said: PhantomData }
    }

    /// Says `message` within `deadline`. Dropping the future halfway kills this half, since half a frame may have
    /// left.
    ///
    /// # Errors
    /// [`LinkError`]; this half is dead afterwards.
    pub async fn send(&mut self, message: &Out, deadline: Duration) -> Result<(), LinkError> {
        if self.dead {
            return Err(LinkError::Closed);
        }
        // Dead until the whole frame has left, also when this future is dropped.
        self.dead = true;
        let framed = framed(message)?;
        match tokio::time::timeout(deadline, self.stream.write_all(&framed)).await {
            Ok(written) => written?,
            Err(_) => return Err(LinkError::Timeout),
        }
        self.dead = false;
        Ok(())
    }
}

// By hand and not by the codec, whose own copy of the message could not be wiped.
fn framed<Out: Serialize>(message: &Out) -> Result<Zeroizing<Vec<u8>>, LinkError> {
    let bytes = Zeroizing::new(frame::encode(message)?);
    let length = u32::try_from(bytes.len()).map_err(|_| LinkError::TooLarge)?;
    let mut framed = Zeroizing::new(Vec::with_capacity(LENGTH_BYTES + bytes.len()));
    framed.extend_from_slice(&length.to_be_bytes());
    framed.extend_from_slice(&bytes);
    Ok(framed)
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().length_field_length(LENGTH_BYTES).max_frame_length(MAX_FRAME).new_codec()
}

/// Why a link is dead.
#[derive(Debug)]
pub enum LinkError {
    /// The peer is gone in the middle of a message or of a write, or the link had died before.
    Closed,
    /// The operating system said no.
    Io(io::Error),
    /// The peer's frame is not exactly one message of this direction.
    Malformed(FrameError),
    /// The deadline passed.
    Timeout,
    /// A frame is larger than 256 KiB.
    TooLarge,
    /// The peer spoke when nothing was expected from it.
    Unexpected,
}

impl From<FrameError> for LinkError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::TooLarge => Self::TooLarge,
            FrameError::Malformed | FrameError::TrailingBytes => Self::Malformed(error),
        }
    }
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        let gone = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        if gone.contains(&error.kind()) { Self::Closed } else { Self::Io(error) }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the link is closed; connect again"),
            Self::Io(error) => write!(f, "the link failed: {error}"),
            Self::Malformed(error) => write!(f, "the peer's frame was refused: {error}"),
            Self::Timeout => f.write_str("the peer did not answer in time"),
            Self::TooLarge => write!(f, "a frame is larger than the {MAX_FRAME} bytes that a link carries"),
            Self::Unexpected => f.write_str("the peer spoke when nothing was expected from it"),
        }
    }
}

impl std::error::Error for LinkError {}
