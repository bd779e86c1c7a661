//! What the container cannot show: limits that belong to this machine, and what must not be in a unit.

use fleetwatch_tests::sources;
use std::collections::BTreeSet;

fn unit(name: &str) -> String {
    let path = format!("systemd/{name}");
    let found = sources::files().unwrap().into_iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}")).text
}

#[test]
fn both_services_have_the_limits_that_only_a_whole_machine_keeps() {
    for daemon in ["executor", "assistant"] {
        let text = unit(&format!("fleetwatch-{daemon}.service"));
        let lines: BTreeSet<_> = text.lines().collect();
        let user = format!("User=fleetwatch-{daemon}");
        for line in [
            user.as_str(),
            "CapabilityBoundingSet=",
            "DevicePolicy=closed",
            "LimitCORE=0",
            "LimitNOFILE=4096",
            "MemoryMax=512M",
            "MemorySwapMax=0",
            "PrivateDevices=yes",
            "ProtectClock=yes",
            "ProtectHostname=yes",
            "ProtectKernelLogs=yes",
            "ProtectKernelModules=yes",
            "Restart=on-failure",
            "RestartPreventExitStatus=2 78",
            "RestrictRealtime=yes",
            "SystemCallArchitectures=native",
            "TasksMax=256",
            "Type=notify",
            "WatchdogSec=30s",
        ] {
            assert!(lines.contains(line), "{daemon}: {line}");
        }
        // It would hide from the executor who calls.
        assert!(!lines.iter().any(|line| line.starts_with("PrivateUsers=")), "{daemon}");
        // The same door twice would let the later line open what the first shut.
        for key in ["ProtectSystem=", "ProtectHome=", "NoNewPrivileges=", "RestrictAddressFamilies=", "User="] {
            assert_eq!(lines.iter().filter(|line| line.starts_with(key)).count(), 1, "{daemon}: {key}");
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
