//! What this command sees itself: builds, sockets, folders.

use crate::client::Places;
use host::files::{self, FileError, Owner};
use protocol::doctor::{Check, Grade, Report, Row};
use protocol::hello::BUILD;
use protocol::shown::Worded;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Each socket: its folder's name, and the most that its mode may allow where the daemons have users of their own.
const SOCKETS: [(&str, u32); 3] = [("ask", 0o660), ("control", 0o660), ("propose", 0o600)];

/// Rows about sockets and folders. `uids` are those of executor and assistant, as far as they answered; `single` says
/// whether one user runs everything, if that is known.
pub(super) fn rows(places: &Places, uids: (Option<u32>, Option<u32>), single: Option<bool>) -> Vec<Row> {
    let socket = |(name, most): (&str, u32)| {
        let path = places.run.join(name).join(format!("{name}.sock"));
        let most = if single == Some(true) { 0o600 } else { most };
        let seen = std::fs::symlink_metadata(&path).map(|meta| Seen::of(&meta)).map_err(|error| error.kind());
        socket_wrong(&path, most, seen).or_else(|| owner_wrong(&path, uids, seen.ok()?.owner))
    };
    let sockets: Vec<String> = SOCKETS.into_iter().filter_map(socket).collect();
    let mut folders = vec![places.run.clone()];
    folders.extend(SOCKETS.iter().map(|(name, _)| places.run.join(name)));
    let wrong: Vec<String> = folders.iter().filter_map(|folder| folder_wrong(folder, uids)).collect();
    vec![sockets_ruling(&sockets), folders_ruling(&places.run, &wrong)]
}

/// What a look at a path shows.
#[derive(Debug, Clone, Copy)]
struct Seen {
    socket: bool,
    mode: u32,
    owner: u32,
}

impl Seen {
    fn of(meta: &Metadata) -> Self {
        Self { socket: meta.file_type().is_socket(), mode: meta.mode() & 0o777, owner: meta.uid() }
    }
}

fn socket_wrong(path: &Path, most: u32, seen: Result<Seen, std::io::ErrorKind>) -> Option<String> {
    let place = path.display();
    match seen {
        // In a folder that is closed to this user; whoever listens there is asked for by its own daemon.
        Err(std::io::ErrorKind::PermissionDenied) => None,
        Err(kind) => Some(format!("{place}: {kind}")),
        Ok(seen) if !seen.socket => Some(format!("{place} is not a socket")),
        Ok(seen) if seen.mode & !most != 0 => Some(format!("{place} has mode {:04o}, want {most:04o}", seen.mode)),
        Ok(_) => None,
    }
}

// A socket is root's or one daemon's; with one of them silent nobody knows whose it should be.
fn owner_wrong(path: &Path, uids: (Option<u32>, Option<u32>), owner: u32) -> Option<String> {
    let (executor, assistant) = (uids.0?, uids.1?);
    let fine = [0, executor, assistant].contains(&owner);
    (!fine).then(|| format!("{} belongs to uid {owner}, want {executor} or {assistant}", path.display()))
}

fn sockets_ruling(wrong: &[String]) -> Row {
    if wrong.is_empty() {
        let found = Worded::new("ask, control and propose are as they must be", "ask, control y propose están bien");
        return Row::new(Check::Sockets, Grade::Ok, found);
    }
    Row::new(Check::Sockets, Grade::Fail, Worded::same(wrong.join("; "))).advise(
        "Restart the daemon that makes this socket; nobody else may change it.",
        "Reinicie el servicio que crea ese socket; nadie más debe cambiarlo.",
    )
}

