use super::{CONFIRM, REBOOT, STREAM, UNIT, canonical, changed, example, parse, with_field};
use crate::call::Tool;
use crate::tool_policy::{KNOWN_WRITE, ToolPolicy, check_read_arguments, describe_fields, read_schema};
use protocol::canonical::Canonical;
use protocol::refusal::RefusalCode;
use serde_json::{Value, json};

#[test]
fn the_guard_lets_read_tools_through_and_nothing_else() {
    let policy = ToolPolicy::shipped().unwrap();
    for name in policy.read_tools() {
        assert_eq!(policy.guard(name).unwrap().as_str(), name);
    }
    for name in KNOWN_WRITE {
        assert_eq!(policy.guard(name).unwrap_err().code, RefusalCode::NotPermitted, "{name}");
    }
    for name in ["", "get_", "get_devices_in_my_team ", "GET_DEVICES_IN_MY_TEAM", "get_secrets", "kb_fetch\n"] {
        assert_eq!(policy.guard(name).unwrap_err().code, RefusalCode::ToolUnknown, "{name:?}");
    }
}

#[test]
fn the_valid_example_of_each_tool_passes_and_names_its_target() {
    let policy = ToolPolicy::shipped().unwrap();
    for tool in Tool::ALL {
        let arguments = canonical(&example(tool));
        let call = policy.check_call(tool.as_str(), &arguments).unwrap();
        assert_eq!((call.tool(), call.arguments(), call.schema_version()), (tool, &arguments, 1));
        assert!(call.defaulted().is_empty());
        let channel = call.targets()[0].channel.as_ref().map(crate::ids::ChannelId::as_str);
        let expected = match tool {
            Tool::Recording => Some("1"),
            Tool::StartStream | Tool::StopStream => Some("2"),
            Tool::Reboot | Tool::FirmwareUpdate | Tool::ConfirmEvent => None,
        };
        assert_eq!((call.targets()[0].master.as_str(), channel, call.targets().len()), (UNIT, expected, 1));
    }
    let call = policy.check_call("start_stream_endpoint", &canonical(&example(Tool::StartStream))).unwrap();
    assert_eq!(call.stream_id(), Some(STREAM.to_ascii_lowercase().as_str()));
    assert!(call.arguments().as_str().contains(STREAM));
    let call = policy.check_call("confirm_cms_event_on_device", &canonical(&example(Tool::ConfirmEvent))).unwrap();
    assert_eq!(
        (call.event_id(), call.stream_id(), call.action()),
        (Some("k3x9w0c1v7b5n2m8q4zz:1927880000"), None, None)
    );
}

#[test]
fn each_missing_or_extra_field_and_each_wrong_type_is_refused_by_name() {
    let policy = ToolPolicy::shipped().unwrap();
    for tool in Tool::ALL {
        let whole = example(tool);
        let refused = |value: &Value, field: &str| {
            let refusal = policy.check_call(tool.as_str(), &canonical(value)).expect_err(field);
            assert_eq!(refusal.code, RefusalCode::BadArguments, "{value}");
            assert!(refusal.detail.starts_with(field) && refusal.detail.len() > field.len(), "{value}: {refusal}");
        };
        for field in whole.as_object().unwrap().keys() {
            let mut less = whole.clone();
            less.as_object_mut().unwrap().remove(field);
            refused(&less, field);
            for odd in [json!(null), json!(1), json!(true), json!(""), json!([]), json!({}), json!([1]), json!([[]])] {
                let mut other = whole.clone();
                other[field] = odd;
                refused(&other, field);
            }
        }
        let mut more = whole.clone();
        more["force"] = json!(true);
        refused(&more, "force");
        for odd in [json!(null), json!([]), json!("x"), json!(1)] {
            refused(&odd, "arguments");
        }
    }
}

