//! Where the suites find binaries, peers and the workspace.

use std::path::{Path, PathBuf};

/// The workspace's root.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Where this profile's binaries lie: the parent of the folder of the test that runs (`target/debug/deps`).
///
/// # Panics
/// When the test cannot tell where it lies.
#[must_use]
#[expect(clippy::panic, reason = "a suite without its own place cannot go on")]
pub fn binaries_folder() -> PathBuf {
    let place = std::env::current_exe().ok();
    let folder = place.as_deref().and_then(Path::parent).and_then(Path::parent);
    folder.map_or_else(|| panic!("where is this test? Run tests/run"), Path::to_path_buf)
}

/// The folder that cargo builds into, here `target`.
///
/// # Panics
/// When the test cannot tell where it lies.
#[must_use]
pub fn target_folder() -> PathBuf {
    let profile = binaries_folder();
    profile.parent().map(Path::to_path_buf).unwrap_or(profile)
}

/// One of the workspace's binaries, beside the test that runs.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    must_be_there(binaries_folder().join(name))
}

/// The Python interpreter that can import the official MCP SDK.
///
/// # Panics
/// When it was not installed.
#[must_use]
pub fn peers_python() -> PathBuf {
    must_be_there(target_folder().join("peers/venv/bin/python"))
}

/// The folder whose `node_modules` holds playwright-core and axe-core.
///
/// # Panics
/// When it was not installed.
#[must_use]
pub fn peers_node() -> PathBuf {
    must_be_there(target_folder().join("peers/node"))
}

/// A Node.js that is new enough for the MCP conformance suite (22.15).
///
/// # Panics
/// When it was not installed.
#[must_use]
pub fn peers_new_node() -> PathBuf {
    must_be_there(target_folder().join("peers/new-node/node"))
}

// A missing binary must fail the test, never skip it.
fn must_be_there(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is missing: run tests/run", path.display());
    path
}
