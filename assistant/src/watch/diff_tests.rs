use super::*;
use crate::watch::testing::{NOON, event, look, readings, rules, unit};
use protocol::ask::{DEVICES, EVENTS, RECORDERS, SYSTEM};
use serde_json::{Value, json};
use std::collections::BTreeMap;

struct Fleet {
    files: BTreeMap<String, Value>,
    state: State,
    rules: Rules,
    now: i64,
}

impl Fleet {
    // A fleet whose first look has been told.
    async fn begun(policy: &str) -> Self {
        let mut fleet = Self { files: readings(), state: State::default(), rules: rules(policy), now: NOON };
        fleet.beat(0).await;
        fleet
    }

    async fn beat(&mut self, seconds: i64) -> Vec<Post> {
        self.now += seconds;
        let seen = look(&self.files, self.now).await;
        step(&mut self.state, &seen, &self.rules).into_iter().map(|timed| timed.post).collect()
    }

    fn set(&mut self, at: usize, change: &Value) {
        unit(&mut self.files, at, change);
    }
}

fn text(posts: &[Post]) -> String {
    posts.iter().map(|post| format!("{}\n{}\n", post.title, post.lines.join("\n"))).collect()
}

#[tokio::test]
async fn the_first_look_posts_a_fleet_check_or_all_clear_and_then_it_is_quiet() {
    let mut fleet = Fleet { files: readings(), state: State::default(), rules: rules(""), now: NOON };
    assert_eq!(text(&fleet.beat(0).await), "Fleet check: 5 rooms, 5 online\nAll clear.\n");
    assert_eq!(fleet.beat(180).await, []);
    let mut fleet = Fleet { files: readings(), state: State::default(), rules: rules(""), now: NOON };
    fleet.set(0, &json!({"Status": "offline"}));
    assert_eq!(text(&fleet.beat(0).await), "Fleet check: 5 rooms, 4 online\nFix first:\n- Hall A: offline\n");
    assert_eq!(fleet.beat(180).await, []);
}

#[tokio::test]
async fn a_finding_is_posted_once_then_its_end_once() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    assert_eq!(text(&fleet.beat(180).await), "Fleetwatch: 1 new\nFix first:\n- Hall A: offline\n");
    for _ in 0..20 {
        assert_eq!(fleet.beat(180).await, []);
    }
    fleet.set(0, &json!({"Status": "online"}));
    assert_eq!(text(&fleet.beat(180).await), "Fleetwatch: 1 resolved\nResolved:\n- Hall A: offline\n");
    assert_eq!(fleet.beat(180).await, []);
}

#[tokio::test]
async fn an_open_finding_is_said_again_after_the_set_time() {
    let mut fleet = Fleet::begun("remind_after_minutes: 10\n").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    assert_eq!(fleet.beat(599).await, []);
    assert!(text(&fleet.beat(1).await).starts_with("Fleetwatch: 1 still open\nStill open:\n- Hall A: offline"));
    assert_eq!(fleet.beat(599).await, []);
}

#[tokio::test]
async fn quiet_hours_let_only_fix_first_through_and_the_rest_waits() {
    // NOON is inside them, 13:00 is not.
    let mut fleet = Fleet::begun("quiet_hours: 11:30-13:00\n").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    assert_eq!(text(&fleet.beat(180).await), "Fleetwatch: 1 new\nFix first:\n- Hall A: offline\n");
    fleet.set(0, &json!({"Status": "online"}));
    assert!(text(&fleet.beat(180).await).contains("Resolved:\n- Hall A: offline"));
    assert_eq!(fleet.beat(180).await, []);
    let after = text(&fleet.beat(3_600).await);
    assert!(after.starts_with("Fleetwatch: 1 new\nFix soon:\n- Hall B: firmware 4.1.0"), "{after}");
    // What comes and goes within the quiet hours is never said.
    let mut fleet = Fleet::begun("quiet_hours: 11:30-13:00\n").await;
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    fleet.beat(180).await;
    fleet.set(1, &json!({"Firmware": "4.24.6"}));
    fleet.beat(180).await;
    assert_eq!(fleet.beat(3_600).await, []);
}

