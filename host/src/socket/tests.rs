use super::*;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

const LATE: Duration = Duration::from_secs(10);
const NOBODY: u32 = 65534;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.sock");
    (dir, path)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn names(dir: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_bound_socket_has_its_mode_and_group_and_serves_both_peers_their_uids() {
    for mode in [0o600, 0o660] {
        let (dir, path) = place();
        let group = nix::unistd::getegid().as_raw();
        let listener = bind(&path, mode, Some(group)).unwrap();
        let meta = fs::symlink_metadata(&path).unwrap();
        assert!(meta.file_type().is_socket());
        assert_eq!((meta.mode() & 0o7777, meta.gid()), (mode, group));
        assert_eq!(names(&dir), ["test.sock"]);
        let (client, accepted) = tokio::join!(connect(&path, Some(my_uid()), LATE), listener.accept());
        assert_eq!(peer_uid(&client.unwrap()).unwrap(), my_uid());
        assert_eq!(peer_uid(&accepted.unwrap().0).unwrap(), my_uid());
    }
}

#[tokio::test]
async fn a_foreign_group_is_set_when_root_asks() {
    let (_dir, path) = place();
    let foreign = nix::unistd::getegid().as_raw() + 1;
    let bound = bind(&path, 0o660, Some(foreign));
    if my_uid() == 0 {
        let _listener = bound.unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().gid(), foreign);
    } else {
        assert!(matches!(bound, Err(SocketError::Io { .. })));
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn an_odd_mode_is_refused() {
    let (dir, path) = place();
    for mode in [0o666, 0o777, 0o644, 0o000] {
        assert!(matches!(bind(&path, mode, None), Err(SocketError::BadMode { .. })));
    }
    assert!(names(&dir).is_empty());
}

#[tokio::test]
async fn a_folder_that_others_can_write_is_refused() {
    let (dir, path) = place();
    for open in [0o770, 0o707, 0o1777] {
        set_mode(dir.path(), open);
        let error = bind(&path, 0o600, None).unwrap_err();
        assert!(matches!(error, SocketError::Folder(FileError::WrongMode { .. })), "{error}");
    }
    set_mode(dir.path(), 0o755);
    bind(&path, 0o600, None).unwrap();
}

#[tokio::test]
async fn a_folder_behind_a_link_or_of_another_user_or_missing_is_refused() {
    let (dir, _) = place();
    let real = dir.path().join("real");
    fs::create_dir(&real).unwrap();
    set_mode(&real, 0o700);
    symlink(&real, dir.path().join("link")).unwrap();
    let error = bind(&dir.path().join("link/s.sock"), 0o600, None).unwrap_err();
    assert!(matches!(error, SocketError::Folder(FileError::Symlink { .. })), "{error}");
    let error = bind(&dir.path().join("none/s.sock"), 0o600, None).unwrap_err();
    assert!(matches!(error, SocketError::Folder(FileError::NotFound { .. })), "{error}");
    if my_uid() == 0 {
        std::os::unix::fs::chown(&real, Some(NOBODY), None).unwrap();
        let error = bind(&real.join("s.sock"), 0o600, None).unwrap_err();
        assert!(matches!(error, SocketError::Folder(FileError::WrongOwner { found: NOBODY, .. })), "{error}");
    }
}

#[tokio::test]
async fn a_live_socket_is_left_alone_and_a_stale_one_is_replaced() {
    let (dir, path) = place();
    let first = bind(&path, 0o600, None).unwrap();
    let inode = fs::symlink_metadata(&path).unwrap().ino();
    let error = bind(&path, 0o600, None).unwrap_err();
    assert!(matches!(error, SocketError::AlreadyRunning { .. }), "{error}");
    assert_eq!(fs::symlink_metadata(&path).unwrap().ino(), inode);
    drop(first);
    let second = bind(&path, 0o600, None).unwrap();
    let (client, accepted) = tokio::join!(connect(&path, None, LATE), second.accept());
    assert!(client.is_ok() && accepted.is_ok());
    assert_eq!(names(&dir), ["test.sock"]);
}

#[tokio::test]
async fn a_live_socket_with_a_full_queue_still_counts_as_live() {
    let (_dir, path) = place();
    let _listener = bind(&path, 0o600, None).unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = UnixStream::connect(&path).await {
        held.push(stream);
        assert!(held.len() < 10_000, "the queue never filled");
    }
    assert!(matches!(bind(&path, 0o600, None), Err(SocketError::AlreadyRunning { .. })));
    let error = connect(&path, None, Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(error, SocketError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn of_two_starters_over_a_stale_socket_exactly_one_gets_the_name() {
    let (dir, path) = place();
    drop(bind(&path, 0o600, None).unwrap());
    for round in 0..200 {
        let start = std::sync::Barrier::new(2);
        let runtime = tokio::runtime::Handle::current();
        let starter = || {
            let _inside = runtime.enter();
            start.wait();
            bind(&path, 0o600, None)
        };
        let (one, two) = std::thread::scope(|scope| {
            let one = scope.spawn(starter);
            (starter(), one.join().unwrap())
        });
        let (winner, loser) = if one.is_ok() { (one, two) } else { (two, one) };
        let error = loser.unwrap_err();
        assert!(matches!(error, SocketError::AlreadyRunning { .. }), "round {round}: {error}");
        let winner = winner.unwrap();
        let (client, accepted) = tokio::join!(connect(&path, None, LATE), winner.accept());
        client.unwrap();
        accepted.unwrap();
        assert_eq!(names(&dir), ["test.sock"]);
    }
}

#[tokio::test]
async fn what_is_not_my_socket_is_left_alone() {
    let (dir, path) = place();
    fs::write(&path, b"precious").unwrap();
    assert!(matches!(bind(&path, 0o600, None), Err(SocketError::NotASocket { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let link = dir.path().join("link.sock");
    symlink(&path, &link).unwrap();
    assert!(matches!(bind(&link, 0o600, None), Err(SocketError::NotASocket { .. })));
    if my_uid() == 0 {
        let foreign = dir.path().join("foreign.sock");
        drop(bind(&foreign, 0o600, None).unwrap());
        std::os::unix::fs::chown(&foreign, Some(NOBODY), None).unwrap();
        assert!(matches!(bind(&foreign, 0o600, None), Err(SocketError::NotMine { found: NOBODY, .. })));
    }
}

#[tokio::test]
async fn a_path_that_is_too_long_is_refused_with_the_limit() {
    let (dir, _) = place();
    let path = dir.path().join("x".repeat(120));
    let error = bind(&path, 0o600, None).unwrap_err();
    assert!(matches!(error, SocketError::PathTooLong { .. }));
    assert!(error.to_string().contains("at most 10"), "{error}");
    assert!(names(&dir).is_empty());
}

#[test]
fn a_bind_outside_a_runtime_is_an_error_and_no_panic() {
    let (dir, path) = place();
    assert!(matches!(bind(&path, 0o600, None), Err(SocketError::Io { .. })));
    assert!(names(&dir).is_empty());
}

#[tokio::test]
async fn a_server_of_another_uid_gets_no_byte() {
    let (_dir, path) = place();
    let listener = bind(&path, 0o600, None).unwrap();
    let error = connect(&path, Some(my_uid() + 1), LATE).await.unwrap_err();
    assert!(matches!(error, SocketError::WrongPeer { found, .. } if found == my_uid()), "{error}");
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    assert!(heard.is_empty());
}

#[tokio::test]
async fn nobody_there_is_told_apart() {
    let (_dir, path) = place();
    assert!(matches!(connect(&path, None, LATE).await, Err(SocketError::NoServer { .. })));
    drop(bind(&path, 0o600, None).unwrap());
    assert!(matches!(connect(&path, None, LATE).await, Err(SocketError::NoServer { .. })));
}

#[test]
fn users_and_groups_are_found_by_name() {
    assert_eq!(uid_of_user("root"), Some(0));
    assert_eq!(user_of_uid(0).as_deref(), Some("root"));
    assert_eq!(uid_of_user("no-such-user-here"), None);
    assert_eq!(user_of_uid(4_000_000_001), None);
    assert_eq!(gid_of_group("no-such-group-here"), None);
    let root_group = if cfg!(target_os = "macos") { "wheel" } else { "root" };
    assert_eq!(gid_of_group(root_group), Some(0));
}

#[tokio::test]
async fn a_socket_that_was_handed_over_is_the_one_of_its_place_and_listens_anew() {
    let (dir, path) = place();
    let handed = |path: &Path, mode| {
        let listener = std::os::unix::net::UnixListener::bind(path).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        listener
    };
    let elsewhere = handed(&dir.path().join("other.sock"), 0o600);
    let error = adopt(elsewhere, &path, 0o600).unwrap_err();
    assert!(error.needs_a_person() && error.to_string().contains("other.sock"), "{error}");
    let error = adopt(handed(&path, 0o660), &path, 0o600).unwrap_err();
    assert!(error.needs_a_person() && error.to_string().contains("0660"), "{error}");
    fs::remove_file(&path).unwrap();
    let listener = adopt(handed(&path, 0o660), &path, 0o660).unwrap();
    let _client = connect(&path, Some(my_uid()), LATE).await.unwrap();
    listener.accept().await.unwrap();
}
