//! One gate at a time, by name.

use super::*;
use crate::call::{RecordingAction, Tool};
use crate::observed::Recording;
use crate::sample::{
    BOOT_MS, HALL, LAB, NOW, arguments, event, hall, hall_channel, master, observed, set_recorder, set_streaming,
};
use protocol::gate::NOT_REACHED;

fn fence() -> Fence {
    Fence::from_settings(HALL, "").unwrap().unwrap()
}

fn context(fence: &Fence) -> Context<'_> {
    Context {
        fence: Some(fence),
        sign_in: SignIn::Present,
        autonomy: Autonomy::Propose,
        dry_run: false,
        now_boot_ms: BOOT_MS + 2_000,
        now_unix: NOW + 2,
        limits: Ok(()),
    }
}

fn started(tool: Tool, action: Option<RecordingAction>) -> (Chain, CheckedCall) {
    let policy = ToolPolicy::shipped().unwrap();
    let (chain, call) = Chain::start(&policy, tool.as_str(), arguments(tool, action).as_bytes(), "why not");
    (chain, call.unwrap())
}

fn start_recording() -> (Chain, CheckedCall) {
    started(Tool::Recording, Some(RecordingAction::Start))
}

/// `gate: word` for every gate, `passed` when it passed.
fn summary(verdict: &Verdict) -> Vec<String> {
    let word = |result: &GateResult| result.blocked_reason.clone().unwrap_or_else(|| "passed".to_owned());
    assert!(verdict.results.iter().all(|result| result.passed == result.blocked_reason.is_none()));
    let gates: Vec<_> = verdict.results.iter().map(|result| result.gate_id).collect();
    assert_eq!(gates, GateId::ALL);
    verdict.results.iter().map(word).collect()
}

fn code(verdict: &Verdict) -> Option<RefusalCode> {
    assert_eq!(verdict.refusal.is_none(), verdict.admitted.is_some());
    verdict.refusal.as_ref().map(|refusal| refusal.code)
}

const P: &str = "passed";
const N: &str = NOT_REACHED;

#[test]
fn a_calm_change_passes_all_seven() {
    let (fence, (chain, call)) = (fence(), start_recording());
    let verdict = chain.finish(&call, Ok(&observed()), &context(&fence));
    assert_eq!(summary(&verdict), [P; 7]);
    assert_eq!(verdict.would_run, Ok(()));
    let admitted = verdict.admitted.unwrap();
    assert_eq!(admitted.targets(), [master(HALL)]);
    assert_eq!(admitted.call(), &call);
    assert!(admitted.fingerprint().as_str().contains("\"online\":true"));
    assert!(admitted.referents().as_str().contains("Program"));
    assert_eq!(admitted.results(), verdict.results);
    assert!(verdict.results.iter().all(|result| !result.evidence.is_empty()));
}

#[test]
fn the_schema_gate_refuses_and_policy_is_still_asked() {
    let policy = ToolPolicy::shipped().unwrap();
    let good = arguments(Tool::Reboot, None);
    let long = "x".repeat(301);
    for (tool, text, reason, expected) in [
        ("batch_reboot", "{", "", RefusalCode::NotJson),
        ("batch_reboot", r#"{"a":1,"a":1}"#, "", RefusalCode::DuplicateKey),
        ("batch_reboot", "{}", "", RefusalCode::BadArguments),
        ("delete_cms_event", "{}", "", RefusalCode::ToolNotProposable),
        ("make_tea", "{}", "", RefusalCode::ToolUnknown),
        ("batch_reboot", &good, &long, RefusalCode::ReasonTooLong),
    ] {
        let (chain, call) = Chain::start(&policy, tool, text.as_bytes(), reason);
        assert_eq!(call, None);
        let mut ctx = context(&fence()).clone_without_fence();
        let verdict = chain.refuse(None, &ctx);
        assert_eq!(code(&verdict), Some(expected), "{tool} {text}");
        assert_eq!(summary(&verdict), [expected.as_str(), N, N, N, "no_fence", N, N]);
        ctx.autonomy = Autonomy::Observe;
        let (chain, _) = Chain::start(&policy, tool, text.as_bytes(), reason);
        assert_eq!(code(&chain.refuse(None, &ctx)), Some(expected));
    }
    let (_, call) = Chain::start(&policy, "batch_reboot", good.as_bytes(), &"é".repeat(300));
    assert!(call.is_some());
}

impl Context<'_> {
    fn clone_without_fence(&self) -> Context<'static> {
        let Context { sign_in, autonomy, dry_run, now_boot_ms, now_unix, ref limits, .. } = *self;
        Context { fence: None, sign_in, autonomy, dry_run, now_boot_ms, now_unix, limits: limits.clone() }
    }
}

