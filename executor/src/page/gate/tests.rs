//! The gate over real sockets, with the real server and pages behind it.

use crate::page::door::Door;
use crate::page::door::played::{PIN, Played, card};
use crate::page::headers::STRICT;
use crate::page::{Page, PageSettings, open};
use host::clock::Clock;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(10);

struct World {
    page: Page,
    port: u16,
    folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (clock, _) = Clock::dangerous_manual(1_000, 5_000, "boot");
        let settings = PageSettings { port: 0, state_dir: folder.path().into(), clock };
        let page = open(Door::Played(Played::with(vec![card(7, "Hall A")])), settings).await.unwrap();
        let port = page.address.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap();
        Self { page, port, folder }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The gate may answer and close before everything is sent.
        let _cut = stream.write_all(bytes).await;
        answer(&mut stream).await
    }

    async fn get(&self, path: &str) -> String {
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port).as_bytes()).await
    }

    fn login(&self) -> Vec<u8> {
        let secret = std::fs::read_to_string(self.page.site.secret.path()).unwrap();
        let body = format!("secret={}&pin={PIN}", secret.trim_end());
        let port = self.port;
        format!(
            "POST /login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    async fn still_serves(&self) {
        let page = self.get("/").await;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.ends_with("</html>"), "{page}");
    }
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(SOON, stream.read_to_end(&mut bytes)).await.unwrap();
    assert!(read.is_ok() || !bytes.is_empty(), "{read:?}");
    String::from_utf8(bytes).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[tokio::test]
async fn every_answer_carries_the_strict_headers_and_closes() {
    let world = World::new().await;
    for (path, kind) in
        [("/", "text/html"), ("/style.css", "text/css"), ("/nothing", "text/html"), ("/history", "text/html")]
    {
        let page = world.get(path).await;
        for (name, value) in STRICT {
            assert!(page.contains(&format!("{name}: {value}\r\n")), "{path} {name}");
        }
        assert!(page.contains(&format!("Content-Type: {kind}; charset=utf-8\r\n")), "{path}");
        assert!(page.contains("Connection: close\r\n") && !page.contains("tiny"), "{path}");
    }
    let own = world.raw(b"BREW / HTTP/1.1\r\n\r\n").await;
    assert_eq!(status(&own), "405");
    for (name, value) in STRICT {
        assert!(own.contains(&format!("{name}: {value}\r\n")), "{name}");
    }
    world.page.stopped().await;
}

