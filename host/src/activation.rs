//! Listening sockets that a service manager hands over: taken by name, and only when each is what its name says
//! (issue lines 4.1, 4.2 and 4.4).

use listenfd::ListenFd;
use nix::sys::socket::{
    AddressFamily, Backlog, SockType, SockaddrLike, SockaddrStorage, getsockname, getsockopt, listen, sockopt,
};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;

/// The most descriptors that are looked at.
const MOST: usize = 16;

/// What a named descriptor must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A listening TCP socket on 127.0.0.1.
    Loopback,
    /// A listening Unix stream socket.
    Unix,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Loopback => "a listening TCP socket on 127.0.0.1",
            Self::Unix => "a listening Unix stream socket",
        }
    }
}

/// Why what was handed over cannot be used. Starting again does not help.
#[derive(Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say the same in every variant: which name, what was found, what is wanted")]
pub enum ActivationError {
    /// Two descriptors have the same name.
    Duplicate { name: String },
    /// Names and descriptors are not the same number, or there are too many.
    Miscounted { names: usize, descriptors: usize },
    /// It is not what its name says.
    NotThat { name: String, want: Kind },
    /// Nobody here has a use for one of this name.
    Unknown { name: String, known: String },
    /// `LISTEN_FDS` or `LISTEN_FDNAMES` is no number or no text.
    Unreadable { setting: &'static str },
}

impl fmt::Display for ActivationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { name } => {
                write!(f, "two descriptors are called {name:?}; keep one socket with FileDescriptorName={name}")
            }
            Self::Miscounted { names, descriptors } => write!(
                f,
                "{descriptors} descriptors were handed over with {names} names (at most {MOST}); give each socket one \
                 FileDescriptorName="
            ),
            Self::NotThat { name, want } => {
                write!(f, "the descriptor {name:?} is not {}; put its socket unit right", want.words())
            }
            Self::Unknown { name, known } => {
                write!(
                    f,
                    "a descriptor is called {name:?}; known are {known}: set FileDescriptorName= in its socket unit"
                )
            }
            Self::Unreadable { setting } => write!(f, "{setting} cannot be read; leave it to the service manager"),
        }
    }
}

impl std::error::Error for ActivationError {}

/// What was handed over, by name.
#[derive(Debug, Default)]
pub struct Handed {
    unix: BTreeMap<&'static str, UnixListener>,
    loopback: BTreeMap<&'static str, TcpListener>,
}

impl Handed {
    /// The Unix listener of this name.
    pub fn unix(&mut self, name: &str) -> Option<UnixListener> {
        self.unix.remove(name)
    }

    /// The TCP listener of this name; it is on 127.0.0.1.
    pub fn loopback(&mut self, name: &str) -> Option<TcpListener> {
        self.loopback.remove(name)
    }

    /// Standard input as the Unix listener `name`, as a service manager hands one over that knows no names (launchd).
    /// Only where somebody said so: nothing is guessed from what standard input happens to be.
    ///
    /// # Errors
    /// [`ActivationError`] when it is no such listener, or the name was handed over already.
    pub fn take_stdin(&mut self, name: &'static str) -> Result<(), ActivationError> {
        let not_that = || ActivationError::NotThat { name: name.to_owned(), want: Kind::Unix };
        let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned().map_err(|_| not_that())?);
        if !listens(&listener, AddressFamily::Unix) {
            return Err(not_that());
        }
        match self.unix.insert(name, listener) {
            None => Ok(()),
            Some(_) => Err(ActivationError::Duplicate { name: name.to_owned() }),
        }
    }
}

