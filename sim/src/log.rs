//! The log of every tools/call that arrived, written before the call has any effect.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::config::Caller;
use crate::tools::{self, Kind};

/// One tools/call as it came over the wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCall {
    /// The JSON-RPC id, as sent.
    pub(crate) id: Value,
    /// The name of the tool, as sent.
    pub(crate) tool: String,
    /// The arguments, as sent.
    pub(crate) arguments: Value,
}

impl ToolCall {
    /// The tools/call inside a POST body; nothing if the body is something else.
    pub(crate) fn from_body(body: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        if message.get("method")?.as_str()? != "tools/call" {
            return None;
        }
        let params = message.get("params").unwrap_or(&Value::Null);
        let field = |name| params.get(name).cloned().unwrap_or(Value::Null);
        Some(Self {
            id: message.get("id").cloned().unwrap_or(Value::Null),
            tool: field("name").as_str().unwrap_or_default().to_owned(),
            arguments: field("arguments"),
        })
    }

    /// Read or write. A tool that nobody knows counts as a write.
    pub(crate) fn kind(&self) -> Kind {
        tools::find(&self.tool).map_or(Kind::Write, |tool| tool.kind)
    }
}

/// Every call since the start, and the file that they are appended to.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    file: Option<File>,
    entries: Vec<Value>,
}

impl CallLog {
    /// A log that also appends to this file.
    ///
    /// # Errors
    /// The file can't be opened for appending.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let file = path.map(|path| OpenOptions::new().create(true).append(true).mode(0o600).open(path)).transpose()?;
        Ok(Self { file, entries: Vec::new() })
    }

    /// Writes one line and flushes it.
    ///
    /// # Errors
    /// The line did not reach the file: then the call must have no effect.
    pub(crate) fn record(&mut self, caller: Caller, call: &ToolCall, at_ms: i64) -> io::Result<()> {
        let entry = json!({
            "seq": self.entries.len() + 1,
            "at_ms": at_ms,
            "token": caller.word(),
            "tool": call.tool,
            "arguments": call.arguments,
            "kind": call.kind().word(),
        });
        if let Some(file) = &mut self.file {
            let mut line = entry.to_string();
            line.push('\n');
            file.write_all(line.as_bytes())?;
            file.flush()?;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// All entries, oldest first.
    pub(crate) fn entries(&self) -> &[Value] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_numbered_line_and_an_unknown_tool_counts_as_a_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("calls");
        let mut log = CallLog::open(Some(&path)).expect("a log");
        let body = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"kb_search","arguments":{"query":"x"}}}"#;
        let call = ToolCall::from_body(body).expect("a call");
        log.record(Caller::Normal, &call, 5).expect("a line");
        let odd = ToolCall { tool: "format_disk".to_owned(), ..call };
        log.record(Caller::Unknown, &odd, 6).expect("a line");
        let text = std::fs::read_to_string(&path).expect("the file");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        assert_eq!(
            lines[0],
            json!({"seq":1,"at_ms":5,"token":"normal","tool":"kb_search","arguments":{"query":"x"},"kind":"read"})
        );
        assert_eq!(lines[1]["kind"], "write");
        assert_eq!(lines, log.entries());
    }

    #[test]
    fn other_messages_are_not_calls() {
        for body in [&b"{\"method\":\"tools/list\"}"[..], b"[]", b"not json", b"{}"] {
            assert_eq!(ToolCall::from_body(body), None);
        }
    }
}