#[tokio::test]
async fn a_lesser_finding_that_ends_in_quiet_hours_is_resolved_after_them() {
    let mut fleet = Fleet::begun("quiet_hours: 12:10-13:00\n").await;
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    fleet.beat(60).await;
    fleet.set(1, &json!({"Firmware": "4.24.6"}));
    assert_eq!(fleet.beat(900).await, []);
    assert!(text(&fleet.beat(3_600).await).starts_with("Fleetwatch: 1 resolved"));
    // One that is back before that was never over.
    fleet.now = NOON;
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    fleet.beat(60).await;
    fleet.set(1, &json!({"Firmware": "4.24.6"}));
    fleet.beat(900).await;
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    assert_eq!(fleet.beat(3_600).await, []);
}

#[tokio::test]
async fn a_unit_that_cannot_be_reached_or_read_resolves_nothing() {
    let dark = json!([{"id": "source_no_signal", "label": "source", "data": null}]);
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Warnings": dark}));
    fleet.files.get_mut(protocol::ask::SYSTEM).unwrap()["status"][1]["cpu_temp_c"] = json!(99);
    assert!(text(&fleet.beat(180).await).starts_with("Fleetwatch: 2 new"));
    fleet.set(0, &json!({"Status": "offline", "Warnings": null}));
    let status = fleet.files.remove(protocol::ask::SYSTEM).unwrap();
    assert_eq!(text(&fleet.beat(180).await), "Fleetwatch: 1 new\nFix first:\n- Hall A: offline\n");
    fleet.set(0, &json!({"Status": "online"}));
    fleet.files.insert(protocol::ask::SYSTEM.to_owned(), status);
    fleet.files.get_mut(protocol::ask::SYSTEM).unwrap()["status"][1]["cpu_temp_c"] = json!(40);
    assert!(text(&fleet.beat(180).await).starts_with("Fleetwatch: 3 resolved"));
}

// What the recorder itself says, and what the list says of it.
fn recorder(fleet: &mut Fleet, own: &str, list: &str) {
    fleet.files.get_mut(RECORDERS).unwrap()["devices"]["20300000000"]["Channels"]["1"] = json!({ "state": own });
    let channel = json!({"channel_id": "1", "name": "Program", "recording_status": {"state": list}});
    fleet.set(0, &json!({"Channels": [channel]}));
}

#[tokio::test]
async fn recorders_that_cannot_be_read_resolve_nothing_and_are_not_said_again() {
    let mut fleet = Fleet::begun("remind_after_minutes: 10\n").await;
    recorder(&mut fleet, "error", "stopped");
    let said = text(&fleet.beat(180).await);
    assert!(said.contains("1 new\nFix first:\n- Hall A: the recorder of channel Program reports an error"), "{said}");
    let reading = fleet.files.remove(RECORDERS).unwrap();
    assert_eq!(fleet.beat(180).await, []);
    assert_eq!(fleet.beat(3_600).await, [], "nobody knows whether it is still so");
    fleet.files.insert(RECORDERS.to_owned(), reading);
    assert!(text(&fleet.beat(180).await).contains("1 still open"));
    recorder(&mut fleet, "stopped", "stopped");
    assert!(text(&fleet.beat(180).await).starts_with("Fleetwatch: 1 resolved"));
}

#[tokio::test]
async fn the_lists_older_word_about_an_unread_recorder_begins_nothing() {
    let mut fleet = Fleet::begun("").await;
    recorder(&mut fleet, "stopped", "error");
    assert_eq!(fleet.beat(180).await, []);
    let reading = fleet.files.remove(RECORDERS).unwrap();
    assert_eq!(fleet.beat(180).await, []);
    fleet.files.insert(RECORDERS.to_owned(), reading);
    assert_eq!(fleet.beat(180).await, []);
}

