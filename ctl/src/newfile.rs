//! A file that a command makes for a person: new, 0600, synced, and there only when it is whole. It grows under a name of
//! its own beside its place, `NAME.part`, and takes its place in one step that replaces nothing.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why there is no such file.
#[derive(Debug)]
pub(crate) enum NewFileError {
    /// It could not be written.
    Io(PathBuf, io::Error),
    /// Somebody ended the command first.
    Stopped(PathBuf),
    /// Something has its name.
    Taken(PathBuf),
    /// Something has the name under which it would grow.
    Unfinished(PathBuf),
}

impl fmt::Display for NewFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, source) => write!(f, "cannot write {}: {source}", path.display()),
            Self::Stopped(path) => write!(f, "stopped before it was whole: there is no {}", path.display()),
            Self::Taken(path) => {
                write!(f, "{} is there already and stays as it is; give a name that is not taken", path.display())
            }
            Self::Unfinished(part) => write!(
                f,
                "{} is there already: another command writes it now, or one was killed; in that case remove it",
                part.display()
            ),
        }
    }
}

impl std::error::Error for NewFileError {}

/// The file while it grows.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    path: PathBuf,
    /// Where it is until it is whole; then nothing is to be removed.
    lies_at: Option<PathBuf>,
}

impl NewFile {
    /// Makes it, mode 0600, under its growing name.
    ///
    /// # Errors
    /// [`NewFileError`], also when anything has one of the two names.
    pub(crate) fn create(path: &Path) -> Result<Self, NewFileError> {
        let failed = |source| NewFileError::Io(path.to_owned(), source);
        if path.file_name().is_none() {
            return Err(failed(io::Error::from(ErrorKind::IsADirectory)));
        }
        // Said at once and not after the last byte; what decides is the step at the end.
        match fs::symlink_metadata(path) {
            Ok(_) => return Err(NewFileError::Taken(path.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let mut part = OsString::from(path);
        part.push(".part");
        let part = PathBuf::from(part);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = made.map_err(|error| {
            let taken = error.kind() == ErrorKind::AlreadyExists;
            if taken { NewFileError::Unfinished(part.clone()) } else { failed(error) }
        })?;
        Ok(Self { file, path: path.to_owned(), lies_at: Some(part) })
    }

    /// Writes at its end.
    ///
    /// # Errors
    /// [`NewFileError`]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), NewFileError> {
        self.file.write_all(bytes).map_err(|source| NewFileError::Io(self.path.clone(), source))
    }

    /// Ends it: content and name are on the disk.
    ///
    /// # Errors
    /// [`NewFileError`]; the file is gone then.
    pub(crate) fn finish(mut self) -> Result<(), NewFileError> {
        self.placed().map_err(|source| {
            let (taken, path) = (source.kind() == ErrorKind::AlreadyExists, self.path.clone());
            if taken { NewFileError::Taken(path) } else { NewFileError::Io(path, source) }
        })
    }

    fn placed(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(part) = &self.lies_at {
            place(part, &self.path)?;
            self.lies_at = Some(self.path.clone());
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()?;
        self.lies_at = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(path) = &self.lies_at {
            // Half a backup must not look like one; nothing more can be done if it stays.
            let _gone = fs::remove_file(path);
        }
    }
}

/// Gives a file its name, and replaces nothing that has it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn place(part: &Path, path: &Path) -> io::Result<()> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, part, AT_FDCWD, path, RenameFlags::RENAME_NOREPLACE) {
        // Some file systems cannot do that in one step.
        Err(nix::Error::EINVAL | nix::Error::ENOSYS) => link(part, path),
        done => done.map_err(io::Error::from),
    }
}

/// Gives a file its name, and replaces nothing that has it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn place(part: &Path, path: &Path) -> io::Result<()> {
    link(part, path)
}

fn link(part: &Path, path: &Path) -> io::Result<()> {
    fs::hard_link(part, path)?;
    fs::remove_file(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn a_finished_file_stays_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = NewFile::create(&path).unwrap();
        file.write(b"one").unwrap();
        assert_eq!(names(folder.path()), ["a.part"], "a name is given to the whole file alone");
        assert_eq!(fs::metadata(folder.path().join("a.part")).unwrap().permissions().mode() & 0o7777, 0o600);
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_is_there_stays_and_what_is_not_finished_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "kept").unwrap();
        assert!(NewFile::create(&path).unwrap_err().to_string().contains("is there already"));
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        let dangling = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &dangling).unwrap();
        NewFile::create(&dangling).unwrap_err();
        let half = folder.path().join("half");
        NewFile::create(&half).unwrap().write(b"x").unwrap();
        assert!(!half.exists() && !folder.path().join("half.part").exists());
    }

    #[test]
    fn a_name_that_is_taken_while_the_file_grows_stays_as_it_is() {
        for place in [place, link] {
            let folder = tempfile::tempdir().unwrap();
            let (part, path) = (folder.path().join("part"), folder.path().join("a"));
            fs::write(&part, "new").unwrap();
            fs::write(&path, "kept").unwrap();
            assert_eq!(place(&part, &path).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"kept");
            fs::remove_file(&path).unwrap();
            place(&part, &path).unwrap();
            assert_eq!((fs::read(&path).unwrap(), part.exists()), (b"new".to_vec(), false));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = NewFile::create(&path).unwrap();
        fs::write(&path, "kept").unwrap();
        assert!(matches!(file.finish(), Err(NewFileError::Taken(_))));
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"kept".to_vec(), vec!["a".to_owned()]));
    }

    #[test]
    fn two_commands_never_write_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let first = NewFile::create(&path).unwrap();
        let second = NewFile::create(&path).unwrap_err().to_string();
        assert!(second.contains("a.part is there already") && second.contains("remove it"), "{second}");
        first.finish().unwrap();
        assert_eq!(names(folder.path()), ["a"]);
        NewFile::create(Path::new("/")).unwrap_err();
    }
}
