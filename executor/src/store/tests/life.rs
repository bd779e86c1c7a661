use super::*;
use policy::limits;

#[test]
fn a_proposal_is_approved_consumed_once_and_ends() {
    let mut world = World::new();
    let number = world.approved();
    let approval = world.store.consume(number).unwrap();
    assert_eq!(approval.principal(), "ana");
    assert_eq!(approval.proposal().number(), number);
    assert_eq!(code(world.store.consume(number)), RefusalCode::ApprovalUsed);
    finish(&mut world, approval, Outcome::Ok("read back: channel 1 is recording".to_owned()));
    assert_eq!(world.state(number), ProposalState::Ok);
    assert_eq!(code(world.store.consume(number)), RefusalCode::ApprovalUsed);
    assert_eq!(code(world.approve(number)), RefusalCode::NotWaiting);
}

#[test]
fn an_outcome_is_recorded_once() {
    let mut world = World::new();
    let number = world.approved();
    let approval = world.store.consume(number).unwrap();
    let spent = Spent::from(&approval);
    world.store.record(&Ending::new(&spent, Outcome::Unknown("closed".to_owned()))).unwrap();
    world.store.record(&Ending::new(&spent, Outcome::Ok(String::new()))).unwrap_err();
    world.store.add_receipt(number, &protocol::shown::Shown::whole("read back: nothing")).unwrap();
    assert_eq!(world.store.row(number).unwrap().detail, "closed; read back: nothing");
    let odd = world.store.connection.execute("UPDATE proposals SET state = 'done'", []);
    assert!(odd.unwrap_err().to_string().contains("CHECK"), "a word that no state has");
    assert_eq!(world.state(number), ProposalState::Unknown);
}

#[test]
fn nothing_is_consumed_without_an_approval() {
    let mut world = World::new();
    let number = world.pending();
    assert_eq!(code(world.store.consume(number)), RefusalCode::NotWaiting);
    assert_eq!(world.state(number), ProposalState::Pending);
    let none = ProposalNumber::new(99).unwrap();
    assert_eq!(code(world.store.consume(none)), RefusalCode::UnknownProposal);
}

#[test]
fn a_denial_wins_until_the_approval_is_consumed_and_the_loser_is_told_who() {
    let mut world = World::new();
    let number = world.approved();
    assert_eq!(world.deny(number).unwrap(), ProposalState::Revoked);
    assert_eq!(code(world.store.consume(number)), RefusalCode::NotWaiting);
    let StoreError::Refused(refusal) = world.approve(number).unwrap_err() else { panic!() };
    assert!(refusal.detail.contains("revoked, by ana (command)"), "{}", refusal.detail);
    let late = world.approved();
    let approval = world.store.consume(late).unwrap();
    assert_eq!(code(world.deny(late)), RefusalCode::NotWaiting);
    finish(&mut world, approval, Outcome::Ok(String::new()));
}

#[test]
fn a_turn_withdraws_its_own_waiting_proposals_only() {
    let mut world = World::new();
    let (first, second) = (world.pending(), world.approved());
    assert_eq!(code(world.store.decide(first, &Decision::Withdraw { turn: "turn-2" })), RefusalCode::NotWaiting);
    assert_eq!(world.store.waiting_of_turn("turn-1").unwrap(), [first]);
    world.store.decide(first, &Decision::Withdraw { turn: "turn-1" }).unwrap();
    assert_eq!(world.state(first), ProposalState::Withdrawn);
    assert_eq!(world.state(second), ProposalState::Approved);
    assert_eq!(code(world.approve(first)), RefusalCode::NotWaiting);
}

#[test]
fn three_may_wait_and_a_fourth_is_turned_away_untouched() {
    let mut world = World::new();
    let waiting: Vec<_> = (0..3).map(|_| world.pending()).collect();
    assert_eq!(code(world.admit("19012341234")), RefusalCode::QueueFull);
    world.deny(waiting[0]).unwrap();
    world.admit("19012341234").unwrap();
    assert_eq!(world.store.queue().unwrap().0, 3);
}

#[test]
fn ten_an_hour_count_unless_they_were_denied() {
    let mut world = World::new();
    for room in 0..10 {
        let number = world.admit(&format!("1901234{room:04}")).unwrap();
        world.store.decide(number, &Decision::Withdraw { turn: "turn-1" }).unwrap();
    }
    assert_eq!(code(world.admit("19012341234")), RefusalCode::HourlyLimit);
    world.sql("UPDATE proposals SET state = 'denied' WHERE number = 1");
    world.admit("19012341234").unwrap();
    assert_eq!(code(world.admit("19012341234")), RefusalCode::HourlyLimit);
    world.time.advance(limits::HOUR);
    world.admit("19012341234").unwrap();
}

