//! Who is signed in on the page: the launch secret, the sessions, and the tokens of their forms.

mod waits;

pub(super) use waits::Waits;

use crate::desk::{Person, Surface, Viewer};
use host::clock::Clock;
use host::files::{FileError, create_private};
use host::secret::{Key32, RandomError, SecretText, random_token, same};
use protocol::ids::ProposalNumber;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// The cookie's name.
pub(super) const COOKIE: &str = "fleetwatch_approve";
/// Most sessions; one more drops the oldest.
const SESSIONS: usize = 20;
/// Longest life of a session, in milliseconds.
const LIFE_MS: i64 = 12 * 3_600 * 1_000;
/// Longest time without a request, in milliseconds.
const IDLE_MS: i64 = 30 * 60 * 1_000;
/// The file in the state folder that holds the launch secret.
const SECRET_FILE: &str = "page-secret";

/// The secret of this start: 32 random bytes, in a 0600 file, never in a URL, a log or an answer.
#[derive(Debug)]
pub(super) struct LaunchSecret {
    secret: SecretText,
    path: PathBuf,
}

/// Why there is no launch secret.
#[derive(Debug)]
pub(super) enum SecretError {
    File(FileError),
    Random(RandomError),
    Stale(PathBuf, io::Error),
}

impl LaunchSecret {
    /// Makes the secret of this start and its file; a stale file is replaced.
    pub(super) fn make(state_dir: &Path) -> Result<Self, SecretError> {
        let path = state_dir.join(SECRET_FILE);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(SecretError::Stale(path, error)),
            Ok(()) | Err(_) => {}
        }
        let secret = random_token().map_err(SecretError::Random)?;
        let line = Zeroizing::new(format!("{}\n", secret.expose()));
        create_private(&path, line.as_bytes()).map_err(SecretError::File)?;
        Ok(Self { secret, path })
    }

    /// Where it can be read.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this is it, in constant time.
    pub(super) fn is(&self, entry: &str) -> bool {
        same(&sha256(entry.as_bytes()), &sha256(self.secret.expose().as_bytes()))
    }

    /// Takes the file away, at a clean stop.
    pub(super) fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the launch secret's file");
        }
    }
}

/// What a form may do. Each purpose has a token of its own, bound to the session and, where there is one, the proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Approve a change that is not disruptive.
    Approve(ProposalNumber),
    /// Approve a disruptive change, on the page that names the room.
    Confirm(ProposalNumber),
    /// Deny one.
    Deny(ProposalNumber),
    /// Deny all that wait.
    DenyAll,
    /// End the session.
    LogOut,
    /// Freeze everything.
    Freeze,
    /// Go on to the page that names the room.
    Review(ProposalNumber),
    /// Propose the undo of one that ran.
    Undo(ProposalNumber),
}

impl Purpose {
    fn text(self) -> String {
        match self {
            Self::Approve(number) => format!("approve|{number}"),
            Self::Confirm(number) => format!("confirm|{number}"),
            Self::Deny(number) => format!("deny|{number}"),
            Self::DenyAll => "deny-all".to_owned(),
            Self::LogOut => "log-out".to_owned(),
            Self::Freeze => "freeze".to_owned(),
            Self::Review(number) => format!("review|{number}"),
            Self::Undo(number) => format!("undo|{number}"),
        }
    }
}

/// The session that a request belongs to.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    /// Who, on the page, in this session.
    pub(super) viewer: Viewer,
    key: Arc<Key32>,
}

impl Inside {
    /// The token of one form.
    pub(super) fn token(&self, purpose: Purpose) -> String {
        let mac = crate::mac::sign(&self.key, "fleetwatch page form 1", &[purpose.text().as_bytes()]);
        mac.map(|mac| host::secret::hex(&mac)).unwrap_or_default()
    }

    /// Whether a posted token is that form's.
    pub(super) fn fits(&self, purpose: Purpose, token: &str) -> bool {
        let want = self.token(purpose);
        !want.is_empty() && same(want.as_bytes(), token.as_bytes())
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

// One browser that is signed in. Its id is kept as a digest.
#[derive(Debug)]
struct Session {
    inside: Inside,
    peer: Option<u32>,
    born_ms: i64,
    used_ms: i64,
}

/// Every session, oldest first.
#[derive(Debug)]
pub(super) struct Sessions {
    clock: Clock,
    open: Mutex<VecDeque<Session>>,
}

impl Sessions {
    /// None yet.
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, open: Mutex::new(VecDeque::new()) }
    }

