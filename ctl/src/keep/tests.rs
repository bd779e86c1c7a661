use super::*;
use crate::testing::{self, Paper, Screen};
use protocol::refusal::{Refusal, RefusalCode};
use std::os::unix::fs::PermissionsExt;

const PIN: &str = "4711471147";

fn parts(content: Vec<u8>, claimed: u64) -> impl Fn(&OperatorSays) -> Option<ExecutorSays> + Send + 'static {
    move |say| {
        let OperatorSays::Backup { offset } = say else { return None };
        let rest = &content[usize::try_from(*offset).unwrap()..];
        Some(ExecutorSays::BackupPart { total: claimed, bytes: rest[..rest.len().min(100_000)].to_vec() })
    }
}

#[tokio::test]
async fn a_backup_is_the_executors_bytes_in_a_new_private_file() {
    let run = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..250_000_u32).map(|i| i.to_le_bytes()[0]).collect();
    testing::executor(run.path(), parts(content.clone(), 250_000));
    let (paper, path) = (Paper::default(), run.path().join("b.db"));
    assert_eq!(backup(&testing::session(run.path()), &mut paper.out(), &path, false).await, Exit::Done);
    assert_eq!(std::fs::read(&path).unwrap(), content);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let text = paper.text();
    assert!(text.contains("244 KiB") && text.contains("audit.key") && text.contains("is not in it"), "{text}");
    // A second one does not take the first one's place.
    assert_eq!(backup(&testing::session(run.path()), &mut paper.out(), &path, false).await, Exit::Wrong);
    assert_eq!(std::fs::read(&path).unwrap(), content);
}

#[tokio::test]
async fn half_a_backup_leaves_no_file() {
    for (content, claimed) in [(vec![1; 10], 11), (vec![1; 10], 9), (Vec::new(), 0)] {
        let run = tempfile::tempdir().unwrap();
        testing::executor(run.path(), parts(content, claimed));
        let path = run.path().join("b.db");
        assert_eq!(backup(&testing::session(run.path()), &mut Paper::default().out(), &path, false).await, Exit::Wrong);
        assert!(!path.exists(), "{claimed}");
    }
}

async fn restored(
    bytes: &[u8],
    last: impl Fn() -> Option<ExecutorSays> + Send + 'static,
) -> (Exit, Vec<OperatorSays>, String) {
    let run = tempfile::tempdir().unwrap();
    let (whole, taken) = (bytes.len(), std::sync::atomic::AtomicUsize::new(0));
    let heard = testing::executor(run.path(), move |say| {
        let OperatorSays::Restore { bytes, .. } = say else { return None };
        let before = taken.fetch_add(bytes.len(), std::sync::atomic::Ordering::SeqCst);
        if before + bytes.len() < whole { Some(ExecutorSays::RestorePart) } else { last() }
    });
    let (screen, paper) = (Screen::new(), Paper::default());
    screen.answer("(Ctrl-C: no): ", &format!("{PIN}\r"));
    let exit = restore_at(&testing::session(run.path()), (&mut paper.out(), false), bytes, screen.terminal()).await;
    assert!(screen.text().contains("stops for it") && !screen.text().contains(PIN), "{}", screen.text());
    let heard = heard.lock().unwrap().clone();
    (exit, heard, paper.text())
}

#[tokio::test]
async fn a_restore_sends_the_pin_once_and_every_byte_in_order() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|i| i.to_le_bytes()[1]).collect();
    let (exit, heard, text) = restored(&bytes, || Some(ExecutorSays::RestoreStaged)).await;
    assert_eq!(exit, Exit::Done, "{text}");
    let mut together = Vec::new();
    for (place, say) in heard.iter().enumerate() {
        let OperatorSays::Restore { pin, total, bytes } = say else { panic!("{say:?}") };
        assert_eq!((pin.is_some(), *total), (place == 0, 300_000));
        together.extend_from_slice(bytes);
    }
    assert_eq!((heard.len(), together == bytes), (3, true));
    for words in ["sent 100 % of 292 KiB", "starts again", "expires", "audit verify"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[tokio::test]
async fn a_refused_restore_is_exit_one_and_a_lost_one_is_not_known() {
    let refused = || Some(ExecutorSays::Refused(Refusal::bare(RefusalCode::WrongPin)));
    assert_eq!(restored(b"small", refused).await.0, Exit::Wrong);
    assert_eq!(restored(b"small", || None).await.0, Exit::Unknown);
}

#[test]
fn what_is_no_backup_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    assert!(read(&empty).unwrap_err().to_string().contains("empty"));
    assert!(read(folder.path()).unwrap_err().to_string().contains("no file"));
    read(&folder.path().join("none")).unwrap_err();
}
