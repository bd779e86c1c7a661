//! A posted form: strict, small, wiped.

use zeroize::Zeroizing;

/// Most fields of one form; the largest of ours has six.
const MOST_FIELDS: usize = 12;

/// The body is not a form of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BadForm;

/// The fields that are not yet taken.
pub(super) struct Form(Vec<(String, Zeroizing<String>)>);

impl Form {
    /// Reads `application/x-www-form-urlencoded`. A field that comes twice, bad percent signs, bytes that are no UTF-8
    /// and characters that a browser would have encoded are errors.
    pub(super) fn read(body: &[u8]) -> Result<Self, BadForm> {
        let mut fields = Vec::new();
        for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let cut = pair.iter().position(|byte| *byte == b'=').ok_or(BadForm)?;
            let name = decode(&pair[..cut])?;
            let double = fields.iter().any(|(known, _): &(String, _)| *known == *name);
            if double || fields.len() == MOST_FIELDS {
                return Err(BadForm);
            }
            fields.push((name.to_string(), decode(&pair[cut + 1..])?));
        }
        Ok(Self(fields))
    }

    /// Takes one field out.
    pub(super) fn take(&mut self, name: &str) -> Result<Zeroizing<String>, BadForm> {
        self.maybe(name).ok_or(BadForm)
    }

    /// Takes one field out if it is there.
    pub(super) fn maybe(&mut self, name: &str) -> Option<Zeroizing<String>> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    /// Nothing may be left.
    pub(super) fn end(self) -> Result<(), BadForm> {
        if self.0.is_empty() { Ok(()) } else { Err(BadForm) }
    }
}

fn decode(raw: &[u8]) -> Result<Zeroizing<String>, BadForm> {
    // Decoding never grows, so this buffer is never moved and no copy of a PIN stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(raw.len()));
    let mut rest = raw;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (high, low) = match rest {
                    [high, low, ..] => (nibble(*high)?, nibble(*low)?),
                    _ => return Err(BadForm),
                };
                rest = &rest[2..];
                bytes.push(high << 4 | low);
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => bytes.push(*first),
            _ => return Err(BadForm),
        }
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| BadForm)?;
    Ok(Zeroizing::new(text.to_owned()))
}

fn nibble(digit: u8) -> Result<u8, BadForm> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(BadForm),
    }
}

/// 32 bytes from 64 lower-case hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Result<[u8; 32], BadForm> {
    let digits = text.as_bytes();
    if digits.len() != 64 || digits.iter().any(u8::is_ascii_uppercase) {
        return Err(BadForm);
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browsers_form_is_read_whole() {
        let mut form = Form::read(b"name=Aula+3+%E2%80%93+Ni%c3%b1o&empty=&token=a-b_c.d*").unwrap();
        assert_eq!(*form.take("name").unwrap(), "Aula 3 – Niño");
        assert_eq!(*form.take("empty").unwrap(), "");
        assert_eq!(form.take("absent").map(|_| ()), Err(BadForm));
        assert_eq!(*form.maybe("token").unwrap(), "a-b_c.d*");
        assert_eq!(form.end(), Ok(()));
    }

    #[test]
    fn what_no_browser_sends_is_refused() {
        for bad in [
            &b"a=1&a=2"[..],
            b"a",
            b"a=%",
            b"a=%4",
            b"a=%zz",
            b"a=%ff",
            b"a=b c",
            b"a=<b>",
            b"{\"a\":1}",
            b"a=\0",
            b"a=1;b=2",
            b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n",
            b"a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1",
        ] {
            assert!(Form::read(bad).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn a_left_over_field_is_an_error() {
        let mut form = Form::read(b"a=1&always=yes").unwrap();
        let _taken = form.take("a").unwrap();
        assert_eq!(form.end(), Err(BadForm));
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = [0xab; 32];
        assert_eq!(from_hex(&host::secret::hex(&digest)), Ok(digest));
        for bad in ["", "ab", &"AB".repeat(32), &"g0".repeat(32), &"a".repeat(65)] {
            assert_eq!(from_hex(bad), Err(BadForm), "{bad}");
        }
    }
}
