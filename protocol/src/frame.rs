//! One wire message as bytes: bincode with a limit and no trailing bytes.
//!
//! bincode carries only plain structs and externally tagged enums, so wire types never use serde's `flatten`,
//! `untagged`, `tag` or `skip_serializing_if`; `tests/tests/repo.rs` looks for them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// The largest frame on any socket, in bytes. Checked before anything is allocated for it.
pub const MAX_FRAME: usize = 256 * 1024;

/// Why bytes are not a message, or a message does not become bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    /// The peer sent bytes that are not this message.
    Malformed,
    /// The peer sent a whole message and then more bytes.
    TrailingBytes,
    /// More than [`MAX_FRAME`] bytes.
    TooLarge,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the frame is not a message of this wire version",
            Self::TrailingBytes => "the frame holds more than one message",
            Self::TooLarge => "the frame is larger than 256 KiB",
        })
    }
}

impl std::error::Error for FrameError {}

/// What decoding one frame may claim in memory: bincode counts decoded sizes, and a list of structs is larger in memory
/// than on the wire.
const MAX_DECODED: usize = 16 * MAX_FRAME;

/// The bytes of one message.
///
/// # Errors
/// [`FrameError::TooLarge`] when the message does not fit a frame.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let bytes =
        bincode::serde::encode_to_vec(message, bincode::config::standard()).map_err(|_| FrameError::TooLarge)?;
    if bytes.len() > MAX_FRAME {
        return Err(FrameError::TooLarge);
    }
    Ok(bytes)
}

/// The message in one frame's bytes; every byte must belong to it.
///
/// # Errors
/// [`FrameError`] when the bytes are not exactly one message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    if bytes.len() > MAX_FRAME {
        return Err(FrameError::TooLarge);
    }
    let limited = bincode::config::standard().with_limit::<MAX_DECODED>();
    let (message, used) = bincode::serde::decode_from_slice(bytes, limited).map_err(|_| FrameError::Malformed)?;
    if used == bytes.len() { Ok(message) } else { Err(FrameError::TrailingBytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ProposalNumber;

    #[test]
    fn a_message_survives_the_round_trip() {
        let number = ProposalNumber::new(7).unwrap();
        assert_eq!(decode::<ProposalNumber>(&encode(&number).unwrap()), Ok(number));
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut bytes = encode(&"hello".to_owned()).unwrap();
        bytes.push(0);
        assert_eq!(decode::<String>(&bytes), Err(FrameError::TrailingBytes));
    }

    #[test]
    fn a_length_that_lies_is_refused_without_allocating_it() {
        // 0xfd: a u64 length follows.
        let bytes = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0x40];
        assert_eq!(decode::<String>(&bytes), Err(FrameError::Malformed));
    }

    #[test]
    fn the_largest_message_that_is_sent_can_be_read() {
        let most = "x".repeat(MAX_FRAME - 5);
        assert_eq!(decode::<String>(&encode(&most).unwrap()), Ok(most));
        let many: Vec<ProposalNumber> = (1..60_000).filter_map(ProposalNumber::new).collect();
        assert_eq!(decode::<Vec<ProposalNumber>>(&encode(&many).unwrap()), Ok(many));
    }

    #[test]
    fn a_message_over_the_limit_is_not_sent() {
        assert_eq!(encode(&"x".repeat(MAX_FRAME + 1)), Err(FrameError::TooLarge));
    }
}
