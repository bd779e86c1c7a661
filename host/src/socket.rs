//! Unix sockets: bound with their final mode from the first instant, and a peer's uid before its first byte.

use crate::files::{self, FileError, Owner};
use nix::unistd::{Gid, Group, Uid, User, geteuid};
use std::path::Path;
use std::time::Duration;
use tokio::net::UnixStream;

mod bind;
mod error;

#[cfg(test)]
mod tests;

pub use bind::{adopt, bind};
pub use error::SocketError;

// How long to wait before another try at a server whose queue is full.
const FULL_QUEUE_WAIT: Duration = Duration::from_millis(20);

/// The uid of the process at the other end. For a client's stream this is the uid of the process that called
/// `listen()`, for a server's that of the process that connected.
///
/// # Errors
/// [`SocketError::PeerUnknown`] when the system does not say.
pub fn peer_uid(stream: &UnixStream) -> Result<u32, SocketError> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let found = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials).map(|peer| peer.uid());
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let found = nix::unistd::getpeereid(stream).map(|(uid, _)| uid.as_raw());
    found.map_err(|errno| SocketError::PeerUnknown { source: errno.into() })
}

/// A stream to the server at `path`, within `deadline`. With `expected_uid` the server's uid is checked before
/// any byte is sent; another server is refused without a word.
///
/// # Errors
/// [`SocketError`] when nobody listens, the server is another user's, or the deadline passed.
pub async fn connect(path: &Path, expected_uid: Option<u32>, deadline: Duration) -> Result<UnixStream, SocketError> {
    let Ok(reached) = tokio::time::timeout(deadline, reach(path)).await else {
        return Err(SocketError::Timeout { path: path.into() });
    };
    let stream = reached?;
    if let Some(want) = expected_uid {
        let found = peer_uid(&stream)?;
        if found != want {
            return Err(SocketError::WrongPeer { path: path.into(), found, want });
        }
    }
    Ok(stream)
}

async fn reach(path: &Path) -> Result<UnixStream, SocketError> {
    use std::io::ErrorKind;
    loop {
        let source = match UnixStream::connect(path).await {
            Ok(stream) => return Ok(stream),
            Err(source) => source,
        };
        let kind = source.kind();
        if kind == ErrorKind::ConnectionRefused || kind == ErrorKind::NotFound {
            return Err(SocketError::NoServer { path: path.into() });
        }
        if kind != ErrorKind::WouldBlock {
            return Err(SocketError::io(path, "connect to", source));
        }
        tokio::time::sleep(FULL_QUEUE_WAIT).await;
    }
}

/// The uid this process acts as.
#[must_use]
pub fn my_uid() -> u32 {
    geteuid().as_raw()
}

/// The uid of a user by name, if the system knows one.
#[must_use]
pub fn uid_of_user(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

/// The name of a user by uid, if the system knows one.
#[must_use]
pub fn user_of_uid(uid: u32) -> Option<String> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name)
}

/// The gid of a group by name, if the system knows one.
#[must_use]
pub fn gid_of_group(name: &str) -> Option<u32> {
    Group::from_name(name).ok().flatten().map(|group| group.gid.as_raw())
}

/// Whether the user with this uid is in the group of this name, by primary group or by the group's own list.
#[must_use]
pub fn is_member(uid: u32, group: &str) -> bool {
    let Some(user) = User::from_uid(Uid::from_raw(uid)).ok().flatten() else { return false };
    let Some(group) = Group::from_name(group).ok().flatten() else { return false };
    user.gid == group.gid || group.mem.contains(&user.name)
}

// The folder of a socket: root's or mine, written by its owner alone.
fn check_folder(path: &Path) -> Result<(), FileError> {
    files::check_dir(files::own_folder(path), Owner::RootOrMe, 0o755)
}

fn give_to_group(path: &Path, gid: u32) -> nix::Result<()> {
    nix::unistd::chown(path, None, Some(Gid::from_raw(gid)))
}
