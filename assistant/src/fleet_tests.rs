//! A reading that is under way while somebody signs in or out, against a hand-written server.

use super::*;
use crate::desk::Desk;
use crate::login::Asker;
use crate::testing::{LATE, World};
use policy::call::Slot;
use protocol::ask::AssistantSays;
use reader::endpoint::Endpoint;
use reader::token::{SignIn, Which};
use serde_json::json;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const UNIT: &str = "19012341234";

/// A server that keeps each call until it is let go, and then answers with the device list or with 401.
#[derive(Clone)]
struct Stalling {
    asked: Arc<Notify>,
    go: Arc<Notify>,
    takes: bool,
}

impl Stalling {
    // A desk that reads from it with a bare bearer.
    async fn desk(&self, world: World) -> World {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream));
            }
        });
        let mut world = world;
        let (token, clock) = (world.folder.path().join("token"), world.desk.clock.clone());
        host::files::write_private(&token, b"bearer-never-show\n").unwrap();
        let endpoint = Endpoint::parse(&url, Slot::Sim).unwrap();
        let sign_in = SignIn::load(&token, Which::Normal, endpoint, clock.clone()).unwrap();
        let client = ReadClient::new(sign_in, Arc::clone(&world.desk.policy)).unwrap();
        let units = Units::load(world.folder.path());
        world.desk.fleet = Fleet::new(Source::Live(Box::new(client)), clock).with_units(units);
        world
    }

    async fn serve(self, mut stream: TcpStream) -> Option<()> {
        let mut bytes = Vec::new();
        loop {
            let head_end = loop {
                if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                    break at + 4;
                }
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            };
            let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            let end = head_end + length.unwrap_or(0);
            while bytes.len() < end {
                if stream.read_buf(&mut bytes).await.ok()? == 0 {
                    return None;
                }
            }
            let body: Value = serde_json::from_slice(&bytes[head_end..end]).unwrap_or(Value::Null);
            bytes.drain(..end);
            let (status, result) = self.answer(&body).await;
            let answer = json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
            let whole = format!("{head}content-length: {}\r\n\r\n{answer}", answer.len());
            stream.write_all(whole.as_bytes()).await.ok()?;
        }
    }

    async fn answer(&self, body: &Value) -> (&'static str, Value) {
        match body["method"].as_str() {
            Some("server/discover") => {
                let said = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"});
                ("200 OK", said)
            }
            Some("tools/call") => {
                self.asked.notify_one();
                self.go.notified().await;
                let list = json!({"devices": [{"Id": UNIT, "Name": "Hall A", "Model": "Pearl-2", "Status": "online"}]});
                let status = if self.takes { "200 OK" } else { "401 Unauthorized" };
                (status, json!({"content": [], "structuredContent": list, "isError": false}))
            }
            _ => ("202 Accepted", Value::Null),
        }
    }
}

fn stalling(takes: bool) -> Stalling {
    Stalling { asked: Arc::new(Notify::new()), go: Arc::new(Notify::new()), takes }
}

async fn listed(desk: &Desk) -> Result<Value, Failure> {
    desk.fleet.read(&desk.policy, DEVICES, &json!({})).await
}

#[tokio::test]
async fn a_list_that_comes_after_signing_out_is_not_among_those_that_were_ever_listed() {
    for by_hand in [false, true] {
        let server = stalling(true);
        let world = server.desk(World::new(vec![]).await).await;
        let desk = &world.desk;
        let file = world.folder.path().join("units-seen.json");
        server.go.notify_one();
        listed(desk).await.unwrap();
        assert!(desk.fleet.units().ids() == [UNIT] && file.exists());
        server.asked.notified().await;

        let read = async {
            if by_hand {
                listed(desk).await.unwrap();
            } else {
                Asker::new(0).device_ids(desk).await.unwrap();
            }
        };
        let out = async {
            server.asked.notified().await;
            let said = Asker::new(0).end(desk).await.unwrap();
            assert_eq!(said, AssistantSays::SignedOut { revoked: false });
            assert!(!file.exists());
            server.go.notify_one();
        };
        tokio::time::timeout(LATE, async { tokio::join!(read, out) }).await.unwrap();
        assert!(desk.fleet.units().ids().is_empty() && !file.exists(), "{by_hand}");
        assert!(desk.fleet.last_read_ms().is_some(), "what was read before stays read");
    }
}

#[tokio::test]
async fn a_no_to_an_earlier_sign_in_is_not_said_of_the_new_one() {
    let server = stalling(false);
    let world = server.desk(World::new(vec![]).await).await;
    let desk = &world.desk;
    let anew = async {
        server.asked.notified().await;
        desk.fleet.signed_in_anew().await;
        server.go.notify_one();
    };
    let (read, ()) = tokio::time::timeout(LATE, async { tokio::join!(listed(desk), anew) }).await.unwrap();
    assert_eq!(read, Err(Failure::NotSignedIn));
    assert!(!desk.fleet.is_signed_out() && desk.fleet.over().is_none());
    // Said of the one that is there now, it counts.
    server.go.notify_one();
    assert_eq!(listed(desk).await, Err(Failure::NotSignedIn));
    assert!(desk.fleet.is_signed_out() && desk.fleet.over().is_some());
}
