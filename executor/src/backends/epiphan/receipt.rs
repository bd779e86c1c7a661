//! The receipt: what the device reports right after the write, recorded beside the outcome. It proves nothing and changes
//! nothing; state may lag behind a command.

use crate::app::App;
use policy::call::{CheckedCall, Tool};
use std::time::Duration;

/// How long the read-back may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// One read-back in a sentence, or that there was none.
pub(crate) async fn read_back(app: &App, call: &CheckedCall) -> String {
    match tokio::time::timeout(PATIENCE, read(app, call)).await {
        Ok(Some(text)) => text,
        Ok(None) | Err(_) => "read back: the device could not be read after the write".to_owned(),
    }
}

async fn read(app: &App, call: &CheckedCall) -> Option<String> {
    let target = call.targets().first()?;
    match call.tool() {
        Tool::Recording => {
            let recorders = app.reads().ok()?.recorders(std::slice::from_ref(&target.master)).await.ok()?;
            let channel = target.channel.as_ref()?;
            let word = recorders.get(&target.master)?.get(channel)?.as_str();
            Some(format!("read back: channel {channel} is {word}"))
        }
        Tool::ConfirmEvent | Tool::FirmwareUpdate | Tool::Reboot | Tool::StartStream | Tool::StopStream => {
            let team = app.reads().ok()?.team().await.ok()?;
            let device = team.device(&target.master)?;
            let online = if device.online { "online" } else { "offline" };
            let streaming = device
                .channels
                .iter()
                .flatten()
                .flat_map(|channel| &channel.publishers)
                .filter(|publisher| publisher.active)
                .count();
            Some(format!("read back: the unit is {online}, firmware {}, streams on: {streaming}", device.firmware))
        }
    }
}
