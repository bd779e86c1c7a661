//! The demo as a person starts it (`issue 1, 1.28 and 1.29`): the real command, on a terminal and without one. Whatever
//! ends it, nothing of it stays. `up` and `down` are beside it, since they start the same programs.

#[cfg(test)]
#[path = "demo/up.rs"]
mod up;

#[cfg(test)]
mod tests {
    use fleetwatch_tests::demo::{Demo, PATIENCE, PROMPT, demo, left_in};
    use fleetwatch_tests::processes::{children_of, signal, wait_for, wait_for_ends};
    use fleetwatch_tests::terminal::{CTRL_C, CTRL_D};
    use fleetwatch_tests::{binary, world};
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};
    use std::thread::{self, sleep};
    use std::time::Duration;

    /// What an end by `kill -9` may take.
    const SOON: Duration = Duration::from_secs(5);

    fn text(output: &Output) -> String {
        String::from_utf8(output.stdout.clone()).unwrap()
    }

    // Each of these stands behind the one before it.
    fn in_order(text: &str, parts: &[&str]) {
        let mut rest = text;
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else { panic!("{part:?} is not in what is left of\n{text}") };
            rest = after;
        }
    }

    #[test]
    fn the_script_tells_the_whole_story_and_ends_with_zero() {
        let folder = tempfile::tempdir().unwrap();
        let output = demo(&["--script"], folder.path()).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(0), "{text}\n{output:?}");
        in_order(
            &text,
            &[
                "Isolation       none",
                "Nothing is wrong.",
                "> Which rooms aren't ready?",
                "reading get_devices_in_my_team",
                "[scripted stand-in, not a real model]",
                "(Answered by the model fleetwatch-sim-script)",
                "> Start recording in Hall A",
                "Proposal 1 (expires in",
                "== The card, built by the executor ==",
                "Proposal 1 (expires in",
                "Room              Hall A",
                "device_ids      [\"20301000003-1\"]",
                "Simulator: nothing real changes",
                "Written by the assistant, not checked",
                "isolation: none",
                "Proposal 1: ok.",
                "Receipt: read back: channel 1 is recording",
                "Refused: not_waiting (proposal 1 is ok, by operator (command))",
                "Proposal 1        Start recording",
                "The audit holds: ",
                "Writes that reached the simulated fleet: 1",
                "Held: outcome ok; second approval not_waiting; audit holds; writes 1",
            ],
        );
        assert!(output.stderr.is_empty(), "{output:?}");
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_connection_that_closes_after_the_write_ends_unknown_with_one_write_and_exit_one() {
        let folder = tempfile::tempdir().unwrap();
        let output = demo(&["--script", "--fault", "executes-then-closes"], folder.path()).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(1), "{text}\n{output:?}");
        in_order(
            &text,
            &[
                "Proposal 1: unknown.",
                "Refused: not_waiting (proposal 1 is unknown",
                "The audit holds: ",
                "Writes that reached the simulated fleet: 1",
                "As this fault must end",
                "outcome unknown; second approval not_waiting; audit holds; writes 1",
            ],
        );
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    // Two things at once, since each needs a whole story: the language, and that what a person has set is not used.
    #[test]
    fn the_story_in_spanish_holds_whatever_is_set_for_other_commands() {
        let folder = tempfile::tempdir().unwrap();
        let settings = [
            ("FLEETWATCH_RUN_DIR", "/nonexistent"),
            ("FLEETWATCH_SLOT", "sandbox"),
            ("FLEETWATCH_WRITE_DEVICE_IDS", "1"),
            ("FLEETWATCH_EPIPHAN_MCP_URL", "http://127.0.0.1:1/mcp"),
            ("FLEETWATCH_APPROVE_PORT", "1"),
            ("FLEETWATCH_EXECUTOR_USER", "nobody"),
            ("FLEETWATCH_ANTHROPIC_URL", "http://127.0.0.1:1/"),
            ("FLEETWATCH_ANTHROPIC_API_KEY", ""),
        ];
        let output = demo(&["--script", "--lang", "es"], folder.path()).envs(settings).output().unwrap();
        let text = text(&output);
        assert_eq!(output.status.code(), Some(0), "{text}\n{output:?}");
        in_order(
            &text,
            &[
                "> ¿Qué salas no están listas?",
                "leyendo get_devices_in_my_team",
                "[guion de prueba, no es un modelo real]",
                "> Graba en Hall A",
                "Propuesta 1",
                "Guion de prueba: lo pidió el operador.",
                "Rechazada: not_waiting",
                "Held: outcome ok",
            ],
        );
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    // The head of the first request to an address where nobody is let in.
    fn asked_once() -> (std::thread::JoinHandle<String>, String) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = Vec::new();
            let mut part = [0; 4096];
            while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
                let count = stream.read(&mut part).unwrap();
                assert!(count > 0, "it hung up");
                seen.extend_from_slice(&part[..count]);
            }
            let answer = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
            String::from_utf8_lossy(&seen).to_lowercase()
        });
        (asked, address)
    }

    // The real model's address is answered by nobody here, so the story does not hold; but it is what is asked, with the key.
    #[test]
    fn with_a_key_the_real_model_is_asked_and_no_stand_in() {
        let (asked, address) = asked_once();
        let folder = tempfile::tempdir().unwrap();
        let settings =
            [("FLEETWATCH_ANTHROPIC_URL", address.as_str()), ("FLEETWATCH_ANTHROPIC_API_KEY", "key-never-show")];
        let output = demo(&["--script"], folder.path()).envs(settings).output().unwrap();
        let (said, head) = (text(&output), asked.join().unwrap());
        assert!(head.starts_with("post /v1/messages") && head.contains("x-api-key: key-never-show"), "{head}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!said.contains("scripted stand-in") && !said.contains("fleetwatch-sim-script"), "{said}");
        assert!(!said.contains("key-never-show"), "{said}");
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_model_in_the_building_is_asked_where_the_environment_names_one() {
        let (asked, address) = asked_once();
        let folder = tempfile::tempdir().unwrap();
        let settings = [
            ("FLEETWATCH_MODEL_KIND", "openai"),
            ("FLEETWATCH_OPENAI_URL", address.as_str()),
            ("FLEETWATCH_OPENAI_API_KEY", "key-never-show"),
            ("FLEETWATCH_AI_MODEL", "in-the-building"),
        ];
        let output = demo(&["--script"], folder.path()).envs(settings).output().unwrap();
        let (said, head) = (text(&output), asked.join().unwrap());
        assert!(head.starts_with("post /v1/chat/completions") && head.contains("bearer key-never-show"), "{head}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("in-the-building") && !said.contains("scripted stand-in"), "{said}");
        assert!(!said.contains("key-never-show"), "{said}");
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn two_stories_at_once_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let run = || demo(&["--script"], folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        for child in [run(), run()] {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            in_order(&text(&output), &["Writes that reached the simulated fleet: 1", "Held: "]);
        }
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn without_anything_to_read_it_greets_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let program = binary("fleetwatchctl");
        // Nothing at all as standard input, which a service manager may do, and an empty one.
        let mut closed = Command::new("sh");
        closed.args(["-c", "exec \"$0\" demo <&-"]).arg(program).env("TMPDIR", folder.path());
        for mut command in [closed, demo(&[], folder.path())] {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            in_order(&text(&output), &["Approval page   http://127.0.0.1:", "Launch secret   ", "PIN  ", PROMPT]);
        }
        assert_eq!(left_in(folder.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn at_the_prompt_a_person_asks_sees_a_card_approves_with_the_pin_and_leaves() {
        let mut demo = Demo::start(&["--keep"]);
        assert!(demo.page.starts_with("http://127.0.0.1:") && demo.page.ends_with('/'), "{}", demo.page);
        assert!(demo.secret.len() >= 32 && demo.pin.len() >= 8, "{} {}", demo.secret.len(), demo.pin.len());
        assert!(demo.terminal.shown().contains("a scripted stand-in, not a real model"), "{}", demo.terminal.shown());

        let answer = demo.enter("Which rooms aren't ready?");
        in_order(&answer, &["reading get_devices_in_my_team", "Not ready: Aula 102", "(Answered by the model"]);
        let proposed = demo.enter("Start recording in Hall A");
        in_order(&proposed, &["Proposal 1", "Hall A", "20301000003-1", "It waits for a person."]);
        in_order(&demo.enter("/show 1"), &["Proposal 1", "Device id", "20301000003", "not checked"]);
        assert_eq!(demo.writes(), []);

        demo.terminal.press("/approve 1\n").unwrap();
        demo.terminal.wait_for("Your PIN approves exactly this card", PATIENCE).unwrap();
        sleep(world::READING);
        let pin = demo.pin.clone();
        let approved = demo.enter(&pin);
        in_order(&approved, &["Proposal 1: ok.", "Receipt: read back: channel 1 is recording"]);
        assert!(!approved.contains(&pin), "a PIN appeared on the terminal: {approved}");
        let arguments = serde_json::json!({ "action": "start", "device_ids": ["20301000003-1"] });
        assert_eq!(demo.writes(), [("batch_recording".to_owned(), arguments)]);

        demo.terminal.press("/approve 1\n").unwrap();
        let again = demo.terminal.wait_for(PROMPT, PATIENCE).unwrap();
        assert!(again.contains("not_waiting"), "{again}");
        assert_eq!(demo.writes().len(), 1);
        in_order(&demo.enter("/history"), &["Proposal 1", "ok."]);
        in_order(&demo.enter("/status"), &["Nothing is wrong."]);

        let secrets = secrets_of(&demo);
        assert_eq!(demo.leave(CTRL_D), 0, "{}", demo.terminal.shown());
        let kept = demo.folder();
        assert!(demo.terminal.shown().contains(&format!("Kept: {}", kept.display())), "{}", demo.terminal.shown());
        nothing_tells(&kept, &secrets);
    }

    // Every secret of a running demo, by where it is written down.
    fn secrets_of(demo: &Demo) -> Vec<(String, String)> {
        let folder = demo.folder().join("secrets");
        let mut secrets: Vec<_> = left_in(&folder)
            .into_iter()
            .map(|path| (path.display().to_string(), fs::read_to_string(path).unwrap().trim().to_owned()))
            .collect();
        assert_eq!(secrets.len(), 3, "two tokens and a model's key");
        secrets.extend([("the page's secret".into(), demo.secret.clone()), ("the PIN".into(), demo.pin.clone())]);
        secrets
    }

    // What a demo leaves when it is told to is private, and no secret stands outside the files made for them.
    fn nothing_tells(kept: &Path, secrets: &[(String, String)]) {
        assert_eq!(fs::metadata(kept).unwrap().permissions().mode() & 0o777, 0o700);
        let mut folders = vec![kept.to_owned()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for path in left_in(&folder) {
                let metadata = fs::symlink_metadata(&path).unwrap();
                // Sockets and logs are as private as the folder.
                let own = metadata.is_dir() || (metadata.is_file() && !path.starts_with(kept.join("logs")));
                let open = own && metadata.permissions().mode() & 0o077 != 0;
                assert!(!open, "{} is not private", path.display());
                if metadata.is_dir() {
                    folders.push(path);
                } else if metadata.is_file() && !path.starts_with(kept.join("secrets")) {
                    files += 1;
                    let bytes = fs::read(&path).unwrap();
                    let tells = |secret: &str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                    let told: Vec<_> =
                        secrets.iter().filter(|(_, secret)| tells(secret)).map(|(name, _)| name).collect();
                    assert_eq!(told, Vec::<&String>::new(), "{} holds a secret", path.display());
                }
            }
        }
        assert!(files > 6, "only {files} files were looked at");
    }

    #[test]
    fn ctrl_c_cancels_a_turn_and_at_the_prompt_ends_the_demo() {
        let mut demo = Demo::start(&[]);
        let daemons: Vec<u32> = demo.daemons().iter().map(|daemon| daemon.pid).collect();
        demo.terminal.press("Which rooms aren't ready? SIM:slow\n").unwrap();
        demo.terminal.wait_for("SIM:slow", PATIENCE).unwrap();
        sleep(Duration::from_secs(1));
        demo.terminal.press(CTRL_C).unwrap();
        // The stand-in would have answered after 20 s.
        let cancelled = demo.terminal.wait_for(PROMPT, SOON).unwrap();
        assert!(cancelled.contains("Cancelled"), "{cancelled}");
        in_order(&demo.enter("Which rooms aren't ready?"), &["Not ready: Aula 102", "(Answered by the model"]);
        in_order(&demo.enter("/cards"), &["Nothing"]);

        assert_eq!(demo.leave(CTRL_C), 0, "{}", demo.terminal.shown());
        assert_eq!(wait_for_ends(&daemons, Duration::ZERO), Vec::<u32>::new());
        assert_eq!(demo.left(), Vec::<PathBuf>::new());
    }

    #[test]
    fn killed_at_the_prompt_or_in_a_turn_it_leaves_no_process_and_no_folder() {
        let killed = |question: &'static str| {
            move || {
                let mut demo = Demo::start(&[]);
                let children: Vec<u32> = children_of(demo.terminal.pid()).iter().map(|child| child.pid).collect();
                let daemons: Vec<u32> = demo.daemons().iter().map(|daemon| daemon.pid).collect();
                assert_eq!(children.len(), 4, "a sim, two daemons and who cleans up: {children:?}");
                demo.terminal.press(question).unwrap();
                sleep(Duration::from_secs(1));
                assert!(signal(demo.terminal.pid(), "KILL"));
                assert_eq!(demo.terminal.wait_for_end(PATIENCE), Ok(128 + 9));
                assert_eq!(wait_for_ends(&daemons, SOON), Vec::<u32>::new(), "daemons are left");
                let gone = wait_for(SOON, || demo.left().is_empty().then_some(()));
                assert_eq!(gone, Some(()), "left: {:?}", demo.left());
                assert_eq!(wait_for_ends(&children, SOON), Vec::<u32>::new(), "who cleans up is left");
            }
        };
        let at_the_prompt = thread::spawn(killed(""));
        let in_a_turn = thread::spawn(killed("Which rooms aren't ready? SIM:slow\n"));
        at_the_prompt.join().unwrap();
        in_a_turn.join().unwrap();
    }

    #[test]
    fn a_signal_or_a_closed_terminal_ends_it_and_leaves_nothing() {
        let ended = |how: fn(&mut Demo)| {
            move || {
                let mut demo = Demo::start(&[]);
                let daemons: Vec<u32> = demo.daemons().iter().map(|daemon| daemon.pid).collect();
                how(&mut demo);
                let code = demo.terminal.wait_for_end(PATIENCE).unwrap();
                assert_eq!(wait_for_ends(&daemons, SOON), Vec::<u32>::new());
                let gone = wait_for(SOON, || demo.left().is_empty().then_some(()));
                assert_eq!(gone, Some(()), "left: {:?}", demo.left());
                code
            }
        };
        let by_signal = thread::spawn(ended(|demo| assert!(signal(demo.terminal.pid(), "TERM"))));
        let by_closing = thread::spawn(ended(|demo| demo.terminal.hang_up()));
        assert_eq!(by_signal.join().unwrap(), 0);
        // A person who left; 1 when the goodbye could not be written any more.
        assert!([0, 1].contains(&by_closing.join().unwrap()));
    }

    #[test]
    fn a_daemon_that_dies_ends_the_demo_and_is_named() {
        let mut demo = Demo::start(&[]);
        let daemons = demo.daemons();
        let executor = daemons.iter().find(|daemon| daemon.name == "fleetwatch-executor").unwrap();
        assert!(signal(executor.pid, "KILL"));
        assert_eq!(demo.terminal.wait_for_end(PATIENCE), Ok(1));
        assert!(demo.terminal.shown().contains("fleetwatch-executor ended by itself"), "{}", demo.terminal.shown());
        let pids: Vec<u32> = daemons.iter().map(|daemon| daemon.pid).collect();
        assert_eq!(wait_for_ends(&pids, Duration::ZERO), Vec::<u32>::new());
        assert_eq!(demo.left(), Vec::<PathBuf>::new());
    }

    #[test]
    fn no_secret_stands_where_other_processes_can_read_it() {
        let demo = Demo::start(&[]);
        let secrets = secrets_of(&demo);
        let mut looked = 0;
        for child in children_of(demo.terminal.pid()) {
            for place in ["cmdline", "environ"] {
                let bytes = fs::read(format!("/proc/{}/{place}", child.pid)).unwrap();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                looked += 1;
                for (name, secret) in &secrets {
                    assert!(!text.contains(secret), "{name} stands in the {place} of {}", child.name);
                }
            }
        }
        assert_eq!(looked, 8);
    }
}
