//! Signing in with real daemons against the simulator's authorization server: both slots, headless, twice with one account,
//! and what never happens to a token (issue lines 3.1 to 3.6).

#![cfg(test)]
#![expect(clippy::wildcard_enum_match_arm, reason = "any other word is the end of the test")]

#[path = "sign_in/conformance.rs"]
mod conformance;

use control::message::{ExecutorSays, OperatorSays};
use fleetwatch_tests::binary;
use fleetwatch_tests::demo::PROMPT;
use fleetwatch_tests::terminal::{CTRL_D, Terminal};
use fleetwatch_tests::world::{
    AskClient, Asking, ControlClient, Fate, TlsFront, World, answered, code_of, must, proposed, recording, some, until,
};
use protocol::ask::{AskerSays, AssistantSays};
use protocol::ids::ProposalNumber;
use protocol::propose::{LinkKind, ProposalState, Proposing};
use protocol::refusal::{Refusal, RefusalCode as Code};
use protocol::signin::{LoginLink, Pasted, SignedIn};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const CHAT: Duration = Duration::from_secs(60);
const SOON: std::time::Duration = std::time::Duration::from_secs(20);

// Chooses an account on the simulator's page; gives the address that the browser is sent to.
#[track_caller]
fn choose(link: &str, account: &str) -> String {
    let rest = some(link.strip_prefix("http://"), "a link of the simulator");
    let (address, path) = some(rest.split_once('/'), "a path");
    let page = Asking::new(address, "GET", &format!("/{path}")).send();
    assert!(page.status == 200 && page.body.contains("account=sandbox"), "{}", page.body);
    let answer = Asking::new(address, "GET", &format!("/{path}&account={account}")).send();
    assert_eq!(answer.status, 302, "{}", answer.body);
    some(answer.header("location"), "where to go").to_owned()
}

// The same, and goes there.
#[track_caller]
fn browse(link: &str, account: &str) {
    let to = choose(link, account);
    let rest = some(to.strip_prefix("http://"), "the callback");
    let (address, path) = some(rest.split_once('/'), "a path");
    let page = Asking::new(address, "GET", &format!("/{path}")).send();
    assert_eq!(page.status, 200, "{}", page.body);
}

#[track_caller]
fn said(asker: &mut AskClient, say: AskerSays) -> Result<AssistantSays, Refusal> {
    match some(asker.all(say).pop(), "an answer") {
        AssistantSays::Refused(refusal) => Err(refusal),
        word => Ok(word),
    }
}

// The units that the normal sign-in reaches now.
#[track_caller]
fn ids(world: &World) -> Result<Vec<String>, Refusal> {
    match said(&mut world.asker(), AskerSays::DeviceIds)? {
        AssistantSays::DeviceIds { ids, unread: None } => Ok(ids),
        AssistantSays::DeviceIds { unread: Some(why), .. } => Err(why),
        other => must(Err(format!("{other:?}")), "device ids"),
    }
}

#[track_caller]
fn normal_link(asker: &mut AskClient) -> LoginLink {
    match must(said(asker, AskerSays::Login), "login") {
        AssistantSays::LoginLink(link) => link,
        other => must(Err(format!("{other:?}")), "a link"),
    }
}

#[track_caller]
fn normal_end(asker: &mut AskClient) -> Result<SignedIn, Refusal> {
    for _ in 0..30 {
        match said(asker, AskerSays::LoginWait)? {
            AssistantSays::SignedIn(done) => return Ok(done),
            AssistantSays::LoginWaiting => {}
            other => return must(Err(format!("{other:?}")), "an end"),
        }
    }
    must(Err("nobody signed in"), "an end")
}

#[track_caller]
fn sign_in_normal(world: &World, account: &str) {
    let mut asker = world.asker();
    browse(&normal_link(&mut asker).url, account);
    must(normal_end(&mut asker), "the normal sign-in");
}

fn typed(text: &str) -> control::pin::PinEntry {
    must(serde_json::from_value(Value::from(text)), "a PIN")
}

#[track_caller]
fn writing_link(world: &World, known: Option<Vec<String>>) -> (ControlClient, LoginLink) {
    let mut control = world.control();
    let said = control.ask(OperatorSays::Login { known, pin: typed(world.pin()) });
    match must(said, "login --sandbox") {
        ExecutorSays::LoginLink(link) => (control, link),
        other => must(Err(format!("{other:?}")), "a link"),
    }
}

