//! Secrets are their own types: zeroized on drop, `Debug` prints nothing, never displayed, serialized or cloned.
//!
//! A secret cannot be printed by accident:
//!
//! ```compile_fail,E0277
//! let secret = host::secret::SecretText::from(String::from("hunter2"));
//! println!("{}", secret);
//! ```
//!
//! nor copied by accident:
//!
//! ```compile_fail,E0599
//! let secret = host::secret::SecretText::from(String::from("hunter2"));
//! let copy: host::secret::SecretText = secret.clone();
//! ```
//!
//! only used on purpose:
//!
//! ```
//! let secret = host::secret::SecretText::from(String::from("hunter2"));
//! assert_eq!(secret.expose().len(), 7);
//! assert_eq!(format!("{secret:?}"), "SecretText(..)");
//! ```

use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const PIN_DIGITS: usize = 10;

/// A secret that is text: a password, a token, a PIN.
pub struct SecretText(Zeroizing<String>);

impl SecretText {
    /// The text itself, for the one call that needs it. Never pass it to a log, an error or an argument list.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

/// A secret key of 32 bytes. It lies on the heap, so that moving the value leaves no copy behind.
pub struct Key32(Box<Zeroizing<[u8; 32]>>);

impl Key32 {
    /// A fresh key from the system's random source.
    ///
    /// # Errors
    /// [`RandomError`] when the system has no random bytes to give.
    pub fn random() -> Result<Self, RandomError> {
        let mut key = Self(Box::new(Zeroizing::new([0; 32])));
        fill(key.0.as_mut_slice())?;
        Ok(key)
    }

    /// A key from bytes that were read elsewhere.
    #[must_use]
    pub fn from_bytes(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(Box::new(bytes))
    }

    /// The bytes themselves, for the one call that needs them.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Key32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key32(..)")
    }
}

/// `N` random bytes from the system. Not a secret type: put the bytes in one when they are a secret.
///
/// # Errors
/// [`RandomError`] when the system has no random bytes to give.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// A token of 32 random bytes, as 43 characters that are safe in a cookie, a header and a form.
///
/// # Errors
/// [`RandomError`] when the system has no random bytes to give.
pub fn random_token() -> Result<SecretText, RandomError> {
    let key = Key32::random()?;
    Ok(SecretText::from(url_safe(key.expose())))
}

/// A PIN of 10 decimal digits, each digit equally likely.
///
/// # Errors
/// [`RandomError`] when the system has no random bytes to give.
pub fn random_pin() -> Result<SecretText, RandomError> {
    let mut pin = String::with_capacity(PIN_DIGITS);
    while pin.len() < PIN_DIGITS {
        let mut bytes = Zeroizing::new([0; 16]);
        fill(bytes.as_mut_slice())?;
        // 250 and above would make the low digits likelier.
        let fair = bytes.iter().filter(|byte| **byte < 250);
        let wanted = PIN_DIGITS - pin.len();
        pin.extend(fair.take(wanted).map(|byte| char::from(b'0' + byte % 10)));
    }
    Ok(SecretText::from(pin))
}

/// Whether two byte strings are equal, in a time that does not depend on where they differ. Their lengths are
/// not hidden: compare digests or values of one fixed length.
#[must_use]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    bool::from(a.ct_eq(b))
}

/// Base64 with the URL-safe alphabet and no padding.
#[must_use]
pub fn url_safe(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().chain([0, 0].iter()).take(3).fold(0_u32, |group, byte| (group << 8) | u32::from(*byte));
        for place in 0..=chunk.len() {
            let six = (group >> (18 - 6 * place)) & 63;
            text.push(char::from(URL_SAFE[six as usize]));
        }
    }
    text
}

/// Lower-case hexadecimal, for names that are not secret.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    getrandom::fill(bytes).map_err(|error| {
        bytes.zeroize();
        RandomError(error)
    })
}

/// The system has no random bytes to give.
#[derive(Debug)]
pub struct RandomError(getrandom::Error);

impl fmt::Display for RandomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system gives no random bytes: {}", self.0)
    }
}

impl std::error::Error for RandomError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_secret() {
        let text = SecretText::from(String::from("hunter2"));
        assert_eq!(format!("{text:?} {:?}", Some(&text)), "SecretText(..) Some(SecretText(..))");
        assert_eq!(format!("{:?}", Key32::random().unwrap()), "Key32(..)");
    }

    #[test]
    fn base64_matches_known_answers() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff, 0xfe], "-__-"),
        ] {
            assert_eq!(url_safe(bytes), text);
        }
    }

    #[test]
    fn tokens_have_43_safe_characters_and_differ() {
        let (one, two) = (random_token().unwrap(), random_token().unwrap());
        assert_eq!(one.expose().len(), 43);
        assert!(one.expose().bytes().all(|byte| URL_SAFE.contains(&byte)));
        assert_ne!(one.expose(), two.expose());
    }

    #[test]
    fn pins_have_ten_digits_and_every_digit_occurs() {
        let mut seen = [0_u32; 10];
        for _ in 0..200 {
            let pin = random_pin().unwrap();
            assert_eq!(pin.expose().len(), 10);
            for digit in pin.expose().bytes() {
                seen[usize::from(digit - b'0')] += 1;
            }
        }
        // 200 expected each; below 100 has a chance of about 1e-14.
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }

    #[test]
    fn keys_keep_their_bytes_and_random_ones_differ() {
        let key = Key32::from_bytes(Zeroizing::new([7; 32]));
        assert_eq!(key.expose(), &[7; 32]);
        assert_ne!(Key32::random().unwrap().expose(), Key32::random().unwrap().expose());
        assert_ne!(random_bytes::<16>().unwrap(), random_bytes::<16>().unwrap());
    }

    #[test]
    fn same_compares_content_and_length() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd"));
        assert!(!same(b"abc", b"ab"));
        assert!(same(b"", b""));
    }
}
