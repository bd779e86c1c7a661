//! From a tool's name and arguments to the one word of `ask.sock` that does it, and back.

use super::answer::{self, Answer, NoSuchTool};
use crate::client::{Asking, ClientError, Places};
use protocol::ask::{AskerSays, AssistantSays, OfferedTool};
use protocol::ids::ProposalNumber;
use protocol::refusal::{Refusal, RefusalCode};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const PROPOSE: &str = "propose_change";
const STATUS: &str = "proposal_status";
const PENDING: &str = "pending_proposals";

/// The tools as they are now.
///
/// # Errors
/// [`ClientError`] when the assistant cannot be asked.
pub(super) async fn offered(places: &Places) -> Result<Vec<Tool>, ClientError> {
    let AssistantSays::Offered(offered) = ask(places, AskerSays::Offered).await? else {
        return Err(Asking::surprise());
    };
    let mut tools = Vec::new();
    for one in offered {
        tools.push(tool_of(one).ok_or_else(Asking::surprise)?);
    }
    tools.extend(own_tools());
    Ok(tools)
}

// The assistant's word for it; a schema that is no object is no schema.
fn tool_of(offered: OfferedTool) -> Option<Tool> {
    let schema: JsonObject = serde_json::from_slice(&offered.schema).ok()?;
    // Proposing adds a card to a person's queue and touches no device; the same draft twice is two cards.
    let hints = if offered.name == PROPOSE { hints(false, false, true) } else { hints(true, true, true) };
    Some(Tool::new(offered.name, offered.description, Arc::new(schema)).with_annotations(hints))
}

fn own_tools() -> [Tool; 2] {
    let number = json!({
        "type": "object",
        "properties": {"number": {"type": "integer", "minimum": 1, "description": "The number that propose_change gave."}},
        "required": ["number"],
        "additionalProperties": false
    });
    let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
    [
        own(STATUS, "What became of a change that was proposed through here.", &number),
        own(PENDING, "Changes proposed through here that wait for a person or run now: numbers and states.", &nothing),
    ]
}

fn own(name: &'static str, about: &'static str, schema: &Value) -> Tool {
    let schema = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, about, Arc::new(schema)).with_annotations(hints(true, true, false))
}

fn hints(read_only: bool, idempotent: bool, open_world: bool) -> ToolAnnotations {
    ToolAnnotations::new().read_only(read_only).destructive(false).idempotent(idempotent).open_world(open_world)
}

/// One call.
///
/// # Errors
/// [`NoSuchTool`] for a name that nobody offered; everything else is an answer.
pub(super) async fn call(places: &Places, name: &str, arguments: Map<String, Value>) -> Result<Answer, NoSuchTool> {
    let word = match word(name, arguments) {
        Ok(word) => word,
        Err(refusal) => return Ok(answer::refused(&refusal)),
    };
    match ask(places, word).await {
        Ok(said) => told(name, said),
        Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::ToolUnknown => Err(NoSuchTool),
        Err(error) => Ok(answer::not_asked(&error)),
    }
}

fn word(name: &str, mut arguments: Map<String, Value>) -> Result<AskerSays, Refusal> {
    match name {
        PROPOSE => {
            only(&arguments, &["tool", "arguments", "reason"])?;
            let tool = text(arguments.remove("tool"), "tool")?;
            let reason = text(arguments.remove("reason"), "reason")?;
            let Some(Value::Object(inner)) = arguments.remove("arguments") else {
                return Err(bad("arguments: expected an object"));
            };
            Ok(AskerSays::Draft { tool, arguments: Value::Object(inner).to_string().into_bytes(), reason })
        }
        STATUS => {
            only(&arguments, &["number"])?;
            let number = arguments.get("number").and_then(Value::as_u64).and_then(ProposalNumber::new);
            let number = number.ok_or_else(|| bad("number: expected a whole number, 1 or more"))?;
            Ok(AskerSays::Standing { number })
        }
        PENDING => {
            only(&arguments, &[])?;
            Ok(AskerSays::Live)
        }
        _ => {
            Ok(AskerSays::Read { tool: name.to_owned(), arguments: Value::Object(arguments).to_string().into_bytes() })
        }
    }
}

fn only(arguments: &Map<String, Value>, known: &[&str]) -> Result<(), Refusal> {
    match arguments.keys().find(|name| !known.contains(&name.as_str())) {
        Some(odd) => Err(bad(&format!("{odd}: not an argument of this tool"))),
        None => Ok(()),
    }
}

fn text(value: Option<Value>, name: &str) -> Result<String, Refusal> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(_) | None => Err(bad(&format!("{name}: expected a text"))),
    }
}

fn bad(what: &str) -> Refusal {
    Refusal::new(RefusalCode::BadArguments, what)
}

