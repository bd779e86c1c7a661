//! The bound record: everything a person approves, under one MAC (`seed 000, Binding`).

use crate::store::{Keys, StoreError};
use host::secret::hex;
use protocol::canonical::Canonical;
use serde_json::{Value, json};

/// The fields that the MAC covers. The MAC is checked whenever the row is used; what is sent and where is compared with
/// them once more before the write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundRecord {
    pub(crate) number: i64,
    pub(crate) tool: String,
    /// Canonical text.
    pub(crate) arguments: String,
    /// Canonical text.
    pub(crate) targets: String,
    /// Canonical text.
    pub(crate) fingerprint: String,
    /// Canonical text.
    pub(crate) referents: String,
    pub(crate) schema_version: i64,
    pub(crate) policy_version: i64,
    pub(crate) slot: String,
    pub(crate) reason: String,
    /// Canonical text: the trace at intake, which the card shows behind "why".
    pub(crate) gates: String,
    pub(crate) origin: String,
    pub(crate) agent: String,
    pub(crate) boot_id: String,
    pub(crate) expires_at: i64,
    pub(crate) expires_boot_ms: i64,
}

/// An approval's own bound fields: who said yes, where, to which card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundApproval {
    pub(crate) id: String,
    pub(crate) proposal_mac: String,
    pub(crate) principal: String,
    pub(crate) surface: String,
    pub(crate) session: String,
    pub(crate) digest: String,
    pub(crate) boot_id: String,
    pub(crate) expires_at: i64,
    pub(crate) expires_boot_ms: i64,
}

impl BoundRecord {
    /// The MAC in hex.
    pub(crate) fn mac(&self, keys: &Keys) -> Result<String, StoreError> {
        sign(keys, "fleetwatch proposal 1", &self.to_value())
    }

    /// Every field by name: what the MAC covers, and the card's digest beside its facts.
    pub(crate) fn to_value(&self) -> Value {
        json!({
            "agent": self.agent, "arguments": self.arguments, "boot_id": self.boot_id, "expires_at": self.expires_at,
            "expires_boot_ms": self.expires_boot_ms, "fingerprint": self.fingerprint, "gates": self.gates,
            "number": self.number, "origin": self.origin, "policy_version": self.policy_version, "reason": self.reason,
            "referents": self.referents, "schema_version": self.schema_version, "slot": self.slot,
            "targets": self.targets, "tool": self.tool,
        })
    }
}

impl BoundApproval {
    /// The MAC in hex.
    pub(crate) fn mac(&self, keys: &Keys) -> Result<String, StoreError> {
        sign(
            keys,
            "fleetwatch approval 1",
            &json!({
                "boot_id": self.boot_id, "digest": self.digest, "expires_at": self.expires_at,
                "expires_boot_ms": self.expires_boot_ms, "id": self.id, "principal": self.principal,
                "proposal_mac": self.proposal_mac, "session": self.session, "surface": self.surface,
            }),
        )
    }
}

fn sign(keys: &Keys, domain: &'static str, value: &Value) -> Result<String, StoreError> {
    let text = Canonical::from_value(value).map_err(|e| StoreError::Corrupt(format!("bound record: {e}")))?;
    let mac = crate::mac::sign(&keys.binding, domain, &[keys.store_id.as_bytes(), text.as_str().as_bytes()])?;
    Ok(hex(&mac))
}
