//! Base64 with padding (RFC 4648 section 4), for the test data alone.

/// The bytes of this text, or nothing when it is not base64 with padding.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let bare = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in bare.bytes() {
        held = held << 6 | value(digit)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
        held &= (1 << bits) - 1;
    }
    (held == 0).then_some(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_of_the_tail_is_read() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Z===", "Zh==", "Zg==Zg==", "Z g="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
