//! What the watcher knows. The assistant does the work, because it alone may read the fleet; here are only files and words.

mod anonymous;

use crate::cli::DigestArgs;
use crate::client::{Asking, ClientError};
use crate::exit::Exit;
use crate::newfile::NewFile;
use crate::out::{Out, complain};
use crate::render::{self, pick};
use crate::session::Session;
use crate::verbs::failed;
use protocol::ask::{AskerSays, AssistantSays, PART, READINGS};
use protocol::refusal::Refusal;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Most bytes of one capture.
const MOST: usize = 8 * 1024 * 1024;

/// The readings by tool.
type Files = BTreeMap<&'static str, Vec<u8>>;

/// `digest`, with its two other forms.
pub(crate) async fn digest(session: &Session, out: &mut Out, args: &DigestArgs) -> Exit {
    match (&args.capture, &args.replay) {
        (Some(folder), _) => capture(session, out, (folder, args.anonymous), args.json).await,
        (None, Some(folder)) => replay(session, out, folder, args.json).await,
        (None, None) => report(session, out, AskerSays::Digest { language: session.language }, args.json).await,
    }
}

/// `history`.
pub(crate) async fn history(session: &Session, out: &mut Out, days: u16, json: bool) -> Exit {
    report(session, out, AskerSays::History { days, language: session.language }, json).await
}

async fn report(session: &Session, out: &mut Out, say: AskerSays, json: bool) -> Exit {
    let heard = async {
        let mut asking = Asking::open(&session.places).await?;
        asking.say(say).await?;
        reported(&mut asking).await
    };
    match heard.await {
        Ok((text, good, over)) => {
            told(session, out, (&text, good), json);
            match over {
                Some(refusal) => {
                    complain(&render::refusal(&refusal, session.language));
                    Exit::of_refusal(&refusal)
                }
                None if good => Exit::Done,
                None => Exit::Wrong,
            }
        }
        Err(error) => failed(&error, out, json),
    }
}

fn told(session: &Session, out: &mut Out, (text, good): (&str, bool), json: bool) {
    if json {
        out.json(&json!({ "text": text, "good": good }));
    } else {
        out.text(&render::answer(text, session.columns));
    }
}

// The text, whether it is of the newest look, and behind it why there will be no newer one.
async fn reported(asking: &mut Asking) -> Result<(String, bool, Option<Refusal>), ClientError> {
    let (mut report, mut over) = (None, None);
    loop {
        let say = asking.hear().await?;
        if let AssistantSays::Report { text, good } = say {
            report = Some((text, good));
        } else if let (AssistantSays::Refused(refusal), true) = (&say, report.is_some()) {
            over = Some(refusal.clone());
        } else if say == AssistantSays::Done {
            return report.map(|(text, good)| (text, good, over)).ok_or_else(Asking::surprise);
        } else {
            return Err(Asking::unexpected(say));
        }
    }
}

// Nothing is made before everything has come.
async fn capture(session: &Session, out: &mut Out, (folder, anonymous): (&Path, bool), json: bool) -> Exit {
    if folder.symlink_metadata().is_ok() {
        complain(&format!("{} is there already and stays as it is; give a name that is not taken", folder.display()));
        return Exit::Wrong;
    }
    match captured(session).await {
        Ok(files) => match kept(folder, files, anonymous) {
            Ok(files) => {
                let names: Vec<String> = files.keys().map(|tool| format!("{tool}.json")).collect();
                if json {
                    out.json(&json!({ "folder": folder.display().to_string(), "files": names }));
                } else {
                    let title = pick(session.language, "Written to", "Escrito en");
                    out.line(&format!("{title} {}: {}", render::safe(&folder.display().to_string()), names.join(", ")));
                }
                Exit::Done
            }
            Err(error) => {
                complain(&error);
                Exit::Wrong
            }
        },
        Err(error) => failed(&error, out, json),
    }
}

fn kept(folder: &Path, files: Files, anonymous: bool) -> Result<Files, String> {
    let files = if anonymous { anonymous::anonymous(files)? } else { files };
    written(folder, &files).map(|()| files)
}

