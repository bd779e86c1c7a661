//! What is read for one proposal, and what one answer must confirm of another.

use crate::server::{Fake, TEAM, data, reply};
use policy::ids::{ChannelId, MasterId};
use policy::observed::{Observed, RecorderWord, Recording};
use protocol::refusal::RefusalCode;
use reader::error::ReadError;
use reader::session::ReadClient;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

const HALL: &str = "20311112222";
const LAB: &str = "20311113333";
const STREAMS: &str = "get_stream_endpoints";
const CMS: &str = "get_cms_names_for_devices";
const RECORDERS: &str = "get_recorder_status_for_devices";
const EVENTS: &str = "get_current_or_next_cms_events_for_devices";

fn id(text: &str) -> MasterId {
    MasterId::new(text).unwrap()
}

/// A fleet whose answers a test can change between reads; an answer of null is a tool error.
#[derive(Clone)]
struct World(Arc<Mutex<Value>>);

impl World {
    fn new() -> Self {
        let status = json!({"state": "stopped", "timestamp": "0", "description": ""});
        Self(Arc::new(Mutex::new(json!({
            TEAM: {"devices": [
                {"Id": HALL, "Name": "Hall", "Model": "Pearl-2", "Status": "online", "Channels": [{"channel_id": "1"}]},
                {"Id": LAB, "Name": "Lab", "Model": "Pearl Mini", "Status": "offline",
                    "Channels": [{"channel_id": "1", "recording_status": {"state": "recording"}}]},
            ]},
            STREAMS: {"streams": [{"StreamID": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d", "Name": "Town",
                "RTMP": {"URL": "rtmps://ingest.example.net/live", "StreamingKey": "never-show-this"}}]},
            CMS: {HALL: "epiphan", LAB: "panopto"},
            RECORDERS: {"devices": {HALL: {"Channels": {"1": {"Name": "Program", "RecordingStatus": status}}}}},
            EVENTS: {"events": [{"device_id": HALL, "event": null}, {"device_id": LAB, "event": null}]},
        }))))
    }

    fn set(&self, tool: &str, answer: Value) -> &Self {
        self.0.lock().unwrap()[tool] = answer;
        self
    }