#[track_caller]
fn writing_end(control: &mut ControlClient) -> Result<SignedIn, Refusal> {
    for _ in 0..30 {
        match control.ask(OperatorSays::LoginWait)? {
            ExecutorSays::SignedIn(done) => return Ok(done),
            ExecutorSays::LoginWaiting => {}
            other => return must(Err(format!("{other:?}")), "an end"),
        }
    }
    must(Err("nobody signed in"), "an end")
}

#[track_caller]
fn sign_in_writing(world: &World, account: &str) -> Result<SignedIn, Refusal> {
    let (mut control, link) = writing_link(world, ids(world).ok());
    browse(&link.url, account);
    writing_end(&mut control)
}

// The same where no assistant runs that could tell the normal sign-in's units.
#[track_caller]
fn sign_in_writing_alone(world: &World) {
    let (mut control, link) = writing_link(world, None);
    browse(&link.url, "sandbox");
    must(writing_end(&mut control), "the writing sign-in");
}

// Every token in a sign-in's file.
#[track_caller]
fn tokens(path: &Path) -> Vec<String> {
    let file: Value = must(serde_json::from_str(&must(std::fs::read_to_string(path), "the sign-in")), "its JSON");
    ["access_token", "refresh_token"].iter().map(|name| some(file[name].as_str(), name).to_owned()).collect()
}

// Whether any file under the folder but the sign-ins themselves holds the text.
fn found_in(folder: &Path, text: &str, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() {
            found_in(&path, text, found);
        } else if std::fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_newcomer_signs_both_slots_in_asks_in_spanish_and_is_told_in_the_chat_what_became_of_a_change() {
    let mut world = World::builder().oauth(3_600).start();
    let (exit, status) = world.status();
    assert!(exit == 1 && status["assistant"]["sign_in"] == false && status["executor"]["sign_in"] == false, "{status}");
    assert!(status["wrong"].to_string().contains("fleetwatchctl login --sandbox"), "{status}");

    // The normal one as a person does it: the command prints the link and waits for the browser.
    let mut command = Command::new("setsid")
        .arg("--wait")
        .arg(binary("fleetwatchctl"))
        .arg("--run-dir")
        .arg(world.folder().join("run"))
        .args(["--lang", "es", "login"])
        .env("FLEETWATCH_SLOT", "sim")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines().map(Result::unwrap);
    let link = lines.find(|line| line.trim_start().starts_with("http://")).unwrap();
    browse(link.trim(), "normal");
    let rest: Vec<String> = lines.collect();
    assert!(command.wait().unwrap().success(), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("Sesión iniciada. Concedido: devices offline_access.")), "{rest:?}");

    // Nothing restarted: the assistant reads, and the executor still has nothing to write with.
    let (answer, _) = answered(&world.ask("¿Qué salas hay?"));
    assert!(!answer.is_empty());
    assert!(world.sim_log().iter().any(|call| call["token"] == "normal"), "the fleet was read: {answer}");
    let hall = world.room("Hall A");
    assert_eq!(code_of(world.propose("a", "batch_recording", &recording("start", &hall, 1))), Code::NoSignIn);
    let done = must(sign_in_writing(&world, "sandbox"), "the writing sign-in");
    assert!(done.renewed && done.devices.is_some_and(|devices| devices > 0));
    assert!(done.notes.iter().any(|note| note.en.contains("simulator alone")), "{:?}", done.notes);

    // The rest at the prompt, in Spanish: proposed there, approved elsewhere, told there.
    let run = world.folder().join("run").display().to_string();
    let words = ["--run-dir", &run, "--lang", "es", "chat"];
    let mut chat = must(Terminal::start(&binary("fleetwatchctl"), &words, &[("TERM", Path::new("xterm"))]), "a chat");
    must(chat.wait_for(PROMPT, CHAT), "the prompt");
    must(chat.press("¿Qué salas no están listas?\r"), "a question");
    let answer = must(chat.wait_for(PROMPT, CHAT), "an answer");
    assert!(answer.contains("Aula 102"), "{answer}");
    must(chat.press("Graba en Hall A\r"), "an order");
    let card = must(chat.wait_for(PROMPT, CHAT), "a card");
    assert!(card.contains("Propuesta 1") && card.contains("approvals approve 1"), "{card}");
    assert_eq!(world.writes(), []);
    let number = must(ProposalNumber::new(1).ok_or("no number"), "a number");
    assert_eq!(must(world.approve(number), "yes").state, ProposalState::Ok);
    let told = must(chat.wait_for(PROMPT, CHAT), "the outcome");
    assert!(told.contains("Propuesta 1: ok."), "{told}");
    must(chat.press(CTRL_D), "the end");
    assert_eq!(must(chat.wait_for_end(CHAT), "its end"), 0);
    let writes = world.writes();
    assert_eq!((writes.len(), writes[0].token.as_str()), (1, "sandbox"));
    for kind in ["proposal", "approval", "consumed", "outcome", "receipt"] {
        assert_eq!(world.audit(kind).len(), 1, "{kind}");
    }
    let rows = world.audit("signed_in");
    assert_eq!((rows.len(), rows[0].0.as_str(), rows[0].1.as_str()), (1, "operator", "command"));
    assert_eq!(world.control().audit().broken, None);

    // A new process of each finds it.
    world.kill_executor();
    world.start_executor();
    world.kill_assistant();
    world.start_assistant();
    let (_, status) = world.status();
    assert!(status["assistant"]["sign_in"] == true && status["executor"]["sign_in"] == true, "{status}");

    // No token anywhere but in its own file.
    let (reads, writes) = (world.folder().join("assistant/token"), world.folder().join("executor/sim-token"));
    let own = [reads.display().to_string(), writes.display().to_string()];
    for token in tokens(&reads).into_iter().chain(tokens(&writes)) {
        let mut found = Vec::new();
        found_in(world.folder(), &token, &mut found);
        assert!(found.iter().all(|path| own.contains(path)) && found.len() == 1, "{found:?}");
        for file in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{}/{file}", world.executor().pid())).unwrap();
            assert!(!text.windows(token.len()).any(|part| part == token.as_bytes()), "{file}");
        }
    }
}

