//! Secrets go, everything else stays, and twice is once.

use super::*;
use crate::call::{RecordingAction, Tool};
use crate::sample::arguments;
use serde_json::json;

/// Text, and what is shown.
const TEXTS: &[(&str, &str)] = &[
    // Addresses of streams keep their host.
    ("rtmp://ingest.example.net:1935/live/abc123", "rtmp://ingest.example.net:1935/[hidden]"),
    ("RTMPS://ingest.example.net/app/k?x=1 next", "RTMPS://ingest.example.net/[hidden] next"),
    ("srt://10.0.0.1:9000?streamid=abc&passphrase=x", "srt://10.0.0.1:9000/[hidden]"),
    ("rist://[::1]:5000/key", "rist://[::1]:5000/[hidden]"),
    ("rtsp://user:pw@cam.example.net/stream1", "rtsp://cam.example.net/[hidden]"),
    ("rtmp://user:p/w@host/app", "rtmp://[hidden]"),
    ("rtmp://host:1935", "rtmp://host:1935"),
    ("rtmp://host/", "rtmp://host/"),
    ("it goes to rtmp://host.", "it goes to rtmp://host."),
    ("my_rtmp://host/app/key", "my_rtmp://host/[hidden]"),
    (r"rtmp:\/\/host\/app\/key", "rtmp://[hidden]"),
    ("rtmp%3A%2F%2Fhost%2Fapp%2Fkey", "rtmp://[hidden]"),
    ("rtmp://host/[hidden]tail", "rtmp://host/[hidden]"),
    // Web addresses lose user, query, fragment and ingest paths.
    ("https://u:p@host.example.net/a/b", "https://[hidden]@host.example.net/a/b"),
    ("https://host/a?token=abc", "https://host/a?[hidden]"),
    ("https://host/a#access=abc", "https://host/a#[hidden]"),
    ("https://host/live/abcd", "https://host/live/[hidden]"),
    ("https://hooks.example.net/T0/B0/abcd", "https://hooks.example.net/[hidden]"),
    ("//host/live/abcd", "//host/live/[hidden]"),
    ("https://docs.example.net/pearl/guide.html", "https://docs.example.net/pearl/guide.html"),
    ("see https://docs.example.net/pearl, please", "see https://docs.example.net/pearl, please"),
    // name=value in its spellings.
    ("stream_key=abc-def", "stream_key=[hidden]"),
    ("Stream key: abc-def", "Stream key: [hidden]"),
    ("streaming key = \"abc def\" ok", "streaming key = \"[hidden]\" ok"),
    ("stream name: abc", "stream name: [hidden]"),
    ("password: hunter2, then", "password: [hidden] then"),
    ("PASSPHRASE='a b'", "PASSPHRASE='[hidden]'"),
    ("api-key:abc", "api-key:[hidden]"),
    ("FLEETWATCH_EPIPHAN_TOKEN=abc", "FLEETWATCH_EPIPHAN_TOKEN=[hidden]"),
    ("key=a&name=b", "key=[hidden]&name=b"),
    ("key=a&b", "key=[hidden]"),
    ("--password hunter2 --verbose", "--password [hidden] --verbose"),
    ("<StreamKey>abc</StreamKey>", "<StreamKey>[hidden]</StreamKey>"),
    ("error: {\"stream_key\":\"abc\",\"a\":1", "error: {\"stream_key\":\"[hidden]\",\"a\":1"),
    (r#"error: {\"stream_key\":\"abc\",\"a\":1"#, r#"error: {\"stream_key\":\"[hidden]\",\"a\":1"#),
    ("credentials: {user: a, pw: b} end", "credentials: [hidden] end"),
    ("stream key:\n  abcd-1234\nnext", "stream key:\n  [hidden]\nnext"),
    ("contraseña: abc", "contraseña: [hidden]"),
    ("key=[hidden]more", "key=[hidden]"),
    ("next_page_token=abc", "next_page_token=abc"),
    ("stream_id=7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d", "stream_id=7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d"),
    ("stream_id=#!::r=live,m=publish", "stream_id=[hidden]"),
    ("streamid: abcdef", "streamid: [hidden]"),
    // Bearer words and keys known by how they begin.
    ("Authorization: Bearer abc.def ghi\nnext", "Authorization: [hidden]\nnext"),
    ("sent Bearer abcdefgh1", "sent Bearer [hidden]"),
    ("basic dXNlcjpwYXNz", "basic [hidden]"),
    ("Bearer [hidden]abcdef", "Bearer [hidden]"),
    ("token: Bearer abcdef", "token: [hidden]"),
    ("got sk-ant-api03-abc_DEF-1 here", "got [hidden] here"),
    ("got xoxb-1234-abcd", "got [hidden]"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "[hidden]"),
    // Tables.
    ("Name | Stream key\n--- | ---\nHall A | abc", "Name | Stream key\n--- | ---\nHall A | [hidden]"),
    ("name,stream_key\nHall A,abc\nLab,def", "name,stream_key\nHall A,[hidden]\nLab,[hidden]"),
    // JSON comes back compact.
    (r#"{"Name":"Town feed","StreamingKey":"abc"}"#, r#"{"Name":"Town feed","StreamingKey":"[hidden]"}"#),
    (r#"{"text":"{\"password\":\"abc\"}"}"#, r#"{"text":"{\"password\":\"[hidden]\"}"}"#),
];

/// Text without a secret.
const HARMLESS: &[&str] = &[
    "",
    "Hall A is recording since 10:00.",
    "bearer of news, basic settings, token ring",
    "Keynote: opening; hockey: 5pm; monkey: yes",
    "The unit 19012341234-1 is offline (firmware 4.24.6).",
    "¿Está grabando la sala 3?",
    "a://b // comment",
    "event k3x9w0c1v7b5n2m8q4zz:1927880000",
    "line one\nline two, three\n",
    "[hidden]",
    "日本語 🎥",
];

#[test]
fn every_spelling_of_a_secret_is_masked() {
    for (text, expected) in TEXTS {
        assert_eq!(redact_text(text), *expected, "{text}");
    }
}

#[test]
fn harmless_text_stays_as_it_is() {
    for text in HARMLESS {
        assert_eq!(redact_text(text), *text);
    }
}

#[test]
fn masking_twice_is_masking_once() {
    let pieces: Vec<&str> = TEXTS.iter().map(|(text, _)| *text).chain(HARMLESS.iter().copied()).collect();
    let glue = ["", " ", "\n", "=", ":", "&", "\"", ",", "[hidden]", "'", "{", "|", "\\"];
    for (at, first) in pieces.iter().enumerate() {
        for (by, second) in pieces.iter().enumerate() {
            let between = glue[(at * 7 + by * 3) % glue.len()];
            let text = format!("{first}{between}{second}");
            let once = redact_text(&text);
            assert_eq!(redact_text(&once), once, "{text}");
        }
    }
}

#[test]
fn fields_are_masked_by_name_at_every_depth() {
    let mut value = json!({
        "streams": [{
            "StreamID": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d", "Name": "Town feed", "CurrentlyStreaming": false,
            "RTMP": { "URL": "rtmps://ingest.example.net:1936/live/abc", "StreamingKey": "abc" },
            "SRT": { "stream_id": "#!::u=admin", "Passphrase": "abc", "port": 9000 },
        }],
        "settings": [
            { "id": "streamkey", "type": { "name": "string" }, "title": "Key", "value": "abc" },
            { "id": "stream", "title": "Stream name", "value": ["abc"] },
            { "id": "name", "title": "Name", "value": "Main stream" },
            { "id": "single-touch", "title": "Single touch control", "value": true },
        ],
        "pairs": [["api_key", "abc"], ["name", "Hall A"]],
        "credentials": { "user": "a", "password": "b" },
        "pin": 1234, "token": null, "access_token": "", "next_page_token": "page2",
        "rtmp://host/app/abc": 1,
    });
    redact_value(&mut value);
    let expected = json!({
        "streams": [{
            "StreamID": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d", "Name": "Town feed", "CurrentlyStreaming": false,
            "RTMP": { "URL": "rtmps://ingest.example.net:1936/[hidden]", "StreamingKey": "[hidden]" },
            "SRT": { "stream_id": "[hidden]", "Passphrase": "[hidden]", "port": 9000 },
        }],
        "settings": [
            { "id": "streamkey", "type": { "name": "string" }, "title": "Key", "value": "[hidden]" },
            { "id": "stream", "title": "Stream name", "value": "[hidden]" },
            { "id": "name", "title": "Name", "value": "Main stream" },
            { "id": "single-touch", "title": "Single touch control", "value": true },
        ],
        "pairs": [["api_key", "[hidden]"], ["name", "Hall A"]],
        "credentials": "[hidden]",
        "pin": "[hidden]", "token": null, "access_token": "", "next_page_token": "page2",
        "rtmp://host/[hidden]": 1,
    });
    assert_eq!(value, expected);
    let once = value.clone();
    redact_value(&mut value);
    assert_eq!(value, once);
}

#[test]
fn schema_valid_arguments_stay_as_they_are() {
    let actions = [None, Some(RecordingAction::Start), Some(RecordingAction::Stop)];
    for tool in Tool::ALL {
        for action in actions {
            let text = arguments(tool, action);
            assert_eq!(redact_text(&text), text);
        }
    }
    for id in ["token:1927880000", "mastery-key_9", "key:1", "0123456789abcdef0123456789abcdef"] {
        let text = format!(r#"{{"device_id":"19012341234","event_id":"{id}"}}"#);
        assert_eq!(redact_text(&text), text);
    }
    let hostile = redact_text(r#"{"event_id":"sk-ant-api03-abc"}"#);
    assert!(!hostile.contains("api03"), "{hostile}");
}

#[test]
fn text_that_is_too_long_to_look_through_is_withheld() {
    assert_eq!(redact_text(&"a".repeat(MOST_TEXT + 1)), MASK);
    assert_eq!(redact_text(&"a".repeat(MOST_TEXT)).len(), MOST_TEXT);
    let grows = "key=a ".repeat(MOST_TEXT / 6);
    assert_eq!(redact_text(&grows), MASK);
    let mut value = json!({ "long": "a".repeat(MOST_TEXT + 1), "short": "a" });
    redact_value(&mut value);
    assert_eq!(value, json!({ "long": MASK, "short": "a" }));
}

#[test]
fn json_in_strings_in_json_is_followed_and_then_withheld() {
    let mut text = r#"{"password":"abc"}"#.to_owned();
    for depth in 0..12 {
        assert!(!redact_text(&text).contains("abc"), "{depth}");
        text = json!({ "a": text }).to_string();
        if text.len() > 100_000 {
            break;
        }
    }
}

#[test]
fn odd_bytes_and_unclosed_quotes_never_leak_or_panic() {
    for text in [
        "password=\"abc",
        "password='",
        "key=",
        "key:\u{301}abc",
        "\"",
        "{\"",
        "<key>abc",
        "=abc",
        "é=abc",
        "key = \\\"abc",
    ] {
        let shown = redact_text(text);
        let leaks = shown.contains("abc") && names::is_secret(text.split(['=', ':', '>']).next().unwrap_or_default());
        assert!(!leaks, "{text} gives {shown}");
    }
}

#[test]
fn long_texts_made_to_be_slow_are_not() {
    for piece in [
        "a,",
        "a+",
        "/",
        "//",
        "key",
        "key:",
        "key=\"",
        "key={",
        "key=a&",
        "\"",
        "[",
        "{\"",
        "bearer ",
        "a:\n",
        "key:\n",
        "|",
        "token basic ",
        "rtmp:",
        "x@",
        "\\",
        "-",
        "é",
        "a://",
        "sk-ant-",
        "key|\n",
        "[1,",
        "[[],",
        "[\"a",
        "{\"a\":{",
    ] {
        let once = redact_text(&piece.repeat(20_000 / piece.chars().count()));
        assert_eq!(redact_text(&once), once, "{piece}");
    }
}

#[test]
fn a_secret_is_gone_in_whatever_it_is_wrapped() {
    let secret = "Zq9-vT4x_81LmN";
    let forms = [
        "rtmp://ingest.example.net/live/S",
        "srt://h:9000?streamid=S&mode=caller",
        "rtmps://u:S@h/app",
        "https://h/p?k=S",
        "https://S@h/p",
        "https://u:S@h/p",
        "https://h/ingest/S",
        "stream_key=S",
        "stream key: S",
        "\"streamingKey\": \"S\"",
        "'password': 'S'",
        "Authorization: Bearer S",
        "authorization=Basic S",
        "Bearer S",
        "token: S",
        "sk-ant-api03-S",
        "{\"key\":\"S\"}",
        "{\"id\":\"streamkey\",\"value\":\"S\"}",
        "[\"secret\",\"S\"]",
        "{\"a\":\"{\\\"token\\\":\\\"S\\\"}\"}",
        "--token S",
        "<password>S</password>",
        "rtmp:\\/\\/h\\/a\\/S",
        "rtmp://h/[hidden]S",
        "key=[hidden]S",
        "Bearer [hidden]S",
        "api_key => S",
        "secret := \"S\"",
        "cookie: a=b; c=S",
    ];
    let around = ["", " ", "\n", "error: ", "x ", "(", "url=", "\"", "see: ", "日本 "];
    for form in forms {
        for before in around {
            let text = format!("{before}{}", form.replace('S', secret));
            assert!(!redact_text(&text).contains(secret), "{text} gives {}", redact_text(&text));
            let inside = json!({ "message": text, "list": [text] }).to_string();
            assert!(!redact_text(&inside).contains(secret), "{inside} gives {}", redact_text(&inside));
        }
    }
}
