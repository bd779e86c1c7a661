//! Writing files that are whole or not there, and private from their first instant.

use super::folder::{is_link, open_in, open_parent, refused};
use super::{FileError, Owner, check_mode, check_secret, metadata};
use crate::secret::{hex, random_bytes};
use nix::errno::Errno;
use nix::fcntl::{OFlag, renameat};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::path::Path;

const PRIVATE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);

/// Puts `bytes` at `path` with mode 0600, in the place of what was there: written whole to a temporary file in
/// the same folder, synced, renamed, and the folder synced. A symbolic link at `path` is refused.
///
/// # Errors
/// [`FileError`] saying what was found and what to do; the old file is then still there.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let (folder, name) = open_parent(path)?;
    if is_link(&folder, &name) {
        return Err(FileError::Symlink { path: path.into() });
    }
    let temp = write_temporary(&folder, &name, path, bytes)?;
    let moved = renameat(&folder, temp.as_os_str(), &folder, name.as_os_str());
    finish(&folder, &temp, path, moved)
}

/// Puts `bytes` at `path` with mode 0600, whole and synced, only if nothing is there yet.
///
/// # Errors
/// [`FileError::Exists`] when something is there, else as [`write_private`].
pub fn create_private(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let (folder, name) = open_parent(path)?;
    let temp = write_temporary(&folder, &name, path, bytes)?;
    let moved = rename_new(&folder, &temp, &name);
    finish(&folder, &temp, path, moved)
}

/// A file of mine with mode 0600, open to read and to append; made when it is not there. Checked like a secret:
/// regular, one name, not a symbolic link.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn append_open(path: &Path) -> Result<File, FileError> {
    let (folder, name) = open_parent(path)?;
    let flags = OFlag::O_RDWR | OFlag::O_APPEND;
    let new = flags | OFlag::O_CREAT | OFlag::O_EXCL;
    let file = match open_in(&folder, &name, path, new, PRIVATE) {
        Ok(file) => {
            make_private(&file, path)?;
            sync(&folder, path)?;
            file
        }
        // Without O_CREAT the second open can only be of what was found.
        Err(FileError::Exists { .. }) => open_in(&folder, &name, path, flags, Mode::empty())?,
        Err(error) => return Err(error),
    };
    let meta = metadata(&file, path)?;
    check_secret(&meta, path, Owner::Me)?;
    check_mode(&meta, path, 0o600)?;
    Ok(file)
}

/// Takes the file at `path` away and syncs its folder. A symbolic link is refused; nothing there is no error.
///
/// # Errors
/// [`FileError`] saying what was found and what to do; the file is then still there.
pub fn remove_private(path: &Path) -> Result<(), FileError> {
    let (folder, name) = open_parent(path)?;
    if is_link(&folder, &name) {
        return Err(FileError::Symlink { path: path.into() });
    }
    match unlinkat(&folder, name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
        Ok(()) => sync(&folder, path),
        Err(Errno::ENOENT) => Ok(()),
        Err(errno) => Err(FileError::io(path, "remove", errno.into())),
    }
}

/// A lock between processes; free again when dropped, and when the process ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

/// Takes the lock that an empty 0600 file at `path` stands for; `None` while somebody else has it. The file stays.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn try_lock(path: &Path) -> Result<Option<FileLock>, FileError> {
    let file = append_open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock { _file: file })),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(source)) => Err(FileError::io(path, "lock", source)),
    }
}

// Renames only if nothing has the new name.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn rename_new(folder: &File, temp: &OsStr, name: &OsStr) -> nix::Result<()> {
    use nix::fcntl::{RenameFlags, renameat2};
    renameat2(folder, temp, folder, name, RenameFlags::RENAME_NOREPLACE)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn rename_new(folder: &File, temp: &OsStr, name: &OsStr) -> nix::Result<()> {
    use nix::fcntl::AtFlags;
    nix::unistd::linkat(folder, temp, folder, name, AtFlags::empty())?;
    unlinkat(folder, temp, UnlinkatFlags::NoRemoveDir)
}

fn write_temporary(folder: &File, name: &OsStr, path: &Path, bytes: &[u8]) -> Result<OsString, FileError> {
    let random = random_bytes::<6>().map_err(|source| FileError::NoRandom { path: path.into(), source })?;
    let mut temp = OsString::from(".");
    temp.push(name);
    temp.push(format!(".{}", hex(&random)));
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    let file = open_in(folder, &temp, path, flags, PRIVATE)?;
    let written = fill(&file, path, bytes);
    if written.is_err() {
        remove(folder, &temp);
    }
    written.map(|()| temp)
}

fn fill(mut file: &File, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    make_private(file, path)?;
    file.write_all(bytes).map_err(|source| FileError::io(path, "write", source))?;
    sync(file, path)
}

fn finish(folder: &File, temp: &OsStr, path: &Path, moved: nix::Result<()>) -> Result<(), FileError> {
    if let Err(errno) = moved {
        remove(folder, temp);
        // A folder has the name.
        if errno == Errno::EISDIR {
            return Err(FileError::NotRegular { path: path.into() });
        }
        return Err(refused(errno, path));
    }
    sync(folder, path)
}

// The file was made by us this instant: an umask may have taken bits away, none can have been added.
fn make_private(file: &File, path: &Path) -> Result<(), FileError> {
    fchmod(file, PRIVATE).map_err(|errno| FileError::io(path, "set the mode of", errno.into()))
}

fn sync(file: &File, path: &Path) -> Result<(), FileError> {
    file.sync_all().map_err(|source| FileError::io(path, "sync", source))
}

// The error that brought us here is the one worth telling.
fn remove(folder: &File, temp: &OsStr) {
    let _gone = unlinkat(folder, temp, UnlinkatFlags::NoRemoveDir);
}
