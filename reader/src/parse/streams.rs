//! Shape E: the team's stream destinations. The real answer carries stream keys; only id, name, host and use leave
//! this file.

use super::{Object, ShapeError, container, list, object, pick, text};
use policy::observed::StreamDestination;
use serde_json::Value;
use std::collections::BTreeSet;

const TOP: &str = "stream list";
const STREAM: &str = "stream";
const LISTS: &[&str] = &["stream_endpoints", "endpoints", "streams", "items"];
const ADDRESS: &[&str] = &["url", "Url", "URL", "rtmp_url", "server", "Server", "address", "Address", "host", "Host"];
const NESTED: &[&str] = &["RTMP", "rtmp", "RTMPS", "rtmps", "SRT", "srt", "RTSP", "rtsp", "HLS", "hls"];

/// Every destination of the team (`facts 1.6, shape E`).
///
/// # Errors
/// No list, an entry without a UUID, one named twice, an address that can't be read. An unreadable list is never an
/// empty one.
pub fn streams(value: &Value) -> Result<Vec<StreamDestination>, ShapeError> {
    let found = container(value, LISTS, TOP)?;
    let entries = list(found.ok_or(ShapeError::new(TOP, "no list of destinations"))?, TOP)?;
    let streams = entries.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
    let mut seen = BTreeSet::new();
    if !streams.iter().all(|stream| seen.insert(stream.id.as_str())) {
        return Err(ShapeError::new(TOP, "a destination is named twice"));
    }
    Ok(streams)
}

/// One destination, as `get_stream_endpoint` gives it.
///
/// # Errors
/// As for [`streams`].
pub fn stream(value: &Value) -> Result<StreamDestination, ShapeError> {
    let entry = object(value, STREAM)?;
    let id = text(entry, &["id", "Id", "ID", "stream_id", "StreamID", "StreamId"], STREAM)?;
    if !is_uuid(&id) {
        return Err(ShapeError::new(STREAM, "a destination without a UUID"));
    }
    let streaming = match pick(entry, &["CurrentlyStreaming", "currently_streaming"], STREAM)? {
        None => None,
        Some(Value::Bool(streaming)) => Some(*streaming),
        Some(_) => return Err(ShapeError::new(STREAM, "a use that is neither true nor false")),
    };
    let locked = text(entry, &["LockByDevice", "lock_by_device"], STREAM)?;
    Ok(StreamDestination {
        id: id.to_ascii_lowercase(),
        name: text(entry, &["Name", "name"], STREAM)?,
        host: hosts(entry)?,
        streaming,
        locked_by: Some(locked).filter(|device| !device.is_empty()),
    })
}

/// Whether the text is a UUID in the usual form.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

// An entry may carry addresses for several protocols; each is named, so that none can change unseen.
fn hosts(entry: &Object) -> Result<String, ShapeError> {
    let mut hosts = BTreeSet::new();
    addresses(entry, &mut hosts)?;
    for name in NESTED {
        match entry.get(*name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(inner)) => addresses(inner, &mut hosts)?,
            Some(_) => return Err(ShapeError::new(STREAM, "an address that can't be read")),
        }
    }
    Ok(Vec::from_iter(hosts).join(", "))
}

fn addresses(entry: &Object, hosts: &mut BTreeSet<String>) -> Result<(), ShapeError> {
    for name in ADDRESS {
        match entry.get(*name) {
            None | Some(Value::Null) => {}
            Some(Value::String(address)) if address.trim().is_empty() => {}
            Some(Value::String(address)) => {
                let host = host(address.trim());
                hosts.insert(host.ok_or(ShapeError::new(STREAM, "an address that can't be read"))?);
            }
            Some(_) => return Err(ShapeError::new(STREAM, "an address that is no text")),
        }
    }
    Ok(())
}