    /// Signs `person` in from `peer`, and gives the `Set-Cookie` value. An old session of the same browser ends.
    pub(super) fn open(&self, person: Person, peer: Option<u32>, cookie: Option<&str>) -> Result<String, RandomError> {
        self.close(cookie);
        let id = random_token()?;
        let viewer = Viewer { person, surface: Surface::Page, session: sha256(id.expose().as_bytes()) };
        let inside = Inside { viewer, key: Arc::new(Key32::random()?) };
        let now = self.clock.boot_ms();
        let mut open = self.lock();
        if open.len() >= SESSIONS {
            open.pop_front();
        }
        open.push_back(Session { inside, peer, born_ms: now, used_ms: now });
        Ok(format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/", id.expose()))
    }

    /// The live session of a request's `Cookie` header, if it was opened from the same uid. The request counts as use.
    pub(super) fn find(&self, cookie: Option<&str>, peer: Option<u32>) -> Option<Inside> {
        self.look_up(cookie, peer, true)
    }

    /// The same for a request that a page may make by itself: it does not lengthen the session.
    pub(super) fn find_idle(&self, cookie: Option<&str>, peer: Option<u32>) -> Option<Inside> {
        self.look_up(cookie, peer, false)
    }

    fn look_up(&self, cookie: Option<&str>, peer: Option<u32>, used: bool) -> Option<Inside> {
        let hash = hash_of(cookie?)?;
        let now = self.clock.boot_ms();
        let mut open = self.lock();
        open.retain(|session| now - session.born_ms < LIFE_MS && now - session.used_ms < IDLE_MS);
        let session = open.iter_mut().find(|session| same(&session.inside.viewer.session, &hash))?;
        if session.peer != peer {
            return None;
        }
        if used {
            session.used_ms = now;
        }
        Some(session.inside.clone())
    }

    /// Ends the session of a cookie, if there is one.
    pub(super) fn close(&self, cookie: Option<&str>) {
        if let Some(hash) = cookie.and_then(hash_of) {
            self.lock().retain(|session| !same(&session.inside.viewer.session, &hash));
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The `Set-Cookie` value that makes the browser forget.
pub(super) fn no_cookie() -> String {
    format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
}

// Two cookies of our name: another port of this host planted one, and nothing says which is ours.
fn hash_of(header: &str) -> Option<[u8; 32]> {
    let ours = |pair: &'_ str| -> Option<[u8; 32]> {
        let (name, id) = pair.trim_matches(' ').split_once('=')?;
        (name == COOKIE).then(|| sha256(id.as_bytes()))
    };
    let mut found = header.split(';').filter_map(ours);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::clock::ManualClock;

    const PEER: Option<u32> = Some(1001);

    fn sessions() -> (Sessions, ManualClock) {
        let (clock, hand) = Clock::dangerous_manual(1_000, 5_000, "boot");
        (Sessions::new(clock), hand)
    }

    fn ana() -> Person {
        Person::dangerous_made_up("ana", 1001)
    }

    // What a browser sends back for a Set-Cookie value.
    fn sent(set_cookie: &str) -> String {
        set_cookie.split(';').next().unwrap().to_owned()
    }

    fn open(sessions: &Sessions) -> String {
        sent(&sessions.open(ana(), PEER, None).unwrap())
    }

    #[test]
    fn the_cookie_is_strict_and_opens_its_own_session_alone() {
        let (sessions, _) = sessions();
        let set = sessions.open(ana(), PEER, None).unwrap();
        assert!(set.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{set}");
        let cookie = sent(&set);
        assert_eq!(cookie.len(), COOKIE.len() + 1 + 43);
        let inside = sessions.find(Some(&format!("a=b; {cookie}; c=d")), PEER).unwrap();
        assert_eq!(inside.viewer.person, ana());
        assert_eq!(inside.viewer.surface, Surface::Page);
        for wrong in [None, Some(""), Some("fleetwatch_approve="), Some("fleetwatch_approve=x"), Some("x")] {
            assert!(sessions.find(wrong, PEER).is_none(), "{wrong:?}");
        }
        assert!(sessions.find(Some(&format!("{cookie}x")), PEER).is_none());
        assert!(sessions.find(Some(&format!("{cookie}; fleetwatch_approve=planted")), PEER).is_none());
    }

    #[test]
    fn another_user_with_the_same_cookie_is_nobody() {
        let (sessions, _) = sessions();
        let cookie = open(&sessions);
        assert!(sessions.find(Some(&cookie), Some(1002)).is_none());
        assert!(sessions.find(Some(&cookie), None).is_none());
        assert!(sessions.find(Some(&cookie), PEER).is_some());
    }

    #[test]
    fn a_session_ends_after_thirty_idle_minutes_and_after_twelve_hours() {
        let (sessions, hand) = sessions();
        let (idle, used) = (open(&sessions), open(&sessions));
        hand.advance(29 * 60);
        assert!(sessions.find(Some(&used), PEER).is_some());
        hand.advance(60);
        assert!(sessions.find(Some(&idle), PEER).is_none());
        // A wall clock that is set back lengthens nothing.
        hand.step_wall(-40_000);
        for _ in 0..27 {
            hand.advance(25 * 60);
            sessions.find(Some(&used), PEER);
        }
        assert!(sessions.find(Some(&used), PEER).is_some());
        hand.advance(20 * 60);
        assert!(sessions.find(Some(&used), PEER).is_none());
    }

    #[test]
    fn what_a_page_asks_by_itself_keeps_no_session_alive() {
        let (sessions, hand) = sessions();
        let cookie = open(&sessions);
        for _ in 0..29 {
            hand.advance(60);
            assert!(sessions.find_idle(Some(&cookie), PEER).is_some());
        }
        hand.advance(60);
        assert!(sessions.find_idle(Some(&cookie), PEER).is_none());
    }

    #[test]
    fn the_twenty_first_session_drops_the_oldest() {
        let (sessions, _) = sessions();
        let cookies: Vec<String> = (0..21).map(|_| open(&sessions)).collect();
        assert!(sessions.find(Some(&cookies[0]), PEER).is_none());
        assert!(sessions.find(Some(&cookies[1]), PEER).is_some());
        assert!(sessions.find(Some(&cookies[20]), PEER).is_some());
    }

    #[test]
    fn signing_in_again_and_signing_out_end_the_old_session() {
        let (sessions, _) = sessions();
        let first = open(&sessions);
        let second = sent(&sessions.open(ana(), PEER, Some(&first)).unwrap());
        assert!(sessions.find(Some(&first), PEER).is_none());
        sessions.close(Some(&second));
        assert!(sessions.find(Some(&second), PEER).is_none());
    }

    #[test]
    fn a_token_fits_one_purpose_one_proposal_and_one_session() {
        let (sessions, _) = sessions();
        let [one, other] = [open(&sessions), open(&sessions)].map(|c| sessions.find(Some(&c), PEER).unwrap());
        let (seven, eight) = (ProposalNumber::new(7).unwrap(), ProposalNumber::new(8).unwrap());
        let token = one.token(Purpose::Deny(seven));
        assert_eq!(token.len(), 64);
        assert!(one.fits(Purpose::Deny(seven), &token));
        assert!(!other.fits(Purpose::Deny(seven), &token));
        for purpose in [
            Purpose::Approve(seven),
            Purpose::Confirm(seven),
            Purpose::Review(seven),
            Purpose::Undo(seven),
            Purpose::Freeze,
            Purpose::Deny(eight),
            Purpose::DenyAll,
            Purpose::LogOut,
        ] {
            assert!(!one.fits(purpose, &token), "{purpose:?}");
        }
        assert!(!one.fits(Purpose::Deny(seven), ""));
    }

    #[test]
    fn the_launch_secret_is_in_a_private_file_that_a_clean_stop_removes() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let outside = folder.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        std::os::unix::fs::symlink(&outside, folder.path().join(SECRET_FILE)).unwrap();
        let secret = LaunchSecret::make(folder.path()).unwrap();
        let text = std::fs::read_to_string(secret.path()).unwrap();
        assert_eq!(text.trim_end().len(), 43);
        assert_eq!(std::fs::metadata(secret.path()).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "kept");
        assert!(secret.is(text.trim_end()));
        assert!(!secret.is(&text));
        assert!(!secret.is(""));
        let next = LaunchSecret::make(folder.path()).unwrap();
        assert!(!next.is(text.trim_end()));
        next.remove();
        assert!(!next.path().exists());
    }
}