type Change = fn(&mut Observed);

/// A change of the world, the gate that must refuse, and its code.
fn worlds() -> Vec<(Tool, Change, GateId, RefusalCode)> {
    use GateId as G;
    use RefusalCode as R;
    vec![
        (Tool::Reboot, |world| drop(world.team.devices.remove(0)), G::DeviceResolve, R::TargetUnknown),
        (
            Tool::Recording,
            |world| drop(hall(world).channels.as_mut().unwrap().remove(0)),
            G::DeviceResolve,
            R::ChannelUnknown,
        ),
        (Tool::Recording, |world| hall(world).channels = None, G::DeviceResolve, R::ChannelUnknown),
        (
            Tool::StartStream,
            |world| hall_channel(world, 0).id = crate::sample::channel_id("7"),
            G::DeviceResolve,
            R::ChannelUnknown,
        ),
        (Tool::Recording, |world| hall(world).model = " ec20".to_owned(), G::Capability, R::NotCapable),
        (Tool::StartStream, |world| hall(world).model = "EC20".to_owned(), G::Capability, R::NotCapable),
        (Tool::StopStream, |world| hall(world).model = "EC20".to_owned(), G::Capability, R::NotCapable),
        (Tool::Reboot, |world| hall(world).online = false, G::Capability, R::TargetOffline),
        (Tool::Recording, |world| hall(world).online = false, G::Capability, R::TargetOffline),
        (Tool::StopStream, |world| world.streams = Some(Vec::new()), G::Capability, R::StreamUnknown),
        (Tool::StartStream, |world| world.streams.as_mut().unwrap()[0].id.push('0'), G::Capability, R::StreamUnknown),
        (Tool::StartStream, |world| world.streams = None, G::Capability, R::ReadFailed),
        (Tool::StartStream, |world| lock(world, LAB), G::Capability, R::StreamLocked),
        (Tool::StartStream, |world| lock(world, "29012341234-1"), G::Capability, R::StreamLocked),
        (Tool::StartStream, |world| lock(world, "Lab 3"), G::Capability, R::StreamLocked),
        (Tool::StopStream, |world| lock(world, LAB), G::Capability, R::StreamLocked),
        (Tool::StopStream, |world| lock(world, "29012341234-1"), G::Capability, R::StreamLocked),
        (Tool::ConfirmEvent, |world| drop(world.events.insert(master(HALL), None)), G::Capability, R::EventMismatch),
        (
            Tool::ConfirmEvent,
            |world| world.events.get_mut(&master(HALL)).unwrap().as_mut().unwrap().id.push('1'),
            G::Capability,
            R::EventMismatch,
        ),
        (Tool::Reboot, |world| world.read_boot_ms -= 13_001, G::Freshness, R::Stale),
        (Tool::Reboot, |world| world.read_boot_ms += 2_001, G::Freshness, R::Stale),
        (Tool::Reboot, |world| drop(world.events.remove(&master(HALL))), G::Freshness, R::ReadFailed),
        (Tool::Reboot, |world| drop(world.recorders.remove(&master(HALL))), G::Freshness, R::ReadFailed),
    ]
}

fn lock(world: &mut Observed, holder: &str) {
    world.streams.as_mut().unwrap()[0].locked_by = Some(holder.to_owned());
}