#[test]
fn a_limit_of_zero_means_none_allowed() {
    let mut world = World::new();
    for limits in [Limits { pending: 0, ..Limits::EPIPHAN }, Limits { per_hour: 0, ..Limits::EPIPHAN }] {
        let draft = world.draft("19012341234");
        assert!(matches!(world.store.admit(&draft, limits), Err(StoreError::Refused(_))));
    }
}

#[test]
fn three_denials_of_one_change_pause_it_for_an_hour_and_nothing_else() {
    let mut world = World::new();
    for _ in 0..3 {
        let number = world.pending();
        world.deny(number).unwrap();
        world.time.advance(60);
    }
    assert_eq!(code(world.admit("19012341234")), RefusalCode::PausedAfterDenials);
    world.admit("19012345678").unwrap();
    world.time.advance(limits::HOUR - 61);
    assert_eq!(code(world.admit("19012341234")), RefusalCode::PausedAfterDenials);
    world.time.advance(1);
    world.admit("19012341234").unwrap();
}

#[test]
fn the_same_request_id_gives_the_recorded_answer_and_other_content_is_a_conflict() {
    let mut world = World::new();
    let draft = world.draft("19012341234");
    let first = world.store.admit(&draft, Limits::EPIPHAN).unwrap();
    assert_eq!(world.store.admit(&draft, Limits::EPIPHAN).unwrap(), first);
    let other = NewProposal { reason: "other".to_owned(), ..draft };
    assert_eq!(code(world.store.admit(&other, Limits::EPIPHAN)), RefusalCode::IdConflict);
    assert_eq!(world.store.queue().unwrap().0, 1);
}

#[test]
fn an_approval_lives_300_seconds_on_both_clocks_and_a_step_never_lengthens_it() {
    for step in [-3_600, 0, 3_600] {
        let mut world = World::new();
        let number = world.approved();
        world.time.step_wall(step);
        world.time.advance(limits::APPROVAL_LIFE - 1);
        if step <= 0 {
            assert_eq!(world.state(number), ProposalState::Approved, "step {step}");
        }
        world.time.advance(1);
        assert!(matches!(code(world.store.consume(number)), RefusalCode::ApprovalExpired | RefusalCode::NotWaiting));
        assert_eq!(world.state(number), ProposalState::Expired, "step {step}");
    }
}

#[test]
fn a_waiting_proposal_ends_as_seen_or_unseen() {
    let mut world = World::new();
    let (seen, unseen) = (world.pending(), world.pending());
    world.store.mark_seen(seen, "page", "ana").unwrap();
    world.time.advance(limits::PENDING_LIFE);
    assert_eq!(world.state(seen), ProposalState::ExpiredSeen);
    assert_eq!(world.state(unseen), ProposalState::ExpiredUnseen);
    assert_eq!(code(world.approve(seen)), RefusalCode::NotWaiting);
}

#[test]
fn the_assistant_hears_of_an_end_until_it_has_acked_it() {
    let mut world = World::new();
    let agent = Label::new("assistant").unwrap();
    let number = world.pending();
    assert!(world.store.news(&agent).unwrap().is_empty());
    world.deny(number).unwrap();
    assert_eq!(world.store.news(&agent).unwrap()[0].state, ProposalState::Denied);
    assert!(world.store.news(&Label::new("other").unwrap()).unwrap().is_empty());
    world.store.ack(&Label::new("other").unwrap(), &[number]).unwrap();
    assert_eq!(world.store.news(&agent).unwrap().len(), 1);
    world.store.ack(&agent, &[number]).unwrap();
    assert!(world.store.news(&agent).unwrap().is_empty());
}

#[test]
fn a_proposer_sees_where_its_own_proposals_stand_and_nobody_elses() {
    let mut world = World::new();
    let (ours, other) = (Label::new("assistant").unwrap(), Label::new("front").unwrap());
    let (first, second) = (world.pending(), world.pending());
    let live = world.store.live(&ours).unwrap();
    assert_eq!(live.iter().map(|one| one.number).collect::<Vec<_>>(), [first, second]);
    assert!(live.iter().all(|one| one.state == ProposalState::Pending && one.expires_in > 0), "{live:?}");
    assert!(world.store.live(&other).unwrap().is_empty());
    assert_eq!(code(world.store.standing(&other, first)), RefusalCode::UnknownProposal);
    world.approve(first).unwrap();
    world.deny(second).unwrap();
    let live = world.store.live(&ours).unwrap();
    assert_eq!((live.len(), live[0].state, live[0].expires_in), (1, ProposalState::Approved, 0));
    assert_eq!(world.store.standing(&ours, second).unwrap().state, ProposalState::Denied);
}

#[test]
fn a_slice_version_only_grows() {
    let mut world = World::new();
    let mut version = |text: &str| world.store.slice_version("epiphan/x", text).unwrap();
    assert_eq!([version("a"), version("a"), version("b"), version("a")], [1, 1, 2, 3]);
}

