//! Files and folders that hold secrets or decide something: opened without following links, then judged by what
//! the open descriptor says, never by a look at the path beforehand.
//!
//! Only the file, its own folder's write bits, and folders asked about are judged; further ancestors are not.

mod error;
mod folder;
mod look;
mod write;

#[cfg(test)]
mod tests;

pub use error::FileError;
pub use folder::{check_dir, ensure_private_dir};
pub use look::{check_file, free_bytes, reach};
pub use write::{FileLock, append_open, create_private, remove_private, try_lock, write_private};

pub(crate) use folder::own_folder;

use crate::secret::SecretText;
use folder::{open_in, open_way};
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use zeroize::{Zeroize, Zeroizing};

/// The largest secret file, in bytes.
const SECRET_LIMIT: u64 = 64 * 1024;
/// The largest settings file, in bytes.
const SETTINGS_LIMIT: u64 = 256 * 1024;
/// Write permission for the group and for others.
const FOREIGN_WRITE: u32 = 0o022;

/// Who must own a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user this process runs as.
    Me,
    /// The superuser or the user this process runs as.
    RootOrMe,
    /// Exactly this user.
    Uid(u32),
}

impl Owner {
    fn accepts(self, uid: u32) -> bool {
        match self {
            Self::Me => uid == crate::socket::my_uid(),
            Self::RootOrMe => uid == 0 || uid == crate::socket::my_uid(),
            Self::Uid(want) => uid == want,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Me => format!("uid {}", crate::socket::my_uid()),
            Self::RootOrMe => format!("uid 0 or uid {}", crate::socket::my_uid()),
            Self::Uid(want) => format!("uid {want}"),
        }
    }
}

/// The text of a secret file without its last line end: a regular file of `owner` with mode exactly 0600 or
/// 0400, one name, at most 64 KiB of UTF-8, not empty, not a symbolic link.
///
/// # Errors
/// [`FileError`] saying what was found and what to do; never any of the content.
pub fn read_secret(path: &Path, owner: Owner) -> Result<SecretText, FileError> {
    let file = open_existing(path, OFlag::O_RDONLY)?;
    let meta = metadata(&file, path)?;
    check_secret(&meta, path, owner)?;
    if meta.mode() & 0o7777 != 0o400 {
        check_mode(&meta, path, 0o600)?;
    }
    secret_text(&file, path)
}

/// The text of a credential that the service manager put in a folder of its own: as [`read_secret`], but it may be root's
/// and its group bits may be set, as an access list for this user shows there.
///
/// # Errors
/// [`FileError`] saying what was found and what to do; never any of the content.
pub fn read_credential(path: &Path) -> Result<SecretText, FileError> {
    let file = open_existing(path, OFlag::O_RDONLY)?;
    let meta = metadata(&file, path)?;
    check_secret(&meta, path, Owner::RootOrMe)?;
    check_mode_within(&meta, path, 0o640)?;
    secret_text(&file, path)
}

fn secret_text(file: &File, path: &Path) -> Result<SecretText, FileError> {
    let mut text = read_text(file, path, SECRET_LIMIT)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() {
        return Err(FileError::Empty { path: path.into() });
    }
    Ok(SecretText::from(std::mem::take(&mut *text)))
}

/// Whether two paths mean the same file: by what is there, or, where nothing is yet, by its real folder and its name.
#[must_use]
pub fn same_file(a: &Path, b: &Path) -> bool {
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    let real = |path: &Path| {
        let folder = std::fs::canonicalize(own_folder(path)).unwrap_or_else(|_| own_folder(path).to_owned());
        path.file_name().map(|name| folder.join(name))
    };
    real(a).is_some() && real(a) == real(b)
}

/// The text of a settings file: a regular file of `owner` that neither its group nor others can write, at most
/// 256 KiB of UTF-8, not a symbolic link.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn read_settings(path: &Path, owner: Owner) -> Result<String, FileError> {
    let file = open_existing(path, OFlag::O_RDONLY)?;
    let meta = metadata(&file, path)?;
    check_regular(&meta, path, owner)?;
    check_mode_within(&meta, path, 0o7777 & !FOREIGN_WRITE)?;
    let mut text = read_text(&file, path, SETTINGS_LIMIT)?;
    Ok(std::mem::take(&mut *text))
}

/// The text of a file that this program wrote for itself with [`write_private`]: a regular file of mine, mode 0600, one
/// name, at most `limit` bytes of UTF-8, not a symbolic link.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn read_private(path: &Path, limit: u64) -> Result<String, FileError> {
    let file = open_existing(path, OFlag::O_RDONLY)?;
    let meta = metadata(&file, path)?;
    check_secret(&meta, path, Owner::Me)?;
    check_mode(&meta, path, 0o600)?;
    let mut text = read_text(&file, path, limit)?;
    Ok(std::mem::take(&mut *text))
}

fn open_existing(path: &Path, flags: OFlag) -> Result<File, FileError> {
    let (folder, name) = open_way(path)?;
    open_in(&folder, &name, path, flags, Mode::empty())
}

fn metadata(file: &File, path: &Path) -> Result<Metadata, FileError> {
    file.metadata().map_err(|source| FileError::io(path, "look at", source))
}

fn check_regular(meta: &Metadata, path: &Path, owner: Owner) -> Result<(), FileError> {
    if !meta.is_file() {
        return Err(FileError::NotRegular { path: path.into() });
    }
    check_owner(meta, path, owner)
}

// Everything that is asked of a secret but its mode.
fn check_secret(meta: &Metadata, path: &Path, owner: Owner) -> Result<(), FileError> {
    check_regular(meta, path, owner)?;
    if meta.nlink() != 1 {
        return Err(FileError::HardLinked { path: path.into(), links: meta.nlink() });
    }
    Ok(())
}

fn check_owner(meta: &Metadata, path: &Path, owner: Owner) -> Result<(), FileError> {
    if owner.accepts(meta.uid()) {
        return Ok(());
    }
    Err(FileError::WrongOwner { path: path.into(), found: meta.uid(), want: owner.words() })
}

fn check_mode(meta: &Metadata, path: &Path, want: u32) -> Result<(), FileError> {
    let found = meta.mode() & 0o7777;
    if found == want {
        return Ok(());
    }
    Err(FileError::WrongMode { path: path.into(), found, want })
}

fn check_mode_within(meta: &Metadata, path: &Path, most: u32) -> Result<(), FileError> {
    let found = meta.mode() & 0o7777;
    check_mode(meta, path, found & most)
}

// At most `limit` bytes, into one buffer that never grows, so that no copy of a secret stays behind.
fn read_text(file: &File, path: &Path, limit: u64) -> Result<Zeroizing<String>, FileError> {
    let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(64);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    let read = file.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|source| FileError::io(path, "read", source))?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { path: path.into(), limit });
    }
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Ok(Zeroizing::new(text)),
        Err(error) => {
            error.into_bytes().zeroize();
            Err(FileError::NotText { path: path.into() })
        }
    }
}
