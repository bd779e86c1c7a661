//! Looks that read nothing: a file's owner and mode, whether a path can be reached, how much room a disk has.

use super::folder::refused;
use super::{FileError, Owner, check_mode_within, check_regular};
use nix::errno::Errno;
use nix::sys::stat::{SFlag, lstat};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use protocol::doctor::{LONGEST_PATH, Reach};
use std::path::{Component, Path};

/// Checks that `path` is a regular file of `owner` with no permission beyond `max_mode`. It is not opened: closing any
/// descriptor of a database would end the locks that this process holds on it.
///
/// # Errors
/// [`FileError`] saying what was found and what to do.
pub fn check_file(path: &Path, owner: Owner, max_mode: u32) -> Result<(), FileError> {
    let meta = std::fs::symlink_metadata(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            FileError::NotFound { path: path.into() }
        } else {
            FileError::io(path, "look at", source)
        }
    })?;
    check_regular(&meta, path, owner)?;
    check_mode_within(&meta, path, max_mode)
}

/// Whether this process's user could use what lies at a full path: a file or folder is asked for its read permission, a
/// socket for its write permission; nothing is opened and nobody is called. It is the user that is asked about: what this
/// process's own sandbox shuts as well does not count. Links, pipes and devices are not touched.
#[must_use]
pub fn reach(path: &Path) -> Reach {
    let plain = path.is_absolute() && !path.components().any(|part| matches!(part, Component::ParentDir));
    if !plain || path.as_os_str().len() > LONGEST_PATH {
        return Reach::Untried;
    }
    let kind = match lstat(path) {
        Ok(stat) => stat.st_mode & SFlag::S_IFMT.bits(),
        Err(errno) => return kept_out(errno),
    };
    let tried = if kind == SFlag::S_IFREG.bits() || kind == SFlag::S_IFDIR.bits() {
        access(path, AccessFlags::R_OK)
    } else if kind == SFlag::S_IFSOCK.bits() {
        access(path, AccessFlags::W_OK)
    } else {
        return Reach::Untried;
    };
    tried.map_or_else(kept_out, |()| Reach::Open)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the system's error numbers are not our enum")]
fn kept_out(errno: Errno) -> Reach {
    match errno {
        Errno::EACCES | Errno::EPERM => Reach::Denied,
        Errno::ENOENT | Errno::ENOTDIR => Reach::Absent,
        _ => Reach::Untried,
    }
}

/// Bytes that this user may still write on the disk that holds `path`.
///
/// # Errors
/// [`FileError`] when the system does not say.
pub fn free_bytes(path: &Path) -> Result<u64, FileError> {
    let disk = statvfs(path).map_err(|errno| refused(errno, path))?;
    Ok(wide(disk.blocks_available()).saturating_mul(wide(disk.fragment_size())))
}

// Their widths differ between systems.
fn wide(count: impl Into<u64>) -> u64 {
    count.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_there_is_open_what_is_not_is_absent_and_odd_things_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write(path("file"), "x").unwrap();
        create_dir(path("folder")).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        symlink(path("file"), path("link")).unwrap();
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        for name in ["file", "folder", "socket"] {
            assert_eq!(reach(&path(name)), Reach::Open, "{name}");
        }
        for name in ["none", "none/deeper", "file/deeper"] {
            assert_eq!(reach(&path(name)), Reach::Absent, "{name}");
        }
        for name in ["link", "pipe", "../x"] {
            assert_eq!(reach(&path(name)), Reach::Untried, "{name}");
        }
        assert_eq!(reach(Path::new("file")), Reach::Untried);
        assert_eq!(reach(Path::new(&format!("/{}", "x".repeat(LONGEST_PATH)))), Reach::Untried);
    }

    #[test]
    fn a_file_is_judged_by_owner_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, "x").unwrap();
        for (mode, fine) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_file(&path, Owner::Me, 0o600).is_ok(), fine, "{mode:o}");
        }
        assert!(matches!(check_file(folder.path(), Owner::Me, 0o700), Err(FileError::NotRegular { .. })));
        assert!(free_bytes(folder.path()).unwrap() > 0);
    }
}
