//! The system calls of each daemon, as lists of names (`calls/*.txt`), and the filter that is made of them.
//!
//! Three filters, of which the strictest counts: what no daemon ever does kills the process, since it is no longer ours; what
//! the lists do not name fails with `EPERM`, so that a change under way can still record how it ended; and `clone3` does not
//! exist, since its flags cannot be looked at, which makes the C library use `clone`.

#[cfg(any(test, target_os = "linux"))]
const BOTH: &str = include_str!("calls/both.txt");
#[cfg(any(test, target_os = "linux"))]
const EXECUTOR: &str = include_str!("calls/executor.txt");
#[cfg(any(test, target_os = "linux"))]
const ASSISTANT: &str = include_str!("calls/assistant.txt");
#[cfg(any(test, target_os = "linux"))]
const NEVER: &str = include_str!("calls/never.txt");
/// Called by the C library and given up when it does not exist.
#[cfg(any(test, target_os = "linux"))]
const ABSENT: &str = "clone3";

/// Whose calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// `fleetwatch-assistant`.
    Assistant,
    /// `fleetwatch-executor`.
    Executor,
}

#[cfg(any(test, target_os = "linux"))]
impl Daemon {
    fn list(self) -> String {
        let own = match self {
            Self::Assistant => ASSISTANT,
            Self::Executor => EXECUTOR,
        };
        format!("{BOTH}\n{own}")
    }
}

/// Installs the filters; false, with a warning, when the system does not take them.
#[cfg(target_os = "linux")]
pub(super) fn filter(daemon: Daemon) -> bool {
    match programs(daemon, std::env::consts::ARCH).and_then(|programs| install(&programs)) {
        Ok(()) => true,
        Err(why) => {
            tracing::warn!(why, "system calls are not filtered");
            false
        }
    }
}

#[cfg(target_os = "linux")]
fn install(programs: &[seccompiler::BpfProgram]) -> Result<(), String> {
    programs
        .iter()
        .try_for_each(|program| seccompiler::apply_filter_all_threads(program))
        .map_err(|error| error.to_string())
}

// The allow-list last: it does not let the others in.
#[cfg(any(test, target_os = "linux"))]
fn programs(daemon: Daemon, processor: &str) -> Result<Vec<seccompiler::BpfProgram>, String> {
    let filters = [
        (NEVER.to_owned(), r#""allow""#, r#""kill_process""#),
        (ABSENT.to_owned(), r#""allow""#, r#"{"errno": 38}"#),
        // Allowed here, or of the two answers this filter's would count.
        (format!("{}\n{ABSENT}", daemon.list()), r#"{"errno": 1}"#, r#""allow""#),
    ];
    let target = processor.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    let mut programs = Vec::new();
    for (list, otherwise, listed) in filters {
        let rules = rules(&list, processor)?.join(",");
        let text =
            format!(r#"{{"all": {{"mismatch_action": {otherwise}, "match_action": {listed}, "filter": [{rules}]}}}}"#);
        let made = seccompiler::compile_from_json(text.as_bytes(), target).map_err(|error| error.to_string())?;
        programs.extend(made.into_values());
    }
    Ok(programs)
}

// Each line of a list as the rule that the compiler reads.
#[cfg(any(test, target_os = "linux"))]
fn rules(list: &str, processor: &str) -> Result<Vec<String>, String> {
    let mut rules = Vec::new();
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = match line.split_once(':') {
            Some((only, line)) if only == processor => line,
            Some(_) => continue,
            None => line,
        };
        rules.push(rule(line).ok_or_else(|| format!("{line:?} is no line of a list of system calls"))?);
    }
    Ok(rules)
}

#[cfg(any(test, target_os = "linux"))]
fn rule(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name =
        words.first().filter(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))?;
    let [_, argument, relation, value] = words.as_slice() else {
        return (words.len() == 1).then(|| format!(r#"{{"syscall": "{name}"}}"#));
    };
    let index: u8 = argument.strip_prefix("arg")?.parse().ok()?;
    let value = match value.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => value.parse().ok()?,
    };
    let (operator, value) = match *relation {
        "is" => (r#""eq""#.to_owned(), value),
        "has" => (format!(r#"{{"masked_eq": {value}}}"#), value),
        "lacks" => (format!(r#"{{"masked_eq": {value}}}"#), 0),
        _ => return None,
    };
    Some(format!(
        r#"{{"syscall": "{name}", "args": [{{"index": {index}, "type": "dword", "op": {operator}, "val": {value}}}]}}"#
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names(list: &str) -> BTreeSet<&str> {
        let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.filter_map(|line| line.split(':').next_back()?.split_whitespace().next()).collect()
    }

    #[test]
    fn every_list_compiles_for_every_processor_that_we_ship_for() {
        for daemon in [Daemon::Assistant, Daemon::Executor] {
            for processor in ["x86_64", "aarch64"] {
                let programs = programs(daemon, processor).unwrap();
                assert!(programs.len() == 3 && programs.iter().all(|program| program.len() > 5), "{processor}");
            }
        }
    }

    #[test]
    fn nothing_dangerous_is_allowed_and_each_never_is_told_apart() {
        let never = names(NEVER);
        for daemon in [Daemon::Assistant, Daemon::Executor] {
            let list = daemon.list();
            let allowed = names(&list);
            assert!(never.is_disjoint(&allowed), "{:?}", never.intersection(&allowed));
            for name in [
                ABSENT,
                "seccomp",
                "kill",
                "tkill",
                "symlinkat",
                "mknodat",
                "setrlimit",
                "shmget",
                "landlock_restrict_self",
            ] {
                assert!(!allowed.contains(name), "{name}");
            }
        }
        for name in
            ["execve", "execveat", "ptrace", "process_vm_writev", "bpf", "mount", "kexec_load", "init_module", "setns"]
        {
            assert!(never.contains(name), "{name}");
        }
    }

    #[test]
    fn what_may_be_called_in_one_way_alone_has_no_line_without_arguments() {
        let list = Daemon::Executor.list();
        for name in ["clone", "ioctl", "mmap", "mprotect", "prctl", "prlimit64", "socket", "socketpair"] {
            let lines: Vec<_> = list.lines().filter(|line| line.split_whitespace().next() == Some(name)).collect();
            assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(" arg")), "{name}: {lines:?}");
        }
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error_and_no_rule() {
        for bad in
            ["read arg0", "read arg0 equals 1", "read argx is 1", "read arg0 is one", "Read", "read\" arg0 is 1", "a b"]
        {
            rules(bad, "x86_64").unwrap_err();
        }
        assert_eq!(rules("x86_64:stat\n# no\n\n aarch64:fstat", "x86_64").unwrap(), [r#"{"syscall": "stat"}"#]);
    }
}