#[test]
fn odd_ids_and_odd_values_are_refused() {
    let policy = ToolPolicy::shipped().unwrap();
    let check = |tool: Tool, value: &Value| policy.check_call(tool.as_str(), &canonical(value)).map_err(|r| r.code);
    let bad = Err(RefusalCode::BadArguments);
    let long = "a".repeat(33);
    for unit in ["19012341234\n", "../19012341", "1901234123A", "1901234", &long, "Hall A", "", " 19012341234", "*"] {
        for tool in [Tool::Reboot, Tool::FirmwareUpdate] {
            assert_eq!(check(tool, &json!({"device_ids": [unit]})).map(|_| ()), bad, "{unit:?}");
        }
        let value = json!({"device_id": unit, "event_id": "e1"});
        assert_eq!(check(Tool::ConfirmEvent, &value).map(|_| ()), bad, "{unit:?}");
        let value = json!({"device_id": unit, "channel_id": "1", "stream_id": STREAM});
        assert_eq!(check(Tool::StopStream, &value).map(|_| ()), bad, "{unit:?}");
    }
    for device in ["19012341234", "19012341234-0", "19012341234-1-2", "19012341234-1000", "19012341234-1\n", "-1"] {
        let value = json!({"action": "start", "device_ids": [device]});
        assert_eq!(check(Tool::Recording, &value).map(|_| ()), bad, "{device:?}");
    }
    // A unit's id where a channel's belongs, and the other way round.
    assert_eq!(check(Tool::Reboot, &json!({"device_ids": ["19012341234-1"]})).map(|_| ()), bad);
    for channel in ["0", "1a", "1000", "-1", " 1", "01", "1\n"] {
        let value = json!({"device_id": UNIT, "channel_id": channel, "stream_id": STREAM});
        assert_eq!(check(Tool::StartStream, &value).map(|_| ()), bad, "{channel:?}");
    }
    for stream in ["main", "7d1f0c9e2b344c568d789e0f1a2b3c4d", &format!("{STREAM}\n"), &format!("x{STREAM}")] {
        let value = json!({"device_id": UNIT, "channel_id": "1", "stream_id": stream});
        assert_eq!(check(Tool::StartStream, &value).map(|_| ()), bad, "{stream:?}");
    }
    for action in ["pause", "resume", "Start", "stop ", "stop\n"] {
        let value = json!({"action": action, "device_ids": ["19012341234-1"]});
        assert_eq!(check(Tool::Recording, &value).map(|_| ()), bad, "{action:?}");
    }
    for event in ["-a", "a:b", "a:", ":1", "a:1:2", "a b", "a:1234567890123", "a\n", "a:1\n", "é"] {
        let value = json!({"device_id": UNIT, "event_id": event});
        assert_eq!(check(Tool::ConfirmEvent, &value).map(|_| ()), bad, "{event:?}");
    }
    for event in ["a", "0f8fad5bd9cb469fa16570867728950e", "k3x9w0c1v7b5n2m8q4zz:1927880000", "A_b-9"] {
        let call = check(Tool::ConfirmEvent, &json!({"device_id": UNIT, "event_id": event})).unwrap();
        assert_eq!(call.event_id(), Some(event));
    }
}

#[test]
fn more_targets_than_allowed_and_the_same_target_twice_are_refused() {
    let policy = ToolPolicy::shipped().unwrap();
    let two = canonical(&json!({"device_ids": [UNIT, "19012341235"]}));
    assert!(policy.check_call("batch_reboot", &two).unwrap_err().detail.starts_with("device_ids: "));
    let (text, _) = changed(REBOOT, "max_targets: 1", "max_targets: 3");
    let (from, at) = ("max_items: 1", text.find("\n  batch_reboot:\n    max").unwrap());
    let place = at + text[at..].find(from).unwrap();
    let wider = format!("{}max_items: 3{}", &text[..place], &text[place + from.len()..]);
    let policy = parse(&wider).unwrap();
    let call = policy.check_call("batch_reboot", &canonical(&json!({"device_ids": ["19012341235", UNIT]}))).unwrap();
    let ids: Vec<_> = call.targets().iter().map(|target| target.master.as_str()).collect();
    assert_eq!(ids, [UNIT, "19012341235"]);
    let twice = canonical(&json!({"device_ids": [UNIT, UNIT]}));
    assert!(policy.check_call("batch_reboot", &twice).unwrap_err().detail.contains("twice"));
}