#[test]
fn each_world_fails_at_its_own_gate_and_only_policy_is_asked_after_it() {
    let fence = fence();
    for (tool, change, gate, expected) in worlds() {
        let action = (tool == Tool::Recording).then_some(RecordingAction::Start);
        let (chain, call) = started(tool, action);
        let mut world = observed();
        change(&mut world);
        let verdict = chain.finish(&call, Ok(&world), &context(&fence));
        assert_eq!(code(&verdict), Some(expected), "{tool:?} {gate:?}");
        let wanted: Vec<_> = GateId::ALL
            .map(|one| {
                if one == gate {
                    expected.as_str()
                } else if one < gate || one == GateId::Policy {
                    P
                } else {
                    N
                }
            })
            .into();
        assert_eq!(summary(&verdict), wanted);
        assert!(verdict.would_run.is_err());
    }
}

#[test]
fn what_is_no_obstacle_passes() {
    let fence = fence();
    let fine: Vec<(Tool, Change)> = vec![
        (Tool::StartStream, |world| lock(world, "")),
        (Tool::StartStream, |world| lock(world, HALL)),
        (Tool::StartStream, |world| lock(world, "19012341234-2")),
        (Tool::StopStream, |world| lock(world, "")),
        (Tool::StopStream, |world| lock(world, HALL)),
        (Tool::StopStream, |world| lock(world, "19012341234-1")),
        (Tool::Reboot, |world| hall(world).model = "EC20".to_owned()),
        (Tool::FirmwareUpdate, |world| hall(world).model = "EC20".to_owned()),
        (Tool::Reboot, |world| world.read_boot_ms -= 13_000),
        (Tool::Reboot, |world| set_recorder(world, "1", "recording")),
    ];
    for (tool, change) in fine {
        let (chain, call) = started(tool, None);
        let mut world = observed();
        change(&mut world);
        assert_eq!(code(&chain.finish(&call, Ok(&world), &context(&fence))), None, "{tool:?}");
    }
}

#[test]
fn the_policy_gate_refuses_by_fence_sign_in_and_limits() {
    let (inside, elsewhere) = (fence(), Fence::from_settings(LAB, "").unwrap().unwrap());
    let team = Fence::from_settings("", "team-2").unwrap().unwrap();
    let full = Refusal::bare(RefusalCode::QueueFull);
    let base = context(&inside);
    for (ctx, expected) in [
        (base.clone_without_fence(), RefusalCode::NoFence),
        (Context { fence: Some(&elsewhere), ..base.clone() }, RefusalCode::OutsideFence),
        (Context { fence: Some(&team), ..base.clone() }, RefusalCode::TeamMismatch),
        (Context { sign_in: SignIn::Missing, ..base.clone() }, RefusalCode::NoSignIn),
        (Context { sign_in: SignIn::Dead, ..base.clone() }, RefusalCode::SignInDead),
        (Context { limits: Err(full), ..base.clone() }, RefusalCode::QueueFull),
    ] {
        let (chain, call) = start_recording();
        let verdict = chain.finish(&call, Ok(&observed()), &ctx);
        assert_eq!(code(&verdict), Some(expected));
        assert_eq!(summary(&verdict), [P, P, P, P, expected.as_str(), N, N]);
        // Before the read the team is not known yet; everything else is.
        let early = Chain::before_read(&call, &ctx).err().map(|refusal| refusal.code);
        assert_eq!(early, (expected != RefusalCode::TeamMismatch).then_some(expected));
        let (chain, call) = start_recording();
        let mut stale = observed();
        stale.read_boot_ms = 0;
        let verdict = chain.finish(&call, Ok(&stale), &ctx);
        assert_eq!(code(&verdict), Some(RefusalCode::Stale));
        assert_eq!(
            summary(&verdict),
            [P, P, P, "stale", expected.as_str(), N, N],
            "a denial is seen behind a stale read"
        );
    }
}

#[test]
fn a_failed_read_refuses_at_freshness() {
    let (fence, (chain, call)) = (fence(), start_recording());
    let failed = Refusal::new(RefusalCode::ReadFailed, "the device list was text");
    let verdict = chain.finish(&call, Err(&failed), &context(&fence));
    assert_eq!(verdict.refusal, Some(failed));
    assert_eq!(summary(&verdict), [P, N, N, "read_failed", P, N, N]);
}

