//! What each gate found when a proposal was admitted: the answer to "why" (`seed 002, Gate Chain`).

use super::page::Page;
use super::{pick, safe};
use protocol::gate::{GateId, GateResult, NOT_REACHED};
use protocol::shown::Language;
use serde_json::{Value, json};

/// The gates in the order in which they were asked, each with its verdict and what it looked at.
pub(crate) fn gates(gates: &[GateResult], language: Language, columns: usize) -> String {
    let mut page = Page::new(columns);
    page.gap();
    page.line(pick(
        language,
        "Why: what each check found when it was admitted",
        "Por qué: qué halló cada control al admitirla",
    ));
    if gates.is_empty() {
        page.line(pick(language, "  (nothing was kept)", "  (no se guardó nada)"));
    }
    for gate in gates {
        page.field(&format!("  {}", gate.gate_id.as_str()), &verdict(gate, language));
        for evidence in &gate.evidence {
            page.field("", &format!("{}: {}", safe(&evidence.name), safe(&evidence.value)));
        }
    }
    page.into_text()
}

fn verdict(gate: &GateResult, language: Language) -> String {
    let question = question(gate.gate_id, language);
    let found = match gate.blocked_reason.as_deref() {
        None if gate.passed => pick(language, "passed", "pasó").to_owned(),
        Some(NOT_REACHED) => pick(language, "not reached", "no se llegó").to_owned(),
        why => format!("{}: {}", pick(language, "blocked", "bloqueada"), safe(why.unwrap_or("?"))),
    };
    format!("{found} ({question})")
}

fn question(gate: GateId, language: Language) -> &'static str {
    match gate {
        GateId::Schema => pick(language, "is it well formed?", "¿está bien formada?"),
        GateId::DeviceResolve => pick(language, "does every target exist?", "¿existen todos los equipos?"),
        GateId::Capability => pick(language, "can the target do this?", "¿puede hacerlo el equipo?"),
        GateId::Freshness => pick(language, "was it read just now?", "¿se acaba de leer?"),
        GateId::Policy => {
            pick(language, "do policy, fence and limits allow it?", "¿lo permiten política, cerco y límites?")
        }
        GateId::DryRun => pick(language, "is it more than a dry run?", "¿es más que un simulacro?"),
        GateId::Exec => pick(language, "may it run?", "¿se puede ejecutar?"),
    }
}

/// One gate for `--json`.
pub(crate) fn gate_json(gate: &GateResult) -> Value {
    let evidence: Vec<_> = gate.evidence.iter().map(|e| json!({ "name": e.name, "value": e.value })).collect();
    json!({
        "gate": gate.gate_id.as_str(),
        "passed": gate.passed,
        "blocked_reason": gate.blocked_reason,
        "evidence": evidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_card;

    #[test]
    fn every_gate_says_what_it_found_and_on_what() {
        let mut found = sample_card(7).gates;
        found.push(GateResult {
            gate_id: GateId::Exec,
            passed: false,
            blocked_reason: Some(NOT_REACHED.to_owned()),
            evidence: Vec::new(),
        });
        let text = gates(&found, Language::English, 80);
        for words in
            ["schema          passed", "schema_version: 1", "blocked: unknown_device", "not reached (may it run?)"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(gates(&found, Language::Spanish, 80).contains("bloqueada: unknown_device"));
        assert!(gates(&[], Language::English, 80).contains("nothing was kept"));
    }
}