#[test]
fn defaults_are_filled_in_and_named() {
    let policy = with_field("{type: integer, required: false, minimum: 1, default: 2}").unwrap();
    let call = policy.check_call("batch_reboot", &canonical(&json!({"device_ids": [UNIT]}))).unwrap();
    assert_eq!(call.arguments().as_str(), r#"{"device_ids":["19012341234"],"extra":2}"#);
    assert_eq!(call.defaulted(), ["extra"]);
    let given = canonical(&json!({"device_ids": [UNIT], "extra": 3}));
    assert!(policy.check_call("batch_reboot", &given).unwrap().defaulted().is_empty());
    for odd in [json!(null), json!(true), json!("2"), json!(0)] {
        let refusal = policy.check_call("batch_reboot", &canonical(&json!({"device_ids": [UNIT], "extra": odd})));
        assert!(refusal.unwrap_err().detail.starts_with("extra: expected a whole number"));
    }
}

#[test]
fn long_texts_and_large_arguments_are_refused() {
    let policy = with_field("{type: list, required: false, max_items: 100, items: {type: string}}").unwrap();
    let check = |extra: Value| {
        policy
            .check_call("batch_reboot", &canonical(&json!({"device_ids": [UNIT], "extra": extra})))
            .map_err(|r| r.code)
    };
    check(json!(["é".repeat(256)])).unwrap();
    assert_eq!(check(json!(["é".repeat(257)])).unwrap_err(), RefusalCode::BadArguments);
    assert_eq!(check(json!(vec!["x".repeat(256); 20])).unwrap_err(), RefusalCode::TooLarge);
}

#[test]
fn tools_that_may_not_be_proposed_are_told_apart() {
    let policy = ToolPolicy::shipped().unwrap();
    let code = |tool: &str| policy.check_call(tool, &canonical(&json!({}))).unwrap_err().code;
    for tool in ["create_stream_endpoint", "apply_team_preset", "delete_cms_event", "get_device_info"] {
        assert_eq!(code(tool), RefusalCode::ToolNotProposable, "{tool}");
    }
    for tool in ["", "reboot", "batch_reboot ", "Batch_Reboot"] {
        assert_eq!(code(tool), RefusalCode::ToolUnknown, "{tool:?}");
    }
}

#[test]
fn what_is_not_plainly_calm_is_disruptive() {
    let policy = ToolPolicy::shipped().unwrap();
    let rows = [
        ("batch_recording", json!({"action": "start"}), false),
        ("batch_recording", json!({"action": "stop"}), true),
        ("batch_recording", json!({"action": "pause"}), true),
        ("batch_recording", json!({"action": 1}), true),
        ("batch_recording", json!({"action": ["start"]}), true),
        ("batch_recording", json!({}), true),
        ("batch_recording", json!(null), true),
        ("start_stream_endpoint", json!({}), false),
        ("stop_stream_endpoint", json!({}), true),
        ("confirm_cms_event_on_device", json!({}), false),
        ("batch_reboot", json!({}), true),
        ("batch_firmware_update", json!({}), true),
        ("create_cms_event", json!({}), true),
        ("apply_team_preset", json!({}), true),
        ("nobody_knows", json!({}), true),
    ];
    for (tool, arguments, disruptive) in rows {
        assert_eq!(policy.is_disruptive(tool, &arguments), disruptive, "{tool} {arguments}");
    }
    let (text, _) = changed(CONFIRM, "    disruptive: false\n", "");
    assert!(parse(&text).unwrap().is_disruptive("confirm_cms_event_on_device", &json!({})));
}

#[test]
fn the_rules_of_a_call_follow_its_entry() {
    let policy = ToolPolicy::shipped().unwrap().with_lead_minutes(45);
    let rules = |tool: Tool, value: Value| policy.rules_of(tool, &canonical(&value));
    assert_eq!(rules(Tool::Reboot, json!({})).lead_minutes, 45);
    assert_eq!(rules(Tool::FirmwareUpdate, json!({})).lead_minutes, 120);
    for (action, stops) in [(json!("stop"), true), (json!("start"), false), (json!("pause"), false), (json!(1), false)]
    {
        assert_eq!(rules(Tool::Recording, json!({"action": action})).stops_recording, stops, "{action}");
    }
    assert!(!rules(Tool::Recording, json!({"action": "stop"})).stops_streaming);
    assert!(rules(Tool::StopStream, json!({})).stops_streaming);
    assert!(!rules(Tool::StartStream, json!({})).stops_streaming);
    let none =
        parse("read: []\nwrite: []\ndisruptive: []\n").unwrap().rules_of(Tool::Recording, &canonical(&json!({})));
    assert_eq!((none.disruptive, none.stops_recording, none.lead_minutes), (true, false, 30));
}

#[test]
fn the_slice_changes_with_its_own_entry_only() {
    let policy = ToolPolicy::shipped().unwrap();
    let rows = [
        (REBOOT, "version: 1", "version: 2"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}'", "pattern: '[0-9a-f]{8,31}'"),
        (REBOOT, "    disruptive: true\n", "    disruptive: true\n    lead_minutes: 31\n"),
    ];
    for (after, from, to) in rows {
        let other = parse(&changed(after, from, to).0).unwrap();
        for tool in Tool::ALL {
            let same = policy.slice_text(tool) == other.slice_text(tool);
            assert_eq!(same, tool != Tool::Reboot, "{to} {tool:?}");
        }
    }
    let text = policy.slice_text(Tool::Recording);
    assert_eq!(Canonical::parse(text.as_bytes()).unwrap().as_str(), text);
    assert_ne!(policy.clone().with_lead_minutes(31).slice_text(Tool::Reboot), policy.slice_text(Tool::Reboot));
    assert_eq!(
        policy.clone().with_lead_minutes(31).slice_text(Tool::FirmwareUpdate),
        policy.slice_text(Tool::FirmwareUpdate)
    );
    // Comments and words change nothing that is checked.
    let (commented, _) = changed(REBOOT, "    max_targets: 1", "    # note\n    max_targets: 1");
    assert_eq!(parse(&commented).unwrap().slice_text(Tool::Reboot), policy.slice_text(Tool::Reboot));
}

#[test]
fn the_model_is_told_every_field_in_one_line() {
    let policy = ToolPolicy::shipped().unwrap();
    for entry in policy.proposable() {
        let line = describe_fields(entry);
        assert!(line.starts_with(entry.tool().as_str()) && !line.contains('\n'), "{line}");
        for field in example(entry.tool()).as_object().unwrap().keys() {
            assert!(line.contains(field.as_str()), "{line}");
        }
    }
}

#[test]
fn read_arguments_are_checked_by_name_type_and_size() {
    let policy = ToolPolicy::shipped().unwrap();
    let many = |n: usize| json!({"device_ids": vec![UNIT; n]});
    let rows = [
        ("get_devices_in_my_team", json!({}), true),
        ("get_devices_in_my_team", json!({"x": 1}), false),
        ("get_devices_in_my_team", json!([]), false),
        ("get_device_info", json!({"device_id": UNIT}), true),
        ("get_device_info", json!({}), false),
        ("get_device_info", json!({"device_id": 19_012_341_234_i64}), false),
        ("get_device_info", json!({"device_id": "a/b"}), false),
        ("get_device_info", json!({"device_id": "a\n"}), false),
        ("get_device_info", json!({"device_id": "a".repeat(65)}), false),
        ("get_device_info", json!({"device_id": ""}), false),
        ("get_device_sources", json!({"device_id": UNIT}), true),
        ("get_system_status_for_devices", many(100), true),
        ("get_system_status_for_devices", many(101), false),
        ("get_recorder_status_for_devices", many(0), false),
        ("get_recorder_status_for_devices", json!({}), false),
        ("get_recorder_status_for_devices", json!({"device_ids": UNIT}), false),
        ("get_storage_status_for_devices", json!({"device_ids": [1]}), false),
        ("get_channel_settings", json!({"device_id": UNIT, "channel_id": "1"}), true),
        ("get_channel_settings", json!({"device_id": UNIT, "channel_id": 1}), false),
        ("get_channel_audio_levels", json!({"device_id": UNIT}), false),
        ("get_channel_image", json!({"device_id": UNIT, "channel_id": "1", "format": "binary"}), true),
        ("get_channel_image", json!({"device_id": UNIT, "channel_id": "1", "format": "png"}), false),
        ("get_stream_endpoint", json!({"endpoint_id": STREAM}), true),
        ("get_stream_endpoints", json!({}), true),
        ("get_team_presets", json!({}), true),
        ("get_cms_events_for_device", json!({"device_id": UNIT, "until": "2031-02-03T10:00:00Z"}), true),
        ("get_cms_events_for_device", json!({"device_id": UNIT, "until": "1".repeat(41)}), false),
        ("get_cms_events_for_devices", many(1), true),
        ("get_current_or_next_cms_event_for_device", json!({"device_id": UNIT}), true),
        ("get_current_or_next_cms_events_for_devices", json!({}), true),
        ("get_current_or_next_cms_events_for_devices", json!({"until": null}), false),
        ("get_cms_names_for_devices", json!({}), true),
        ("get_devices_by_cms", json!({"cms": "epiphan"}), true),
        ("get_devices_by_cms", json!({"cms": "x".repeat(65)}), false),
        ("kb_search", json!({"query": "no signal", "device_model": "Pearl Mini"}), true),
        ("kb_search", json!({"query": "é".repeat(200)}), true),
        ("kb_search", json!({"query": "é".repeat(201)}), false),
        ("kb_search", json!({"device_model": "Pearl Mini"}), false),
        ("kb_fetch", json!({"id": "docs/12"}), true),
        ("kb_fetch", json!({"id": "x".repeat(201)}), false),
    ];
    for (tool, arguments, fits) in rows {
        let answer = check_read_arguments(&policy.guard(tool).unwrap(), &canonical(&arguments));
        assert_eq!(answer.is_ok(), fits, "{tool} {arguments}: {answer:?}");
        if let Err(refusal) = answer {
            assert_eq!(refusal.code, RefusalCode::BadArguments);
        }
    }
}

#[test]
fn each_read_tool_has_a_closed_schema_for_the_model() {
    let policy = ToolPolicy::shipped().unwrap();
    for tool in policy.read_tools() {
        let schema = read_schema(tool);
        assert_eq!(schema["additionalProperties"], json!(false), "{tool}");
        for name in schema["required"].as_array().unwrap() {
            assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{tool}");
        }
    }
    assert_eq!(read_schema("batch_reboot"), Value::Null);
}