#[tokio::test]
async fn a_person_signs_in_and_reads_the_card_over_the_wire() {
    let world = World::new().await;
    let entered = world.raw(&world.login()).await;
    assert_eq!(status(&entered), "303", "{entered}");
    let cookie = entered.split("Set-Cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    let port = world.port;
    let request = |method: &str, host: &str| {
        format!("{method} /card/7?utm=1 HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\nUser-Agent: x\r\n\r\n")
    };
    let page = world.raw(request("GET", "127.0.0.1").as_bytes()).await;
    assert!(page.contains("Start recording in Hall A"), "{page}");
    let head = world.raw(request("HEAD", "127.0.0.1").as_bytes()).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    // A name that a foreign site points at this machine gets nothing.
    let rebound = world.raw(request("GET", "evil.example").as_bytes()).await;
    assert_eq!(status(&rebound), "403");
    assert!(!rebound.contains("Hall A"));
    world.page.stopped().await;
}

#[tokio::test]
async fn attacks_that_stop_or_fool_the_server_behind_end_at_the_gate() {
    let world = World::new().await;
    let host = format!("Host: 127.0.0.1:{}\r\n", world.port);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let inner = format!("GET /history HTTP/1.1\r\n{host}\r\n");
    for (attack, expected) in [
        (format!("POST /login HTTP/1.1\r\n{host}{form}Content-Length: 9000000000000000000\r\n\r\n"), "413"),
        (format!("POST /login HTTP/1.1\r\n{host}{form}Content-Length: 3000000000\r\n\r\nx"), "413"),
        (format!("POST /login HTTP/1.1\r\n{host}{form}Content-Length: +5\r\n\r\n{inner}"), "400"),
        (format!("POST /login HTTP/1.1\r\n{host}{form}Content-Length: 0\r\nContent-Length: 5\r\n\r\n{inner}"), "400"),
        (
            format!("POST / HTTP/1.1\r\n{host}{form}Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n{inner}"),
            "501",
        ),
        (format!("POST / HTTP/1.1\r\n{host}{form}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"), "501"),
        (format!("POST / HTTP/1.1\r\n{host}Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx"), "415"),
        (format!("GET / HTTP/1.1\r\n{host}\r\n{inner}"), "400"),
        (format!("GET / HTTP/1.1\r\n{host}Expect: 100-continue\r\n\r\n"), "417"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "400"),
        (format!("GET / HTTP/1.1\r\n{host}{host}\r\n"), "400"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".into(), "403"),
        (format!("GET http://127.0.0.1:{}/ HTTP/1.1\r\n{host}\r\n", world.port), "400"),
        (format!("GET / HTTP/1.0\r\n{host}\r\n"), "505"),
        (format!("OPTIONS / HTTP/1.1\r\n{host}\r\n"), "405"),
        ("GET / HTTP/1.1\nHost: x\n\n".into(), "400"),
        ("GET / HTTP/1.1\rHost".into(), "400"),
        ("\u{16}\u{3}\u{1}".into(), "400"),
        (format!("GET / HTTP/1.1\r\n{host}A: {}\r\n\r\n", "x".repeat(9_000)), "431"),
        (format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(1_000_000)), "431"),
        (format!("GET / HTTP/1.1\r\n{host}{}\r\n", (0..80).map(|n| format!("a{n}: b\r\n")).collect::<String>()), "431"),
    ] {
        let start: String = attack.chars().take(90).collect();
        let answers = world.raw(attack.as_bytes()).await;
        assert_eq!(status(&answers), expected, "{start:?}");
        assert_eq!(answers.matches("Content-Length: ").count(), 1, "{start:?}");
    }
    world.still_serves().await;
    world.page.stopped().await;
}

#[tokio::test]
async fn a_slow_request_ends_after_three_seconds_and_holds_nobody_up() {
    let world = World::new().await;
    let mut body = world.connect().await;
    let mut start = world.login();
    start.truncate(start.len() - 3);
    body.write_all(&start).await.unwrap();
    let mut head = world.connect().await;
    head.write_all(b"GET / HT").await.unwrap();
    world.still_serves().await;
    assert_eq!(status(&answer(&mut body).await), "408");
    assert_eq!(status(&answer(&mut head).await), "408");
    world.page.stopped().await;
}

#[tokio::test]
async fn two_hundred_idle_connections_do_not_keep_a_person_out() {
    let world = World::new().await;
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(world.connect().await);
    }
    let entered = world.raw(&world.login()).await;
    assert_eq!(status(&entered), "303", "{entered}");
    world.still_serves().await;
    drop(idle);
    world.page.stopped().await;
}

#[tokio::test]
async fn half_sent_forms_do_not_keep_a_person_out_either() {
    let world = World::new().await;
    let half = format!(
        "POST /login HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nx",
        world.port
    );
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut stream = world.connect().await;
        stream.write_all(half.as_bytes()).await.unwrap();
        idle.push(stream);
    }
    world.still_serves().await;
    drop(idle);
    world.page.stopped().await;
}

#[tokio::test]
async fn the_secret_and_the_socket_are_private_and_gone_after_a_clean_stop() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new().await;
    let secret = world.page.site.secret.path().to_owned();
    let folder = world.folder.path().join("page");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&secret), 0o600);
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("http.sock")), 0o600);
    let port = world.port;
    world.page.stopped().await;
    assert!(!secret.exists() && !folder.join("http.sock").exists());
    let refused = TcpStream::connect(("127.0.0.1", port)).await.map(drop);
    let kind = refused.unwrap_err().kind();
    assert!(matches!(kind, std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::ConnectionReset), "{kind:?}");
}

#[tokio::test]
async fn a_second_page_on_the_port_leaves_the_first_ones_secret_alone() {
    let world = World::new().await;
    let before = std::fs::read_to_string(world.page.site.secret.path()).unwrap();
    let (clock, _) = Clock::dangerous_manual(1_000, 5_000, "boot");
    let settings = PageSettings { port: world.port, state_dir: world.folder.path().into(), clock };
    let error = open(Door::Played(Played::with(vec![])), settings).await.unwrap_err();
    assert!(error.to_string().contains("cannot listen on 127.0.0.1"), "{error}");
    assert_eq!(std::fs::read_to_string(world.page.site.secret.path()).unwrap(), before);
    world.page.stopped().await;
}
