use super::{
    CONFIRM, FIRMWARE, REBOOT, RECORDING, START, STOP, canonical, changed, example, parse, pending, with_field,
};
use crate::call::Tool;
use crate::tool_policy::{KNOWN_WRITE, SHIPPED, ToolPolicy};
use protocol::refusal::RefusalCode;

#[test]
fn the_shipped_file_reads_exactly_the_twenty_and_knows_the_fifteen() {
    let policy = ToolPolicy::shipped().unwrap();
    assert_eq!(policy.read_tools().count(), 20);
    assert!(policy.read_tools().all(|name| name.starts_with("get_") || name.starts_with("kb_")));
    assert!(policy.read_tools().is_sorted());
    assert_eq!(policy.write.iter().map(String::as_str).collect::<Vec<_>>(), KNOWN_WRITE);
    assert_eq!(policy.disruptive.len(), 9);
    assert!(!policy.disruptive.contains("batch_recording"));
    let proposable: Vec<_> = policy.proposable().map(|e| (e.tool(), e.version(), e.max_targets())).collect();
    assert_eq!(proposable, Tool::ALL.map(|tool| (tool, Some(1), 1)));
}

#[test]
fn a_known_write_tool_stays_refused_when_a_file_forgets_it() {
    let (text, _) = changed("write:", "  - create_stream_endpoint\n", "");
    let policy = parse(&text).unwrap();
    assert!(policy.is_write("create_stream_endpoint"));
    assert_eq!(policy.guard("create_stream_endpoint").unwrap_err().code, RefusalCode::NotPermitted);
}

