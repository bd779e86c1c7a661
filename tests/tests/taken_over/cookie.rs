//! The page's cookie in other hands (`issue line 4.9`). Cookies know hosts and no ports, so whoever listens on another port of
//! 127.0.0.1 is sent it by the operator's browser. It is no use to them: the page looks at the uid of the other end.

use super::{ASSISTANT, apart, can_be_others, proposed, started};
use fleetwatch_tests::hex;
use fleetwatch_tests::world::{Asking, must, some};
use serde_json::json;
use std::io::{BufRead, BufReader};

const PROGRAM: &str = include_str!("cookie.py");
/// Sends bytes to a port of 127.0.0.1 and prints the answer.
const SENDER: &str = "
import json, socket, sys
wish = json.loads(sys.stdin.readline())
with socket.create_connection(('127.0.0.1', wish['port']), timeout=20) as stream:
    stream.sendall(bytes.fromhex(wish['bytes']))
    answer = b''
    while part := stream.recv(65536):
        answer += part
print(json.dumps(answer.decode('utf-8', 'replace')))
";

fn answer_to(uid: u32, port: u16, asking: &Asking) -> String {
    started(uid, SENDER, &json!({ "port": port, "bytes": hex::encode(&asking.bytes()) })).heard()
}

#[test]
fn a_cookie_that_the_assistants_own_port_was_sent_opens_nothing_for_its_user() {
    if !can_be_others() {
        return;
    }
    let world = apart().without_assistant().start();
    let number = proposed(&world, "Hall A");
    let page = world.stranger_page();
    let port: u16 = must(some(page.address().rsplit(':').next(), "a port").parse(), "a port");
    let mut thief = started(ASSISTANT, PROGRAM, &json!({ "do": "server" }));
    let mut heard = BufReader::new(some(thief.0.stdout.take(), "its output"));
    let mut line = String::new();
    must(heard.read_line(&mut line), "its port");
    let elsewhere: u16 = must(line.trim().parse(), "its port");
    let code = world.control().page_code();
    let wish = json!({ "do": "browser", "page": port, "elsewhere": elsewhere, "code": code });
    let steps: Vec<u16> = started(0, PROGRAM, &wish).heard();
    assert_eq!(steps, [200, 200, 200, 200], "signed in, the queue, the other port, the queue again");
    drop(thief.0.stdin.take());
    line.clear();
    must(heard.read_line(&mut line), "what it was sent");
    let stolen: Vec<String> = must(serde_json::from_str(&line), &line);
    let cookie = some(stolen.first().filter(|cookie| cookie.starts_with("fleetwatch_approve=")), "the stolen cookie");

    let queue = || page.asking("GET", "/").set("cookie", cookie);
    let card = || page.asking("GET", &format!("/card/{number}")).set("cookie", cookie);
    for asking in [queue(), card()] {
        let said = answer_to(ASSISTANT, port, &asking);
        assert!(said.starts_with("HTTP/1.1 403 ") && !said.contains("Hall A"), "{said}");
    }
    // The operator's own user is shown the same with it: so the uid is what held, and the theft did not end the session.
    for asking in [queue(), card()] {
        let said = answer_to(0, port, &asking);
        assert!(said.starts_with("HTTP/1.1 200 ") && said.contains("Hall A"), "{said}");
    }
    assert_eq!(world.writes(), []);
}
