//! The gates' trace as it was bound, back as what the card shows behind "why".

use protocol::canonical::Canonical;
use protocol::gate::{Evidence, GateId, GateResult};
use serde_json::Value;

/// The seven results; none when the row does not hold a trace.
pub(super) fn gates(stored: &str) -> Vec<GateResult> {
    let Ok(trace) = Canonical::parse(stored.as_bytes()) else { return Vec::new() };
    let list = trace.value().as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(gate).collect()
}

fn gate(value: &Value) -> Option<GateResult> {
    let name = value.get("gate_id")?.as_str()?;
    let gate_id = GateId::ALL.into_iter().find(|gate| gate.as_str() == name)?;
    let evidence = value.get("evidence")?.as_object()?;
    Some(GateResult {
        gate_id,
        passed: value.get("passed")?.as_bool()?,
        blocked_reason: value.get("blocked_reason").and_then(Value::as_str).map(str::to_owned),
        evidence: evidence
            .iter()
            .filter_map(|(name, value)| Some(Evidence { name: name.clone(), value: value.as_str()?.to_owned() }))
            .collect(),
    })
}
