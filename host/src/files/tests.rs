use super::*;
use crate::socket::my_uid;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use tempfile::TempDir;

const NOBODY: u32 = 65534;
const SECRET: &str = "hunter2-do-not-print";

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn file(dir: &TempDir, name: &str, content: &[u8], mode: u32) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, content).unwrap();
    set_mode(&path, mode);
    path
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn names(dir: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refusal(path: &Path) -> FileError {
    let error = read_secret(path, Owner::Me).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    error
}

#[test]
fn a_secret_of_mode_0600_or_0400_is_read_without_its_line_end() {
    let dir = folder();
    for (mode, content, want) in
        [(0o600, "abc\n", "abc"), (0o400, "abc", "abc"), (0o600, "abc\r\n", "abc"), (0o600, " a b \n\n", " a b \n")]
    {
        let path = file(&dir, "s", content.as_bytes(), mode);
        assert_eq!(read_secret(&path, Owner::Me).unwrap().expose(), want);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn every_other_mode_of_a_secret_is_refused_with_what_to_do() {
    let dir = folder();
    for found in [0o644, 0o640, 0o660, 0o700, 0o500, 0o200, 0o000, 0o604, 0o4600] {
        let path = file(&dir, "s", SECRET.as_bytes(), 0o600);
        set_mode(&path, found);
        let error = read_secret(&path, Owner::Me).unwrap_err();
        // A user who is not root cannot even open some of them.
        let unopened = my_uid() != 0 && matches!(error, FileError::Io { .. });
        let refused = matches!(error, FileError::WrongMode { found: said, .. } if said == found);
        assert!(refused || unopened, "{found:o}: {error}");
        fs::remove_file(path).unwrap();
    }
    let path = file(&dir, "s", SECRET.as_bytes(), 0o644);
    assert_eq!(refusal(&path).to_string(), format!("{0} has mode 0644, want 0600: chmod 600 {0}", path.display()));
}

#[test]
fn a_link_to_a_secret_is_refused() {
    let dir = folder();
    let path = file(&dir, "s", SECRET.as_bytes(), 0o600);
    let soft = dir.path().join("soft");
    symlink(&path, &soft).unwrap();
    assert!(matches!(refusal(&soft), FileError::Symlink { .. }));
    let dangling = dir.path().join("dangling");
    symlink(dir.path().join("nowhere"), &dangling).unwrap();
    assert!(matches!(refusal(&dangling), FileError::Symlink { .. }));
    fs::hard_link(&path, dir.path().join("hard")).unwrap();
    assert!(matches!(refusal(&path), FileError::HardLinked { links: 2, .. }));
}

#[test]
fn a_secret_of_another_owner_is_refused() {
    let dir = folder();
    let path = file(&dir, "s", SECRET.as_bytes(), 0o600);
    let error = read_secret(&path, Owner::Uid(my_uid() + 1)).unwrap_err();
    assert!(matches!(error, FileError::WrongOwner { found, .. } if found == my_uid()));
    if my_uid() == 0 {
        std::os::unix::fs::chown(&path, Some(NOBODY), None).unwrap();
        assert!(matches!(refusal(&path), FileError::WrongOwner { found: NOBODY, .. }));
        read_secret(&path, Owner::RootOrMe).unwrap_err();
        read_secret(&path, Owner::Uid(NOBODY)).unwrap();
    }
}

#[test]
fn a_secret_that_is_huge_or_empty_or_no_text_or_no_file_is_refused() {
    let dir = folder();
    let most = file(&dir, "most", &vec![b'x'; 64 * 1024], 0o600);
    assert_eq!(read_secret(&most, Owner::Me).unwrap().expose().len(), 64 * 1024);
    let huge = file(&dir, "huge", &vec![b'x'; 64 * 1024 + 1], 0o600);
    assert!(matches!(refusal(&huge), FileError::TooLarge { limit: 65536, .. }));
    let empty = file(&dir, "empty", b"\n", 0o600);
    assert!(matches!(refusal(&empty), FileError::Empty { .. }));
    let binary = file(&dir, "binary", &[SECRET.as_bytes(), &[0xff]].concat(), 0o600);
    assert!(matches!(refusal(&binary), FileError::NotText { .. }));
    assert!(matches!(refusal(dir.path()), FileError::NotRegular { .. }));
    assert!(matches!(refusal(&dir.path().join("none")), FileError::NotFound { .. }));
    assert!(matches!(refusal(&dir.path().join("none/s")), FileError::NotFound { .. }));
    assert!(matches!(refusal(Path::new("/")), FileError::NoName { .. }));
}

#[test]
fn a_pipe_or_a_socket_in_the_place_of_a_secret_is_refused_without_waiting() {
    let dir = folder();
    let pipe = dir.path().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    assert!(matches!(refusal(&pipe), FileError::NotRegular { .. }));
    let socket = dir.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(matches!(refusal(&socket), FileError::NotRegular { .. }));
}

#[test]
fn a_folder_that_others_can_write_is_refused_unless_it_is_sticky() {
    let dir = folder();
    let path = file(&dir, "s", SECRET.as_bytes(), 0o600);
    for open in [0o720, 0o702, 0o777] {
        set_mode(dir.path(), open);
        assert!(matches!(refusal(&path), FileError::WritableParent { found, .. } if found == open));
        write_private(&path, b"new").unwrap_err();
        create_private(&dir.path().join("new"), b"new").unwrap_err();
        append_open(&path).unwrap_err();
    }
    set_mode(dir.path(), 0o1777);
    assert_eq!(read_secret(&path, Owner::Me).unwrap().expose(), SECRET);
}

#[test]
fn settings_may_be_read_by_others_but_not_written() {
    let dir = folder();
    for fine in [0o644, 0o600, 0o444, 0o640] {
        let path = file(&dir, "p", b"a: 1\n", 0o600);
        set_mode(&path, fine);
        assert_eq!(read_settings(&path, Owner::RootOrMe).unwrap(), "a: 1\n");
        fs::remove_file(path).unwrap();
    }
    for bad in [0o664, 0o646, 0o666] {
        let path = file(&dir, "p", b"a: 1\n", bad);
        let error = read_settings(&path, Owner::RootOrMe).unwrap_err();
        assert!(error.to_string().contains("chmod 644"), "{error}");
    }
    let huge = file(&dir, "huge", &vec![b'x'; 256 * 1024 + 1], 0o644);
    assert!(matches!(read_settings(&huge, Owner::Me), Err(FileError::TooLarge { .. })));
    let link = dir.path().join("link");
    symlink(&huge, &link).unwrap();
    assert!(matches!(read_settings(&link, Owner::Me), Err(FileError::Symlink { .. })));
    assert!(matches!(read_settings(&huge, Owner::Uid(my_uid() + 1)), Err(FileError::WrongOwner { .. })));
}

#[test]
fn write_private_replaces_the_file_whole_and_leaves_nothing_else() {
    let dir = folder();
    let path = dir.path().join("f");
    write_private(&path, b"one").unwrap();
    set_mode(&path, 0o644);
    write_private(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(&dir), ["f"]);
}

#[test]
fn write_private_refuses_a_link_and_a_folder() {
    let dir = folder();
    let target = file(&dir, "target", b"old", 0o600);
    let link = dir.path().join("link");
    symlink(&target, &link).unwrap();
    assert!(matches!(write_private(&link, b"new"), Err(FileError::Symlink { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"old");
    fs::create_dir(dir.path().join("folder")).unwrap();
    let error = write_private(&dir.path().join("folder"), b"new").unwrap_err();
    assert!(matches!(error, FileError::NotRegular { .. }), "{error}");
    assert_eq!(names(&dir), ["folder", "link", "target"]);
}

#[test]
fn create_private_makes_a_new_file_only() {
    let dir = folder();
    let path = dir.path().join("f");
    create_private(&path, b"one").unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"one".to_vec(), 0o600));
    assert!(matches!(create_private(&path, b"two"), Err(FileError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"one");
    let link = dir.path().join("link");
    symlink(dir.path().join("elsewhere"), &link).unwrap();
    assert!(matches!(create_private(&link, b"two"), Err(FileError::Exists { .. })));
    assert_eq!(names(&dir), ["f", "link"]);
    assert_eq!(read_secret(&path, Owner::Me).unwrap().expose(), "one");
}

#[test]
fn append_open_makes_a_private_file_and_only_ever_appends() {
    let dir = folder();
    let path = dir.path().join("log");
    append_open(&path).unwrap().write_all(b"one\n").unwrap();
    assert_eq!(mode(&path), 0o600);
    let mut again = append_open(&path).unwrap();
    again.write_all(b"two\n").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    set_mode(&path, 0o644);
    assert!(matches!(append_open(&path), Err(FileError::WrongMode { .. })));
    set_mode(&path, 0o600);
    fs::hard_link(&path, dir.path().join("other")).unwrap();
    assert!(matches!(append_open(&path), Err(FileError::HardLinked { .. })));
    let link = dir.path().join("link");
    symlink(dir.path().join("elsewhere"), &link).unwrap();
    assert!(matches!(append_open(&link), Err(FileError::Symlink { .. })));
    assert!(!dir.path().join("elsewhere").exists());
}

#[test]
fn a_private_folder_is_made_once_and_accepted_again() {
    let dir = folder();
    let path = dir.path().join("state");
    ensure_private_dir(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    ensure_private_dir(&path).unwrap();
    set_mode(&path, 0o755);
    ensure_private_dir(&path).unwrap();
    for open in [0o770, 0o702, 0o1777] {
        set_mode(&path, open);
        assert!(matches!(ensure_private_dir(&path), Err(FileError::WrongMode { .. })));
    }
    let missing = dir.path().join("none/state");
    assert!(matches!(ensure_private_dir(&missing), Err(FileError::NotFound { .. })));
}

#[test]
fn a_private_folder_that_is_a_link_or_a_file_or_foreign_is_refused() {
    let dir = folder();
    let real = dir.path().join("real");
    ensure_private_dir(&real).unwrap();
    let link = dir.path().join("link");
    symlink(&real, &link).unwrap();
    assert!(matches!(ensure_private_dir(&link), Err(FileError::Symlink { .. })));
    assert!(matches!(check_dir(&link, Owner::Me, 0o755), Err(FileError::Symlink { .. })));
    // A slash at the end must not make the link be followed.
    let slashed = PathBuf::from(format!("{}/", link.display()));
    assert!(matches!(check_dir(&slashed, Owner::Me, 0o755), Err(FileError::Symlink { .. })));
    let plain = file(&dir, "plain", b"", 0o600);
    assert!(matches!(ensure_private_dir(&plain), Err(FileError::NotADirectory { .. })));
    assert!(matches!(check_dir(&real, Owner::Uid(my_uid() + 1), 0o755), Err(FileError::WrongOwner { .. })));
    if my_uid() == 0 {
        std::os::unix::fs::chown(&real, Some(NOBODY), None).unwrap();
        assert!(matches!(ensure_private_dir(&real), Err(FileError::WrongOwner { found: NOBODY, .. })));
        check_dir(&real, Owner::RootOrMe, 0o755).unwrap_err();
    }
}

#[test]
fn check_dir_allows_no_permission_beyond_the_most() {
    let dir = folder();
    set_mode(dir.path(), 0o750);
    check_dir(dir.path(), Owner::Me, 0o755).unwrap();
    check_dir(dir.path(), Owner::Me, 0o750).unwrap();
    let error = check_dir(dir.path(), Owner::Me, 0o700).unwrap_err();
    assert!(error.to_string().contains("has mode 0750, want 0700: chmod 700"), "{error}");
    check_dir(Path::new("/"), Owner::Uid(0), 0o755).unwrap();
}

#[test]
fn a_private_file_is_read_back_only_while_it_is_private_and_small() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    write_private(&path, b"12345").unwrap();
    assert_eq!(read_private(&path, 5).unwrap(), "12345");
    assert!(matches!(read_private(&path, 4), Err(FileError::TooLarge { .. })));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(read_private(&path, 5), Err(FileError::WrongMode { .. })));
}

#[test]
fn a_lock_is_held_by_one_at_a_time_and_its_file_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token.lock");
    let held = super::try_lock(&path).unwrap().unwrap();
    assert!(super::try_lock(&path).unwrap().is_none());
    drop(held);
    assert!(super::try_lock(&path).unwrap().is_some());
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_removed_file_is_gone_and_a_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("token"), folder.path().join("link"));
    super::write_private(&path, b"x").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert!(matches!(super::remove_private(&link).unwrap_err(), FileError::Symlink { .. }));
    super::remove_private(&path).unwrap();
    super::remove_private(&path).unwrap();
    assert!(!path.exists());
}

#[test]
fn two_paths_of_one_file_are_the_same_before_and_after_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let (real, other) = (folder.path().join("real"), folder.path().join("other"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &other).unwrap();
    assert!(super::same_file(&real.join("token"), &other.join("token")));
    assert!(!super::same_file(&real.join("token"), &real.join("sandbox")));
    super::write_private(&real.join("token"), b"x").unwrap();
    std::fs::hard_link(real.join("token"), real.join("sandbox")).unwrap();
    assert!(super::same_file(&real.join("token"), &other.join("sandbox")));
}

#[test]
fn a_credential_may_be_readable_by_its_group_and_by_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credential");
    std::fs::write(&path, "secret\n").unwrap();
    for (mode, fine) in [(0o400, true), (0o440, true), (0o600, true), (0o444, false), (0o660, false)] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(super::read_credential(&path).is_ok(), fine, "{mode:o}");
    }
}
