//! A file that a command makes for a person: new, 0600, synced, and gone again when the command does not finish.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why there is no such file.
#[derive(Debug)]
pub(crate) struct NewFileError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for NewFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        if self.source.kind() == ErrorKind::AlreadyExists {
            return write!(f, "{path} is there already and stays as it is; give a name that is not taken");
        }
        write!(f, "cannot write {path}: {}", self.source)
    }
}

impl std::error::Error for NewFileError {}

/// The file while it grows.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    path: PathBuf,
    whole: bool,
}

impl NewFile {
    /// Makes it, mode 0600.
    ///
    /// # Errors
    /// [`NewFileError`], also when anything has that name.
    pub(crate) fn create(path: &Path) -> Result<Self, NewFileError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = made.map_err(|source| NewFileError { path: path.to_owned(), source })?;
        Ok(Self { file, path: path.to_owned(), whole: false })
    }

    /// Writes at its end.
    ///
    /// # Errors
    /// [`NewFileError`]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), NewFileError> {
        self.file.write_all(bytes).map_err(|source| self.failed(source))
    }

    /// Ends it: content and name are on the disk.
    ///
    /// # Errors
    /// [`NewFileError`]; the file is gone then.
    pub(crate) fn finish(mut self) -> Result<(), NewFileError> {
        let folder =
            self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
        let synced = self.file.sync_all().and_then(|()| File::open(folder)?.sync_all());
        synced.map_err(|source| self.failed(source))?;
        self.whole = true;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> NewFileError {
        NewFileError { path: self.path.clone(), source }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.whole {
            // Half a backup must not look like one; nothing more can be done if it stays.
            let _gone = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_finished_file_stays_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = NewFile::create(&path).unwrap();
        file.write(b"one").unwrap();
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }

    #[test]
    fn what_is_there_stays_and_what_is_not_finished_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "kept").unwrap();
        assert!(NewFile::create(&path).unwrap_err().to_string().contains("is there already"));
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        let dangling = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &dangling).unwrap();
        NewFile::create(&dangling).unwrap_err();
        let half = folder.path().join("half");
        NewFile::create(&half).unwrap().write(b"x").unwrap();
        assert!(!half.exists());
    }
}
