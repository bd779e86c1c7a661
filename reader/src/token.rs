//! A sign-in: the bearer of one slot, read from its own 0600 file.

use host::files::{FileError, Owner, read_secret};
use host::secret::SecretText;
use reqwest::header::HeaderValue;
use std::fmt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Longest bearer, in bytes.
const LONGEST: usize = 8_192;

/// A bearer that was read and can be sent. It prints nothing, cannot be copied, and is wiped when dropped.
pub struct SignIn(SecretText);

impl SignIn {
    /// Reads the bearer from its file (issue line 1.8).
    ///
    /// # Errors
    /// [`SignInError::Missing`] when there is no file; another variant when the file is not private enough or holds
    /// no bearer. No error holds any of the content.
    pub fn load(path: &Path) -> Result<Self, SignInError> {
        let text = match read_secret(path, Owner::Me) {
            Ok(text) => text,
            Err(FileError::NotFound { path }) => return Err(SignInError::Missing { path }),
            Err(error) => return Err(SignInError::File(error)),
        };
        let plain = |b: u8| b.is_ascii_graphic();
        if text.expose().len() > LONGEST || !text.expose().bytes().all(plain) {
            return Err(SignInError::NotABearer { path: path.into() });
        }
        Ok(Self(text))
    }

    /// The `Authorization` value, marked sensitive, so that no debug output of an HTTP client shows it. `None` when the
    /// bearer cannot stand in a header.
    #[must_use]
    pub fn header(&self) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("Bearer {}", self.0.expose()));
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignIn(..)")
    }
}

/// Why there is no sign-in.
#[derive(Debug)]
pub enum SignInError {
    /// The file is refused or can't be read.
    File(FileError),
    /// There is no file: nobody signed in to this slot yet.
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file holds something that can't be a bearer.
    NotABearer {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for SignInError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Missing { path } => write!(
                f,
                "there is no sign-in at {}; put the bearer of that account there in a file of mode 0600",
                path.display()
            ),
            Self::NotABearer { path } => write!(
                f,
                "{} holds no bearer; it must be one line without blanks and without the word Bearer",
                path.display()
            ),
        }
    }
}

impl std::error::Error for SignInError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sign-in");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_private_file_is_a_sign_in_that_prints_nothing() {
        let (_folder, path) = file("bearer-never-show\n", 0o600);
        let sign_in = SignIn::load(&path).unwrap();
        assert_eq!(format!("{sign_in:?}"), "SignIn(..)");
        let header = sign_in.header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer bearer-never-show");
        assert!(!format!("{header:?}").contains("never-show"));
    }

    #[test]
    fn a_missing_file_is_its_own_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = SignIn::load(&folder.path().join("none")).unwrap_err();
        assert!(matches!(error, SignInError::Missing { .. }), "{error}");
    }

    #[test]
    fn an_open_file_and_a_file_without_a_bearer_are_refused() {
        let (_folder, path) = file("bearer-never-show", 0o644);
        let error = SignIn::load(&path).unwrap_err();
        assert!(matches!(error, SignInError::File(FileError::WrongMode { .. })), "{error}");
        for text in ["Bearer never-show", "never-show\nagain", "never-show\u{e9}", &"x".repeat(LONGEST + 1)] {
            let (_folder, path) = file(text, 0o600);
            let error = SignIn::load(&path).unwrap_err();
            assert!(matches!(error, SignInError::NotABearer { .. }));
            assert!(!format!("{error} {error:?}").contains("never-show"));
        }
    }
}