#[tokio::test]
async fn without_the_recorders_a_room_keeps_its_verdict_and_nothing_is_posted() {
    let mut fleet = Fleet::begun("").await;
    recorder(&mut fleet, "error", "stopped");
    event(&mut fleet.files, 0, NOON + 1_800, "Seminar");
    assert!(text(&fleet.beat(180).await).contains("Hall A: Not ready for the event \"Seminar\""));
    let reading = fleet.files.remove(RECORDERS).unwrap();
    assert_eq!(fleet.beat(180).await, []);
    // Nor is a room judged for the first time.
    event(&mut fleet.files, 1, NOON + 1_800, "Lecture");
    assert_eq!(fleet.beat(180).await, []);
    // A unit that is away needs no recorder to be not ready.
    event(&mut fleet.files, 2, NOON + 1_800, "Exam");
    fleet.set(2, &json!({"Status": "offline"}));
    assert!(text(&fleet.beat(180).await).contains("Hall C: Not ready for the event \"Exam\""));
    fleet.files.insert(RECORDERS.to_owned(), reading);
    let said = text(&fleet.beat(180).await);
    assert!(said.contains("Hall B: Ready for the event \"Lecture\"") && !said.contains("Seminar"), "{said}");
    recorder(&mut fleet, "stopped", "stopped");
    assert!(text(&fleet.beat(180).await).contains("Hall A: Ready now (was: Not ready)"));
}

#[tokio::test]
async fn all_clear_is_said_only_when_every_part_was_read() {
    for (tool, name) in [(RECORDERS, "recorders"), (SYSTEM, "load and temperature"), (EVENTS, "events")] {
        let mut fleet = Fleet { files: readings(), state: State::default(), rules: rules(""), now: NOON };
        fleet.files.remove(tool);
        let missing = format!("Could not be read: {name}.\n");
        assert_eq!(text(&fleet.beat(0).await), format!("Fleet check: 5 rooms, 5 online\n{missing}"));
        fleet.beat(86_400).await;
        fleet.now += 86_400;
        let said = text(&fleet.beat(0).await);
        assert!(said.contains("Nightly check") && said.ends_with(&missing) && !said.contains("clear"), "{said}");
    }
}

#[tokio::test]
async fn a_post_ends_with_the_earliest_start_of_its_verdicts_and_what_else_it_says_does_not() {
    let mut fleet = Fleet::begun("").await;
    event(&mut fleet.files, 0, NOON + 900, "Seminar");
    event(&mut fleet.files, 1, NOON + 600, "Lecture");
    fleet.set(2, &json!({"Status": "offline"}));
    let posts = step(&mut fleet.state, &look(&fleet.files, NOON + 180).await, &fleet.rules);
    assert_eq!((posts.len(), posts[0].until), (1, Some(NOON + 600)));
    let rest = posts[0].rest.clone().unwrap();
    assert_eq!(text(&[rest]), "Fleetwatch: 1 new\nFix first:\n- Hall C: offline\n");
    fleet.set(2, &json!({"Status": "online"}));
    let posts = step(&mut fleet.state, &look(&fleet.files, NOON + 360).await, &fleet.rules);
    assert_eq!((posts.len(), posts[0].until, &posts[0].rest), (1, None, &None));
}

#[tokio::test]
async fn a_restart_is_said_once_although_its_minute_moves_and_its_end_is_no_news() {
    let mut fleet = Fleet::begun("").await;
    let up = |fleet: &mut Fleet, seconds: i64| {
        fleet.files.get_mut(protocol::ask::SYSTEM).unwrap()["status"][0]["uptime"] = json!(seconds)
    };
    up(&mut fleet, 60);
    assert!(text(&fleet.beat(180).await).contains("Hall A: restarted at"));
    for (after, seconds) in [(180, 239), (180, 421), (180, 600), (3_600, 4_200)] {
        up(&mut fleet, seconds);
        assert_eq!(fleet.beat(after).await, []);
    }
    up(&mut fleet, 60);
    assert!(text(&fleet.beat(180).await).contains("restarted at"), "another restart is another finding");
}

#[tokio::test]
async fn storage_is_one_line_said_once_and_no_problem() {
    let storage = json!([{"id": "disk_space_error", "label": "storage", "data": null}]);
    let mut fleet = Fleet::begun("remind_after_minutes: 1\n").await;
    fleet.set(0, &json!({"Warnings": storage}));
    fleet.set(1, &json!({"Warnings": storage}));
    let said = text(&fleet.beat(180).await);
    assert!(said.ends_with("\nFor your information: little or no storage in Hall A, Hall B\n"), "{said}");
    assert_eq!(fleet.beat(180).await, []);
    fleet.set(0, &json!({"Warnings": null}));
    assert_eq!(fleet.beat(180).await, []);
}

