//! HMAC-SHA256 with a domain, and fixed-size keys only: a MAC of one kind can never pass as one of another.

use crate::store::StoreError;
use hmac::{Hmac, KeyInit, Mac};
use host::secret::Key32;
use sha2::Sha256;

/// The MAC of `parts`, each preceded by its length, under `domain`.
pub(crate) fn sign(key: &Key32, domain: &'static str, parts: &[&[u8]]) -> Result<[u8; 32], StoreError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose()).map_err(|_| StoreError::Corrupt("a key".to_owned()))?;
    for part in std::iter::once(&domain.as_bytes()).chain(parts) {
        mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        mac.update(part);
    }
    Ok(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_and_borders_of_the_parts_are_signed() {
        let key = Key32::random().unwrap();
        let mac = |domain, parts: &[&[u8]]| sign(&key, domain, parts).unwrap();
        assert_eq!(mac("a", &[b"xy"]), mac("a", &[b"xy"]));
        assert_ne!(mac("a", &[b"xy"]), mac("b", &[b"xy"]));
        assert_ne!(mac("a", &[b"x", b"y"]), mac("a", &[b"xy"]));
        assert_ne!(mac("a", &[b"x", b"y"]), mac("a", &[b"xy", b""]));
    }
}