async fn captured(session: &Session) -> Result<Files, ClientError> {
    let mut asking = Asking::open(&session.places).await?;
    asking.say(AskerSays::Capture).await?;
    let (mut files, mut whole, mut size) = (Files::new(), 0, 0_usize);
    loop {
        let say = asking.hear().await?;
        if let AssistantSays::CapturePart { tool, bytes, last } = say {
            // The name becomes a file's name, so only a known one is taken.
            let known = READINGS.into_iter().find(|known| *known == tool).ok_or_else(Asking::surprise)?;
            size = size.saturating_add(bytes.len());
            if size > MOST {
                return Err(Asking::surprise());
            }
            files.entry(known).or_default().extend_from_slice(&bytes);
            whole += usize::from(last);
        } else if say == AssistantSays::Done && whole > 0 && whole == files.len() {
            return Ok(files);
        } else {
            return Err(Asking::unexpected(say));
        }
    }
}

fn written(folder: &Path, files: &Files) -> Result<(), String> {
    let made = DirBuilder::new().mode(0o700).create(folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for (tool, bytes) in files {
        let mut file = NewFile::create(&file_of(folder, tool)).map_err(|error| error.to_string())?;
        file.write(bytes).and_then(|()| file.finish()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn file_of(folder: &Path, tool: &str) -> PathBuf {
    folder.join(format!("{tool}.json"))
}

async fn replay(session: &Session, out: &mut Out, folder: &Path, json: bool) -> Exit {
    let files = match read(folder) {
        Ok(files) => files,
        Err(error) => {
            complain(&error);
            return Exit::Wrong;
        }
    };
    match replayed(session, &files).await {
        Ok((text, good, _)) => {
            told(session, out, (&text, good), json);
            Exit::Done
        }
        Err(error) => failed(&error, out, json),
    }
}

// A file that is missing is a reading that failed; the assistant knows which of them it can do without.
fn read(folder: &Path) -> Result<Vec<(&'static str, Vec<u8>)>, String> {
    let (mut files, mut left) = (Vec::new(), MOST);
    for tool in READINGS {
        let path = file_of(folder, tool);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let mut bytes = Vec::new();
        let most = u64::try_from(left).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        left = left.checked_sub(bytes.len()).ok_or_else(|| "a capture has at most 8 MiB".to_owned())?;
        files.push((tool, bytes));
    }
    if files.is_empty() {
        return Err(format!("{} holds no reading, such as {}.json", folder.display(), READINGS[0]));
    }
    Ok(files)
}

async fn replayed(
    session: &Session,
    files: &[(&'static str, Vec<u8>)],
) -> Result<(String, bool, Option<Refusal>), ClientError> {
    let mut asking = Asking::open(&session.places).await?;
    for (tool, bytes) in files {
        for part in bytes.chunks(PART) {
            asking.say(AskerSays::ReplayPart { tool: (*tool).to_owned(), bytes: part.to_vec() }).await?;
            taken(&mut asking).await?;
        }
    }
    asking.say(AskerSays::Replay { language: session.language }).await?;
    reported(&mut asking).await
}

async fn taken(asking: &mut Asking) -> Result<(), ClientError> {
    let say = asking.hear().await?;
    if say == AssistantSays::Done { Ok(()) } else { Err(Asking::unexpected(say)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_capture_is_a_new_private_folder_that_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("capture");
        let files = BTreeMap::from([(READINGS[0], b"{}".to_vec()), (READINGS[2], b"[]".to_vec())]);
        written(&new, &files).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&new), mode(&file_of(&new, READINGS[0]))), (0o700, 0o600));
        assert_eq!(read(&new).unwrap(), files.into_iter().collect::<Vec<_>>());
        assert!(written(&new, &BTreeMap::new()).unwrap_err().contains("cannot make"));
    }

    #[test]
    fn a_folder_without_readings_or_with_too_much_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().contains("get_devices_in_my_team.json"));
        std::fs::write(file_of(folder.path(), READINGS[1]), vec![b' '; MOST + 1]).unwrap();
        assert_eq!(read(folder.path()).unwrap_err(), "a capture has at most 8 MiB");
    }
}