#[test]
fn six_denials_of_one_agent_pause_it_until_an_operator_lifts_it() {
    let mut world = World::new();
    for room in 0..6 {
        let number = world.admit(&format!("1901234{room:04}")).unwrap();
        world.deny(number).unwrap();
    }
    assert_eq!(code(world.admit("19012349999")), RefusalCode::AgentPaused);
    world.time.advance(limits::HOUR * 2);
    assert_eq!(code(world.admit("19012349999")), RefusalCode::AgentPaused);
    let agent = Label::new("assistant").unwrap();
    assert_eq!(world.store.paused_agents().unwrap(), ["assistant"]);
    let mut other = world.draft("19012349999");
    other.agent = Label::new("other").unwrap();
    world.store.admit(&other, Limits::EPIPHAN).unwrap();
    assert!(world.store.resume_agent(&agent, "ana", "command").unwrap());
    assert!(!world.store.resume_agent(&agent, "ana", "command").unwrap());
    world.admit("19012348888").unwrap();
}

#[test]
fn a_persons_approvals_of_the_last_half_hour_are_counted_and_nobody_elses() {
    let mut world = World::new();
    for count in 0..2 {
        assert_eq!(world.store.approved_lately("ana").unwrap(), count);
        world.approved();
        world.time.advance(60);
    }
    assert_eq!(world.store.approved_lately("ben").unwrap(), 0);
    world.time.advance(limits::LATELY - 120);
    assert_eq!(world.store.approved_lately("ana").unwrap(), 1);
    world.time.advance(60);
    assert_eq!(world.store.approved_lately("ana").unwrap(), 0);
}

#[test]
fn an_approval_that_cannot_be_consumed_ends_as_refused() {
    let mut world = World::new();
    let number = world.approved();
    let refusal = protocol::refusal::Refusal::bare(RefusalCode::StoreFailed);
    world.store.refuse_approved(number, &refusal).unwrap();
    assert_eq!(world.state(number), ProposalState::Refused);
    assert_eq!(code(world.store.consume(number)), RefusalCode::NotWaiting);
}

#[test]
fn a_folder_belongs_to_one_sign_in_slot() {
    let mut world = World::new();
    world.store.claim("sim").unwrap();
    world.store.claim("sim").unwrap();
    let error = world.store.claim("sandbox").unwrap_err().to_string();
    assert!(error.contains("belongs to the slot \"sim\""), "{error}");
}

#[test]
fn a_freeze_denies_all_stops_everything_and_survives_a_restart() {
    let mut world = World::new();
    let (waiting, approved, spent) = (world.pending(), world.approved(), world.approved());
    let running = world.store.consume(spent).unwrap();
    let ana = world.ana.clone();
    assert_eq!(world.store.freeze(&ana, Surface::Page).unwrap(), [waiting, approved]);
    assert_eq!(world.state(waiting), ProposalState::Denied);
    assert_eq!(world.state(approved), ProposalState::Revoked);
    // What has begun is recorded.
    finish(&mut world, running, Outcome::Ok(String::new()));
    assert_eq!(code(world.admit("19012345678")), RefusalCode::Frozen);
    let (mut world, _) = world.restart();
    assert_eq!(code(world.admit("19012345678")), RefusalCode::Frozen);
    assert!(world.store.thaw(&ana, Surface::Command).unwrap());
    assert!(!world.store.thaw(&ana, Surface::Command).unwrap());
    let number = world.admit("19012345678").unwrap();
    world.sql("INSERT INTO meta (key, value) VALUES ('frozen', 'ana')");
    assert_eq!(code(world.approve(number)), RefusalCode::Frozen);
    world.sql("DELETE FROM meta WHERE key = 'frozen'");
    world.approve(number).unwrap();
    world.sql("INSERT INTO meta (key, value) VALUES ('frozen', 'ana')");
    assert_eq!(code(world.store.consume(number)), RefusalCode::Frozen);
}

#[test]
fn a_row_that_cannot_be_expired_holds_up_nobody_and_is_not_approved() {
    let mut world = World::new();
    let (stuck, other) = (world.pending(), world.pending());
    world.sql(&format!(
        "CREATE TRIGGER stuck BEFORE UPDATE ON proposals WHEN old.number = {stuck} BEGIN SELECT raise(ABORT, 'stuck'); END"
    ));
    world.time.advance(limits::PENDING_LIFE);
    assert_eq!(world.state(other), ProposalState::ExpiredUnseen);
    assert_eq!(world.state(stuck), ProposalState::Pending);
    world.approve(stuck).unwrap_err();
    world.admit("19012345678").unwrap();
    assert_eq!(world.store.verify_audit().unwrap().broken, None);
}