fn told(name: &str, said: AssistantSays) -> Result<Answer, NoSuchTool> {
    Ok(match said {
        AssistantSays::Data { json, cut } => match serde_json::from_str(&json) {
            Ok(value) => answer::data(name, &value, cut),
            Err(_) => answer::not_asked(&Asking::surprise()),
        },
        AssistantSays::Live(live) => answer::live(&live),
        AssistantSays::NotProposed(refusal) => answer::refused(&refusal),
        AssistantSays::Proposed { number } => answer::proposed(number),
        AssistantSays::Standing(news) => answer::standing(&news),
        AssistantSays::Answer { .. }
        | AssistantSays::CapturePart { .. }
        | AssistantSays::DeviceIds { .. }
        | AssistantSays::Doctor(_)
        | AssistantSays::Done
        | AssistantSays::Hello(_)
        | AssistantSays::LoginLink(_)
        | AssistantSays::LoginWaiting
        | AssistantSays::Offered(_)
        | AssistantSays::Piece { .. }
        | AssistantSays::PiecesVoid
        | AssistantSays::Reading { .. }
        | AssistantSays::Refused(_)
        | AssistantSays::Report { .. }
        | AssistantSays::SignedIn(_)
        | AssistantSays::SignedOut { .. }
        | AssistantSays::Status(_) => answer::not_asked(&Asking::surprise()),
    })
}

// One connection for one word, whose one answer is followed by `Done`. Dropping the future hangs up.
async fn ask(places: &Places, word: AskerSays) -> Result<AssistantSays, ClientError> {
    let mut asking = Asking::open(places).await?;
    asking.say(word).await?;
    let said = asking.hear().await?;
    if let AssistantSays::Refused(refusal) = said {
        return Err(ClientError::Refused(refusal));
    }
    let done = asking.hear().await? == AssistantSays::Done;
    done.then_some(said).ok_or_else(Asking::surprise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn each_tool_becomes_its_one_word_and_none_decides() {
        let draft = json!({"tool": "batch_reboot", "arguments": {"device_ids": ["1"]}, "reason": "r"});
        assert_eq!(
            word(PROPOSE, map(&draft)).unwrap(),
            AskerSays::Draft {
                tool: "batch_reboot".to_owned(),
                arguments: br#"{"device_ids":["1"]}"#.to_vec(),
                reason: "r".to_owned(),
            }
        );
        let number = ProposalNumber::new(5).unwrap();
        assert_eq!(word(STATUS, map(&json!({"number": 5}))).unwrap(), AskerSays::Standing { number });
        assert_eq!(word(PENDING, Map::new()).unwrap(), AskerSays::Live);
        let read = AskerSays::Read { tool: "get_device_info".to_owned(), arguments: br#"{"device_id":"a"}"#.to_vec() };
        assert_eq!(word("get_device_info", map(&json!({"device_id": "a"}))).unwrap(), read);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused_with_their_name() {
        for (tool, arguments, name) in [
            (PROPOSE, json!({}), "tool"),
            (PROPOSE, json!({"tool": "t", "arguments": "{}", "reason": "r"}), "arguments"),
            (PROPOSE, json!({"tool": "t", "arguments": {}, "reason": ""}), "reason"),
            (PROPOSE, json!({"tool": "t", "arguments": {}, "reason": "r", "approve": true}), "approve"),
            (STATUS, json!({"number": "5"}), "number"),
            (STATUS, json!({"number": 0}), "number"),
            (STATUS, json!({"number": 1.5}), "number"),
            (PENDING, json!({"all": true}), "all"),
        ] {
            let refusal = word(tool, map(&arguments)).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::BadArguments);
            assert!(refusal.detail.starts_with(name), "{refusal}");
        }
    }

    #[test]
    fn the_hints_are_true() {
        let offered = |name: &str| OfferedTool {
            name: name.to_owned(),
            description: "d".to_owned(),
            schema: br#"{"type":"object"}"#.to_vec(),
        };
        let read = tool_of(offered("get_device_info")).unwrap().annotations.unwrap();
        assert_eq!((read.read_only_hint, read.destructive_hint), (Some(true), Some(false)));
        let propose = tool_of(offered(PROPOSE)).unwrap().annotations.unwrap();
        assert_eq!((propose.read_only_hint, propose.idempotent_hint), (Some(false), Some(false)));
        for own in own_tools() {
            assert_eq!(own.annotations.unwrap().read_only_hint, Some(true));
            assert_eq!(own.input_schema["additionalProperties"], false);
        }
        assert!(tool_of(OfferedTool { schema: b"[]".to_vec(), ..offered("x") }).is_none());
    }

    #[test]
    fn a_word_that_was_not_asked_for_is_no_answer() {
        for said in [AssistantSays::Done, AssistantSays::Reading { tool: "t".to_owned() }] {
            assert!(told("x", said).unwrap().parts().2);
        }
        let said = AssistantSays::Data { json: "nothing".to_owned(), cut: false };
        assert!(told("x", said).unwrap().parts().2);
    }
}
