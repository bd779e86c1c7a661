//! A capture played again: the readings come from files, their times are set against one clock, and they go through the
//! same guard, redaction, parsers and rules as a look. Nothing is posted and nothing is remembered (`facts 8.6`).

use crate::watch::digest;
use crate::watch::rules::Rules;
use crate::watch::seen::{Readings, Seen};
use jiff::Timestamp;
use policy::tool_policy::ToolPolicy;
use protocol::ask::READINGS;
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Language;
use serde_json::Value;
use std::collections::BTreeMap;

/// Most bytes of all files together.
const MOST: usize = 8 * 1024 * 1024;
const OPEN: &str = "{{now";

/// The files as they arrive, in parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    files: BTreeMap<String, Vec<u8>>,
}

impl Parts {
    /// Takes one more part of one tool's file.
    ///
    /// # Errors
    /// A tool that the guard does not let through or that no look reads; more than 8 MiB in all.
    pub(crate) fn add(&mut self, policy: &ToolPolicy, tool: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let tool = policy.guard(tool)?;
        if !READINGS.contains(&tool.as_str()) {
            return Err(Refusal::new(RefusalCode::BadArguments, &format!("{}: no reading of a look", tool.as_str())));
        }
        let known: usize = self.files.values().map(Vec::len).sum();
        if known.saturating_add(bytes.len()) > MOST {
            return Err(Refusal::new(RefusalCode::TooLarge, "a capture has at most 8 MiB"));
        }
        self.files.entry(tool.as_str().to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }

    /// The digest of these files at this moment.
    ///
    /// # Errors
    /// A file that is no JSON, a time in it that is none, or no device list that can be understood.
    pub(crate) async fn play(self, rules: &Rules, (language, now): (Language, i64)) -> Result<String, Refusal> {
        let mut readings = BTreeMap::new();
        for (tool, bytes) in self.files {
            let bad = |what: String| Refusal::new(RefusalCode::BadArguments, &format!("{tool}.json: {what}"));
            let mut value = reader::json::read(&bytes).map_err(|fault| bad(format!("{fault:?}")))?;
            resolve(&mut value, now).map_err(bad)?;
            readings.insert(tool, reader::quote::kept(value));
        }
        let seen = Seen::look(Readings::Files(&readings), now).await;
        let unread =
            || Refusal::new(RefusalCode::ReadFailed, "get_devices_in_my_team.json is missing or not understood");
        Ok(digest::digest(&seen.ok_or_else(unread)?, rules, (language, now)))
    }
}

// `{{now}}`, `{{now+25m}}`, `{{now-2h}}` in any text of the value.
fn resolve(value: &mut Value, now: i64) -> Result<(), String> {
    match value {
        Value::String(text) => {
            if text.contains(OPEN) {
                *text = resolved(text, now)?;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| resolve(item, now)),
        Value::Object(members) => members.values_mut().try_for_each(|member| resolve(member, now)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn resolved(text: &str, now: i64) -> Result<String, String> {
    let wrong = || "a time is {{now}}, {{now+25m}} or {{now-2h}}, with s, m, h or d".to_owned();
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (inside, behind) = after.split_once("}}").ok_or_else(wrong)?;
        let at = now.checked_add(offset(inside).ok_or_else(wrong)?).ok_or_else(wrong)?;
        let at = Timestamp::from_second(at).map_err(|_| wrong())?;
        done.push_str(before);
        done.push_str(&at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
}

fn offset(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    let sign = match text.get(..1)? {
        "+" => 1,
        "-" => -1,
        _ => return None,
    };
    let unit = match text.chars().next_back()? {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let digits = text.get(1..text.len() - 1)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<i64>().ok()?.checked_mul(unit)?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::testing::{NOON, readings, rules, unit};
    use protocol::ask::{DEVICES, EVENTS};
    use serde_json::json;

    fn parts(files: &BTreeMap<String, Value>) -> Parts {
        let (mut parts, policy) = (Parts::default(), ToolPolicy::shipped().unwrap());
        for (tool, value) in files {
            for part in value.to_string().as_bytes().chunks(100) {
                parts.add(&policy, tool, part).unwrap();
            }
        }
        parts
    }

    #[tokio::test]
    async fn a_capture_goes_through_the_same_rules_with_its_times_set() {
        let mut files = readings();
        unit(&mut files, 0, &json!({"Status": "offline", "Name": "Hall A key=hunter2"}));
        files.insert(
            EVENTS.to_owned(),
            json!({"events": [{"device_id": "20300000001", "event":
            {"id": "e", "title": "Seminar", "start": "{{now+25m}}", "finish": "{{now+2h}}"}}]}),
        );
        let text = parts(&files).play(&rules(""), (Language::English, NOON)).await.unwrap();
        assert!(text.contains("- Hall B: Ready for the event \"Seminar\" at 12:25 UTC, in 25 min"), "{text}");
        assert!(text.contains("Fix first:\n- Hall A") && !text.contains("hunter2"), "{text}");
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_said_with_its_file() {
        let mut files = readings();
        files.remove(DEVICES);
        let refusal = parts(&files).play(&rules(""), (Language::English, NOON)).await.unwrap_err();
        assert_eq!(refusal.code, RefusalCode::ReadFailed);
        for bad in ["{{now+25}}", "{{now 5m}}", "{{now+m}}", "{{now+5w}}", "{{now", "{{now+99999999999999999d}}"] {
            files.insert(EVENTS.to_owned(), json!({"events": [], "note": bad}));
            let refusal = parts(&files).play(&rules(""), (Language::English, NOON)).await.unwrap_err();
            assert!(refusal.detail.starts_with(EVENTS), "{bad}: {refusal:?}");
        }
    }

    #[test]
    fn only_the_readings_of_a_look_pass_and_only_so_much() {
        let (mut parts, policy) = (Parts::default(), ToolPolicy::shipped().unwrap());
        for (tool, code) in [
            ("batch_reboot", RefusalCode::NotPermitted),
            ("../etc/passwd", RefusalCode::ToolUnknown),
            ("get_stream_endpoints", RefusalCode::BadArguments),
        ] {
            assert_eq!(parts.add(&policy, tool, b"{}").unwrap_err().code, code, "{tool}");
        }
        parts.add(&policy, DEVICES, &vec![b' '; MOST]).unwrap();
        assert_eq!(parts.add(&policy, EVENTS, b"x").unwrap_err().code, RefusalCode::TooLarge);
    }
}