#[test]
fn a_headless_machine_pastes_the_address_and_one_sign_in_runs_at_a_time() {
    let world = World::builder().oauth(3_600).start();
    let mut first = world.asker();
    let link = normal_link(&mut first);
    assert_eq!((link.host.as_str(), link.seconds), ("127.0.0.1", 300));
    assert_eq!(said(&mut world.asker(), AskerSays::Login).unwrap_err().code, Code::SignInBusy);
    for odd in ["", "https://evil.example/callback?code=x&state=y", "http://127.0.0.1:1/callback?code=x&state=y"] {
        let refused = said(&mut first, AskerSays::LoginCallback { address: Pasted::new(odd) }).unwrap_err();
        assert_eq!(refused.code, Code::SignInFailed, "{odd}");
    }
    let to = choose(&link.url, "normal");
    must(said(&mut first, AskerSays::LoginCallback { address: Pasted::new(&to) }), "pasted");
    must(normal_end(&mut first), "signed in");
    assert!(world.asker().status().sign_in);
    // A no in the browser, and a connection that hangs up, leave what was there.
    let mut second = world.asker();
    let no = choose(&normal_link(&mut second).url, "nobody");
    must(said(&mut second, AskerSays::LoginCallback { address: Pasted::new(&no) }), "pasted");
    let refused = normal_end(&mut second).unwrap_err();
    assert!(refused.detail.contains("refused in the browser"), "{refused}");
    let mut third = world.asker();
    normal_link(&mut third);
    drop(third);
    assert!(world.asker().status().sign_in);
    std::thread::sleep(std::time::Duration::from_millis(200));
    normal_link(&mut world.asker());
}