#[test]
fn without_a_read_nothing_is_admitted() {
    let fence = fence();
    let (chain, call) = start_recording();
    let verdict = chain.refuse(Some(&call), &context(&fence));
    assert_eq!(summary(&verdict), [P, N, N, "read_failed", P, N, N]);
    assert_eq!(code(&verdict), Some(RefusalCode::ReadFailed));
    let (chain, call) = start_recording();
    let observe = Context { autonomy: Autonomy::Observe, ..context(&fence) };
    assert_eq!(Chain::before_read(&call, &observe).unwrap_err().code, RefusalCode::ObserveMode);
    let verdict = chain.refuse(Some(&call), &observe);
    assert_eq!(summary(&verdict), [P, N, N, N, P, N, "observe_mode"]);
    assert_eq!(code(&verdict), Some(RefusalCode::ObserveMode));
}

#[test]
fn a_dry_run_is_admitted_and_would_not_run() {
    let (fence, (chain, call)) = (fence(), start_recording());
    let ctx = Context { dry_run: true, ..context(&fence) };
    let verdict = chain.finish(&call, Ok(&observed()), &ctx);
    assert_eq!(summary(&verdict), [P, P, P, P, P, "dry_run", P]);
    assert_eq!(verdict.would_run.as_ref().unwrap_err().code, RefusalCode::DryRun);
    assert!(verdict.refusal.is_none() && verdict.admitted.is_some());
}

#[test]
fn observe_mode_admits_nothing_even_as_a_dry_run() {
    let fence = fence();
    for (dry_run, word) in [(false, P), (true, "dry_run")] {
        let (chain, call) = start_recording();
        let ctx = Context { dry_run, autonomy: Autonomy::Observe, ..context(&fence) };
        let verdict = chain.finish(&call, Ok(&observed()), &ctx);
        assert_eq!(summary(&verdict), [P, P, P, P, P, word, "observe_mode"]);
        assert_eq!(code(&verdict), Some(RefusalCode::ObserveMode));
        assert_eq!(verdict.would_run.unwrap_err().code, RefusalCode::ObserveMode);
    }
}

#[test]
fn evidence_is_redacted_bounded_and_holds_the_room_rule() {
    let (fence, (chain, call)) = (fence(), started(Tool::Reboot, None));
    let mut world = observed();
    hall(&mut world).name = format!("password=hunter2 \u{202e}{}", "x".repeat(500));
    set_recorder(&mut world, "1", "recording");
    set_streaming(&mut world, "2");
    let verdict = chain.finish(&call, Ok(&world), &context(&fence));
    assert_eq!(code(&verdict), None);
    let all: Vec<_> = verdict.results.iter().flat_map(|result| &result.evidence).collect();
    assert!(all.iter().all(|item| item.value.chars().count() <= MOST_VALUE));
    assert!(all.iter().all(|item| !item.value.contains("hunter2") && !item.value.contains('\u{202e}')));
    assert!(all.iter().any(|item| item.value == "room_recording, room_streaming"));
    let policy = ToolPolicy::shipped().unwrap();
    let (chain, _) = Chain::start(&policy, &"x".repeat(5_000), b"{}", "");
    let verdict = chain.refuse(None, &context(&fence));
    assert!(verdict.results.iter().all(|result| result.evidence.len() <= MOST_ITEMS));
}

fn bound(tool: Tool, action: Option<RecordingAction>, world: &Observed) -> (CheckedCall, Canonical, Canonical) {
    let fence = fence();
    let (chain, call) = started(tool, action);
    let admitted = chain.finish(&call, Ok(world), &context(&fence)).admitted.unwrap();
    (call, admitted.fingerprint, admitted.referents)
}

fn recheck_code(tool: Tool, action: Option<RecordingAction>, change: Change) -> Option<RefusalCode> {
    let fence = fence();
    let (call, fingerprint, referents) = bound(tool, action, &observed());
    let mut world = observed();
    change(&mut world);
    let found = recheck(&call, &world, &fingerprint, &referents, &context(&fence));
    found.err().map(|refusal| refusal.code)
}