fn folder_wrong(folder: &Path, uids: (Option<u32>, Option<u32>)) -> Option<String> {
    let owners = [Some(Owner::RootOrMe), uids.0.map(Owner::Uid), uids.1.map(Owner::Uid)];
    let mut last = None;
    for owner in owners.into_iter().flatten() {
        match files::check_dir(folder, owner, 0o755) {
            Ok(()) => return None,
            Err(FileError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => return None,
            Err(error) => last = Some(error.to_string()),
        }
    }
    last
}

fn folders_ruling(run: &Path, wrong: &[String]) -> Row {
    if wrong.is_empty() {
        let place = run.display();
        let found = Worded::new(
            format!("nobody else can write {place} and the sockets' folders"),
            format!("nadie más puede escribir en {place} ni en las carpetas de los sockets"),
        );
        return Row::new(Check::Folders, Grade::Ok, found);
    }
    Row::new(Check::Folders, Grade::Fail, Worded::same(wrong.join("; "))).advise(
        "Put owner and mode right, then restart the daemons; or say where they listen with --run-dir.",
        "Corrija dueño y permisos y reinicie los servicios; o indique con --run-dir dónde escuchan.",
    )
}

/// Whether both daemons and this command are one build.
pub(super) fn version((executor, assistant): (&Report, &Report)) -> Row {
    if executor.is_our_build() && assistant.is_our_build() {
        let found = Worded::new(format!("{BUILD}, all three parts"), format!("{BUILD}, las tres partes"));
        return Row::new(Check::Version, Grade::Ok, found);
    }
    let (theirs, other) = (&executor.hello.build, &assistant.hello.build);
    let found = Worded::new(
        format!("here {BUILD}, executor {theirs}, assistant {other}"),
        format!("aquí {BUILD}, ejecutor {theirs}, asistente {other}"),
    );
    Row::new(Check::Version, Grade::Fail, found)
        .advise("Install one version of all three.", "Instale la misma versión de las tres.")
}

/// Whether both daemons run the same policy.
pub(super) fn policy((executor, assistant): (&str, &str)) -> Row {
    if executor == assistant && !executor.is_empty() {
        let found = Worded::new("both daemons run the same policy", "ambos servicios usan la misma política");
        return Row::new(Check::Policy, Grade::Ok, found);
    }
    let found = Worded::new("the daemons run different policies", "los servicios usan políticas distintas");
    Row::new(Check::Policy, Grade::Fail, found).advise(
        "Give both the same FLEETWATCH_POLICY_DIR and restart both.",
        "Dé a ambos el mismo FLEETWATCH_POLICY_DIR y reinicie ambos.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_socket_is_wrong_when_it_is_gone_open_or_none() {
        let of = |seen| socket_wrong(Path::new("/r/ask/ask.sock"), 0o660, seen);
        assert_eq!(of(Ok(Seen { socket: true, mode: 0o660, owner: 1 })), None);
        assert_eq!(of(Ok(Seen { socket: true, mode: 0o600, owner: 1 })), None);
        assert_eq!(of(Err(ErrorKind::PermissionDenied)), None);
        assert!(of(Ok(Seen { socket: true, mode: 0o666, owner: 1 })).unwrap().contains("0666"));
        assert!(of(Ok(Seen { socket: false, mode: 0o600, owner: 1 })).unwrap().contains("not a socket"));
        assert!(of(Err(ErrorKind::NotFound)).unwrap().contains("ask.sock"));
    }

    #[test]
    fn a_socket_is_roots_or_one_daemons() {
        let of = |uids, owner| owner_wrong(Path::new("/r/ask/ask.sock"), uids, owner);
        for owner in [0, 71, 72] {
            assert_eq!(of((Some(71), Some(72)), owner), None, "{owner}");
        }
        assert!(of((Some(71), Some(72)), 73).unwrap().contains("uid 73"));
        assert_eq!(of((Some(71), None), 73), None);
    }

    #[test]
    fn anything_wrong_fails_and_is_named() {
        assert_eq!(sockets_ruling(&[]).grade, Grade::Ok);
        assert_eq!(folders_ruling(Path::new("/r"), &[]).grade, Grade::Ok);
        for row in
            [sockets_ruling(&["x is open".to_owned()]), folders_ruling(Path::new("/r"), &["x is open".to_owned()])]
        {
            assert_eq!(row.grade, Grade::Fail);
            assert!(row.found.en.contains("x is open") && !row.advice.es.is_empty());
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_wrong() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(folder_wrong(&path, (None, None)), None);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(folder_wrong(&path, (None, None)).unwrap().contains("0777"));
        assert!(folder_wrong(&path.join("none"), (None, None)).is_some());
    }

    #[test]
    fn other_builds_and_other_policies_fail() {
        let ours = Report::new("aa", Vec::new());
        let mut theirs = ours.clone();
        assert_eq!(version((&ours, &theirs)).grade, Grade::Ok);
        theirs.hello.build = "fleetwatch 9.9.9".to_owned();
        for both in [(&ours, &theirs), (&theirs, &ours)] {
            let row = version(both);
            assert!(row.grade == Grade::Fail && row.found.en.contains("9.9.9"));
        }
        assert_eq!(policy(("aa", "aa")).grade, Grade::Ok);
        for both in [("aa", "bb"), ("", "")] {
            assert_eq!(policy(both).grade, Grade::Fail);
        }
    }
}