#[test]
fn a_second_sign_in_with_one_account_ends_the_first_and_is_explained() {
    let world = World::builder().oauth(3_600).without_model().start();
    sign_in_normal(&world, "sandbox");
    assert!(!ids(&world).unwrap().is_empty());
    must(sign_in_writing(&world, "sandbox"), "the writing sign-in");
    assert_eq!(ids(&world).unwrap_err().code, Code::SignInDead);
    let status = world.asker().status();
    assert!(!status.sign_in);
    assert!(status.problems.iter().any(|text| text.contains("one account per slot")), "{:?}", status.problems);
    // Whoever asks is told in the question's language, behind whatever is known of before, and a script by the exit code.
    for (question, why) in
        [("which rooms are offline?", "one account per slot"), ("¿qué salas están caídas?", "una cuenta por ranura")]
    {
        let out = world.ctl(&["ask", question]);
        let text = String::from_utf8_lossy(&out.stdout).replace('\n', " ");
        assert!(out.status.code() == Some(78) && text.contains(why), "{out:?}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("sign_in_dead"), "{out:?}");
    }
    let out = world.ctl(&["digest", "--json"]);
    assert!(out.status.code() == Some(78) && !out.stdout.is_empty(), "{out:?}");
    // The sign-in that is dead goes on being so after a restart, and a new one mends it.
    sign_in_normal(&world, "normal");
    assert!(!ids(&world).unwrap().is_empty() && world.asker().status().sign_in);
}

#[test]
fn tokens_that_run_out_are_renewed_for_reads_and_before_a_write() {
    let world = World::builder().oauth(8).start();
    sign_in_normal(&world, "normal");
    must(sign_in_writing(&world, "sandbox"), "the writing sign-in");
    let file = world.folder().join("executor/sim-token");
    let before = tokens(&file);
    std::thread::sleep(std::time::Duration::from_secs(9));
    assert!(!ids(&world).unwrap().is_empty());
    let hall = world.room("Hall A");
    let number = must(world.propose("a", "batch_recording", &recording("start", &hall, 1)), "a proposal");
    assert_eq!(must(world.approve(number), "yes").state, ProposalState::Ok);
    assert_eq!(world.writes().len(), 1);
    let after = tokens(&file);
    assert!(before.iter().all(|token| !after.contains(token)), "rotated");
}

#[test]
fn a_sandbox_without_a_unit_is_refused_and_forgotten() {
    let world = World::builder().sandbox_rooms(0).oauth(3_600).start();
    let refused = sign_in_writing(&world, "sandbox").unwrap_err();
    assert_eq!(refused.code, Code::SignInFailed);
    assert!(refused.detail.contains("reaches no unit") && refused.detail.contains("forgotten again"), "{refused}");
    assert!(!world.folder().join("executor/sim-token").exists());
    assert!(!world.control().status().sign_in);
    assert_eq!((world.audit("sign_in_refused").len(), world.audit("signed_in").len()), (1, 0));
    assert_eq!(world.sim.sign_ins(), Vec::<String>::new(), "taken back at the server");
}

// `login --sandbox` as a person does it: the PIN, the link, the browser. Gives the exit code and all that was shown.
#[track_caller]
fn sandbox_at_the_terminal(world: &World, (origin, hosts): (&str, &str), account: &str) -> (i32, String) {
    let most = Duration::from_secs(60);
    let run = world.folder().join("run");
    let arguments = ["--run-dir", some(run.to_str(), "a plain path"), "login", "--sandbox"];
    let settings = [("FLEETWATCH_LOGIN_HOSTS", Path::new(hosts))];
    let mut terminal = must(Terminal::start(&binary("fleetwatchctl"), &arguments, &settings), "a terminal");
    must(terminal.wait_for("Your PIN", most), "the question");
    // What is typed in the moment between question and answer is thrown away; so it is typed until it is taken.
    let taken = (0..20).any(|_| {
        must(terminal.press(&format!("\x15{}\r", world.pin())), "the PIN");
        terminal.wait_for("\n", Duration::from_secs(3)).is_ok()
    });
    assert!(taken, "{}", terminal.shown());
    if terminal.wait_for(&format!("  {origin}/"), most).is_ok() {
        let rest = must(terminal.wait_for("\n", most), "the link");
        // Past the front: the test's browser knows nothing of its authority.
        browse(&format!("http://{}/{}", world.sim.address(), rest.trim()), account);
    }
    let exit = must(terminal.wait_for_end(most), "its end");
    (exit, terminal.shown())
}

#[test]
fn a_sandbox_sign_in_that_reaches_the_normal_ones_rooms_is_refused_forgotten_and_taken_back() {
    let front = TlsFront::start();
    let url = front.url();
    let origin = some(url.strip_suffix("/mcp"), "an origin");
    let world = World::builder().oauth_over_tls(origin, &front.file("ca.pem")).start();
    front.lead_to(world.sim.address());
    let mut asker = world.asker();
    let link = normal_link(&mut asker).url;
    browse(&link.replace(origin, &format!("http://{}", world.sim.address())), "normal");
    must(normal_end(&mut asker), "the normal sign-in");
    let units = ids(&world).unwrap();
    assert!(!units.is_empty());

    // A command that does not name the host shows no link, and waits for nobody.
    let (exit, text) = sandbox_at_the_terminal(&world, (origin, "login.example"), "sandbox");
    assert!(exit == 1 && text.contains("leads to 127.0.0.1:") && !text.contains(origin), "{exit}: {text}");
    assert_eq!(world.sim.sign_ins(), ["normal"]);

    // The wrong team: the normal account itself, which ends that sign-in too.
    let (exit, text) = sandbox_at_the_terminal(&world, (origin, "127.0.0.1"), "normal");
    assert!(exit == 1 && text.contains("that the normal sign-in reaches too"), "{exit}: {text}");
    assert!(text.contains("forgotten again") && text.contains("has ended the normal one"), "{text}");
    assert_eq!(world.sim.sign_ins(), Vec::<String>::new(), "taken back at the server");

    // Its list can't be read any more; what it listed before still counts.
    assert_eq!(ids(&world).unwrap_err().code, Code::SignInDead);
    let (exit, text) = sandbox_at_the_terminal(&world, (origin, "127.0.0.1"), "sandbox");
    assert!(exit == 1 && text.contains("those that it listed before are compared"), "{exit}: {text}");
    assert!(text.contains("forgotten again") && units.iter().any(|id| text.contains(id)), "{text}");

    assert_eq!(world.sim.sign_ins(), Vec::<String>::new());
    assert!(!world.folder().join("executor/sandbox-token").exists() && !world.control().status().sign_in);
    let rows = world.audit("sign_in_refused");
    assert_eq!((rows.len(), rows[0].0.as_str(), world.audit("signed_in").len()), (2, "operator", 0));
    assert!(rows.iter().all(|row| row.2["detail"].to_string().contains("forgotten again")), "{rows:?}");

    // Signing out forgets what was listed, and then nothing can be compared.
    assert!(world.folder().join("assistant/units-seen.json").exists());
    assert!(world.ctl(&["logout"]).status.success());
    assert!(!world.folder().join("assistant/units-seen.json").exists());
    assert_eq!(said(&mut world.asker(), AskerSays::DeviceIds).unwrap_err().code, Code::SignInDead);
}

#[test]
fn a_sign_in_that_cannot_be_kept_is_taken_back_at_the_server() {
    let world = World::builder().oauth(3_600).start();
    // A folder where each file should be.
    for file in ["assistant/token", "executor/sim-token"] {
        must(std::fs::create_dir(world.folder().join(file)), "a folder in the way");
    }
    let mut asker = world.asker();
    browse(&normal_link(&mut asker).url, "normal");
    let normal = normal_end(&mut asker).unwrap_err();
    let writing = sign_in_writing(&world, "sandbox").unwrap_err();
    for refused in [normal, writing] {
        assert_eq!(refused.code, Code::SignInFailed, "{refused}");
        assert!(!refused.detail.contains("could not be taken back"), "{refused}");
    }
    assert_eq!(world.audit("sign_in_refused").len(), 1);
    assert!(!world.asker().status().sign_in && !world.control().status().sign_in);
}

#[test]
fn signing_out_needs_the_pin_for_writing_and_ends_it_at_the_server() {
    let world = World::builder().oauth(3_600).start();
    sign_in_normal(&world, "normal");
    must(sign_in_writing(&world, "sandbox"), "the writing sign-in");
    let wrong = world.control().ask(OperatorSays::Logout { pin: typed("00000000") }).map(drop);
    assert_eq!(wrong.unwrap_err().code, Code::WrongPin);
    let wrong = world.control().ask(OperatorSays::Login { known: None, pin: typed("00000000") }).map(drop);
    assert_eq!(wrong.unwrap_err().code, Code::WrongPin);
    assert!(world.control().status().sign_in);
    let said = must(world.control().ask(OperatorSays::Logout { pin: typed(world.pin()) }), "logout --sandbox");
    assert!(matches!(said, ExecutorSays::SignedOut { revoked: true }), "{said:?}");
    let hall = world.room("Hall A");
    assert_eq!(code_of(world.propose("a", "batch_recording", &recording("start", &hall, 1))), Code::NoSignIn);
    assert!(!world.folder().join("executor/sim-token").exists() && world.folder().join("assistant/token").exists());
    let out = world.ctl(&["logout", "--json"]);
    let line: Value = must(serde_json::from_slice(&out.stdout), "its JSON");
    assert!(out.status.success() && line["state"] == "signed_out" && line["revoked"] == true, "{line}");
    assert_eq!(ids(&world).unwrap_err().code, Code::SignInDead);
    assert!(!world.ctl(&["logout"]).status.success(), "nobody is signed in");
}

#[test]
fn one_file_for_both_slots_stops_the_start() {
    let mut world = World::builder().oauth(3_600).without_assistant().start();
    let file = world.folder().join("executor/sim-token");
    world.kill_executor();
    world.executor_settings.insert("FLEETWATCH_TOKEN_FILE".to_owned(), file.clone().into());
    let (code, log) = world.executor_that_ends();
    assert!(code == 78 && log.contains("same file"), "{log}");
    // The other slot's file is known by what it says.
    world.executor_settings.remove("FLEETWATCH_TOKEN_FILE");
    world.start_executor();
    let (mut control, link) = writing_link(&world, None);
    browse(&link.url, "sandbox");
    let done = must(writing_end(&mut control), "the writing sign-in");
    assert!(done.notes[0].en.contains("without comparing"), "{:?}", done.notes);
    let text = must(std::fs::read_to_string(&file), "the sign-in").replace("\"sandbox\"", "\"normal\"");
    must(std::fs::write(&file, text), "the sign-in");
    world.kill_executor();
    let (code, log) = world.executor_that_ends();
    assert!(code == 78 && log.contains("the other slot's sign-in"), "{log}");
}

#[test]
fn a_sign_in_whose_operator_hangs_up_while_its_units_are_read_is_taken_back_and_noted() {
    let world = World::builder().oauth(3_600).without_assistant().start();
    let (control, link) = writing_link(&world, None);
    world.sim_set(&json!({ "read_fault": { "tool": "get_devices_in_my_team", "kind": "stalls" } }));
    browse(&link.url, "sandbox");
    control.say_and_leave(OperatorSays::LoginWait);
    let rows = until(SOON, "a row", || Some(world.audit("sign_in_refused")).filter(|rows| !rows.is_empty()));
    let detail = rows[0].2.to_string();
    assert!(detail.contains("went away") && !detail.contains("could not be taken back"), "{detail}");
    assert!(!world.folder().join("executor/sim-token").exists() && !world.control().status().sign_in);
    assert_eq!(world.audit("signed_in").len(), 0);
    // The turn to sign in is free, and nothing of the first stands in the way.
    world.sim_set(&json!({ "read_fault": null }));
    sign_in_writing_alone(&world);
}

#[test]
fn a_sign_in_that_cannot_be_renewed_and_is_not_taken_any_more_asks_for_a_new_one() {
    let mut world = World::builder().oauth(3_600).without_assistant().start();
    sign_in_writing_alone(&world);
    let file = world.folder().join("executor/sim-token");
    world.kill_executor();
    let mut record: Value = must(serde_json::from_str(&must(std::fs::read_to_string(&file), "it")), "its JSON");
    record["refresh_token"] = Value::Null;
    must(std::fs::write(&file, record.to_string()), "the sign-in");
    world.start_executor();
    let hall = world.room("Hall A");
    world.sim_set(&json!({ "read_fault": { "tool": "get_devices_in_my_team", "kind": "unauthorized" } }));
    assert_eq!(code_of(world.propose("a", "batch_recording", &recording("start", &hall, 1))), Code::SignInDead);
    let status = world.control().status();
    let problem = some(status.problems.iter().find(|problem| problem.code == Code::SignInDead), "the problem");
    assert!(problem.advice.es.contains("ejecute fleetwatchctl login --sandbox") && !status.sign_in, "{problem:?}");
    // The assistant is told the same.
    let hello = || world.propose_link("a", LinkKind::Poll).proposing;
    assert_eq!(hello(), Proposing::Off(Code::SignInDead));
    // The words may have been a room's name: it was not ended, and a good read says that it is well.
    world.sim_set(&json!({ "read_fault": null }));
    must(world.propose("b", "batch_recording", &recording("start", &hall, 1)), "a proposal");
    assert!(world.control().status().sign_in);
    assert_eq!(hello(), Proposing::On);
}

// From now on one reading is answered with 401, and everything after it is passed on: the reader renews and asks again.
fn refuse_one_reading(world: &World) {
    let mut refused = false;
    some(world.proxies.as_ref(), "the proxies").0.rule(move |seen| {
        let reading = seen.body.contains("tools/call") && seen.body.contains("\"get_");
        if refused || !reading {
            return Fate::Pass;
        }
        refused = true;
        Fate::Answer("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned())
    });
}

#[test]
fn a_sign_in_that_is_renewed_while_a_change_is_prepared_writes_nothing() {
    let builder = World::builder().oauth(3_600).without_assistant().with_proxies();
    let mut world = builder.barrier("after_approve").start();
    sign_in_writing_alone(&world);
    let file = world.folder().join("executor/sim-token");
    let hall = world.room("Hall A");
    let number = must(world.propose("a", "batch_recording", &recording("start", &hall, 1)), "a proposal");
    let mut operator = world.control();
    let card = must(operator.show(number), "the card");
    std::thread::sleep(std::time::Duration::from_millis(2_100));

    // Before the decision: refused clearly, nothing is spent, and it waits as before.
    let first = tokens(&file);
    refuse_one_reading(&world);
    let refused = operator.decide(operator.yes_to(&card)).unwrap_err();
    // The 401 may take another reading of the same look with it: then the card is not what it was.
    let renewed = refused.code == Code::ConnectionLost && refused.detail.contains("sign-in was renewed");
    assert!(renewed || refused.code == Code::CardChanged, "{refused}");
    let second = tokens(&file);
    assert_ne!(first, second);
    assert_eq!(world.state_of(number), ProposalState::Pending);
    assert_eq!((world.audit("consumed").len(), world.writes().len()), (0, 0));

    // After it: the approval is spent, and not a byte of the write is sent.
    let card = must(operator.show(number), "the card");
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    let yes = operator.yes_to(&card);
    let news = std::thread::scope(|scope| {
        let running = scope.spawn(move || operator.decide(yes));
        until(SOON, "the barrier", || world.executor().is_stopped().then_some(()));
        refuse_one_reading(&world);
        world.executor().signal("CONT");
        must(must(running.join().map_err(|_| "it panicked"), "the yes"), "the run")
    });
    let refusal = some(news.refusal.as_ref(), "why");
    assert_eq!((news.state, refusal.code), (ProposalState::Refused, Code::ConnectionLost), "{news:?}");
    assert!(refusal.detail.contains("sign-in was renewed"), "{refusal}");
    assert_ne!(second, tokens(&file));
    assert_eq!((world.audit("consumed").len(), world.writes().len()), (1, 0));
}

#[test]
fn a_credential_that_only_an_administrator_can_replace_ends_the_start_with_78_and_asks_nobody() {
    let mut world = World::builder().oauth(3_600).without_assistant().start();
    sign_in_writing_alone(&world);
    world.kill_executor();
    let own = world.folder().join("executor/sim-token");
    let text = must(std::fs::read_to_string(&own), "the sign-in");
    let credentials = world.folder().join("secrets");
    let file = credentials.join("writing");
    world.executor_settings.insert("CREDENTIALS_DIRECTORY".to_owned(), credentials.into());
    world.executor_settings.insert("FLEETWATCH_SANDBOX_TOKEN_FILE".to_owned(), file.clone().into());
    let asked = world.sim_log().len();
    let (code, log) = world.executor_that_ends();
    assert!(code == 78 && log.contains("is not there") && log.contains("credential of the service manager"), "{log}");
    let mut record: Value = must(serde_json::from_str(&text), "its JSON");
    record["expires_at"] = Value::from(1_000);
    must(std::fs::write(&file, record.to_string()), "the credential");
    must(std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o400)), "its mode");
    let (code, log) = world.executor_that_ends();
    assert!(code == 78 && log.contains("has run out") && log.contains("renew it there"), "{log}");
    assert_eq!(world.sim_log().len(), asked);
    // The same in the state folder is replaced by `login`: then it runs, and says so.
    world.executor_settings.insert("FLEETWATCH_SANDBOX_TOKEN_FILE".to_owned(), String::new().into());
    must(std::fs::write(&own, text.replace("\"dead\": null", "\"dead\": \"refused\"")), "the sign-in");
    world.start_executor();
    let status = world.control().status();
    assert!(!status.sign_in && status.problems.iter().any(|problem| problem.code == Code::SignInDead), "{status:?}");
    sign_in_writing_alone(&world);
    assert!(world.control().status().sign_in);
}

