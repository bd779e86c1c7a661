//! The units as text: every line that shuts something, those too that the container cannot show, and what must not be there.

use fleetwatch_tests::sources;
use std::collections::BTreeSet;

fn unit(name: &str) -> String {
    let path = format!("systemd/{name}");
    let found = sources::files().unwrap().into_iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}")).text
}

#[test]
fn both_services_keep_every_line_that_shuts_something() {
    for daemon in ["executor", "assistant"] {
        let text = unit(&format!("fleetwatch-{daemon}.service"));
        let lines: BTreeSet<_> = text.lines().collect();
        let user = format!("User=fleetwatch-{daemon}");
        for line in [
            user.as_str(),
            "AmbientCapabilities=",
            "CapabilityBoundingSet=",
            "DevicePolicy=closed",
            "KeyringMode=private",
            "LimitCORE=0",
            "LimitNOFILE=4096",
            "LockPersonality=yes",
            "MemoryDenyWriteExecute=yes",
            "MemoryMax=512M",
            "MemorySwapMax=0",
            "NoNewPrivileges=yes",
            "NotifyAccess=main",
            "PrivateDevices=yes",
            "PrivateIPC=yes",
            "PrivateMounts=yes",
            "PrivateTmp=yes",
            "ProtectClock=yes",
            "ProtectControlGroups=yes",
            "ProtectHome=yes",
            "ProtectHostname=yes",
            "ProtectKernelLogs=yes",
            "ProtectKernelModules=yes",
            "ProtectKernelTunables=yes",
            "ProtectProc=invisible",
            "ProtectSystem=strict",
            "RemoveIPC=yes",
            "Restart=on-failure",
            "RestartPreventExitStatus=2 78",
            "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
            "RestrictNamespaces=yes",
            "RestrictRealtime=yes",
            "RestrictSUIDSGID=yes",
            "SecureBits=noroot-locked",
            "StateDirectoryMode=0700",
            "SystemCallArchitectures=native",
            "SystemCallErrorNumber=EPERM",
            "SystemCallFilter=~@privileged @resources",
            "TasksMax=256",
            "Type=notify",
            "UMask=0077",
            "WatchdogSec=30s",
        ] {
            assert!(lines.contains(line), "{daemon}: {line}");
        }
        // It would hide from the executor who calls.
        assert!(!lines.iter().any(|line| line.starts_with("PrivateUsers=")), "{daemon}");
        // A second line of the same name would be the one that counts.
        let names: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        for name in
            ["MemoryMax", "NoNewPrivileges", "ProtectHome", "ProtectSystem", "RestrictAddressFamilies", "UMask", "User"]
        {
            assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{daemon}: {name}");
        }
    }
}

#[test]
fn the_units_set_nothing_that_the_daemons_do_not_read() {
    let told = sources::files().unwrap().into_iter().find(|file| file.path == "docs/settings.md").unwrap().text;
    let mut seen = 0;
    for daemon in ["executor", "assistant"] {
        for line in unit(&format!("fleetwatch-{daemon}.service")).lines() {
            let Some(name) = line.strip_prefix("Environment=").and_then(|rest| rest.split('=').next()) else {
                continue;
            };
            seen += 1;
            assert!(told.contains(&format!("`{name}`")), "{daemon}: {name}");
        }
    }
    assert!(seen > 7, "only {seen} settings were found");
}

#[test]
fn calls_start_no_daemon() {
    for name in ["ask", "control", "page", "propose"] {
        let waits = format!("Service=fleetwatch-waiting@{name}.service");
        let lines = unit(&format!("fleetwatch-{name}.socket"));
        assert!(lines.lines().any(|line| line == waits), "{name}");
        assert!(lines.lines().any(|line| line == format!("FileDescriptorName={name}")), "{name}");
    }
    assert!(unit("fleetwatch-waiting@.service").lines().any(|line| line == "ExecStart=/bin/true"));
}

#[test]
fn the_shipped_settings_name_nothing_that_the_daemons_do_not_read() {
    let files = sources::files().unwrap();
    let text = |path: &str| files.iter().find(|file| file.path == path).unwrap().text.clone();
    let told = text("docs/settings.md");
    for daemon in ["assistant", "executor"] {
        let shipped = text(&format!("packaging/etc/{daemon}.env"));
        let names: Vec<_> = shipped.lines().filter(|line| line.starts_with("#FLEETWATCH_")).collect();
        assert!(names.len() > 2, "{daemon}: {names:?}");
        for name in names.iter().filter_map(|line| line.trim_start_matches('#').split('=').next()) {
            assert!(told.contains(&format!("`{name}`")), "{daemon}: {name}");
        }
        assert!(shipped.lines().all(|line| line.is_empty() || line.starts_with('#')), "{daemon} sets something");
    }
}

#[test]
fn the_packages_scripts_are_clean() {
    let root = fleetwatch_tests::workspace_root();
    let scripts =
        ["archive", "deb", "debian/postinst", "debian/postrm", "debian/prerm", "install.sh", "release", "tree"];
    let scripts = scripts.map(|name| root.join("packaging").join(name));
    let looked = std::process::Command::new("shellcheck").args(scripts).output();
    let looked = looked.expect("no shellcheck: apt-get install shellcheck, or tests/install-peers");
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stdout));
}
