//! Secrets that the service manager puts in a folder for this process alone (`LoadCredential=` of systemd): found by
//! name, read under the rules of that folder (issue line 4.2).

use crate::files::{self, FileError, Owner};
use crate::secret::SecretText;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The variable that names the folder.
pub const FOLDER: &str = "CREDENTIALS_DIRECTORY";

/// The folder, where there is one.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    as_folder(std::env::var_os(FOLDER))
}

/// The same from the variable's value.
#[must_use]
pub fn as_folder(value: Option<OsString>) -> Option<PathBuf> {
    value.filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether this file is the service manager's.
#[must_use]
pub fn holds(path: &Path) -> bool {
    is_in(path, folder().as_deref())
}

fn is_in(path: &Path, folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// The file of a secret: a full path as it is given; a bare name is one of the folder; nothing given is the credential
/// `name`, where the service manager has put one.
///
/// # Errors
/// Words for the person who set it.
pub fn choose(given: Option<PathBuf>, name: &str, folder: Option<&Path>) -> Result<Option<PathBuf>, &'static str> {
    let Some(given) = given else {
        return Ok(folder.map(|folder| folder.join(name)).filter(|path| path.exists()));
    };
    if given.is_absolute() {
        return Ok(Some(given));
    }
    let mut parts = given.components();
    let bare = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    match folder {
        Some(folder) if bare => Ok(Some(folder.join(given))),
        Some(_) => Err("is neither a full path nor the name of a credential; start it with / or give the bare name"),
        None => Err("is not a full path, and no service manager gave credentials; start it with /"),
    }
}

/// Reads a secret where [`choose`] found it: a credential as [`files::read_credential`], any other as
/// [`files::read_secret`] of this user.
///
/// # Errors
/// [`FileError`] saying what was found and what to do; never any of the content.
pub fn read(path: &Path) -> Result<SecretText, FileError> {
    if holds(path) { files::read_credential(path) } else { files::read_secret(path, Owner::Me) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_in_the_service_managers_folder_is_its_credential() {
        let path = Path::new("/run/credentials/a.service/sign-in");
        for (folder, is) in [("/run/credentials/a.service", true), ("/run/cred", false), ("", false)] {
            assert_eq!(is_in(path, as_folder(Some(folder.into())).as_deref()), is, "{folder:?}");
        }
        assert!(!is_in(path, None));
    }

    #[test]
    fn a_secret_is_where_it_was_set_or_where_the_service_manager_put_it() {
        let folder = tempfile::tempdir().unwrap();
        let of = |given: Option<&str>, folder| choose(given.map(PathBuf::from), "token", folder);
        let at = |name: &str| Some(folder.path().join(name));
        assert_eq!(of(None, Some(folder.path())), Ok(None));
        assert_eq!(of(None, None), Ok(None));
        std::fs::write(folder.path().join("token"), "x").unwrap();
        assert_eq!(of(None, Some(folder.path())), Ok(at("token")));
        assert_eq!(of(Some("other"), Some(folder.path())), Ok(at("other")));
        assert_eq!(of(Some("/a/b"), Some(folder.path())), Ok(Some(PathBuf::from("/a/b"))));
        for bad in ["../token", "a/b", "./a/b", ".."] {
            of(Some(bad), Some(folder.path())).unwrap_err();
        }
        of(Some("token"), None).unwrap_err();
    }
}