#[test]
fn the_assistants_credential_ends_its_start_with_78_too_and_asks_nobody() {
    let mut world = World::builder().oauth(3_600).without_model().start();
    sign_in_normal(&world, "normal");
    world.kill_assistant();
    let own = world.folder().join("assistant/token");
    let text = must(std::fs::read_to_string(&own), "the sign-in");
    let credentials = world.folder().join("secrets");
    let file = credentials.join("reading");
    world.assistant_settings.insert("CREDENTIALS_DIRECTORY".to_owned(), credentials.into());
    world.assistant_settings.insert("FLEETWATCH_TOKEN_FILE".to_owned(), file.clone().into());
    let asked = world.sim_log().len();
    let (code, log) = world.assistant_that_ends();
    assert!(code == 78 && log.contains("is not there") && log.contains("credential of the service manager"), "{log}");
    let ended = text.replace("\"dead\": null", "\"dead\": \"refused\"");
    assert_ne!(ended, text);
    must(std::fs::write(&file, &ended), "the credential");
    must(std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o400)), "its mode");
    let (code, log) = world.assistant_that_ends();
    assert!(code == 78 && log.contains("FLEETWATCH_TOKEN_FILE") && log.contains("does not take it any more"), "{log}");
    assert!(log.contains("renew it there"), "{log}");
    assert_eq!(world.sim_log().len(), asked);
    // The same in the state folder is replaced by `login`: then it runs, and says so.
    world.assistant_settings.insert("FLEETWATCH_TOKEN_FILE".to_owned(), String::new().into());
    must(std::fs::write(&own, ended), "the sign-in");
    world.start_assistant();
    assert!(!world.asker().status().sign_in);
    sign_in_normal(&world, "normal");
    assert!(world.asker().status().sign_in);
}