#[test]
fn the_recheck_passes_an_unchanged_world_for_every_tool() {
    for tool in Tool::ALL {
        let action = (tool == Tool::Recording).then_some(RecordingAction::Stop);
        assert_eq!(recheck_code(tool, action, |_| {}), None, "{tool:?}");
    }
}

#[test]
fn the_recheck_repeats_every_gate() {
    for (tool, change, _, expected) in worlds() {
        let action = (tool == Tool::Recording).then_some(RecordingAction::Start);
        assert_eq!(recheck_code(tool, action, change), Some(expected), "{tool:?} {expected}");
    }
}

#[test]
fn the_recheck_refuses_a_changed_room_or_name() {
    let start = Some(RecordingAction::Start);
    let changed = RefusalCode::FingerprintChanged;
    assert_eq!(recheck_code(Tool::Recording, start, |world| set_recorder(world, "2", "recording")), Some(changed));
    assert_eq!(recheck_code(Tool::Reboot, None, |world| set_streaming(world, "2")), Some(changed));
    let renamed = RefusalCode::ReferentChanged;
    assert_eq!(recheck_code(Tool::Recording, start, |world| hall_channel(world, 0).name.push('x')), Some(renamed));
    assert_eq!(recheck_code(Tool::Reboot, None, |world| hall(world).name.push('x')), None);
}

#[test]
fn the_recheck_holds_the_room_rule_against_the_clock() {
    let fence = fence();
    let (call, fingerprint, referents) = bound(Tool::Reboot, None, &observed());
    for (now, expected) in [
        (event().start - 30 * 60 - 1, None),
        (event().start - 30 * 60, Some(RefusalCode::EventSoon)),
        (event().start, Some(RefusalCode::EventLive)),
        // It is over, and may hide the next one.
        (event().end.unwrap(), Some(RefusalCode::ReadFailed)),
    ] {
        let ctx = Context { now_unix: now, ..context(&fence) };
        let found = recheck(&call, &observed(), &fingerprint, &referents, &ctx);
        assert_eq!(found.err().map(|refusal| refusal.code), expected, "{now}");
    }
}

#[test]
fn a_room_that_recorded_all_along_is_refused_at_the_recheck() {
    let fence = fence();
    let mut world = observed();
    set_recorder(&mut world, "2", "recording");
    let (call, fingerprint, referents) = bound(Tool::Reboot, None, &world);
    let found = recheck(&call, &world, &fingerprint, &referents, &context(&fence));
    assert_eq!(found.unwrap_err().code, RefusalCode::RoomRecording);
    assert!(Recording::from_word("recording").is_active());
}

#[test]
fn the_recheck_looks_at_the_context_but_not_at_the_limits() {
    let inside = fence();
    let (call, fingerprint, referents) = bound(Tool::Reboot, None, &observed());
    let base = context(&inside);
    let full = Err(Refusal::bare(RefusalCode::QueueFull));
    for (ctx, expected) in [
        (Context { limits: full, ..base.clone() }, None),
        (base.clone_without_fence(), Some(RefusalCode::NoFence)),
        (Context { sign_in: SignIn::Dead, ..base.clone() }, Some(RefusalCode::SignInDead)),
        (Context { autonomy: Autonomy::Observe, ..base.clone() }, Some(RefusalCode::ObserveMode)),
        (Context { dry_run: true, ..base.clone() }, Some(RefusalCode::DryRun)),
        (Context { now_boot_ms: BOOT_MS + 15_001, ..base.clone() }, Some(RefusalCode::Stale)),
    ] {
        let found = recheck(&call, &observed(), &fingerprint, &referents, &ctx);
        assert_eq!(found.err().map(|refusal| refusal.code), expected);
    }
    let stale_names = Canonical::parse(b"{}").unwrap();
    let found = recheck(&call, &observed(), &stale_names, &referents, &base);
    assert_eq!(found.unwrap_err().code, RefusalCode::FingerprintChanged);
}
