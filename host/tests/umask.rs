//! Under an umask that takes nothing away, and under one that takes everything, modes are right from the first
//! instant. In a process of its own, since the umask belongs to the whole process.

#[cfg(test)]
mod tests {
    use host::files::{append_open, create_private, ensure_private_dir, write_private};
    use host::socket::bind;
    use nix::sys::stat::{Mode, umask};
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Seen {
        sockets: u32,
        connected: u32,
        wrong: Vec<(PathBuf, u32)>,
    }

    // Looks at everything in the folder, and connects, as fast as it can.
    fn watch(folder: &Path, socket: &Path, stop: &AtomicBool) -> Seen {
        let mut seen = Seen { sockets: 0, connected: 0, wrong: Vec::new() };
        while !stop.load(Ordering::Relaxed) {
            if let Ok(meta) = fs::symlink_metadata(socket) {
                seen.sockets += 1;
                if meta.mode() & 0o777 != 0o600 || !meta.file_type().is_socket() {
                    seen.wrong.push((socket.into(), meta.mode()));
                }
                if UnixStream::connect(socket).is_ok() {
                    seen.connected += 1;
                }
            }
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(meta) = entry.metadata() else { continue };
                if meta.mode() & 0o077 != 0 {
                    seen.wrong.push((entry.path(), meta.mode()));
                }
            }
        }
        seen
    }

    fn everything_is_private_under(mask: u32) {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("test.sock");
        let stop = Arc::new(AtomicBool::new(false));
        let before = umask(Mode::from_bits_truncate(mask));
        let watcher = {
            let (folder, socket, stop) = (dir.path().to_path_buf(), socket.clone(), Arc::clone(&stop));
            std::thread::spawn(move || watch(&folder, &socket, &stop))
        };
        for round in 0..200 {
            let listener = bind(&socket, 0o600, None).unwrap();
            let (name, state) = (dir.path().join("file"), dir.path().join("state"));
            write_private(&name, b"x").unwrap();
            create_private(&dir.path().join(format!("new{round}")), b"x").unwrap();
            drop(append_open(&dir.path().join(format!("log{round}"))).unwrap());
            ensure_private_dir(&state).unwrap();
            for (path, want) in [(&socket, 0o600), (&name, 0o600), (&state, 0o700)] {
                assert_eq!(fs::symlink_metadata(path).unwrap().mode() & 0o777, want);
            }
            drop(listener);
            fs::remove_dir(state).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        let seen = watcher.join().unwrap();
        umask(before);
        assert!(seen.wrong.is_empty(), "{:?}", seen.wrong);
        assert!(seen.sockets > 50 && seen.connected > 0, "{} {}", seen.sockets, seen.connected);
    }

    #[tokio::test]
    async fn no_umask_can_widen_or_break_a_mode() {
        everything_is_private_under(0o000);
        everything_is_private_under(0o777);
    }
}
