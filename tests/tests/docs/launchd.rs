//! The two jobs of `launchd/`: every key is one that launchd knows, with a value of its kind, and what they set is what the
//! daemons take (issue line 4.4). They have never run on a Mac; this is what can be known without one.

use fleetwatch_tests::sources;
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// What a key may hold, by `man launchd.plist`.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// `true` or `false`.
    Bool,
    /// A dictionary with these keys.
    Dict(&'static [(&'static str, Self)]),
    /// A dictionary whose keys are names, and what each holds.
    Named(&'static Self),
    /// A whole number.
    Number,
    /// A text.
    Text,
    /// A list of texts.
    Texts,
}

const LIMITS: Kind = Kind::Dict(&[
    ("CPU", Kind::Number),
    ("Core", Kind::Number),
    ("Data", Kind::Number),
    ("FileSize", Kind::Number),
    ("MemoryLock", Kind::Number),
    ("NumberOfFiles", Kind::Number),
    ("NumberOfProcesses", Kind::Number),
    ("ResidentSetSize", Kind::Number),
    ("Stack", Kind::Number),
]);

const SOCKET: Kind = Kind::Dict(&[
    ("SockFamily", Kind::Text),
    ("SockNodeName", Kind::Text),
    ("SockPassive", Kind::Bool),
    ("SockPathGroup", Kind::Number),
    ("SockPathMode", Kind::Number),
    ("SockPathName", Kind::Text),
    ("SockPathOwner", Kind::Number),
    ("SockProtocol", Kind::Text),
    ("SockServiceName", Kind::Text),
    ("SockType", Kind::Text),
]);

/// The keys that a daemon of ours could need; one that is not here is a mistake or has to be thought about.
const JOB: Kind = Kind::Dict(&[
    ("AbandonProcessGroup", Kind::Bool),
    ("EnvironmentVariables", Kind::Named(&Kind::Text)),
    ("ExitTimeOut", Kind::Number),
    ("GroupName", Kind::Text),
    ("HardResourceLimits", LIMITS),
    ("InitGroups", Kind::Bool),
    ("KeepAlive", Kind::Bool),
    ("Label", Kind::Text),
    ("Nice", Kind::Number),
    ("ProcessType", Kind::Text),
    ("ProgramArguments", Kind::Texts),
    ("RunAtLoad", Kind::Bool),
    ("Sockets", Kind::Named(&SOCKET)),
    ("SoftResourceLimits", LIMITS),
    ("StandardErrorPath", Kind::Text),
    ("StandardOutPath", Kind::Text),
    ("ThrottleInterval", Kind::Number),
    ("Umask", Kind::Number),
    ("UserName", Kind::Text),
    ("WorkingDirectory", Kind::Text),
    ("inetdCompatibility", Kind::Dict(&[("Wait", Kind::Bool)])),
]);

const READ: &str = "import json, plistlib, sys; json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)";

fn text(path: &str) -> String {
    let found = sources::files().unwrap().into_iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}")).text
}

/// A property list as a reader of such files sees it.
fn read(text: &str) -> Value {
    let mut command = Command::new("/usr/bin/python3");
    let mut python = command.args(["-c", READ]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "it is no property list:\n{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every place that is not as its kind says.
fn wrong(value: &Value, kind: Kind, at: &str) -> Vec<String> {
    let entries = |one: &dyn Fn(&str) -> Option<Kind>| {
        let Some(found) = value.as_object() else { return vec![format!("{at} is no dictionary")] };
        let each = found.iter().flat_map(|(key, inner)| match one(key) {
            Some(kind) => wrong(inner, kind, &format!("{at}/{key}")),
            None => vec![format!("{at}/{key} is unknown")],
        });
        each.collect()
    };
    let fits = match kind {
        Kind::Bool => value.is_boolean(),
        Kind::Dict(keys) => return entries(&|key| keys.iter().find(|(name, _)| *name == key).map(|(_, kind)| *kind)),
        Kind::Named(kind) => return entries(&|_| Some(*kind)),
        Kind::Number => value.is_u64(),
        Kind::Text => value.as_str().is_some_and(|text| !text.is_empty()),
        Kind::Texts => value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string)),
    };
    if fits { Vec::new() } else { vec![format!("{at} is not of the kind {kind:?}")] }
}

fn job(daemon: &str) -> Value {
    read(&text(&format!("launchd/fleetwatch.{daemon}.plist")))
}

