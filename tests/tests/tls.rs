//! The sandbox slot speaks https only: reads and the one write over TLS, against a certificate that the machine trusts and
//! one that it does not. `SSL_CERT_FILE` is how this machine is told whom to trust.

use fleetwatch_tests::world::{TlsFront, World, certificates, must, recording};
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;

fn world(front: &TlsFront, trusted: &str) -> World {
    let trusted = front.file(trusted).display().to_string();
    let world = World::builder()
        .slot("sandbox")
        .without_assistant()
        .executor_setting("FLEETWATCH_EPIPHAN_MCP_URL", &front.url())
        .executor_setting("SSL_CERT_FILE", &trusted)
        .start();
    front.lead_to(world.sim.address());
    world
}

#[test]
fn reads_and_the_one_write_go_over_tls() {
    let front = TlsFront::start();
    let world = world(&front, "ca.pem");
    let hall = world.room("Hall A");
    let mut turn = world.turn("agent");
    let number = must(turn.propose("batch_recording", &recording("start", &hall, 1)), "admitted");
    turn.end();
    let news = must(world.approve(number), "run");
    assert_eq!(news.state, ProposalState::Ok, "{}", news.detail);
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_server_that_the_machine_does_not_trust_is_not_even_read() {
    let front = TlsFront::start();
    // A file of roots that holds another authority.
    certificates(&{
        let other = front.file("other");
        must(std::fs::create_dir(&other), "a folder");
        other
    });
    let world = world(&front, "other/ca.pem");
    let hall = world.room("Hall A");
    let refusal = world.turn("agent").propose("batch_recording", &recording("start", &hall, 1)).err();
    assert_eq!(refusal.map(|refusal| refusal.code), Some(RefusalCode::ReadFailed));
    assert!(world.writes().is_empty());
}