/// Takes every descriptor that the service manager handed to this very process (`LISTEN_PID`, `LISTEN_FDS`,
/// `LISTEN_FDNAMES`); what was meant for another process is left alone. Call it once, before there is a second thread.
///
/// # Errors
/// [`ActivationError`] for the first that is unknown, twice there, or not what `known` says its name is.
pub fn take(known: &[(&'static str, Kind)]) -> Result<Handed, ActivationError> {
    let set = |name: &'static str| std::env::var(name).ok();
    if set("LISTEN_PID").and_then(|pid| pid.parse().ok()) != Some(std::process::id()) {
        return Ok(Handed::default());
    }
    let unreadable = |setting| ActivationError::Unreadable { setting };
    let count: usize =
        set("LISTEN_FDS").and_then(|count| count.parse().ok()).ok_or_else(|| unreadable("LISTEN_FDS"))?;
    // The library would begin to count there.
    if std::env::var_os("LISTEN_FDS_FIRST_FD").is_some() {
        return Err(unreadable("LISTEN_FDS_FIRST_FD"));
    }
    let names = set("LISTEN_FDNAMES").unwrap_or_default();
    let names = named(&names, count, known)?;
    // Not before its count is bounded: the library makes a list of that length.
    let mut given = ListenFd::from_env();
    let mut handed = Handed::default();
    for (place, (name, kind)) in names.into_iter().enumerate() {
        let not_that = || ActivationError::NotThat { name: name.to_owned(), want: kind };
        match kind {
            Kind::Unix => {
                let listener = given.take_unix_listener(place).ok().flatten().ok_or_else(not_that)?;
                if !listens(&listener, AddressFamily::Unix) {
                    return Err(not_that());
                }
                handed.unix.insert(name, listener);
            }
            Kind::Loopback => {
                let listener = given.take_tcp_listener(place).ok().flatten().ok_or_else(not_that)?;
                let here = listener.local_addr().ok();
                let on_loopback = matches!(here, Some(SocketAddr::V4(at)) if *at.ip() == Ipv4Addr::LOCALHOST);
                if !on_loopback || !listens(&listener, AddressFamily::Inet) {
                    return Err(not_that());
                }
                // Whoever made it may have given it a short queue, which a flood of calls fills at once.
                listen(&listener, Backlog::MAXCONN).map_err(|_| not_that())?;
                handed.loopback.insert(name, listener);
            }
        }
    }
    Ok(handed)
}

// Each name as we know it, in the order of the descriptors.
fn named(
    names: &str,
    count: usize,
    known: &[(&'static str, Kind)],
) -> Result<Vec<(&'static str, Kind)>, ActivationError> {
    let given: Vec<&str> = if names.is_empty() { Vec::new() } else { names.split(':').collect() };
    if given.len() != count || count > MOST {
        return Err(ActivationError::Miscounted { names: given.len(), descriptors: count });
    }
    let mut found: Vec<(&'static str, Kind)> = Vec::new();
    for name in given {
        let Some(one) = known.iter().find(|(known, _)| *known == name) else {
            let known = known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(ActivationError::Unknown { name: name.to_owned(), known });
        };
        if found.contains(one) {
            return Err(ActivationError::Duplicate { name: name.to_owned() });
        }
        found.push(*one);
    }
    Ok(found)
}

// Whether it is a stream socket of this family that listens.
fn listens(socket: &impl AsFd, family: AddressFamily) -> bool {
    use std::os::fd::AsRawFd;
    let fd = socket.as_fd();
    let is_family = getsockname::<SockaddrStorage>(fd.as_raw_fd()).is_ok_and(|at| at.family() == Some(family));
    is_family
        && getsockopt(&fd, sockopt::SockType).is_ok_and(|kind| kind == SockType::Stream)
        && getsockopt(&fd, sockopt::AcceptConn).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixDatagram;

    const KNOWN: [(&str, Kind); 2] = [("page", Kind::Loopback), ("propose", Kind::Unix)];

    #[test]
    fn descriptors_are_known_by_name_in_any_order_and_everything_else_is_refused() {
        let of = |names: &str, count| named(names, count, &KNOWN);
        assert_eq!(of("propose:page", 2).unwrap(), [("propose", Kind::Unix), ("page", Kind::Loopback)]);
        assert_eq!(of("", 0).unwrap(), []);
        assert!(matches!(of("propose:propose", 2), Err(ActivationError::Duplicate { .. })));
        for (names, count) in [("propose", 2), ("propose:page", 1), ("", 1), (&"page:".repeat(MOST), MOST + 1)] {
            assert!(matches!(of(names, count), Err(ActivationError::Miscounted { .. })), "{names}");
        }
        for name in ["fleetwatch-propose.socket", "unknown", "Propose"] {
            let error = of(name, 1).unwrap_err().to_string();
            assert!(error.contains("page, propose") && error.contains("FileDescriptorName="), "{error}");
        }
    }

    #[test]
    fn only_a_stream_socket_that_listens_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let unix = UnixListener::bind(folder.path().join("s")).unwrap();
        assert!(listens(&unix, AddressFamily::Unix) && !listens(&unix, AddressFamily::Inet));
        assert!(listens(&TcpListener::bind("127.0.0.1:0").unwrap(), AddressFamily::Inet));
        let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(!listens(&stream, AddressFamily::Unix));
        assert!(!listens(&UnixDatagram::unbound().unwrap(), AddressFamily::Unix));
        assert!(!listens(&tempfile::tempfile().unwrap(), AddressFamily::Unix));
    }
}