#[test]
fn every_malformed_list_is_refused_at_its_line() {
    let rows = [
        ("read:", "get_device_info", "batch_reboot", "`batch_reboot` changes devices"),
        ("read:", "get_device_info", "create_stream_endpoint", "`create_stream_endpoint` changes devices"),
        ("read:", "get_device_info", "list_devices", "`list_devices` does not start with get_ or kb_"),
        ("read:", "get_device_info", "get_secrets", "`get_secrets` takes arguments"),
        ("read:", "get_device_info", "kb_fetch", "`kb_fetch` is listed twice"),
        ("read:", "get_device_info", "\"Get Device\"", "is not a tool name"),
        ("read:", "get_device_info", "12", "text"),
        ("read:", "get_device_info", "~", "text"),
        ("read:", "get_device_info", "[get_device_info]", "text"),
        ("read:", "get_device_info", "&a get_device_info", "anchor"),
        ("read:", "get_device_info", "!x get_device_info", "tag"),
        ("write:", "update_stream_endpoint", "batch_reboot", "`batch_reboot` is listed twice"),
        ("disruptive:", "batch_reboot", "batch_rebootx", "`batch_rebootx` is not under write"),
        ("disruptive:", "batch_reboot", "get_device_info", "`get_device_info` is not under write"),
    ];
    for (after, from, to, what) in rows {
        let (text, line) = changed(after, from, to);
        let error = parse(&text).expect_err(to);
        // The second of two equal names is the one that is refused.
        let line = if error.what.contains("twice") { error.line } else { line };
        assert_eq!((error.line, error.file.as_str()), (line, "tool_policy.yaml"), "{to}: {error}");
        assert!(error.what.contains(what), "{to}: {error}");
        assert!(!error.advice.is_empty() && !error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_tool_under_read_and_write_is_refused_at_the_read_line() {
    let (text, _) = changed("write:", "  - batch_reboot\n", "  - batch_reboot\n  - get_device_info\n");
    let error = parse(&text).unwrap_err();
    let line = SHIPPED.lines().position(|line| line == "  - get_device_info").unwrap() + 1;
    assert_eq!(error.line, line, "{error}");
    assert!(error.what.contains("`get_device_info` is under read and under write"), "{error}");
}

#[test]
fn every_malformed_file_is_refused() {
    let head = "read: []\nwrite: []\ndisruptive: []\n";
    let rows = [
        (String::new(), 1, "empty"),
        ("[]\n".to_owned(), 1, "mapping"),
        ("read: []\nwrite: []\n".to_owned(), 2, "`disruptive` is missing"),
        ("read:\nwrite: []\ndisruptive: []\n".to_owned(), 1, "read: "),
        (format!("{head}propose: []\n"), 4, "propose"),
        (format!("{head}propose:\n"), 4, "propose"),
        (format!("{head}propose: 1\n"), 4, "propose"),
        (format!("{head}flags: []\n"), 4, "unknown key `flags`"),
        (format!("{head}read: []\n"), 4, "`read` is given twice"),
        (format!("{head}---\nread: []\n"), 5, "second document"),
        (format!("{head}<<: {{}}\n"), 4, "merge keys"),
        (format!("{head}propose:\n  batch_reboot: {{}}\n"), 5, "`batch_reboot` is not under write"),
        (format!("{}# {}\n", head, "x".repeat(crate::yaml::MAX_BYTES)), 1, "64 KiB"),
        (format!("{head}verbs:\n  batch_reboot: {{en: [], es: []}}\n"), 5, "`batch_reboot` is not under propose"),
    ];
    for (text, line, what) in rows {
        let error = parse(&text).expect_err(what);
        let shown = error.to_string();
        // An entry that is empty is refused for its missing keys before its name is looked at.
        let fits = shown.contains(what) || (what.contains("under write") && shown.contains("is missing"));
        assert!(fits, "{what}: {error}");
        assert_eq!(error.line, line, "{what}: {error}");
    }
    assert_eq!(parse(head).unwrap().proposable().count(), 0);
}

#[test]
fn every_malformed_entry_is_refused_at_its_line_and_names_its_tool() {
    let rows = [
        (REBOOT, "batch_reboot:", "get_device_info:", "`get_device_info` is a read tool"),
        (REBOOT, "batch_reboot:", "batch_rebootx:", "`batch_rebootx` is not under write"),
        (REBOOT, "batch_reboot:", "apply_team_preset:", "`apply_team_preset` has no checks"),
        (REBOOT, "batch_reboot:", "batch_recording:", "`batch_recording` is given twice"),
        (REBOOT, "max_targets: 1", "max_targets: 0", "batch_reboot: max_targets"),
        (REBOOT, "max_targets: 1", "max_targets: -1", "batch_reboot: max_targets"),
        (REBOOT, "max_targets: 1", "max_targets: 101", "batch_reboot: max_targets"),
        (REBOOT, "max_targets: 1", "max_targets: true", "propose.batch_reboot.max_targets: "),
        (REBOOT, "max_targets: 1", "max_targets: \"1\"", "propose.batch_reboot.max_targets: "),
        (REBOOT, "max_targets: 1", "max_targets: 1.0", "propose.batch_reboot.max_targets: "),
        (REBOOT, "max_targets: 1", "max_targets:", "propose.batch_reboot.max_targets: "),
        (REBOOT, "max_targets: 1", "max_target: 1", "propose.batch_reboot: unknown key `max_target`"),
        (REBOOT, "disruptive: true", "disruptive: yes", "propose.batch_reboot.disruptive: "),
        (REBOOT, "disruptive: true", "disruptive: \"true\"", "propose.batch_reboot.disruptive: "),
        (REBOOT, "disruptive: true", "disruptive: 1", "propose.batch_reboot.disruptive: "),
        (REBOOT, "disruptive: true", "disruptive: false", "batch_reboot: disruptive is false"),
        (REBOOT, "disruptive: true", "lead_minutes: 0", "batch_reboot: lead_minutes"),
        (FIRMWARE, "lead_minutes: 120", "lead_minutes: 1441", "batch_firmware_update: lead_minutes"),
        (FIRMWARE, "lead_minutes: 120", "lead_minutes: true", "propose.batch_firmware_update.lead_minutes: "),
        (FIRMWARE, "lead_minutes: 120", "lead_minutes: \"120\"", "propose.batch_firmware_update.lead_minutes: "),
        (FIRMWARE, "lead_minutes: 120", "lead_minutes: 1.5", "propose.batch_firmware_update.lead_minutes: "),
        (FIRMWARE, "lead_minutes: 120", "lead_minutes: ~", "propose.batch_firmware_update.lead_minutes: "),
        (REBOOT, "disruptive: true", "disruptive_when: {device_ids: [a]}", "batch_reboot: disruptive_when needs"),
        (START, "disruptive: false", "disruptive: false\n    disruptive_when: {x: [y]}", "disruptive_when needs"),
        (REBOOT, "disruptive: true", "stops_recording: {device_ids: [a]}", "batch_reboot: stops_recording belongs"),
        (REBOOT, "disruptive: true", "stops_streaming: true", "batch_reboot: stops_streaming belongs"),
        (STOP, "stops_streaming: true", "stops_streaming: {a: [b]}", "propose.stop_stream_endpoint.stops_streaming: "),
    ];
    for (after, from, to, what) in rows {
        let (text, line) = changed(after, from, to);
        let error = parse(&text).expect_err(to);
        let line = line + to.matches('\n').count();
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.what.contains(what), "{to}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn every_malformed_recording_rule_is_refused() {
    let rows = [
        ("{}", "not exactly one field"),
        ("{action: [stop], device_ids: [x]}", "not exactly one field"),
        ("{device_ids: [stop]}", "is not an enum field"),
        ("{mode: [stop]}", "is not an enum field"),
        ("{action: []}", "names no values"),
        ("{action: [pause]}", "`pause` is not a value of `action`"),
        ("{action: [true]}", "propose.batch_recording"),
        ("{action: stop}", "propose.batch_recording"),
        ("[stop]", "propose.batch_recording"),
        ("true", "propose.batch_recording"),
        ("~", "propose.batch_recording"),
    ];
    for key in ["disruptive_when", "stops_recording"] {
        for (value, what) in rows {
            let (text, line) = changed(RECORDING, &format!("{key}: {{action: [stop]}}"), &format!("{key}: {value}"));
            let error = parse(&text).expect_err(value);
            assert_eq!(error.line, line, "{key}: {value}: {error}");
            assert!(error.what.contains(what), "{key}: {value}: {error}");
        }
    }
}

#[test]
fn every_malformed_schema_is_refused_at_its_line_and_names_its_tool() {
    let rows = [
        (REBOOT, "version: 1", "version: 0", "batch_reboot: version"),
        (REBOOT, "version: 1", "version: true", "propose.batch_reboot.schema.version: "),
        (REBOOT, "version: 1", "version: \"1\"", "propose.batch_reboot.schema.version: "),
        (REBOOT, "version: 1", "versions: 1", "propose.batch_reboot.schema: unknown key `versions`"),
        (REBOOT, "target: device_ids", "target: device_id", "batch_reboot: the target `device_id` is not one"),
        (REBOOT, "target: device_ids", "target: 1", "propose.batch_reboot.schema.target: "),
        (REBOOT, "device_ids:\n", "Device_ids:\n", "batch_reboot: the field name `Device_ids`"),
        (REBOOT, "device_ids:\n", "1_ids:\n", "batch_reboot: the field name `1_ids`"),
        (REBOOT, "max_items: 1", "max_items: 2", "batch_reboot.device_ids: max_items is more than max_targets"),
        (REBOOT, "max_items: 1", "max_items: 0", "batch_reboot.device_ids: max_items"),
        (REBOOT, "type: list", "type: set", "batch_reboot.device_ids"),
        (REBOOT, "type: string", "type: list", "batch_reboot.device_ids: a list of lists"),
        (REBOOT, "type: string", "type: integer", "batch_reboot.device_ids.items: the key `pattern`"),
        (REBOOT, "{type: string,", "{type: string, items: {},", "unknown key `items`"),
        (REBOOT, "{type: string,", "{type: string, required: true,", "unknown key `required`"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}'", "pattern: '[0-9a-f'", "the pattern is empty or no regular"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}'", "pattern: 'a)|(?:.*'", "the pattern is empty or no regular"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}'", "pattern: '(?=a)'", "the pattern is empty or no regular"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}'", "pattern: ''", "the pattern is empty or no regular"),
        (REBOOT, "max_length: 32", "max_length: 257", "batch_reboot.device_ids.items: max_length"),
        (REBOOT, "max_length: 32", "max_length: 0", "batch_reboot.device_ids.items: max_length"),
        (RECORDING, "values: [start, stop]", "values: []", "batch_recording.action: an enum needs values"),
        (RECORDING, "values: [start, stop]", "values: [start, start]", "batch_recording.action: an enum needs values"),
        (RECORDING, "values: [start, stop]", "values: [start, 1]", "propose.batch_recording.schema.fields.action"),
        (RECORDING, "values: [start, stop]", "values: start", "propose.batch_recording.schema.fields.action"),
        (RECORDING, "values: [start, stop]", "pattern: a", "the key `pattern` does not belong"),
        (
            CONFIRM,
            "device_id: {type: string,",
            "device_id: {type: string, max_items: 1,",
            "`max_items` does not belong",
        ),
        (CONFIRM, "device_id: {type: string,", "device_id: {type: string, size: 1,", "unknown key `size`"),
    ];
    for (after, from, to, what) in rows {
        let (text, line) = changed(after, from, to);
        let error = parse(&text).expect_err(to);
        assert_eq!(error.line, line, "{to}: {error}");
        assert!(error.what.contains(what), "{to}: {error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_schema_that_lost_a_part_is_refused() {
    let rows = [
        (
            REBOOT,
            "          items: {type: string, pattern: '[0-9a-f]{8,32}', max_length: 32}\n",
            "",
            "a list without items",
        ),
        (REBOOT, "          max_items: 1\n", "", "a list without max_items"),
        (
            REBOOT,
            "          required: true\n",
            "          required: false\n",
            "the target `device_ids` is not required",
        ),
        (REBOOT, "          required: true\n", "", "`required` is missing"),
        (REBOOT, "      version: 1\n", "", "`version` is missing"),
        (REBOOT, "    max_targets: 1\n", "", "`max_targets` is missing"),
        (REBOOT, "pattern: '[0-9a-f]{8,32}', ", "", "is not text with a pattern"),
        (RECORDING, "          values: [start, stop]\n", "", "an enum needs values"),
        (RECORDING, "[start, stop]", "[pause, stop]", "needs the required field `action`"),
        (START, "        channel_id:", "        channel_no:", "needs the required field `channel_id`"),
        (CONFIRM, "        event_id:", "        event:", "needs the required field `event_id`"),
        (CONFIRM, "      target: device_id\n", "      target: event_id\n", "its target is not `device_id`"),
    ];
    for (after, from, to, what) in rows {
        let (text, _) = changed(after, from, to);
        let error = parse(&text).expect_err(what);
        assert!(error.what.contains(what), "{what}: {error}");
        assert!(error.to_string().contains(after.trim().trim_end_matches(':')), "{what}: {error}");
        let entry = SHIPPED.lines().position(|line| line == after).unwrap() + 1;
        assert!((entry..entry + 20).contains(&error.line), "{what}: {error}");
    }
    let start = SHIPPED.find("\n  batch_firmware_update:\n    max_targets").unwrap();
    let schema = start + SHIPPED[start..].find("    schema:").unwrap();
    let end = SHIPPED.find("\n# Words with which").unwrap();
    for (put, what) in [
        ("", "`schema` is missing"),
        ("    schema: later\n", "pending-live-run"),
        ("    schema: []\n", "pending-live-run"),
        ("    schema: 1\n", "pending-live-run"),
        ("    schema: {version: 1, target: a, fields: {}}\n", "no fields"),
        ("    schema: {version: 1, target: a, fields: []}\n", "mapping"),
        ("    schema: {version: 1, target: a}\n", "`fields` is missing"),
        ("    schema: {version: 1, target: a, fields: {a: 1}}\n", "mapping"),
    ] {
        let text = format!("{}{put}{}", &SHIPPED[..schema], &SHIPPED[end..]);
        let error = parse(&text).expect_err(put);
        assert!(error.what.contains(what) && error.what.contains("batch_firmware_update"), "{put}: {error}");
    }
}

#[test]
fn defaults_and_other_field_types_are_read_strictly() {
    for good in [
        "{type: integer, required: false, minimum: 1, maximum: 5, default: 2}",
        "{type: boolean, required: false, default: true}",
        "{type: enum, required: false, values: [a, b], default: a}",
        "{type: string, required: false, default: soft}",
        "{type: string, required: true}",
        "{type: list, required: false, max_items: 3, items: {type: boolean}}",
    ] {
        with_field(good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for (bad, what) in [
        ("{type: integer, required: false, minimum: 5, maximum: 1}", "minimum is above maximum"),
        ("{type: integer, required: false, minimum: 1, default: 0}", "as its default"),
        ("{type: integer, required: false, default: true}", "as its default"),
        ("{type: integer, required: false, maximum: 9007199254740992}", "maximum"),
        ("{type: integer, required: false, pattern: a}", "`pattern` does not belong"),
        ("{type: boolean, required: false, default: 1}", "as its default"),
        ("{type: boolean, required: false, minimum: 1}", "`minimum` does not belong"),
        ("{type: boolean, required: false, values: [a]}", "`values` does not belong"),
        ("{type: enum, required: false, values: [a], default: b}", "as its default"),
        ("{type: string, required: true, default: a}", "a required field has no default"),
        ("{type: string, required: false, minimum: 1}", "`minimum` does not belong"),
        ("{type: string, required: false, default: ~}", "text, a whole number"),
        ("{type: list, required: false, max_items: 101, items: {type: boolean}}", "max_items"),
        ("{type: list, required: false, max_items: 1, items: {type: boolean}, default: a}", "as its default"),
        (
            "{type: list, required: false, max_items: 1, values: [a], items: {type: boolean}}",
            "`values` does not belong",
        ),
        ("{type: float, required: false}", "unknown type `float`"),
        ("1", "mapping"),
    ] {
        let error = with_field(bad).expect_err(bad);
        assert!(error.what.contains(what) && error.what.contains("batch_reboot"), "{bad}: {error}");
    }
}

#[test]
fn a_pending_entry_loads_is_closed_and_counts_as_disruptive() {
    for tool in Tool::ALL {
        let policy = pending(tool.as_str());
        let arguments = canonical(&example(tool));
        assert_eq!(policy.check_call(tool.as_str(), &arguments).unwrap_err().code, RefusalCode::ToolNotProposable);
        assert!(policy.proposable().all(|entry| entry.tool() != tool));
        let rules = policy.rules_of(tool, &arguments);
        assert!(rules.disruptive && !rules.stops_recording && !rules.stops_streaming, "{tool:?}");
    }
    let text = "read: []\nwrite: [batch_recording, stop_stream_endpoint]\ndisruptive: []\npropose:\n";
    for (entry, what) in [
        ("  batch_recording:\n    disruptive_when: {action: [stop]}\n", "disruptive_when on a schema that waits"),
        ("  batch_recording:\n    stops_recording: {action: [stop]}\n", "stops_recording on a schema that waits"),
        ("  stop_stream_endpoint:\n    stops_streaming: true\n", "stops_streaming on a schema that waits"),
    ] {
        let error = parse(&format!("{text}{entry}    max_targets: 1\n    schema: pending-live-run\n")).expect_err(what);
        assert!(error.what.contains(what), "{error}");
        assert_eq!(error.line, 6, "{error}");
    }
}

#[test]
fn verb_lists_are_read_strictly() {
    let words = "\n  batch_reboot:\n    en:\n      - reboot\n";
    let at = SHIPPED.find(words).unwrap();
    let line = SHIPPED[..at + words.len()].matches('\n').count();
    for odd in ["''", "'*'", "'* reboot'", "'reboot *'", "'a * * b'", "'a b c d e f g'", "'re-boot'", "'<b>'", "12"] {
        let text = format!(
            "{}{}{}",
            &SHIPPED[..at],
            words.replace("- reboot", &format!("- {odd}")),
            &SHIPPED[at + words.len()..]
        );
        let error = parse(&text).expect_err(odd);
        assert_eq!(error.line, line, "{odd}: {error}");
    }
}

#[test]
fn the_guards_own_test_finds_a_write_tool_that_can_be_read() {
    let mut policy = ToolPolicy::shipped().unwrap();
    assert_eq!(policy.leaks(), Vec::<&str>::new());
    assert!(policy.write_count() >= 15);
    policy.read.insert("batch_reboot".to_owned());
    assert!(policy.leaks().contains(&"batch_reboot"));
}
