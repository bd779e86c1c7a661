//! The page is on 127.0.0.1 and nothing else (`seed 000, The approval page`).

use fleetwatch_tests::world::{World, must, some};
use std::collections::BTreeSet;
use std::net::{Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

const LISTENS: &str = "0A";
const A_MOMENT: Duration = Duration::from_secs(2);

// The sockets that a process holds, by inode.
fn sockets_of(pid: u32) -> BTreeSet<String> {
    let entries = must(std::fs::read_dir(format!("/proc/{pid}/fd")), "its descriptors");
    let links = entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let names =
        links.filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()));
    names.collect()
}

// Local address and state of each row of a table that belongs to one of these sockets.
fn rows_of(table: &str, sockets: &BTreeSet<String>) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    let rows = text.lines().skip(1).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let ours = rows.filter(|fields| fields.get(9).is_some_and(|inode| sockets.contains(*inode)));
    ours.filter_map(|fields| Some(((*fields.get(1)?).to_owned(), (*fields.get(3)?).to_owned()))).collect()
}

// Other addresses of this machine: loopback's own, and the one that a packet to the outside would have.
fn other_addresses(port: u16) -> Vec<SocketAddr> {
    let mut found = vec![
        SocketAddr::from(([127, 0, 0, 2], port)),
        SocketAddr::from(([127, 255, 255, 254], port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ];
    // Connecting a datagram socket sends nothing; it only picks the address.
    let outward = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    found.extend(outward.ok().map(|address| SocketAddr::new(address.ip(), port)));
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    found.extend((name.trim(), port).to_socket_addrs().into_iter().flatten());
    found.retain(|address| address.ip() != SocketAddr::from(([127, 0, 0, 1], port)).ip());
    found
}

#[test]
fn the_executor_listens_on_one_port_of_127_0_0_1_and_on_no_other_address() {
    let mut world = World::builder().start();
    let page = world.stranger_page();
    let port: u16 = must(some(page.address().rsplit(':').next(), "a port").parse(), "a port");
    let address = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    let sockets = sockets_of(world.executor().pid());
    let listening = |table: &str, sockets: &BTreeSet<String>| {
        let rows = rows_of(table, sockets).into_iter();
        rows.filter(|(_, state)| state == LISTENS).map(|(address, _)| address).collect::<Vec<_>>()
    };
    assert_eq!(listening("tcp", &sockets), [address]);
    assert_eq!(listening("tcp6", &sockets), Vec::<String>::new());
    for table in ["udp", "udp6", "raw", "raw6"] {
        assert_eq!(rows_of(table, &sockets), [], "{table}");
    }
    // The assistant listens on no network at all.
    let of_assistant = sockets_of(world.assistant().pid());
    assert!(!of_assistant.is_empty());
    for table in ["tcp", "tcp6"] {
        assert_eq!(listening(table, &of_assistant), Vec::<String>::new(), "{table}");
    }
    assert_eq!(page.get("/").status, 200, "it is there");
    for other in other_addresses(port) {
        let reached = TcpStream::connect_timeout(&other, A_MOMENT);
        assert!(reached.is_err(), "the page answers at {other}");
    }
}
