use super::*;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

// What the process inside is told: what to try, and the folder that is its own.
const TRY: &str = "SANDBOX_TRY";
const OWN: &str = "SANDBOX_OWN";

// This very test binary in a process of its own: a sandbox cannot be left again.
fn inside(attempt: &str, own: &Path) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sandbox::tests::inside_a_process_of_its_own", "--nocapture"]);
    command.env(TRY, attempt).env(OWN, own).output().unwrap()
}

// Alone it has nothing to do; the tests below run it in a process of its own.
#[test]
fn inside_a_process_of_its_own() {
    let Some(own) = std::env::var_os(OWN).map(PathBuf::from) else { return };
    let attempt = std::env::var(TRY).unwrap();
    if attempt != "unhardened" {
        harden();
        #[cfg(target_os = "linux")]
        assert_eq!(nix::sys::prctl::get_dumpable(), Ok(false));
    }
    let plan = Plan::of_this_machine().writes(&own).listens_on(0);
    let closed = close(&plan, Daemon::Executor, Some("1"));
    match attempt.as_str() {
        "unhardened" => {
            let Err(SandboxError::Missing(names)) = closed else { panic!("{closed:?}") };
            assert_eq!(names, ["no-core", "not-dumpable", "no-new-privs"]);
        }
        "all" => {
            closed.unwrap();
            assert_eq!(missing(), Vec::<String>::new());
            try_all(&own);
        }
        "exec" => {
            closed.unwrap();
            let _gone = nix::unistd::execv(c"/bin/true", &[c"true"]);
        }
        other => panic!("{other}"),
    }
}

fn try_all(own: &Path) {
    let denied = |what: &str, tried: std::io::Result<()>| {
        assert_eq!(tried.map_err(|error| error.kind()), Err(std::io::ErrorKind::PermissionDenied), "{what}");
    };
    fs::write(own.join("file"), "x").unwrap();
    fs::create_dir(own.join("folder")).unwrap();
    fs::rename(own.join("file"), own.join("folder/moved")).unwrap();
    assert_eq!(fs::read(own.join("folder/moved")).unwrap(), b"x");
    fs::read("/etc/passwd").unwrap();
    fs::read("/proc/self/status").unwrap();
    let outside = own.with_file_name("outside");
    denied("a file outside", fs::read(outside.join("file")).map(drop));
    denied("a folder outside", fs::read_dir(&outside).map(drop));
    denied("a new file outside", fs::write(outside.join("new"), "x"));
    denied("a file of the system", fs::write("/etc/fleetwatch-sandbox-test", "x"));
    denied("the temporary folder", fs::write(std::env::temp_dir().join("fleetwatch-sandbox-test"), "x"));
    denied("a link", std::os::unix::fs::symlink("/etc/passwd", own.join("link")));
    denied("a program", Command::new("/bin/true").spawn().map(drop));
    TcpListener::bind("127.0.0.1:0").unwrap();
    denied("a port of somebody else", TcpListener::bind("127.0.0.1:45999").map(drop));
    let raw = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Packet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::empty(),
        None,
    );
    denied("a packet socket", raw.map(drop).map_err(Into::into));
    let parent = nix::unistd::getppid();
    denied("a signal to another process", nix::sys::signal::kill(parent, None).map_err(Into::into));
    let core = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_CORE);
    assert_eq!(core, Ok((0, 0)));
    std::thread::spawn(|| 7).join().unwrap();
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/file"), "x").unwrap();
    (folder, own)
}

#[test]
fn its_own_places_stay_open_and_everything_else_is_shut() {
    let (_folder, own) = place();
    let output = inside("all", &own);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

#[test]
fn a_process_that_becomes_another_program_is_killed() {
    let (_folder, own) = place();
    let output = inside("exec", &own);
    assert_eq!(output.status.signal(), Some(nix::sys::signal::Signal::SIGSYS as i32), "{output:?}");
}

#[test]
fn what_is_required_and_missing_is_refused_by_name() {
    let (_folder, own) = place();
    let output = inside("unhardened", &own);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    let error = SandboxError::Missing(vec!["landlock".to_owned()]).to_string();
    assert!(error.contains("missing: landlock") && error.contains(REQUIRE), "{error}");
    for odd in ["yes", "2", "true", " 1"] {
        let refused = close(&Plan::default(), Daemon::Assistant, Some(odd));
        assert_eq!(refused, Err(SandboxError::BadSetting), "{odd}");
    }
}

#[test]
fn pieces_have_names_of_their_own_and_all_are_missing_before_anything_was_done() {
    let names: Vec<_> = Piece::ALL.into_iter().map(Piece::as_str).collect();
    assert_eq!(names, ["seccomp", "no-core", "not-dumpable", "landlock", "landlock-ports", "no-new-privs"]);
    assert_eq!(missing(), names);
}
