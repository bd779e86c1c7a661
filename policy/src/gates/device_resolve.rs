//! Gate 2: does every target exist on the list that was just read, and the named channel on its unit?

use super::evidence::Notes;
use crate::call::CheckedCall;
use crate::fingerprint::{channel_of, device_of};
use crate::observed::Observed;
use protocol::refusal::Refusal;

pub(super) fn check(call: &CheckedCall, observed: &Observed, notes: &mut Notes) -> Result<(), Refusal> {
    notes.add("units on the list", &observed.team.devices.len().to_string());
    for target in call.targets() {
        let device = device_of(&observed.team, &target.master)?;
        notes.add(&format!("unit {}", target.master), &device.name);
        if let Some(channel) = &target.channel {
            notes.add(&format!("channel {channel}"), &channel_of(device, channel)?.name);
        }
    }
    Ok(())
}