// Host and port alone: user, path and query of an address can be the key.
fn host(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at_checked(end)?;
    // A user or password with a slash in it would leave its first half as the host.
    if behind.contains('@') {
        return None;
    }
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
    let fits =
        (1..=259).contains(&host.len()) && host.bytes().all(plain) && host.bytes().any(|b| b.is_ascii_alphanumeric());
    fits.then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d";
    const OTHER: &str = "8d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d";
    const KEY: &str = "never-show-this";

    fn one(entry: &Value) -> Result<StreamDestination, ShapeError> {
        Ok(streams(&json!({ "streams": [entry] }))?.remove(0))
    }

    #[test]
    fn the_real_list_and_the_fixture_list_are_read() {
        let live = one(&json!({"StreamID": ID.to_uppercase(), "Name": "Town feed", "CurrentlyStreaming": false,
            "LockByDevice": "", "RTMP": {"URL": "rtmps://ingest.example.net:1936/live", "StreamingKey": KEY}}))
        .unwrap();
        assert_eq!(
            live,
            StreamDestination {
                id: ID.into(),
                name: "Town feed".into(),
                host: "ingest.example.net:1936".into(),
                streaming: Some(false),
                locked_by: None
            }
        );
        let fixture = streams(&json!({"stream_endpoints": [{"id": ID, "name": "A", "url": "rtmp://host.example/app"},
            {"id": OTHER, "name": "B"}]}))
        .unwrap();
        assert_eq!((fixture[0].host.as_str(), fixture[0].streaming), ("host.example", None));
        assert_eq!(fixture[1].host, "");
        for key in ["endpoints", "items", "streams"] {
            assert_eq!(streams(&json!({key: [{"Id": ID}]})).unwrap().len(), 1);
        }
        assert_eq!(streams(&json!([{"stream_id": ID}])).unwrap().len(), 1);
        assert!(streams(&json!([])).unwrap().is_empty());
    }

    #[test]
    fn a_lock_and_a_use_are_kept() {
        let held = one(&json!({"id": ID, "CurrentlyStreaming": true, "LockByDevice": "20311112222"})).unwrap();
        assert_eq!((held.streaming, held.locked_by.as_deref()), (Some(true), Some("20311112222")));
        let null = one(&json!({"id": ID, "CurrentlyStreaming": null, "LockByDevice": null})).unwrap();
        assert_eq!((null.streaming, null.locked_by), (None, None));
    }

    #[test]
    fn only_the_host_of_an_address_is_kept() {
        for (address, want) in [
            ("rtmp://ingest.example.net/live/never-show-this", "ingest.example.net"),
            ("rtmp://user:never-show-this@Ingest.example.net/live", "ingest.example.net"),
            ("srt://192.0.2.9:9000?streamid=never-show-this", "192.0.2.9:9000"),
            ("ingest.example.net:1935/never-show-this", "ingest.example.net:1935"),
            ("https://[2001:db8::1]:8080/never-show-this", "[2001:db8::1]:8080"),
            ("rtmp://ingest.example.net#never-show-this", "ingest.example.net"),
        ] {
            for entry in [json!({"id": ID, "url": address}), json!({"id": ID, "SRT": {"Address": address}})] {
                let found = one(&entry).unwrap();
                assert_eq!(found.host, want, "{address}");
                assert!(!format!("{found:?}").contains(KEY));
            }
        }
        let two = json!({"id": ID, "RTMP": {"URL": "rtmp://b.example/x"}, "SRT": {"host": "a.example"}});
        assert_eq!(one(&two).unwrap().host, "a.example, b.example");
    }

    #[test]
    fn an_unreadable_list_is_a_failure_and_never_an_empty_one() {
        let with = |entry: Value| json!({ "streams": [entry] });
        for value in [
            json!(null),
            json!({}),
            json!("none"),
            json!({"streams": null}),
            json!({"streams": {}}),
            json!({"streams": [], "items": []}),
            with(json!({"Name": "no id"})),
            with(json!({"id": "never-show-this"})),
            with(json!({"id": ID, "StreamID": OTHER})),
            with(json!(ID)),
            with(json!({"id": ID, "name": 7})),
            with(json!({"id": ID, "CurrentlyStreaming": "no"})),
            with(json!({"id": ID, "LockByDevice": true})),
            with(json!({"id": ID, "url": "rtmp://"})),
            with(json!({"id": ID, "url": "rtmp://a b/"})),
            with(json!({"id": ID, "url": 7})),
            with(json!({"id": ID, "RTMP": "rtmp://host/key"})),
            json!({"streams": [{"id": ID}, {"id": ID.to_uppercase()}]}),
        ] {
            let error = streams(&value).unwrap_err();
            assert!(!error.to_string().contains(KEY));
        }
    }

    #[test]
    fn no_member_but_the_known_ones_can_carry_a_key_out() {
        let names = ["StreamingKey", "key", "stream_key", "Passphrase", "password", "token", "Description", "path"];
        for name in names {
            for entry in [
                json!({"id": ID, name: KEY}),
                json!({"id": ID, "RTMP": {"URL": "rtmp://h.example/a", name: KEY}}),
                json!({"id": ID, "SRT": {"host": "h.example", name: {"value": KEY}}}),
            ] {
                assert!(!format!("{:?}", one(&entry).unwrap()).contains(KEY), "{name}");
            }
        }
    }
}
