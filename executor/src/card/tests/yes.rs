//! When a yes is good for a card, looked at without the daemon around it.

use super::scene::{CALLS, Scene};
use crate::card::{Looked, call_of, check_facts, check_yes, digest_of};
use crate::desk::YesTo;
use policy::call::Tool;
use policy::tool_policy::ToolPolicy;
use protocol::refusal::RefusalCode;
use std::collections::BTreeMap;

fn scene(name: &str) -> Scene {
    Scene::calm(*CALLS.iter().find(|call| call.name == name).unwrap())
}

fn looked(scene: &mut Scene) -> Looked {
    let facts = scene.facts();
    let digest = digest_of(&facts, Some(&scene.record)).unwrap();
    let (call, observed) = (scene.call(), scene.observed.clone());
    Looked { call, observed, facts, digest, expires_in: 840, gates: Vec::new() }
}

fn yes_to(looked: &Looked, confirm: Option<&str>) -> YesTo {
    let confirm = confirm.map(str::to_owned);
    YesTo { number: looked.facts.number, ticket: String::new(), digest: looked.digest, confirm }
}

#[test]
fn a_yes_to_another_card_is_not_one_to_this() {
    let seen = looked(&mut scene("start-recording"));
    let yes = yes_to(&seen, None);
    check_yes(&yes, &seen).unwrap();
    let now = looked(&mut scene("stop-recording"));
    assert_eq!(check_facts(&yes, &now).unwrap_err().code, RefusalCode::CardChanged);
}

#[test]
fn a_card_with_deny_only_takes_no_yes() {
    let mut scene = scene("start-recording");
    scene.tampered = true;
    let looked = looked(&mut scene);
    let refusal = check_facts(&yes_to(&looked, None), &looked).unwrap_err();
    assert_eq!((refusal.code, refusal.detail), (RefusalCode::NotApprovable, looked.facts.deny_only[0].en.clone()));
}

#[test]
fn a_disruptive_change_takes_no_yes_without_the_rooms_name() {
    let looked = looked(&mut scene("restart"));
    for typed in [None, Some(""), Some("hall a"), Some("Hall"), Some("yes")] {
        let refusal = check_yes(&yes_to(&looked, typed), &looked).unwrap_err();
        assert_eq!((refusal.code, refusal.detail.as_str()), (RefusalCode::RoomNotConfirmed, "Hall A"), "{typed:?}");
    }
    check_yes(&yes_to(&looked, Some(" Hall A ")), &looked).unwrap();
}

#[test]
fn a_row_made_under_other_rules_means_nothing_now() {
    let tools = ToolPolicy::shipped().unwrap();
    let record = scene("start-recording").record;
    let found = |slices: &[(Tool, i64)]| {
        let slices: BTreeMap<_, _> = slices.iter().copied().collect();
        call_of((&tools, &slices), &record).map(|call| call.tool()).map_err(|refusal| refusal.code)
    };
    assert_eq!(found(&[(Tool::Recording, 1)]), Ok(Tool::Recording));
    for slices in [&[(Tool::Recording, 2)][..], &[(Tool::Reboot, 1)], &[]] {
        assert_eq!(found(slices), Err(RefusalCode::PolicyChanged), "{slices:?}");
    }
    let mut newer = record.clone();
    newer.schema_version += 1;
    let slices = BTreeMap::from([(Tool::Recording, 1)]);
    assert_eq!(call_of((&tools, &slices), &newer).unwrap_err().code, RefusalCode::PolicyChanged);
}
