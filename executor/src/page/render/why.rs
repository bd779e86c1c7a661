//! Why the change could be proposed at all: what each gate found, folded up.

use super::{Frame, whens, words};
use maud::{Markup, html};
use protocol::gate::{GateResult, NOT_REACHED};
use protocol::refusal::RefusalCode;

/// The gates of one card; nothing when the row holds no trace.
pub(super) fn details(frame: &Frame, gates: &[GateResult]) -> Markup {
    html! {
        @if !gates.is_empty() {
            details.why {
                summary { (frame.say(words::WHY)) }
                p.small { (frame.say(words::WHY_HELP)) }
                ol.gates { @for gate in gates { li { (one(frame, gate)) } } }
            }
        }
    }
}

fn one(frame: &Frame, gate: &GateResult) -> Markup {
    let (tone, verdict) = match (gate.passed, gate.blocked_reason.as_deref()) {
        (true, _) => ("good", words::PASSED),
        (false, Some(NOT_REACHED)) => ("calm", words::NOT_REACHED),
        (false, _) => ("warn", words::BLOCKED),
    };
    let code = gate.blocked_reason.as_deref().filter(|code| *code != NOT_REACHED);
    html! {
        p.gate {
            strong { (frame.say(words::gate(gate.gate_id))) } " "
            span.state.(tone) { (frame.say(verdict)) } " "
            code.small { (gate.gate_id.as_str()) }
        }
        @if let Some(code) = code {
            p.small {
                @if let Some(known) = RefusalCode::from_text(code) { (frame.get(&policy::words::refusal(known))) " " }
                code { bdi { (code) } }
            }
        }
        @if !gate.evidence.is_empty() {
            table.facts.small {
                caption.unseen { (frame.say(words::EVIDENCE)) " " (frame.say(words::gate(gate.gate_id))) }
                tbody {
                    @for fact in &gate.evidence {
                        tr {
                            th scope="row" { bdi { (fact.name) } }
                            td { bdi { (whens(&fact.value)) } }
                        }
                    }
                }
            }
        }
    }
}
