//! The reader against a server made with the official Python MCP SDK: another hand's idea of the same protocol.

use crate::peer::Peer;
use host::clock::Clock;
use policy::call::Slot;
use policy::ids::{ChannelId, MasterId};
use policy::observed::{RecorderWord, Recording};
use policy::tool_policy::ToolPolicy;
use protocol::canonical::Canonical;
use reader::endpoint::Endpoint;
use reader::error::{ReadError, Why};
use reader::quote::{Caps, quote};
use reader::session::ReadClient;
use reader::token::{SignIn, Which};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

const BEARER: &str = "python-peer-bearer";
const HALL: &str = "20311112222";
const LAB: &str = "20311113333";
const STORE: &str = "20311114444";

async fn server(words: &[&str]) -> Peer {
    Peer::start("python_mcp_server.py", &[&[BEARER], words].concat()).await
}

// Each request so far: version, method and session, as its headers say.
fn heard(peer: &Peer) -> Vec<[String; 3]> {
    let text = peer.said();
    let words = text.lines().map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    words.map(|line| line.try_into().unwrap()).collect()
}

fn signed_in(peer: &Peer, bearer: &str) -> ReadClient {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sign-in");
    std::fs::write(&path, bearer).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let endpoint = Endpoint::parse(&format!("http://127.0.0.1:{}/mcp", peer.port), Slot::Sim).unwrap();
    let policy = Arc::new(ToolPolicy::shipped().unwrap());
    ReadClient::new(SignIn::load(&path, Which::Normal, endpoint, Clock::system().unwrap()).unwrap(), policy).unwrap()
}

fn id(text: &str) -> MasterId {
    MasterId::new(text).unwrap()
}

async fn call(client: &ReadClient, tool: &str, arguments: &Value) -> Result<Value, ReadError> {
    let tool = client.policy().guard(tool).unwrap();
    let answer = client.call(&tool, &Canonical::from_value(arguments).unwrap()).await?;
    Ok(answer.into_value())
}

async fn looks_whole(client: &ReadClient) {
    let seen = client.observe(&[id(HALL), id(LAB), id(STORE)], true).await.unwrap();
    assert_eq!(seen.team.device(&id(HALL)).unwrap().name, "Room 401 Unauthorized");
    assert!(!seen.team.device(&id(STORE)).unwrap().online);
    let one = ChannelId::new("1").unwrap();
    assert_eq!(seen.recorders[&id(HALL)][&one], Recording::Active(RecorderWord::Recording));
    assert_eq!(seen.recorders[&id(LAB)][&one], Recording::Idle(RecorderWord::Stopped));
    assert!(!seen.recorders.contains_key(&id(STORE)));
    let event = seen.events[&id(HALL)].as_ref().unwrap();
    assert_eq!((event.id.as_str(), event.start), ("k3x9w0c1v7b5n2m8q4zz:1927880000", 1_927_879_200));
    assert_eq!(event.end, Some(1_927_882_800));
    assert_eq!(seen.events[&id(LAB)], None);
    let streams = seen.streams.unwrap();
    assert_eq!((streams[0].host.as_str(), streams[0].streaming), ("ingest.example.net:1936", Some(false)));
}

#[tokio::test]
async fn a_whole_look_at_the_fleet_through_the_python_sdk_with_each_handshake() {
    for (words, newest, in_session) in [
        (&[][..], true, false),
        (&["json"], true, false),
        (&["stateless"], true, false),
        (&["json", "stateless"], true, false),
        (&["sessions"], false, true),
        (&["json", "sessions"], false, true),
        (&["sessionless"], false, false),
    ] {
        let peer = server(words).await;
        let client = signed_in(&peer, BEARER);
        looks_whole(&client).await;
        client.close().await;
        looks_whole(&client).await;
        let heard = heard(&peer);
        let probes = heard.iter().filter(|[_, method, _]| method == "server/discover").count();
        assert_eq!(probes, if newest { 2 } else { 1 }, "{words:?}: {heard:?}");
        let version = if newest { "2026-07-28" } else { "2025-11-25" };
        let rest: Vec<_> =
            heard.iter().filter(|[version, method, _]| version != "-" && method != "server/discover").collect();
        assert!(rest.len() >= 10, "{words:?}: {heard:?}");
        for [said, method, session] in rest {
            assert_eq!(said, version, "{words:?}: {heard:?}");
            assert_eq!(method, if newest { "tools/call" } else { "-" }, "{words:?}: {heard:?}");
            assert_eq!(session != "-", in_session, "{words:?}: {heard:?}");
        }
        let greeted_the_old_way = heard.iter().any(|[version, ..]| version == "-");
        assert_eq!(greeted_the_old_way, !newest, "{words:?}: {heard:?}");
    }
}

#[tokio::test]
async fn lists_errors_and_texts_of_the_python_sdk_are_told_apart() {
    for words in ["stateless", "sessions"] {
        lists_errors_and_texts(&server(&[words]).await).await;
    }
}

async fn lists_errors_and_texts(peer: &Peer) {
    let client = signed_in(peer, BEARER);
    let presets = call(&client, "get_team_presets", &json!({})).await.unwrap();
    assert_eq!(presets[1]["name"], "Exam");
    for (tool, arguments, why) in [
        ("get_device_info", json!({"device_id": HALL}), Why::ErrorAnswer),
        ("kb_search", json!({"query": "audio"}), Why::PlainText),
        // It says that the token has expired, and only the device list is believed there.
        ("kb_fetch", json!({"id": "1"}), Why::PlainText),
        ("get_storage_status_for_devices", json!({"device_ids": [HALL]}), Why::ErrorAnswer),
    ] {
        let error = call(&client, tool, &arguments).await.unwrap_err();
        assert_eq!(error, ReadError::Failed { tool: tool.to_owned(), why });
    }
    let stranger = signed_in(peer, "another-bearer");
    let error = stranger.team().await.unwrap_err();
    assert_eq!(error, ReadError::NotSignedIn { tool: "get_devices_in_my_team".to_owned() });
}

#[tokio::test]
async fn no_stream_key_of_the_python_fleet_reaches_a_quote() {
    let peer = server(&[]).await;
    let client = signed_in(&peer, BEARER);
    for tool in ["get_devices_in_my_team", "get_stream_endpoints"] {
        let value = call(&client, tool, &json!({})).await.unwrap();
        assert!(value.to_string().contains("never-show-this-key"), "the server does send it");
        let quoted = quote(tool, value, &Caps::default());
        assert!(!quoted.contains("never-show-this-key"));
        assert!(quoted.starts_with("<fleet_data>{") && quoted.ends_with("</fleet_data>"));
    }
}
