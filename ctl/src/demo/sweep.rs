//! The process that removes a demo's folder when the demo was killed before it could.

use super::state::{MARK, PREFIX};
use crate::exit::Exit;
use host::files::{self, Owner};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// For the daemons to end first.
const GRACE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(300);
const TRIES: u32 = 20;

/// Waits for the end of standard input, then removes the folder if it is still there.
pub(crate) fn sweep(folder: &Path) -> Exit {
    wait_for_end(std::io::stdin());
    if !folder.exists() {
        return Exit::Done;
    }
    if !is_demo(folder) {
        return Exit::Wrong;
    }
    std::thread::sleep(GRACE);
    for _ in 0..TRIES {
        let _removed = std::fs::remove_dir_all(folder);
        if !folder.exists() {
            return Exit::Done;
        }
        std::thread::sleep(AGAIN);
    }
    Exit::Wrong
}

fn wait_for_end<R: Read>(mut input: R) {
    let mut scrap = [0; 64];
    loop {
        match input.read(&mut scrap) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

// Only what a demo made: its name, its mark, mine and private.
fn is_demo(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    folder.is_absolute()
        && name.starts_with(PREFIX)
        && folder.join(MARK).is_file()
        && files::check_dir(folder, Owner::Me, 0o700).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::state::Folder;

    #[test]
    fn only_a_folder_that_a_demo_made_would_be_removed() {
        let folder = Folder::create(false).unwrap();
        assert!(is_demo(folder.root()));
        std::fs::remove_file(folder.root().join(MARK)).unwrap();
        assert!(!is_demo(folder.root()));
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join(MARK), "").unwrap();
        assert!(!is_demo(other.path()) && !is_demo(Path::new("fw-demo-x")));
    }
}
