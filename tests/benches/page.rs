//! How fast the approval page answers behind its front door, beside a bare server in the same run. Timings on a shared
//! machine are noisy: only the ratio means something. Run it with `cargo bench -p fleetwatch-tests --bench page`, after
//! `cargo build --release --workspace --bins` (or a debug build, with `--profile dev`).

use fleetwatch_tests::world::{Asking, World, must};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const REQUESTS: usize = 500;
const IDLE: usize = 500;

#[expect(clippy::disallowed_methods, reason = "a benchmark measures, and nothing depends on what it reads")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn main() {
    let world = World::builder().without_model().start();
    let page = world.page();
    let size = page.get("/").body.len();
    let bare = bare_server(size);
    let measured = |address: &str| {
        let mut times: Vec<Duration> = (0..REQUESTS)
            .map(|_| {
                let began = now();
                assert_eq!(Asking::new(address, "GET", "/").send().status, 200);
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        (times[REQUESTS / 2], times[REQUESTS * 99 / 100])
    };
    let (base, base_tail) = measured(&bare);
    let (ours, tail) = measured(page.address());
    say(&format!("bare server: p50 {base:?}, p99 {base_tail:?}"));
    say(&format!("page:        p50 {ours:?}, p99 {tail:?}, p50 ratio {:.1}", ours.as_secs_f64() / base.as_secs_f64()));
    let idle: Vec<TcpStream> = (0..IDLE).filter_map(|_| TcpStream::connect(page.address()).ok()).collect();
    let (ours, tail) = measured(page.address());
    say(&format!(
        "page with {} idle connections: p50 {ours:?}, p99 {tail:?}, p50 ratio {:.1}",
        idle.len(),
        ours.as_secs_f64() / base.as_secs_f64()
    ));
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Answers every connection with as many bytes as the page's, one thread, no parsing.
fn bare_server(size: usize) -> String {
    let listener = must(TcpListener::bind("127.0.0.1:0"), "a port");
    let address = must(listener.local_addr(), "an address").to_string();
    std::thread::spawn(move || {
        let body = vec![b'x'; size];
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n");
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}
