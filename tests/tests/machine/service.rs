//! The real executor under a service manager (`issue lines 4.1, 4.2, 4.4`): sockets that were bound by somebody else are
//! taken by name, it says that it is up, lives and stops, and what it cannot use ends it with 78.

use fleetwatch_tests::binary;
use fleetwatch_tests::processes::Reaped;
use fleetwatch_tests::world::{World, must, some, until};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
/// Hands its own standard input and output on as descriptors 3 and 4 to the program that it becomes.
const HAND_OVER: &str =
    r#"exec 3<&0 4>&1 0</dev/null 1>/dev/null; export LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES="$0"; exec "$@""#;

/// A process that is gone with the test.
struct Running(Reaped);

impl Running {
    fn code(&mut self) -> i32 {
        let status = until(SOON, "the end of the executor", || self.0.try_wait().ok().flatten());
        status.code().unwrap_or(-1)
    }
}

struct Place {
    world: World,
    log: PathBuf,
}

impl Place {
    fn new() -> Self {
        let mut world = World::builder().without_assistant().start();
        world.stop_executor();
        let log = world.folder().join("logs/handed.log");
        Self { world, log }
    }

    fn spawn(&self, command: &mut Command) -> Running {
        let log = must(File::options().create(true).append(true).open(&self.log), "the log");
        let settings = &self.world.executor_settings;
        Running(Reaped(must(command.env_clear().envs(settings).current_dir("/").stderr(log).spawn(), "the executor")))
    }

    /// The executor with two descriptors of these names.
    fn handed(&self, names: &str, (first, second): (OwnedFd, OwnedFd)) -> Running {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", HAND_OVER, names]).arg(binary("fleetwatch-executor"));
        self.spawn(command.stdin(Stdio::from(first)).stdout(Stdio::from(second)))
    }

    fn propose(&self) -> OwnedFd {
        bound(&self.world.socket("propose"), 0o600)
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

fn bound(path: &Path, mode: u32) -> OwnedFd {
    // A socket that an earlier case left.
    let _ = fs::remove_file(path);
    let listener = must(UnixListener::bind(path), "a socket");
    must(fs::set_permissions(path, Permissions::from_mode(mode)), "its mode");
    listener.into()
}

fn port() -> (OwnedFd, u16) {
    let listener = must(TcpListener::bind("127.0.0.1:0"), "a port");
    let port = must(listener.local_addr(), "its number").port();
    (listener.into(), port)
}

// The process that a client of this socket sees as its server.
fn server_of(path: &Path) -> i32 {
    let runtime = must(tokio::runtime::Builder::new_current_thread().enable_all().build(), "a runtime");
    runtime.block_on(async {
        let stream = must(tokio::net::UnixStream::connect(path).await, "propose.sock");
        some(must(stream.peer_cred(), "its server").pid(), "its process")
    })
}

#[test]
fn sockets_that_were_handed_over_are_served_by_name_and_the_manager_hears_of_life_and_of_the_end() {
    let mut place = Place::new();
    let notify = place.world.folder().join("notify");
    let manager = must(UnixDatagram::bind(&notify), "the manager's socket");
    must(manager.set_read_timeout(Some(SOON)), "a limit");
    place.world.executor_settings.extend([
        ("NOTIFY_SOCKET".to_owned(), notify.into_os_string()),
        ("WATCHDOG_USEC".to_owned(), OsString::from("600000")),
    ]);
    let hear = || {
        let mut words = [0; 512];
        let many = must(manager.recv(&mut words), "a word");
        String::from_utf8_lossy(&words[..many]).into_owned()
    };
    let (page, port) = port();
    let mut running = place.handed("propose:page", (place.propose(), page));
    let words = hear();
    let address = format!("http://127.0.0.1:{port}/");
    assert!(words.starts_with("READY=1\nSTATUS=") && words.contains(&address), "{words}\n{}", place.said());
    for _ in 0..3 {
        assert_eq!(hear(), "WATCHDOG=1\n");
    }
    // It listens anew: before that the test itself was the server.
    assert_eq!(server_of(&place.world.socket("propose")), i32::try_from(running.0.id()).unwrap_or(-1));
    assert_eq!(place.world.control().status().page, Some(address));
    let pid = running.0.id().to_string();
    assert!(must(Command::new("kill").args(["-TERM", &pid]).status(), "kill").success());
    let last = std::iter::repeat_with(hear).find(|words| words != "WATCHDOG=1\n");
    assert!(last.is_some_and(|words| words.starts_with("STOPPING=1\n")));
    assert_eq!(running.code(), 0, "{}", place.said());
}

#[test]
fn a_standard_input_that_is_the_socket_is_one_only_where_the_flag_says_so() {
    let place = Place::new();
    let binary = binary("fleetwatch-executor");
    let mut running = place.spawn(Command::new(&binary).arg("--propose-on-stdin").stdin(Stdio::from(place.propose())));
    let pid = i32::try_from(running.0.id()).unwrap_or(-1);
    until(SOON, "the executor", || (server_of(&place.world.socket("propose")) == pid).then_some(()));
    drop(running.0.kill());
    let _gone = running.0.wait();
    let mut running = place.spawn(Command::new(&binary).arg("--propose-on-stdin").stdin(Stdio::null()));
    assert_eq!(running.code(), 78, "{}", place.said());
    let mut both = Command::new(&binary);
    both.args(["--propose-on-stdin", "--stop-with-stdin"]).stdin(Stdio::null());
    assert_eq!(place.spawn(&mut both).code(), 2, "{}", place.said());
}

#[test]
fn what_was_handed_over_and_is_not_what_its_name_says_ends_the_start_with_78() {
    let place = Place::new();
    let elsewhere = place.world.folder().join("elsewhere.sock");
    let any = |address: &str| OwnedFd::from(must(TcpListener::bind(address), "a port"));
    let silent = || OwnedFd::from(must(UnixDatagram::unbound(), "a socket"));
    let cases: [(&str, OwnedFd, OwnedFd, &str); 7] = [
        ("propose:web", place.propose(), port().0, "called \"web\"; known are control, page, propose"),
        ("propose:propose", place.propose(), port().0, "two descriptors are called \"propose\""),
        ("propose", place.propose(), port().0, "2 descriptors were handed over with 1 names"),
        ("page:propose", place.propose(), port().0, "\"page\" is not a listening TCP socket on 127.0.0.1"),
        ("propose:page", place.propose(), any("0.0.0.0:0"), "\"page\" is not a listening TCP socket on 127.0.0.1"),
        ("propose:page", silent(), port().0, "\"propose\" is not a listening Unix stream socket"),
        ("propose:page", bound(&elsewhere, 0o600), port().0, "is bound at"),
    ];
    for (names, first, second, words) in cases {
        let mut running = place.handed(names, (first, second));
        assert_eq!(running.code(), 78, "{words}: {}", place.said());
        assert!(place.said().contains(words), "{words}: {}", place.said());
    }
    let mut running = place.handed("propose:page", (bound(&place.world.socket("propose"), 0o660), port().0));
    assert_eq!(running.code(), 78);
    assert!(place.said().contains("has mode 0660, want at most 0600"), "{}", place.said());
}
