//! Who is at the other end of a loopback TCP connection: the owner of the other socket, from the kernel's own table.

use std::net::SocketAddr;

/// What the system says of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// The uid that owns it.
    Uid(u32),
    /// No live socket has that address: it is closed already, or it is not on this machine.
    Nobody,
    /// This system does not tell.
    #[cfg(not(target_os = "linux"))]
    Untold,
}

/// Looks the other end of a connection up. Blocks for the time of one read of `/proc`.
#[cfg(target_os = "linux")]
pub(super) fn look_up(theirs: SocketAddr, ours: SocketAddr) -> Peer {
    // The table is not read in one instant: under load a row can be missed once.
    for _ in 0..3 {
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let found = std::fs::File::open(table)
                .ok()
                .and_then(|file| linux::find(std::io::BufReader::with_capacity(64 * 1024, file), theirs, ours));
            if let Some(uid) = found {
                return Peer::Uid(uid);
            }
        }
    }
    Peer::Nobody
}

/// Looks the other end of a connection up: not here.
#[cfg(not(target_os = "linux"))]
pub(super) fn look_up(_theirs: SocketAddr, _ours: SocketAddr) -> Peer {
    Peer::Untold
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::BufRead;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    const ESTABLISHED: &str = "01";

    /// The uid of the established socket whose own address is `theirs` and whose other end is `ours`.
    pub(super) fn find(table: impl BufRead, theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
        let (theirs, ours) = (spellings(theirs)?, spellings(ours)?);
        let mut rows = Rows { table, line: String::new() };
        // A row that cannot be read ends the search: nobody is a refusal.
        while let Some(line) = rows.next() {
            // Most rows are somebody else's; a crowd leaves thousands.
            if !theirs.iter().any(|t| line.contains(t.as_str())) {
                continue;
            }
            if let Some(uid) = owner(line, &theirs, &ours) {
                return Some(uid);
            }
        }
        None
    }

    // One line at a time, in a place of its own that is used again.
    struct Rows<T> {
        table: T,
        line: String,
    }

    impl<T: BufRead> Rows<T> {
        fn next(&mut self) -> Option<&str> {
            self.line.clear();
            self.table.read_line(&mut self.line).ok().filter(|read| *read > 0).map(|_| self.line.as_str())
        }
    }

    // The uid in a row, if it is the live socket of these ends.
    fn owner(line: &str, theirs: &[String; 2], ours: &[String; 2]) -> Option<u32> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        let ours_or_not = theirs.iter().zip(ours).any(|(t, o)| t == local && o == remote);
        if !ours_or_not || state != ESTABLISHED {
            return None;
        }
        // After the state: queues, timer, retransmits, uid, timeout, inode.
        let uid = fields.nth(3)?.parse().ok()?;
        let inode = fields.nth(1)?;
        // A socket that no process holds has no inode, and its uid says nothing.
        (inode != "0").then_some(uid)
    }

    // As the kernel writes an IPv4 address: plain, and mapped for a socket of the IPv6 family.
    fn spellings(address: SocketAddr) -> Option<[String; 2]> {
        let ip: Ipv4Addr = match address.ip() {
            IpAddr::V4(ip) => ip,
            IpAddr::V6(ip) => ip.to_ipv4_mapped()?,
        };
        let word = u32::from_ne_bytes(ip.octets());
        let prefix = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
        let port = address.port();
        Some([format!("{word:08X}:{port:04X}"), format!("0000000000000000{prefix:08X}{word:08X}:{port:04X}")])
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const HEAD: &str =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

        fn row(local: u16, remote: u16, state: &str, uid: u32, inode: u32) -> String {
            let ip = u32::from_ne_bytes([127, 0, 0, 1]);
            format!(
                "   7: {ip:08X}:{local:04X} {ip:08X}:{remote:04X} {state} 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 00000000a6a070c9 20 4 1 15 -1\n"
            )
        }

        fn at(port: u16) -> SocketAddr {
            SocketAddr::from(([127, 0, 0, 1], port))
        }

        #[test]
        fn the_owner_of_the_other_end_is_found_and_not_our_own() {
            let table = format!("{HEAD}{}{}", row(8767, 4000, "01", 7, 11), row(4000, 8767, "01", 1001, 12));
            assert_eq!(find(table.as_bytes(), at(4000), at(8767)), Some(1001));
            assert_eq!(find(table.as_bytes(), at(4001), at(8767)), None);
        }

        #[test]
        fn a_socket_that_its_process_closed_is_nobodys() {
            for (state, inode) in [("01", 0), ("04", 12), ("06", 0), ("08", 12), ("0A", 12)] {
                let table = format!("{HEAD}{}", row(4000, 8767, state, 0, inode));
                assert_eq!(find(table.as_bytes(), at(4000), at(8767)), None, "{state} {inode}");
            }
        }

        #[test]
        fn a_torn_row_is_nobodys() {
            for torn in ["", "   7: 0100007F:0FA0", "garbage", "7: a b 01 c d e f"] {
                assert_eq!(find(torn.as_bytes(), at(4000), at(8767)), None);
            }
        }
    }
}