#[test]
fn every_key_of_the_jobs_is_one_that_launchd_knows_with_a_value_of_its_kind() {
    for daemon in ["executor", "assistant"] {
        assert_eq!(wrong(&job(daemon), JOB, daemon), Vec::<String>::new());
    }
    let executor = text("launchd/fleetwatch.executor.plist");
    for (from, to) in [
        ("<key>KeepAlive</key>", "<key>KeepAlife</key>"),
        ("<integer>384</integer>", "<string>0600</string>"),
        ("<key>SockPathMode</key>", "<key>SocketMode</key>"),
        ("<integer>63</integer>", "<string>077</string>"),
        ("<string>/</string>", "<true/>"),
    ] {
        assert_eq!(executor.matches(from).count(), 1, "{from}");
        assert_eq!(wrong(&read(&executor.replace(from, to)), JOB, "").len(), 1, "{to}");
    }
}

#[test]
fn the_jobs_start_two_daemons_as_two_users_with_settings_that_they_read() {
    let told = text("docs/settings.md");
    for daemon in ["executor", "assistant"] {
        let job = job(daemon);
        let name = format!("fleetwatch-{daemon}");
        let at = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            (at("Label"), at("UserName"), at("GroupName")),
            (format!("fleetwatch.{daemon}"), name.clone(), name.clone())
        );
        assert!(text("host/src/service.rs").contains(&format!("\"fleetwatch.{daemon}\"")), "doctor knows the job");
        assert!(
            text("systemd/sysusers.d/fleetwatch.conf").contains(&format!("u {name} ")),
            "the same user on every system"
        );
        let words: Vec<_> =
            job["ProgramArguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let programs = "/usr/local/libexec/fleetwatch";
        let state = format!("/var/db/{name}");
        let mut want = vec![
            format!("{programs}/fleetwatch-launchd"),
            format!("/etc/fleetwatch/{daemon}.env"),
            format!("{state}/{daemon}.log"),
            format!("{programs}/{name}"),
        ];
        want.extend((daemon == "executor").then(|| "--propose-on-stdin".to_owned()));
        assert_eq!(words, want);
        let settings = job["EnvironmentVariables"].as_object().unwrap();
        assert_eq!(settings[&format!("FLEETWATCH_{}_STATE_DIR", daemon.to_uppercase())], state);
        for setting in settings.keys() {
            assert!(told.contains(&format!("`{setting}`")), "{setting} is no setting");
        }
        // 0077, no core, as many files as under systemd; a stop waits for a run that has begun.
        let number = |value: &Value| value.as_u64().unwrap();
        assert_eq!(number(&job["Umask"]), 0o77);
        for limits in [&job["SoftResourceLimits"], &job["HardResourceLimits"]] {
            assert_eq!((number(&limits["Core"]), number(&limits["NumberOfFiles"])), (0, 4096));
        }
        let unit = text(&format!("systemd/{name}.service"));
        assert!(unit.contains("LimitNOFILE=4096\n"));
        assert!(unit.contains(&format!("TimeoutStopSec={}s\n", number(&job["ExitTimeOut"]))), "the same patience");
        assert_eq!(
            (&job["KeepAlive"], &job["RunAtLoad"], &job["InitGroups"]),
            (&true.into(), &true.into(), &true.into())
        );
    }
}

#[test]
fn the_executors_job_hands_over_one_listening_socket_that_is_the_assistants_alone() {
    let job = job("executor");
    let sockets = job["Sockets"].as_object().unwrap();
    assert_eq!(sockets.keys().collect::<Vec<_>>(), ["propose"], "only one can be the standard input");
    let socket = &sockets["propose"];
    let run = job["EnvironmentVariables"]["FLEETWATCH_RUN_DIR"].as_str().unwrap();
    assert_eq!(socket["SockPathName"], format!("{run}/propose/propose.sock"));
    assert_eq!(socket["SockPathMode"], 0o600);
    assert_ne!(socket["SockPathOwner"], 0);
    assert_eq!(job["inetdCompatibility"]["Wait"], true, "the socket itself, not one call");
    assert!(self::job("assistant").get("Sockets").is_none());
}

#[test]
fn the_script_of_the_jobs_is_plain_shell_that_anybody_may_start() {
    use std::os::unix::fs::PermissionsExt;
    let path = fleetwatch_tests::workspace_root().join("launchd/fleetwatch-launchd");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    for shell in ["dash", "bash"] {
        assert!(Command::new(shell).arg("-n").arg(&path).status().unwrap().success(), "{shell}");
    }
    let script = text("launchd/fleetwatch-launchd");
    assert!(script.starts_with("#!/bin/sh\n"));
    let code = script.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join("\n");
    for word in ["eval", "sudo", "chmod", "chown", "curl", "source "] {
        assert!(!code.contains(word), "{word}");
    }
}
