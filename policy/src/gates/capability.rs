//! Gate 3: can the target do this now? Kind of unit, online, destination and event.

use super::evidence::Notes;
use crate::call::{CheckedCall, Tool};
use crate::fingerprint::{destination_of, device_of, named_event};
use crate::observed::{Device, Observed, StreamDestination};
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};

pub(super) fn check(call: &CheckedCall, observed: &Observed, notes: &mut Notes) -> Result<(), Refusal> {
    for target in call.targets() {
        let device = device_of(&observed.team, &target.master)?;
        notes.add(&format!("model of {}", device.id), &device.model);
        notes.add(&format!("online {}", device.id), if device.online { "yes" } else { "no" });
        check_unit(call.tool(), device)?;
    }
    if call.stream_id().is_some() {
        let destination = destination_of(call, observed)?;
        note_destination(destination, notes);
        check_lock(call, destination)?;
    }
    if let Some(event) = named_event(call, observed)? {
        notes.add("event title", &event.title);
    }
    Ok(())
}

fn check_unit(tool: Tool, device: &Device) -> Result<(), Refusal> {
    let on_camera = match tool {
        Tool::FirmwareUpdate | Tool::Reboot => true,
        Tool::ConfirmEvent | Tool::Recording | Tool::StartStream | Tool::StopStream => false,
    };
    if device.is_camera() && !on_camera && stands(RefusalCode::NotCapable) {
        let detail = format!("unit {} is an EC20 camera; it can only be restarted or updated", device.id);
        return Err(Refusal::new(RefusalCode::NotCapable, &detail));
    }
    if !device.online && stands(RefusalCode::TargetOffline) {
        return Err(Refusal::new(RefusalCode::TargetOffline, &format!("unit {}", device.id)));
    }
    Ok(())
}

fn note_destination(destination: &StreamDestination, notes: &mut Notes) {
    notes.add("destination", &destination.name);
    notes.add("destination host", &destination.host);
    notes.add("held by", destination.locked_by.as_deref().unwrap_or("nobody"));
}

/// A destination that one of our own targets holds is not in use by another (`locked_by` may name its channel). A stop is
/// held to it too: what another unit streams is not for a stop in this room to end (`issue line 2.1`).
fn check_lock(call: &CheckedCall, destination: &StreamDestination) -> Result<(), Refusal> {
    let Some(holder) = destination.locked_by.as_deref().map(str::trim).filter(|holder| !holder.is_empty()) else {
        return Ok(());
    };
    let lower = holder.to_ascii_lowercase();
    let unit = lower.split_once('-').map_or(lower.as_str(), |(unit, _)| unit);
    let ours = call.targets().iter().all(|target| target.master.as_str() == unit);
    if ours || !stands(RefusalCode::StreamLocked) {
        return Ok(());
    }
    Err(Refusal::new(RefusalCode::StreamLocked, &format!("destination {} is held by {holder}", destination.id)))
}
