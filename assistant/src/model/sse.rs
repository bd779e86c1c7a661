//! Server-sent events, taken out of a stream of bytes. Lines may end in any of the three ways; an event that its blank line
//! did not end is no event.

use super::ModelError;

/// Longest event, in bytes.
const MAX_EVENT: usize = 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its name; empty when it has none.
    pub(crate) name: String,
    /// Its data lines, joined.
    pub(crate) data: String,
}

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    // The line that is not yet ended.
    line: Vec<u8>,
    after_return: bool,
    event: Event,
    has_data: bool,
}

impl Decoder {
    /// Adds bytes and gives the events that they end.
    ///
    /// # Errors
    /// [`ModelError::TooLarge`] for an event without end, [`ModelError::NotUnderstood`] for bytes that are no UTF-8.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ModelError> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()?),
                _ => self.line.push(*byte),
            }
            if self.line.len() + self.event.data.len() > MAX_EVENT {
                return Err(ModelError::TooLarge);
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Result<Option<Event>, ModelError> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| ModelError::NotUnderstood)?;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // A comment, an id or a wish about reconnecting: the format says to pass over what is not known.
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_come_out_whole_however_the_bytes_are_cut() {
        let text =
            "event: a\ndata: {\"x\":\"é\"}\n\n: comment\nid: 3\ndata:1\r\ndata: 2\r\n\r\nevent: lonely\n\ndata: end";
        let want = [event("a", "{\"x\":\"é\"}"), event("", "1\n2")];
        for size in 1..12 {
            let mut decoder = Decoder::default();
            let mut events = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                events.extend(decoder.push(chunk).unwrap());
            }
            assert_eq!(events, want, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_end_and_bytes_that_are_no_text_are_refused() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(&vec![b'x'; MAX_EVENT + 1]), Err(ModelError::TooLarge));
        let mut decoder = Decoder::default();
        let line = [b"data: ".as_slice(), &[b'y'; 1000], b"\n"].concat();
        let ended = (0..2_000).find_map(|_| decoder.push(&line).err());
        assert_eq!(ended, Some(ModelError::TooLarge));
        assert_eq!(Decoder::default().push(b"data: \xff\n\n"), Err(ModelError::NotUnderstood));
    }
}
