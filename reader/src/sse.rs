//! The data of server-sent events, cut out of a stream of bytes. The caller bounds the whole stream.

/// What is left of the stream between two chunks.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_return: bool,
}

impl Events {
    /// Takes the next bytes and gives the data of every event that they complete, in order. An event without data
    /// gives nothing.
    pub(crate) fn feed(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut done = Vec::new();
        for byte in chunk {
            // A line may end in CR LF, LF or CR.
            match byte {
                b'\n' if self.after_return => {}
                b'\n' | b'\r' => done.extend(self.end_line()),
                other => self.line.push(*other),
            }
            self.after_return = *byte == b'\r';
        }
        done
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if line.is_empty() {
            return self.data.take().filter(|data| !data.trim_ascii().is_empty());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            Some(_) | None => return None,
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stream: &str, size: usize) -> Vec<String> {
        let mut events = Events::default();
        let chunks = stream.as_bytes().chunks(size);
        chunks.flat_map(|chunk| events.feed(chunk)).map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_come_out_whole_however_the_bytes_are_cut() {
        let stream = "\u{feff}: hello\r\nevent: message\r\nid: 7\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\
            data:\n\ndatabase: no\n\nretry: 5\ndata: two\r\rdata: half";
        for size in 1..=stream.len() {
            assert_eq!(all(stream, size), ["{\"a\":\n1}", "two"], "{size}");
        }
    }
}
