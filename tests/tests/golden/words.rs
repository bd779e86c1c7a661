//! What all sockets share.

use crate::sheet::Sheet;
use crate::values::{head, hello, label, number, refusal, worded};
use protocol::doctor::{Check, Grade, Reach};
use protocol::gate::{Evidence, GateId, GateResult, NOT_REACHED};
use protocol::hello::Isolation;
use protocol::propose::ProposalState;
use protocol::refusal::RefusalCode;
use protocol::shown::Language;

pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new("words", "what the messages of all sockets are made of");
    sheet.word("hello", hello());
    sheet.word("audit_head", head());
    sheet.word("number", number(300));
    sheet.word("label", label("A-z_0.9:"));
    sheet.word("refusal", refusal());
    sheet.word("worded", worded("Niño"));
    sheet.word("gate_result.passed", gate(GateId::Schema, None));
    sheet.word("gate_result.blocked", gate(GateId::Exec, Some(NOT_REACHED)));
    sheet.every("gate::GateId", GateId::ALL.to_vec(), |gate| format!("gate.{}", gate.as_str()), |gate| gate);
    sheet.every(
        "hello::Isolation",
        vec![Isolation::None, Isolation::Users],
        |isolation| format!("isolation.{}", isolation.as_str()),
        |isolation| isolation,
    );
    sheet.every("doctor::Check", Check::ALL.to_vec(), |check| format!("check.{}", check.as_str()), |check| check);
    sheet.every("doctor::Grade", Grade::ALL.to_vec(), |grade| format!("grade.{}", grade.as_str()), |grade| grade);
    sheet.every("doctor::Reach", Reach::ALL.to_vec(), |reach| format!("reach.{}", reach.as_str()), |reach| reach);
    let languages = vec![Language::English, Language::Spanish];
    sheet.every(
        "shown::Language",
        languages,
        |language| format!("language.{}", tongue(*language)),
        |language| language,
    );
    let states = ProposalState::ALL.to_vec();
    sheet.every("propose::ProposalState", states, |state| format!("state.{}", state.as_str()), |state| state);
    let codes = RefusalCode::ALL.to_vec();
    sheet.every("refusal::RefusalCode", codes, |code| format!("code.{}", code.as_str()), |code| code);
    sheet
}

pub(crate) fn gate(gate_id: GateId, blocked: Option<&str>) -> GateResult {
    GateResult {
        gate_id,
        passed: blocked.is_none(),
        blocked_reason: blocked.map(str::to_owned),
        evidence: vec![Evidence { name: "tool".to_owned(), value: "start_recording".to_owned() }],
    }
}

fn tongue(language: Language) -> &'static str {
    match language {
        Language::English => "en",
        Language::Spanish => "es",
    }
}