    async fn serve(&self) -> (Fake, ReadClient) {
        let world = self.clone();
        let fake = Fake::start(move |request, _| {
            let answer = world.0.lock().unwrap()[request.tool()].clone();
            if answer.is_null() {
                return reply(request, &json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
            }
            data(request, &answer)
        })
        .await;
        let client = fake.client();
        (fake, client)
    }

    async fn observe(&self, targets: &[&str], streams: bool) -> Result<Observed, ReadError> {
        let (_fake, client) = self.serve().await;
        let targets: Vec<MasterId> = targets.iter().map(|text| id(text)).collect();
        client.observe(&targets, streams).await
    }
}

fn is_failed(result: &Result<Observed, ReadError>, tool: &str) -> bool {
    match result {
        Ok(_) => false,
        Err(error) => error.refusal().code == RefusalCode::ReadFailed && error.refusal().detail.starts_with(tool),
    }
}

#[tokio::test]
async fn one_look_gives_everything_that_a_check_needs() {
    let (fake, client) = World::new().serve().await;
    let seen = client.observe(&[id(HALL), id(HALL)], true).await.unwrap();
    let idle = Recording::Idle(RecorderWord::Stopped);
    assert_eq!(seen.recorders[&id(HALL)][&ChannelId::new("1").unwrap()], idle);
    assert_eq!(seen.events.get(&id(HALL)), Some(&None));
    assert_eq!(seen.streams.as_ref().unwrap()[0].host, "ingest.example.net");
    assert_eq!(seen.team.devices.len(), 2);
    assert!(!format!("{seen:?}").contains("never-show-this"));
    assert!(seen.read_boot_ms > 0 && seen.read_unix > 1_700_000_000);
    let tools: BTreeSet<String> =
        fake.requests().iter().map(|r| r.tool().to_owned()).filter(|t| !t.is_empty()).collect();
    assert_eq!(tools, BTreeSet::from([TEAM, STREAMS, CMS, RECORDERS, EVENTS].map(str::to_owned)));
    assert_eq!(fake.count("tools/call"), 5);
    let asked = fake.requests().into_iter().find(|r| r.tool() == EVENTS).unwrap();
    assert_eq!(asked.body["params"]["arguments"]["device_ids"], json!([HALL]));
    assert!(asked.body["params"]["arguments"]["until"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn the_destinations_are_read_only_when_the_tool_needs_them() {
    let world = World::new();
    world.set(STREAMS, Value::Null);
    assert_eq!(world.observe(&[HALL], false).await.unwrap().streams, None);
    assert!(is_failed(&world.observe(&[HALL], true).await, STREAMS));
}

#[tokio::test]
async fn an_unread_answer_fails_the_whole_look() {
    for tool in [TEAM, RECORDERS, EVENTS] {
        for answer in [Value::Null, json!({}), json!({"devices": "none"})] {
            let world = World::new();
            world.set(tool, answer.clone());
            assert!(is_failed(&world.observe(&[HALL], false).await, tool), "{tool} {answer}");
        }
    }
    let world = World::new();
    world.set(CMS, Value::Null).set(EVENTS, json!({"events": []}));
    assert!(is_failed(&world.observe(&[HALL], false).await, CMS));
}

#[tokio::test]
async fn a_device_or_channel_without_a_recorder_word_fails() {
    let status = json!({"state": "stopped"});
    for answer in [
        json!({"devices": {}}),
        json!({"devices": {LAB: {"Channels": {"1": status}}}}),
        json!({"devices": {HALL: {"Channels": {}}}}),
        json!({"devices": {HALL: {"Channels": {"2": status}}}}),
    ] {
        let world = World::new();
        world.set(RECORDERS, answer.clone());
        assert!(is_failed(&world.observe(&[HALL], false).await, RECORDERS), "{answer}");
    }
    let without_list = json!({"devices": [{"Id": HALL, "Model": "Pearl-2", "Status": "online"}]});
    let world = World::new();
    world.set(TEAM, without_list.clone()).set(RECORDERS, json!({"devices": {HALL: {"Channels": {}}}}));
    assert!(is_failed(&world.observe(&[HALL], false).await, RECORDERS));
    let camera = json!({"devices": [{"Id": HALL, "Model": "EC20", "Status": "online"}]});
    world.set(TEAM, camera);
    assert!(world.observe(&[HALL], false).await.unwrap().recorders[&id(HALL)].is_empty());
}

#[tokio::test]
async fn a_unit_that_is_off_needs_no_recorder_word() {
    let world = World::new();
    let seen = world.observe(&[LAB], false).await.unwrap();
    assert!(seen.recorders.is_empty());
    assert_eq!(seen.events.len(), 1);
    let (fake, client) = world.serve().await;
    let seen = client.observe(&[id(HALL), id(LAB)], false).await.unwrap();
    assert_eq!(seen.recorders.len(), 1);
    assert_eq!(fake.count("tools/call"), 4);
    world.set(RECORDERS, Value::Null);
    assert!(world.observe(&[LAB], false).await.unwrap().recorders.is_empty());
}

#[tokio::test]
async fn a_unit_missing_from_the_events_has_none_only_without_a_cms() {
    let world = World::new();
    world.set(EVENTS, json!({"events": []}));
    assert!(is_failed(&world.observe(&[HALL], false).await, EVENTS));
    world.set(CMS, json!({LAB: "panopto"}));
    assert_eq!(world.observe(&[HALL], false).await.unwrap().events.get(&id(HALL)), Some(&None));

    let (_fake, client) = world.serve().await;
    assert_eq!(client.events(&[id(HALL)], 1_900_000_000).await.unwrap().get(&id(HALL)), Some(&None));
    client.events(&[id(HALL), id(LAB)], 1_900_000_000).await.unwrap_err();
    world.set(EVENTS, json!({"events": [{"device_id": HALL, "event": {"id": "a:1", "start": 1_899_999_000}}]}));
    let found = client.events(&[id(HALL)], 1_900_000_000).await.unwrap();
    assert_eq!(found[&id(HALL)].as_ref().unwrap().id, "a:1");
}

#[tokio::test]
async fn a_target_that_is_not_on_the_list_is_not_a_failed_read() {
    let world = World::new();
    world.set(RECORDERS, Value::Null).set(EVENTS, Value::Null).set(CMS, Value::Null);
    let seen = world.observe(&["20399999999"], false).await.unwrap();
    assert!(seen.recorders.is_empty() && seen.events.is_empty());
    assert!(seen.team.device(&id("20399999999")).is_none());
    let (fake, client) = World::new().serve().await;
    client.observe(&[], false).await.unwrap();
    assert_eq!(fake.count("tools/call"), 1);
}

#[tokio::test]
async fn no_device_after_some_is_a_failed_read_and_at_first_it_is_an_empty_team() {
    let world = World::new();
    let (_fake, client) = world.serve().await;
    let full = world.0.lock().unwrap()[TEAM].clone();
    world.set(TEAM, json!({"devices": []}));
    assert!(client.team().await.unwrap().devices.is_empty());
    world.set(TEAM, full);
    assert_eq!(client.team().await.unwrap().devices.len(), 2);
    world.set(TEAM, json!({"devices": []}));
    assert_eq!(client.team().await.unwrap_err().refusal().code, RefusalCode::ReadFailed);
}

#[tokio::test]
async fn a_dead_sign_in_is_told_apart_from_a_failed_read() {
    let fake = Fake::start(|request, _| {
        reply(request, &json!({"content": [{"type": "text", "text": "Error: 401 Unauthorized"}], "isError": true}))
    })
    .await;
    let error = fake.client().observe(&[id(HALL)], false).await.unwrap_err();
    assert_eq!(error.refusal().code, RefusalCode::SignInDead);
}

#[tokio::test]
async fn the_last_look_asks_for_the_targets_alone_and_fails_closed() {
    let world = World::new();
    let (fake, client) = world.serve().await;
    let team = client.team().await.unwrap();
    let (recorders, events) = client.look_again(&team, &[id(HALL)]).await.unwrap();
    assert_eq!(recorders.len(), 1);
    assert_eq!(events.get(&id(HALL)), Some(&None));
    assert_eq!(fake.requests().iter().filter(|request| request.tool() == TEAM).count(), 1);
    let on = json!({"state": "starting"});
    world.set(RECORDERS, json!({"devices": {HALL: {"Channels": {"1": {"RecordingStatus": on}}}}}));
    let (recorders, _) = client.look_again(&team, &[id(HALL)]).await.unwrap();
    assert!(recorders[&id(HALL)].values().all(|word| word.is_active()));
    client.look_again(&team, &[id("20399999999")]).await.unwrap_err();
    world.set(RECORDERS, json!({"devices": {}}));
    client.look_again(&team, &[id(HALL)]).await.unwrap_err();
}
