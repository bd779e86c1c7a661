//! What a daemon may open: its own places, and what every program on this machine needs to find names, certificates and
//! the time.

use std::path::{Path, PathBuf};

/// The files and ports of one daemon.
#[derive(Clone, Debug, Default)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has rules for places"))]
pub struct Plan {
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) ports: Vec<u16>,
}

// Folders where files are replaced whole while we run: a rule on the file alone would be lost with it. Names and addresses
// (/etc, and where it links to), certificates, libraries of the name service, time zones, the kernel's own tables, and the
// processors, which the C library counts.
const SYSTEM: [&str; 18] = [
    "/dev/urandom",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/run/systemd/userdb",
    "/sys/devices/system/cpu",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/share/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/share/pki",
    "/usr/share/zoneinfo",
    "/var/lib/ca-certificates",
    "/var/lib/sss/mc",
];
// Where somebody says that certificates or time zones are elsewhere.
const SETTINGS: [&str; 3] = ["SSL_CERT_DIR", "SSL_CERT_FILE", "TZDIR"];

impl Plan {
    /// What every daemon needs of the machine.
    #[must_use]
    pub fn of_this_machine() -> Self {
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(SETTINGS.iter().filter_map(std::env::var_os).map(PathBuf::from));
        read.extend(crate::credentials::folder());
        Self { read, write: Vec::new(), ports: Vec::new() }
    }

    /// It may read this file, or what lies in this folder.
    #[must_use]
    pub fn reads(mut self, path: &Path) -> Self {
        self.read.push(path.to_owned());
        self
    }

    /// It may read, write, make and remove in this folder.
    #[must_use]
    pub fn writes(mut self, folder: &Path) -> Self {
        self.write.push(folder.to_owned());
        self
    }

    /// It may write in the folder of this file, which is replaced whole: not where the file is the service manager's.
    #[must_use]
    pub fn replaces(self, file: &Path) -> Self {
        if crate::credentials::holds(file) { self } else { self.writes(crate::files::own_folder(file)) }
    }

    /// It may listen on this TCP port; 0 is any free one.
    #[must_use]
    pub fn listens_on(mut self, port: u16) -> Self {
        self.ports.push(port);
        self
    }
}