#[tokio::test]
async fn readiness_is_said_once_and_again_only_when_the_verdict_changes_before_the_start() {
    for policy in ["", "quiet_hours: 11:00-14:00\n"] {
        let mut fleet = Fleet::begun(policy).await;
        event(&mut fleet.files, 0, NOON + 2_400, "Seminar");
        assert_eq!(fleet.beat(300).await, [], "outside the window");
        let said = text(&fleet.beat(300).await);
        assert!(
            said.contains("1 room check\nHall A: Ready for the event \"Seminar\" at 12:40 UTC, in 30 min"),
            "{said}"
        );
        assert_eq!(fleet.beat(180).await, []);
        fleet.set(0, &json!({"Status": "offline"}));
        assert!(text(&fleet.beat(180).await).contains("Hall A: Not ready now (was: Ready) for the event"));
        fleet.set(0, &json!({"Status": "online", "Warnings": [{"id": "disk_space_error"}]}));
        assert!(text(&fleet.beat(180).await).contains("Ready, with notes now (was: Not ready)"));
        let other = json!({"Warnings": [{"id": "disk_space_error"}, {"id": "source_no_signal"}]});
        fleet.set(0, &other);
        assert!(!text(&fleet.beat(180).await).contains("Seminar"), "another note is no other verdict");
        fleet.now = NOON + 2_400;
        fleet.set(0, &json!({"Status": "offline"}));
        assert!(!text(&fleet.beat(0).await).contains("Seminar"), "nothing after the start");
        assert_eq!(fleet.state.told.len(), 1);
        fleet.beat(86_400).await;
        assert!(fleet.state.told.is_empty());
    }
}

#[tokio::test]
async fn a_finding_outside_the_scope_or_off_the_list_is_over() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    fleet.files.get_mut(protocol::ask::DEVICES).unwrap()["devices"].as_array_mut().unwrap().remove(0);
    assert!(text(&fleet.beat(180).await).starts_with("Fleetwatch: 1 resolved"));
}

#[tokio::test]
async fn the_nightly_check_is_made_once_a_night_and_posted_after_the_quiet_hours() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.set(1, &json!({"Firmware": "4.1.0"}));
    fleet.beat(180).await;
    // 03:10, within the quiet hours.
    fleet.now = NOON + 15 * 3_600 + 600;
    assert!(!text(&fleet.beat(0).await).contains("Nightly"));
    fleet.set(0, &json!({"Status": "online"}));
    fleet.set(2, &json!({"Status": "offline"}));
    fleet.now = NOON + 18 * 3_600 + 2_400;
    let said = text(&fleet.beat(0).await);
    assert!(said.contains("Nightly check: 5 rooms, 4 online\nOffline: Hall A\nBehind on firmware: Hall B\n"), "{said}");
    fleet.set(1, &json!({"Firmware": "4.24.6"}));
    assert!(!text(&fleet.beat(3_600).await).contains("Nightly"));
    fleet.now += 86_400;
    let said = text(&fleet.beat(0).await);
    assert!(said.contains("Went offline since the last check: Hall C\nBack since the last check: Hall A"), "{said}");
    let off = "sweep_at: \"\"\n";
    let mut fleet = Fleet::begun(off).await;
    fleet.now += 86_400;
    assert_eq!(fleet.beat(0).await, []);
}

#[tokio::test]
async fn the_days_are_counted() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    event(&mut fleet.files, 0, NOON + 600, "Seminar");
    fleet.beat(60).await;
    failed(&mut fleet.state, &fleet.rules, fleet.now);
    let line = digest::history(&fleet.state, 7, protocol::shown::Language::English);
    let want = "2031-02-03: looks 2 (did not work: 1), rooms 5, most offline 1, findings begun 1, ended 0, ready 0, not ready 1";
    assert_eq!(line, want);
}

