//! Folders: opened first, judged through the descriptor, and used through it, so that the folder that was judged
//! is the folder that is used.

use super::{FOREIGN_WRITE, FileError, Owner, check_mode, check_mode_within, check_owner, metadata};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat};
use nix::sys::stat::{FchmodatFlags, Mode, SFlag, fchmodat, fstatat, mkdirat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const STICKY: u32 = 0o1000;
// A folder that is only gone through is not opened for reading: a sandbox may keep its list of names shut.
#[cfg(any(target_os = "linux", target_os = "android"))]
const THROUGH: OFlag = OFlag::O_PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const THROUGH: OFlag = OFlag::O_RDONLY;

/// Checks that `path` is a folder of `owner`, not a symbolic link, with no permission beyond `max_mode` (for
/// example 0o755: nobody but the owner writes).
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn check_dir(path: &Path, owner: Owner, max_mode: u32) -> Result<(), FileError> {
    let folder = open_folder(path)?;
    let meta = metadata(&folder, path)?;
    check_owner(&meta, path, owner)?;
    // The set-group, set-user and sticky bits of a folder give nobody more.
    check_mode_within(&meta, path, max_mode | 0o7000)
}

/// Makes sure that `path` is a folder of mine that nobody else can write. A missing one is made with mode 0700
/// under any umask; its own folder must be there.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn ensure_private_dir(path: &Path) -> Result<(), FileError> {
    let (parent, name) = open_way(path)?;
    let made = match mkdirat(&parent, name.as_os_str(), Mode::S_IRWXU) {
        Ok(()) => true,
        Err(Errno::EEXIST) => false,
        Err(errno) => return Err(FileError::io(path, "create", errno.into())),
    };
    if made {
        // An umask can only have taken bits away; without this even its owner might not open it.
        fchmodat(&parent, name.as_os_str(), Mode::S_IRWXU, FchmodatFlags::FollowSymlink)
            .map_err(|errno| FileError::io(path, "set the mode of", errno.into()))?;
    }
    let folder = open_folder_in(&parent, &name, path)?;
    let meta = metadata(&folder, path)?;
    check_owner(&meta, path, Owner::Me)?;
    if made {
        check_mode(&meta, path, 0o700 | (meta.mode() & 0o7000))
    } else {
        check_mode_within(&meta, path, 0o7777 & !FOREIGN_WRITE)
    }
}

/// The folder that holds `path`, `.` for a bare name.
pub(crate) fn own_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

// The folder that holds `path`, open, and the last part of `path`. Refuses a folder that lets others replace the
// file: writable by them and without the sticky bit.
pub(super) fn open_parent(path: &Path) -> Result<(File, OsString), FileError> {
    open_parent_as(path, OFlag::O_RDONLY)
}

// The same folder, only to go through it: neither read nor synced.
pub(super) fn open_way(path: &Path) -> Result<(File, OsString), FileError> {
    open_parent_as(path, THROUGH)
}

fn open_parent_as(path: &Path, how: OFlag) -> Result<(File, OsString), FileError> {
    let Some(name) = path.file_name() else {
        return Err(FileError::NoName { path: path.into() });
    };
    let place = own_folder(path);
    let flags = how | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let folder = open(place, flags, Mode::empty()).map_err(|errno| refused(errno, place))?;
    let folder = File::from(folder);
    let found = metadata(&folder, place)?.mode() & 0o7777;
    if found & FOREIGN_WRITE != 0 && found & STICKY == 0 {
        return Err(FileError::WritableParent { path: path.into(), parent: place.into(), found });
    }
    Ok((folder, name.to_owned()))
}

// Opens `name` in `folder` without following a link and without waiting for the other end of a pipe.
pub(super) fn open_in(folder: &File, name: &OsStr, path: &Path, flags: OFlag, mode: Mode) -> Result<File, FileError> {
    let always = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let opened = openat(folder, name, flags | always, mode);
    opened.map(File::from).map_err(|errno| refused(errno, path))
}

fn open_folder(path: &Path) -> Result<File, FileError> {
    let Some(name) = path.file_name() else {
        // `/`, `.` and `..` are never links.
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let opened = open(path, flags, Mode::empty());
        return opened.map(File::from).map_err(|errno| refused(errno, path));
    };
    let place = own_folder(path);
    let flags = THROUGH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let parent = open(place, flags, Mode::empty()).map_err(|errno| refused(errno, path))?;
    open_folder_in(&File::from(parent), name, path)
}

fn open_folder_in(parent: &File, name: &OsStr, path: &Path) -> Result<File, FileError> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
    open_in(parent, name, path, flags, Mode::empty()).map_err(|error| {
        // A link to a folder also answers "not a directory"; only the words depend on this second look.
        if matches!(error, FileError::NotADirectory { .. }) && is_link(parent, name) {
            FileError::Symlink { path: path.into() }
        } else {
            error
        }
    })
}

pub(super) fn is_link(folder: &File, name: &OsStr) -> bool {
    fstatat(folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFLNK.bits())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the system's error numbers are not our enum")]
pub(super) fn refused(errno: Errno, path: &Path) -> FileError {
    let path = path.to_path_buf();
    match errno {
        Errno::ENOENT => FileError::NotFound { path },
        Errno::ELOOP | Errno::EMLINK => FileError::Symlink { path },
        Errno::ENOTDIR => FileError::NotADirectory { path },
        // A socket or a pipe without the other end, or a folder opened to write.
        Errno::ENXIO | Errno::EISDIR => FileError::NotRegular { path },
        Errno::EEXIST => FileError::Exists { path },
        errno => FileError::io(&path, "open", errno.into()),
    }
}
