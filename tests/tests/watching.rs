//! The watcher in a whole Fleetwatch: what it posts to a webhook and when, what it keeps over a restart, and what
//! `fleetwatchctl digest` and `history` show (issue lines 3.14, 3.15).

#[cfg(test)]
mod tests {
    use fleetwatch_tests::world::{World, must, until};
    use serde_json::{Value, json};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread::{JoinHandle, spawn};
    use std::time::Duration;

    // A little more than one heartbeat on a busy machine.
    const BEAT: Duration = Duration::from_secs(60);
    const POLICY: &str =
        "autonomy: propose\ndry_run: false\nheartbeat_seconds: 30\nquiet_hours: \"\"\nsweep_at: \"\"\n";

    // A webhook that takes everything.
    struct Hook {
        port: u16,
        bodies: Arc<Mutex<Vec<String>>>,
        stop: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
        folder: tempfile::TempDir,
    }

    impl Hook {
        fn start() -> Self {
            let listener = must(TcpListener::bind("127.0.0.1:0"), "a port");
            let port = must(listener.local_addr(), "its address").port();
            let (bodies, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
            let (kept, stopped) = (Arc::clone(&bodies), Arc::clone(&stop));
            let thread = spawn(move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Some(body) = stream.ok().and_then(take) {
                        kept.lock().unwrap().push(body);
                    }
                }
            });
            let folder = must(tempfile::tempdir(), "a folder");
            let options =
                std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.path().join("url"));
            must(write!(must(options, "a file"), "http://127.0.0.1:{port}/hook"), "the address");
            Self { port, bodies, stop, thread: Some(thread), folder }
        }

        fn url_file(&self) -> String {
            self.folder.path().join("url").display().to_string()
        }

        fn posts(&self) -> Vec<String> {
            self.bodies.lock().unwrap().clone()
        }

        #[track_caller]
        fn wait_for(&self, count: usize) -> Vec<String> {
            until(BEAT, &format!("post {count}"), || (self.posts().len() >= count).then(|| self.posts()))
        }
    }

    impl Drop for Hook {
        fn drop(&mut self) {
            self.stop.store(true, Ordering::Relaxed);
            drop(TcpStream::connect(("127.0.0.1", self.port)));
            if let Some(thread) = self.thread.take() {
                thread.join().ok();
            }
        }
    }

    fn take(mut stream: TcpStream) -> Option<String> {
        let mut bytes = Vec::new();
        loop {
            let mut part = [0; 4096];
            let count = stream.read(&mut part).ok().filter(|count| *count > 0)?;
            bytes.extend_from_slice(&part[..count]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())?;
            if body.len() >= length {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").ok()?;
                return Some(body.to_owned());
            }
        }
    }

    #[track_caller]
    fn ctl(world: &World, arguments: &[&str]) -> (i32, String) {
        let output = world.ctl(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code().unwrap_or(-1), text)
    }

    // The assistant has looked once since it started, or tried to.
    #[track_caller]
    fn looked(world: &World, good: bool) -> String {
        let log = "looked";
        until(BEAT, log, || {
            let (code, text) = ctl(world, &["digest"]);
            let tried = good || world.status().1.to_string().contains("could not be read at the last");
            ((code == 0) == good && tried).then_some(text)
        })
    }

    // So many looks in a row have not worked, and that is kept.
    #[track_caller]
    fn in_vain(world: &World, looks: usize) {
        let file = world.folder().join("assistant/watch.json");
        until(BEAT, "the count of looks that did not work", || {
            let state: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            (state["failures"] == looks).then_some(())
        });
    }

    // A post that was taken but not yet noted as taken is posted again after a kill: better twice than never.
    fn restart(world: &mut World) {
        let file = world.folder().join("assistant/watch.json");
        until(BEAT, "every post noted as taken", || {
            let state: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            (state["queue"] == json!([])).then_some(())
        });
        world.kill_assistant();
        world.start_assistant();
    }

    #[test]
    fn a_unit_that_goes_offline_is_one_post_and_failed_looks_and_restarts_post_nothing() {
        let hook = Hook::start();
        let builder = World::builder().behaviour(POLICY).without_model();
        let mut world = builder.assistant_setting("FLEETWATCH_NTFY_URL_FILE", &hook.url_file()).start();
        let first = hook.wait_for(1).remove(0);
        assert!(first.starts_with("Fleet check: 30 rooms, 27 online\nHall C: Ready for the event"), "{first}");
        assert!(first.contains("- Auditorio Sur: offline; was recording when it was last seen"), "{first}");
        assert!(first.contains("- Main Stage: no picture on channel Program"), "{first}");
        let hall = world.room("Hall A");
        world.sim_set(&json!({"device": hall, "online": false}));
        let second = hook.wait_for(2).remove(1);
        assert_eq!(second, "Fleetwatch: 1 new\nFix first:\n- Hall A: offline");

        restart(&mut world);
        looked(&world, true);
        let fault = |kind: &str| json!({"read_fault": {"tool": "get_devices_in_my_team", "kind": kind}});
        // The third in a row would be said, restarts or not.
        for kinds in [["error", "empty"], ["text", "mismatch"]] {
            for (before, kind) in kinds.iter().enumerate() {
                world.sim_set(&fault(kind));
                restart(&mut world);
                in_vain(&world, before + 1);
                looked(&world, false);
            }
            world.sim_set(&json!({"read_fault": null}));
            restart(&mut world);
            looked(&world, true);
            in_vain(&world, 0);
        }
        assert_eq!(hook.posts().len(), 2, "{:?}", hook.posts());

        world.sim_set(&json!({"device": hall, "online": true}));
        restart(&mut world);
        assert_eq!(hook.wait_for(3).remove(2), "Fleetwatch: 1 resolved\nResolved:\n- Hall A: offline");
        let normal = world.sim_log().iter().filter(|call| call["token"] == "normal").all(|call| call["kind"] == "read");
        assert!(normal, "the watcher only reads");
        assert_eq!(world.writes(), []);
    }

    #[test]
    fn the_digest_can_be_captured_and_played_again() {
        let world = World::builder().behaviour(POLICY).without_model().start();
        let digest = looked(&world, true);
        assert!(digest.contains("30 rooms, 27 online, read at") && digest.contains("Fix first:"), "{digest}");
        let (code, spanish) = ctl(&world, &["digest", "--lang", "es"]);
        assert!(
            code == 0 && spanish.contains("30 salas, 27 en línea") && spanish.contains("Arreglar primero:"),
            "{spanish}"
        );
        let (code, history) = ctl(&world, &["history"]);
        assert!(code == 0 && history.contains("looks 1 (did not work: 0), rooms 30, most offline 3"), "{history}");

        let folder = world.folder().join("capture");
        let name = folder.display().to_string();
        let (code, said) = ctl(&world, &["digest", "--capture", &name]);
        assert_eq!(code, 0, "{said}");
        let mode = |path: &Path| must(path.metadata(), "the capture").permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let all = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        assert_eq!(all.len(), 4, "{all:?}");
        for path in &all {
            let text = must(std::fs::read_to_string(path), "a reading");
            assert_eq!(mode(path), 0o600);
            for never in ["never-show", "192.0.2.", "SN000"] {
                assert!(!text.contains(never), "{}: {never}", path.display());
            }
        }
        assert_eq!(ctl(&world, &["digest", "--capture", &name]).0, 1, "it is there already");

        let (code, replay) = ctl(&world, &["digest", "--replay", &name]);
        let attention =
            |text: &str| text.split_once("Fix first:").unwrap().1.split("Within a day").next().unwrap().to_owned();
        assert_eq!((code, attention(&replay)), (0, attention(&digest)), "{replay}");

        let shared = world.folder().join("shared");
        let shared = shared.display().to_string();
        assert_eq!(ctl(&world, &["digest", "--capture", &shared, "--anonymous"]).0, 0);
        for entry in std::fs::read_dir(&shared).unwrap() {
            let text = must(std::fs::read_to_string(entry.unwrap().path()), "a reading");
            for original in ["Hall A", "Chapel", "Paraninfo", "Program", world.room("Hall A").as_str()] {
                assert!(!text.contains(original), "{original} in {text}");
            }
        }
        let (code, played) = ctl(&world, &["digest", "--replay", &shared]);
        let said = |text: &str| attention(text).lines().filter(|line| line.starts_with("- ")).count();
        assert!(code == 0 && played.contains("30 rooms, 27 online") && played.contains("Place-0"), "{played}");
        assert_eq!(said(&played), said(&digest), "the same findings under other names: {played}");

        let events = folder.join("get_current_or_next_cms_events_for_devices.json");
        let hall = world.room("Hall A");
        let event: Value = json!({"events": [{"device_id": hall, "event":
            {"id": "e1", "title": "Rehearsal", "start": "{{now+25m}}", "finish": "{{now+2h}}"}}]});
        must(std::fs::write(&events, event.to_string()), "events");
        let (code, replay) = ctl(&world, &["digest", "--replay", &name]);
        assert!(code == 0 && replay.contains("\"Rehearsal\" at") && replay.contains("in 25 min"), "{replay}");
        must(std::fs::remove_file(folder.join("get_devices_in_my_team.json")), "the device list");
        let (code, refused) = ctl(&world, &["digest", "--replay", &name]);
        assert!(code == 1 && refused.contains("get_devices_in_my_team.json"), "{refused}");
        assert_eq!(world.writes(), []);
    }
}