#[tokio::test]
async fn no_word_of_ours_alarms() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(
        0,
        &json!({"Status": "offline", "Channels": [{"channel_id": "1", "recording_status": {"state": "recording"}}]}),
    );
    fleet.set(
        1,
        &json!({"Warnings": [{"id": "disk_space_error"}, {"id": "source_no_signal"}, {"id": "fan"}], "Firmware": "4.1.0",
        "Channels": [{"channel_id": "1", "name": "Program", "Warnings": [{"id": "channel_no_signal"}]}]}),
    );
    fleet.files.get_mut(protocol::ask::SYSTEM).unwrap()["status"][2] =
        json!({"device_id": "20300000002", "cpu_load_pct": 99, "cpu_temp_c": 99, "uptime": 60});
    event(&mut fleet.files, 0, NOON + 600, "Seminar");
    event(&mut fleet.files, 3, NOON + 600, "Seminar");
    let mut all = String::new();
    for language in [protocol::shown::Language::English, protocol::shown::Language::Spanish] {
        fleet.rules.language = language;
        (fleet.state, fleet.now) = (State::default(), NOON);
        all += &text(&fleet.beat(0).await);
        all += &text(&fleet.beat(15 * 3_600).await);
        all += &text(&fleet.beat(4 * 3_600).await);
        all += &digest::digest(&look(&fleet.files, fleet.now).await, &fleet.rules, (language, fleet.now));
        all += &digest::history(&fleet.state, 7, language);
    }
    assert!(
        all.contains("Nightly") && all.contains("nocturna") && all.contains("Not ready") && all.contains("fan"),
        "{all}"
    );
    let lower = all.to_lowercase();
    for never in
        ["critical", "crítico", "urgent", "at risk", "riesgo", "danger", "peligro", "failure", "p1", "p2", "p3", "—"]
    {
        assert!(!lower.contains(never), "{never}: {all}");
    }
}

// The list of another account: these units of the fleet alone, or as many with other ids.
fn other(fleet: &mut Fleet, from: usize, ids: Option<&str>) {
    let list = fleet.files.get_mut(DEVICES).unwrap()["devices"].as_array_mut().unwrap();
    list.drain(..from);
    for (at, unit) in list.iter_mut().enumerate() {
        if let Some(start) = ids {
            unit["Id"] = json!(format!("{start}{at}"));
        }
    }
}

#[tokio::test]
async fn what_an_earlier_account_saw_is_dropped_without_a_word_and_never_resolved() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.set(1, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    other(&mut fleet, 2, Some("2040000000"));
    let said = text(&fleet.beat(180).await);
    assert!(said.starts_with("Fleet check: 3 rooms, 3 online\nAnother account is signed in."), "{said}");
    assert!(!said.contains("esolved") && !said.contains("Hall A"), "{said}");
    assert!(fleet.state.open.is_empty());
    let day = fleet.state.days.last().unwrap();
    assert_eq!((day.began, day.ended), (2, 0));
    assert_eq!(fleet.beat(180).await, []);
}

#[tokio::test]
async fn by_its_own_id_another_team_drops_only_what_it_does_not_list() {
    let mut fleet = Fleet::begun("").await;
    let team = |fleet: &mut Fleet, id: &str| fleet.files.get_mut(DEVICES).unwrap()["team_id"] = json!(id);
    team(&mut fleet, "t-1");
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.set(2, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    other(&mut fleet, 1, None);
    team(&mut fleet, "t-2");
    let said = text(&fleet.beat(180).await);
    assert!(said.contains("Another account is signed in") && !said.contains("esolved"), "{said}");
    // Hall C was said before, and its end is still news.
    assert!(!said.contains("Hall C"), "{said}");
    fleet.set(1, &json!({"Status": "online"}));
    assert_eq!(text(&fleet.beat(180).await), "Fleetwatch: 1 resolved\nResolved:\n- Hall C: offline\n");
    // The same team with no unit of before is the same team.
    fleet.set(1, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    other(&mut fleet, 0, Some("2040000000"));
    assert!(text(&fleet.beat(180).await).contains("1 resolved"));
}

#[tokio::test]
async fn a_unit_that_is_taken_out_of_the_same_account_is_over_and_no_other_account() {
    let mut fleet = Fleet::begun("").await;
    fleet.set(0, &json!({"Status": "offline"}));
    fleet.beat(180).await;
    other(&mut fleet, 1, None);
    let said = text(&fleet.beat(180).await);
    assert!(said.contains("1 resolved") && !said.contains("account"), "{said}");
}
