//! A socket that has its final mode and group from the first instant that anybody can see it.
//!
//! It is bound in a fresh folder that only we can enter, given its group and mode there, and then renamed to its
//! place; a rename keeps the listening socket. No umask can widen any step.

use super::{SocketError, check_folder, give_to_group, my_uid};
use crate::files::{own_folder, same_file};
use crate::secret::{hex, random_bytes};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, connect, socket};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

// The system's address holds 108 bytes (104 on the BSDs and macOS), the last one a zero.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LONGEST: usize = 107;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LONGEST: usize = 103;

/// A listener at `path` with `mode` 0600 or 0660 and, if given, the group `group`. Its folder must belong to root
/// or to me and be writable by its owner alone. A socket of mine that nobody answers is replaced; anything else
/// that has the name is left alone. (architecture, Sockets: right from the first instant under any umask.)
///
/// # Errors
/// [`SocketError`]: an unsafe folder, a path that is too long, another process that already listens, something
/// that is not my socket, or no tokio runtime to serve the listener.
pub fn bind(path: &Path, mode: u32, group: Option<u32>) -> Result<UnixListener, SocketError> {
    if mode != 0o600 && mode != 0o660 {
        return Err(SocketError::BadMode { mode });
    }
    let failed = |doing| move |source: io::Error| SocketError::io(path, doing, source);
    // Turning the listener into tokio's outside a runtime would panic.
    tokio::runtime::Handle::try_current().map_err(|error| failed("serve")(io::Error::other(error)))?;
    check_folder(path)?;
    check_length(path)?;
    let stale = look(path)?;
    let nursery = Nursery::new(path)?;
    let born = nursery.socket();
    let listener = StdListener::bind(&born).map_err(failed("bind"))?;
    if let Some(gid) = group {
        give_to_group(&born, gid).map_err(|errno| failed("set the group of")(errno.into()))?;
    }
    fs::set_permissions(&born, Permissions::from_mode(mode)).map_err(failed("set the mode of"))?;
    listener.set_nonblocking(true).map_err(failed("serve"))?;
    if stale {
        nursery.take_stale(path)?;
    }
    match rename_new(&born, path) {
        Ok(()) => UnixListener::from_std(listener).map_err(failed("serve")),
        // Another starter was faster.
        Err(Errno::EEXIST) => Err(SocketError::AlreadyRunning { path: path.into() }),
        Err(errno) => Err(failed("bind")(errno.into())),
    }
}

/// A listener that a service manager bound at `path` and handed over: it must be the socket that clients find there, with
/// no permission beyond `most`. It listens anew, so that its clients see this process as the server and not the one that
/// bound it.
///
/// # Errors
/// [`SocketError::Handed`] saying what is not so, or no tokio runtime to serve the listener.
pub fn adopt(listener: StdListener, path: &Path, most: u32) -> Result<UnixListener, SocketError> {
    let failed = |doing| move |source: io::Error| SocketError::io(path, doing, source);
    tokio::runtime::Handle::try_current().map_err(|error| failed("serve")(io::Error::other(error)))?;
    let handed = |what: String| SocketError::Handed { path: path.into(), what };
    let address = listener.local_addr().map_err(failed("look at"))?;
    let Some(bound) = address.as_pathname() else { return Err(handed("has no path".to_owned())) };
    if !same_file(bound, path) {
        return Err(handed(format!("is bound at {}", bound.display())));
    }
    let mode = fs::metadata(path).map_err(failed("look at"))?.mode() & 0o777;
    if mode & !most != 0 {
        return Err(handed(format!("has mode {mode:04o}, want at most {most:04o}")));
    }
    nix::sys::socket::listen(&listener, Backlog::MAXCONN).map_err(|errno| failed("listen on")(errno.into()))?;
    listener.set_nonblocking(true).map_err(failed("serve"))?;
    UnixListener::from_std(listener).map_err(failed("serve"))
}

fn check_length(path: &Path) -> Result<(), SocketError> {
    // The socket is born at FOLDER/.123456/s and then moves.
    let born = own_folder(path).as_os_str().len() + "/.123456/s".len();
    let found = path.as_os_str().as_bytes().len().max(born);
    if found > LONGEST {
        return Err(SocketError::PathTooLong { path: path.into(), found, most: LONGEST });
    }
    Ok(())
}

// Whether a socket of mine is there that nobody answers. False: the name is free.
fn look(path: &Path) -> Result<bool, SocketError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(SocketError::io(path, "look at", source)),
    };
    if !meta.file_type().is_socket() {
        return Err(SocketError::NotASocket { path: path.into() });
    }
    if meta.uid() != my_uid() {
        return Err(SocketError::NotMine { path: path.into(), found: meta.uid() });
    }
    if answers(path).map_err(|source| SocketError::io(path, "try", source))? {
        return Err(SocketError::AlreadyRunning { path: path.into() });
    }
    Ok(true)
}

// Whether a process listens there. Never waits: a full queue counts as an answer.
fn answers(path: &Path) -> io::Result<bool> {
    let probe = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None)?;
    fcntl(&probe, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    fcntl(&probe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    match connect(probe.as_raw_fd(), &UnixAddr::new(path)?) {
        Ok(()) | Err(Errno::EAGAIN | Errno::EINPROGRESS) => Ok(true),
        Err(Errno::ECONNREFUSED | Errno::ENOENT) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

// Moves the socket to its name only if that is still free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn rename_new(from: &Path, to: &Path) -> nix::Result<()> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn rename_new(from: &Path, to: &Path) -> nix::Result<()> {
    use nix::fcntl::{AT_FDCWD, renameat};
    renameat(AT_FDCWD, from, AT_FDCWD, to)
}

// A folder of mode 0700 beside the socket's name; it goes when the value goes.
struct Nursery {
    folder: PathBuf,
}

impl Nursery {
    fn new(path: &Path) -> Result<Self, SocketError> {
        let name = random_bytes::<3>().map_err(SocketError::NoRandom)?;
        let folder = own_folder(path).join(format!(".{}", hex(&name)));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|source| SocketError::io(&folder, "create", source))?;
        let nursery = Self { folder };
        // An umask may have taken our own bits away.
        fs::set_permissions(&nursery.folder, Permissions::from_mode(0o700))
            .map_err(|source| SocketError::io(&nursery.folder, "set the mode of", source))?;
        Ok(nursery)
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("s")
    }

    fn old(&self) -> PathBuf {
        self.folder.join("o")
    }

    // Takes the stale socket away, then asks once more: between the first look and now another starter may have
    // put a live one there. That one goes back to its place.
    fn take_stale(&self, path: &Path) -> Result<(), SocketError> {
        let old = self.old();
        match fs::rename(path, &old) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(SocketError::io(path, "replace", source)),
        }
        if look(&old).is_ok() {
            return Ok(());
        }
        rename_new(&old, path).map_err(|errno| SocketError::io(path, "put back", errno.into()))?;
        Err(SocketError::AlreadyRunning { path: path.into() })
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        // Nothing can be done about a leftover; it is empty or holds a dead socket, and only we can enter it.
        let _socket = fs::remove_file(self.socket());
        let _old = fs::remove_file(self.old());
        let _folder = fs::remove_dir(&self.folder);
    }
}
