//! `backup` and `restore`: the executor's database as one file, over `control.sock`. No key is in it.

use crate::client::{ClientError, Control};
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::newfile::{NewFile, NewFileError};
use crate::out::Out;
use crate::session::Session;
use crate::terminal::{Terminal, TerminalError, Typing};
use crate::verbs::{failed, not_done, not_known};
use control::message::{ExecutorSays, OperatorSays};
use control::pin::PinEntry;
use protocol::frame::MAX_FRAME;
use serde_json::json;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A part is half a frame at most.
const PART: usize = MAX_FRAME / 2;
/// The largest backup, in bytes, here and in the executor.
const MOST_BYTES: u64 = 1024 * 1024 * 1024;

#[derive(Debug)]
enum BackupError {
    Client(ClientError),
    File(NewFileError),
}

impl From<ClientError> for BackupError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<NewFileError> for BackupError {
    fn from(error: NewFileError) -> Self {
        Self::File(error)
    }
}

/// `backup`: a new 0600 file with a whole copy of the database.
pub(crate) async fn backup(session: &Session, out: &mut Out, path: &Path, json: bool) -> Exit {
    let saved = match Interrupts::watch() {
        // Ended from outside, it still leaves nothing behind.
        Ok(mut interrupts) => interrupts
            .or_done(saved(session, path))
            .await
            .unwrap_or_else(|| Err(NewFileError::Stopped(path.to_owned()).into())),
        Err(error) => Err(NewFileError::Io(path.to_owned(), error).into()),
    };
    match saved {
        Ok(bytes) if json => {
            out.json(&json!({ "file": path.to_string_lossy(), "bytes": bytes }));
            Exit::Done
        }
        Ok(bytes) => {
            out.line(&format!("The backup is {} ({}).", path.display(), size(bytes)));
            out.line(
                "audit.key, the key of the audit's signatures, is not in it: keep a copy of the executor's audit.key \
                 elsewhere. A restore needs it.",
            );
            Exit::Done
        }
        Err(BackupError::Client(error)) => failed(&error, out, json),
        Err(BackupError::File(error)) => not_done(("file", &error.to_string()), (out, json)),
    }
}

async fn saved(session: &Session, path: &Path) -> Result<u64, BackupError> {
    let mut control = Control::open(&session.places).await?;
    let mut file = NewFile::create(path)?;
    let (mut offset, mut whole) = (0, None);
    loop {
        let ExecutorSays::BackupPart { total, bytes } = control.ask(OperatorSays::Backup { offset }).await? else {
            return Err(Control::surprise().into());
        };
        let have = offset + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if *whole.get_or_insert(total) != total || have > total || (bytes.is_empty() && (have < total || total == 0)) {
            return Err(Control::surprise().into());
        }
        if bytes.is_empty() {
            file.finish()?;
            return Ok(total);
        }
        file.write(&bytes)?;
        offset = have;
    }
}

/// `restore`: stages a backup; the executor's next start takes it up.
pub(crate) async fn restore(session: &Session, out: &mut Out, path: &Path, json: bool) -> Exit {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let words = format!("nothing was restored: {}: {error}", path.display());
            return not_done(("file", &words), (out, json));
        }
    };
    match Terminal::open() {
        Ok(terminal) => restore_at(session, (out, json), &bytes, terminal).await,
        Err(error) => untyped(&error, out, json),
    }
}

fn untyped(error: &TerminalError, out: &mut Out, json: bool) -> Exit {
    not_done((error.code(), &format!("nothing was restored: {error}")), (out, json))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("this is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).unwrap_or(u64::MAX) {
        0 => Err(io::Error::other("the file is empty")),
        1..=MOST_BYTES => Ok(bytes),
        _ => Err(io::Error::other("a backup has at most 1 GiB")),
    }
}

async fn restore_at(session: &Session, (out, json): (&mut Out, bool), bytes: &[u8], mut terminal: Terminal) -> Exit {
    let warning = "\
A restore puts this backup in the place of the executor's database. The executor stops for it; a service manager
starts it again. What waits or is approved then expires, and what has run since stays spent.\r\n";
    let pin = match asked(&mut terminal, warning).await {
        Ok(pin) => pin,
        Err(error) => return untyped(&error, out, json),
    };
    let mut sent = 0;
    match staged(session, (&mut *out, json), (bytes, pin), &mut sent).await {
        Ok(()) if json => {
            out.json(&json!({ "staged": true, "bytes": bytes.len() }));
            Exit::Done
        }
        Ok(()) => {
            out.line(
                "The backup is checked and staged. The executor stops now and takes it up when it starts again; a \
                 service manager starts it, else start it yourself. What waited then expires. After that run \
                 fleetwatchctl status and fleetwatchctl audit verify.",
            );
            Exit::Done
        }
        Err(error) if sent == bytes.len() && !matches!(error, ClientError::Refused(_)) => {
            let words = format!(
                "{error}. The whole backup was sent and may be staged: start the executor and run fleetwatchctl status"
            );
            not_known(("lost", &words), (out, json))
        }
        Err(error) => failed(&error, out, json),
    }
}

async fn asked(terminal: &mut Terminal, warning: &str) -> Result<PinEntry, TerminalError> {
    terminal.show(&warning.replace("\r\n", "\n").replace('\n', "\r\n"))?;
    Ok(PinEntry::new(terminal.ask("Your PIN, to restore it (Ctrl-C: no): ", Typing::Hidden).await?))
}

async fn staged(
    session: &Session,
    (out, json): (&mut Out, bool),
    (bytes, pin): (&[u8], PinEntry),
    sent: &mut usize,
) -> Result<(), ClientError> {
    let mut control = Control::open(&session.places).await?;
    let total = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let (mut pin, mut tenth) = (Some(pin), 0);
    for part in bytes.chunks(PART) {
        *sent += part.len();
        let say = OperatorSays::Restore { pin: pin.take(), total, bytes: part.to_vec() };
        let last = *sent == bytes.len();
        match (control.ask(say).await?, last) {
            (ExecutorSays::RestorePart, false) | (ExecutorSays::RestoreStaged, true) => {}
            _ => return Err(Control::surprise()),
        }
        let now = *sent * 10 / bytes.len();
        if now > tenth && bytes.len() > PART && !json {
            tenth = now;
            out.line(&format!("  sent {} % of {}", now * 10, size(total)));
        }
    }
    Ok(())
}

/// Bytes as a person reads them.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{} MiB", bytes / 1_048_576),
    }
}

#[cfg(test)]
mod tests;
