//! Who depends on whom, as `cargo metadata` says.

use crate::places::workspace_root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// Which part of a manifest names a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `[build-dependencies]`.
    Build,
    /// `[dev-dependencies]`.
    Dev,
    /// `[dependencies]`.
    Normal,
}

/// One line of a manifest.
#[derive(Debug, Clone)]
pub struct Named {
    /// The package.
    pub name: String,
    /// Where it is named.
    pub kind: Kind,
    /// The version that is asked for.
    pub requirement: String,
    /// The features that are asked for.
    pub features: Vec<String>,
    /// Its folder, for a package of this workspace.
    pub path: Option<String>,
}

/// The workspace's packages and the graph of everything below them, on this platform.
#[derive(Debug)]
pub struct Crates {
    /// What each package of the workspace names in its manifest.
    pub ours: BTreeMap<String, Vec<Named>>,
    names: BTreeMap<String, String>,
    below: BTreeMap<String, Vec<(String, BTreeSet<Kind>)>>,
}

/// `cargo`, the same that runs the tests, in the workspace's root and without the network.
#[must_use]
pub fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(workspace_root()).env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
    command
}

impl Crates {
    /// Asks cargo.
    ///
    /// # Errors
    /// What cargo said when it failed, or what its answer lacks.
    pub fn read() -> Result<Self, String> {
        let platform = host_platform()?;
        let args = ["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &platform];
        let output = cargo().args(args).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        Self::from_answer(&answer).ok_or_else(|| "the answer of cargo metadata is not as expected".to_owned())
    }

    fn from_answer(answer: &Value) -> Option<Self> {
        let members: BTreeSet<&str> =
            answer["workspace_members"].as_array()?.iter().filter_map(Value::as_str).collect();
        let mut crates = Self { ours: BTreeMap::new(), names: BTreeMap::new(), below: BTreeMap::new() };
        for package in answer["packages"].as_array()? {
            let (id, name) = (package["id"].as_str()?, package["name"].as_str()?);
            crates.names.insert(id.to_owned(), name.to_owned());
            if members.contains(id) {
                let named = package["dependencies"].as_array()?.iter().map(named).collect::<Option<_>>()?;
                crates.ours.insert(name.to_owned(), named);
            }
        }
        for node in answer["resolve"]["nodes"].as_array()? {
            let edges = node["deps"].as_array()?.iter().map(edge).collect::<Option<_>>()?;
            crates.below.insert(node["id"].as_str()?.to_owned(), edges);
        }
        Some(crates)
    }

    /// The packages of this workspace that a package names, of one kind.
    #[must_use]
    pub fn edges(&self, package: &str, kind: Kind) -> BTreeSet<String> {
        let named = self.ours.get(package).into_iter().flatten();
        named.filter(|named| named.kind == kind && named.path.is_some()).map(|named| named.name.clone()).collect()
    }

    /// The packages of this workspace that name a package, in any part of their manifest.
    #[must_use]
    pub fn namers(&self, package: &str) -> BTreeSet<String> {
        let names_it = |named: &Vec<Named>| named.iter().any(|named| named.name == package);
        self.ours.iter().filter(|(_, named)| names_it(named)).map(|(name, _)| name.clone()).collect()
    }

    /// Everything that is built into a package of this workspace, itself too; what only its tests need is left out.
    #[must_use]
    pub fn closure(&self, package: &str) -> BTreeSet<String> {
        let named_so = |id: &&String| self.names.get(*id).is_some_and(|name| name == package);
        let mut ids: BTreeSet<&String> = BTreeSet::new();
        let mut open: Vec<&String> = self.below.keys().filter(named_so).collect();
        while let Some(id) = open.pop() {
            if ids.insert(id) {
                let edges = self.below.get(id).into_iter().flatten();
                open.extend(edges.filter(|(_, kinds)| kinds.iter().any(|kind| *kind != Kind::Dev)).map(|(id, _)| id));
            }
        }
        ids.into_iter().filter_map(|id| self.names.get(id).cloned()).collect()
    }
}

fn named(value: &Value) -> Option<Named> {
    Some(Named {
        name: value["name"].as_str()?.to_owned(),
        kind: kind(&value["kind"])?,
        requirement: value["req"].as_str()?.to_owned(),
        features: value["features"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        path: value["path"].as_str().map(str::to_owned),
    })
}

fn edge(value: &Value) -> Option<(String, BTreeSet<Kind>)> {
    let kinds = value["dep_kinds"].as_array()?.iter().map(|each| kind(&each["kind"])).collect::<Option<_>>()?;
    Some((value["pkg"].as_str()?.to_owned(), kinds))
}

fn kind(value: &Value) -> Option<Kind> {
    match value.as_str() {
        None if value.is_null() => Some(Kind::Normal),
        Some("build") => Some(Kind::Build),
        Some("dev") => Some(Kind::Dev),
        None | Some(_) => None,
    }
}

/// `rustc`, the same that cargo runs.
#[must_use]
pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The libraries that the workspace's programs are made of, by package: the name of each in code, and its file. Builds the
/// programs when that was not done.
///
/// # Errors
/// What cargo said when it failed.
pub fn built() -> Result<BTreeMap<String, (String, PathBuf)>, String> {
    let mut cargo = cargo();
    cargo.args(["build", "--workspace", "--bins", "--locked", "--message-format", "json"]);
    // What cargo tells the tests of their own package would have some build scripts run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|start| text.starts_with(start)) {
            cargo.env_remove(&name);
        }
    }
    let output = cargo.env_remove("FLEETWATCH_BUILD_BARRIERS").output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().filter_map(|line| library(&serde_json::from_str(line).ok()?)).collect())
}

// The package's name, the library's, and its file: the one with code, or a macro's.
fn library(message: &Value) -> Option<(String, (String, PathBuf))> {
    let target = message.get("target").filter(|_| message["reason"] == "compiler-artifact")?;
    let is_library = |kind: &Value| kind == "lib" || kind == "proc-macro";
    target["kind"].as_array()?.iter().find(|kind| is_library(kind))?;
    let files = message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    let file = files.into_iter().find(|file| file.extension().is_some_and(|end| end != "rmeta"))?;
    // `…#name@version`, or `…/name#version`.
    let (source, end) = message["package_id"].as_str()?.rsplit_once('#')?;
    let package = end.split_once('@').map_or_else(|| source.rsplit('/').next(), |(name, _)| Some(name))?;
    Some((package.to_owned(), (target["name"].as_str()?.to_owned(), file)))
}

// Packages of other platforms were never downloaded, so cargo must not ask for them.
fn host_platform() -> Result<String, String> {
    let output = rustc().arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "rustc does not say its host".to_owned())
}
