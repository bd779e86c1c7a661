//! The demo's folder: private, complete, and gone when the demo ends.

use super::zone;
use host::files::{self, FileError};
use host::secret::{RandomError, SecretText, random_bytes, random_token};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How the folder's name begins.
pub(crate) const PREFIX: &str = "fw-demo-";
/// The file that says that a demo made the folder.
pub(crate) const MARK: &str = "made-by-fleetwatch-demo";

const FOLDERS: [&str; 9] =
    ["run", "run/propose", "run/control", "run/ask", "executor", "assistant", "policy", "logs", "secrets"];

/// Why the folder could not be made or removed.
#[derive(Debug)]
pub(crate) enum FolderError {
    /// A file or folder inside.
    File(FileError),
    /// No random bytes for its name.
    Random(RandomError),
    /// It is still there.
    Remains(PathBuf, io::Error),
    /// There is no folder for temporary files.
    Temp(io::Error),
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Random(error) => error.fmt(f),
            Self::Remains(path, error) => write!(f, "{} could not be removed: {error}; remove it", path.display()),
            Self::Temp(error) => write!(f, "no folder for temporary files: {error}; set TMPDIR"),
        }
    }
}

impl std::error::Error for FolderError {}

impl From<FileError> for FolderError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// The folder. Dropping it removes it unless it is to be kept.
#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    keep: bool,
}

impl Folder {
    /// Makes the folder and everything that is only folders in it, all 0700.
    ///
    /// # Errors
    /// [`FolderError`]
    pub(crate) fn create(keep: bool) -> Result<Self, FolderError> {
        let temp = fs::canonicalize(std::env::temp_dir()).map_err(FolderError::Temp)?;
        let name = random_bytes::<5>().map_err(FolderError::Random)?;
        // Short, since a socket's whole path has at most 107 bytes.
        let root = temp.join(format!("{PREFIX}{}", crate::render::hex(&name)));
        files::ensure_private_dir(&root)?;
        let folder = Self { root, keep };
        files::create_private(&folder.root.join(MARK), b"")?;
        for name in FOLDERS {
            files::ensure_private_dir(&folder.root.join(name))?;
        }
        Ok(folder)
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it stays.
    pub(crate) fn is_kept(&self) -> bool {
        self.keep
    }

    /// The sockets' folder.
    pub(crate) fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// The executor's state.
    pub(crate) fn executor(&self) -> PathBuf {
        self.root.join("executor")
    }

    /// The assistant's state.
    pub(crate) fn assistant(&self) -> PathBuf {
        self.root.join("assistant")
    }

    /// The policy files.
    pub(crate) fn policy(&self) -> PathBuf {
        self.root.join("policy")
    }

    /// The children's logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Who may decide.
    pub(crate) fn principals(&self) -> PathBuf {
        self.policy().join("principals.yaml")
    }

    /// A secret's file.
    pub(crate) fn secret(&self, name: &str) -> PathBuf {
        self.root.join("secrets").join(name)
    }

    /// Writes a secret to its file, 0600.
    ///
    /// # Errors
    /// [`FileError`]
    pub(crate) fn write_secret(&self, name: &str, secret: &SecretText) -> Result<PathBuf, FileError> {
        let path = self.secret(name);
        files::create_private(&path, secret.expose().as_bytes())?;
        Ok(path)
    }

    /// A new random secret in its file.
    ///
    /// # Errors
    /// [`FolderError`]
    pub(crate) fn random_secret(&self, name: &str) -> Result<PathBuf, FolderError> {
        let token = random_token().map_err(FolderError::Random)?;
        Ok(self.write_secret(name, &token)?)
    }

    /// The shipped tool policy, a behaviour that lets proposals run, and one operator: me, without a PIN yet.
    ///
    /// # Errors
    /// [`FileError`]
    pub(crate) fn write_policy(&self) -> Result<(), FileError> {
        files::create_private(&self.policy().join("tool_policy.yaml"), policy::tool_policy::SHIPPED.as_bytes())?;
        files::create_private(&self.policy().join("policy.yaml"), behaviour(&zone::local()).as_bytes())?;
        files::create_private(&self.principals(), principals(host::socket::my_uid()).as_bytes())
    }

    /// Removes the folder, or gives its path when it stays.
    ///
    /// # Errors
    /// [`FolderError::Remains`]
    pub(crate) fn end(mut self) -> Result<Option<PathBuf>, FolderError> {
        if self.keep {
            return Ok(Some(self.root.clone()));
        }
        // One try is enough; dropping must not repeat it.
        self.keep = true;
        fs::remove_dir_all(&self.root).map_err(|error| FolderError::Remains(self.root.clone(), error))?;
        Ok(None)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.keep {
            let _removed = fs::remove_dir_all(&self.root);
        }
    }
}

fn behaviour(zone: &str) -> String {
    format!("autonomy: propose\ndry_run: false\ntimezone: {zone}\n")
}

fn principals(uid: u32) -> String {
    format!("- name: operator\n  uid: {uid}\n  operator: true\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::behaviour::{Autonomy, Behaviour};
    use policy::principals::Principals;
    use policy::tool_policy::ToolPolicy;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_files_load_and_let_one_operator_without_a_pin_decide() {
        let folder = Folder::create(false).unwrap();
        folder.write_policy().unwrap();
        let read = |name: &str| fs::read_to_string(folder.policy().join(name)).unwrap();
        let behaviour = Behaviour::parse(&read("policy.yaml"), "policy.yaml").unwrap();
        assert_eq!((behaviour.autonomy(), behaviour.dry_run()), (Autonomy::Propose, false));
        ToolPolicy::parse(&read("tool_policy.yaml"), "tool_policy.yaml").unwrap();
        let people = Principals::parse(&read("principals.yaml"), "principals.yaml").unwrap();
        let me = people.person_of_uid(host::socket::my_uid()).unwrap();
        assert!(me.is_operator() && me.pin().is_none());
    }

    #[test]
    fn everything_is_private_and_goes_unless_it_is_kept() {
        let folder = Folder::create(false).unwrap();
        let root = folder.root().to_owned();
        let secret = folder.random_secret("token").unwrap();
        for (path, want) in [(root.clone(), 0o700), (root.join("run/ask"), 0o700), (secret, 0o600)] {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, want, "{}", path.display());
        }
        assert_eq!(folder.end().unwrap(), None);
        assert!(!root.exists());
        let kept = Folder::create(true).unwrap().end().unwrap().unwrap();
        assert!(kept.exists());
        fs::remove_dir_all(kept).unwrap();
    }

    #[test]
    fn a_dropped_folder_goes_too() {
        let root = Folder::create(false).unwrap().root().to_owned();
        assert!(!root.exists());
    }
}