// Both accounts of a real slot, whose teams share no room, and the front before the fleet.
#[track_caller]
fn two_teams() -> (World, TlsFront) {
    let front = TlsFront::start();
    let builder = World::builder().sandbox_rooms(2).two_teams(&front).fence_rooms(&["Hall A", "Hall B"]);
    let world = builder.start();
    front.lead_to(world.sim.address());
    // The page of the sign-in stands behind the front too; a browser here does not know its authority.
    let plain = |link: &str| {
        let rest = link.strip_prefix(front.url().trim_end_matches("/mcp")).map(str::to_owned);
        format!("http://{}{}", world.sim.address(), some(rest, "a link behind the front"))
    };
    let mut asker = world.asker();
    browse(&plain(&normal_link(&mut asker).url), "normal");
    must(normal_end(&mut asker), "the normal sign-in");
    let (mut control, link) = writing_link(&world, Some(must(ids(&world), "the normal units")));
    browse(&plain(&link.url), "sandbox");
    let done = must(writing_end(&mut control), "the writing sign-in");
    assert_eq!((done.devices, done.notes.as_slice()), (Some(2), &[][..]), "compared, and apart");
    (world, front)
}

#[test]
fn with_a_sandbox_team_of_its_own_the_model_proposes_for_its_room_and_one_write_follows() {
    let (world, _front) = two_teams();
    let hall = world.room("Hall A");
    let reached = must(ids(&world), "the normal units");
    assert!(reached.len() == 28 && !reached.contains(&hall), "{reached:?}");
    let said = world.ask("Graba en Hall A");
    let reading = AssistantSays::Reading { tool: "get_changeable_devices".to_owned() };
    assert!(said.contains(&reading), "{said:?}");
    let numbers = proposed(&said);
    assert_eq!(numbers.len(), 1, "{said:?}");
    let card = must(world.control().show(numbers[0]), "the card");
    assert!(!format!("{card:?}").contains("Simulator"), "a real slot");
    assert_eq!(must(world.approve(numbers[0]), "yes").state, ProposalState::Ok);
    let writes = world.writes();
    assert_eq!((writes.len(), writes[0].token.as_str()), (1, "sandbox"));
    assert_eq!(writes[0].arguments, recording("start", &hall, 1));
    // A room of the other team is not proposed for, whoever asks.
    let said = world.ask("Graba en Chapel");
    let refused = said.iter().find_map(|word| match word {
        AssistantSays::NotProposed(refusal) => Some(refusal.code),
        _ => None,
    });
    assert_eq!((proposed(&said), refused), (Vec::new(), Some(Code::OutsideFence)), "{said:?}");
    assert_eq!(world.writes().len(), 1);
}
