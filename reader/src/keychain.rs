//! The login keychain of macOS, through the system's own program: for one user who is logged in (issue line 3.3).
//!
//! A sign-in is longer than a line of that program may be, so it lies in parts, on one of two sides. A header names the
//! side, the size and the digest, and is written last: a write that stops half-way leaves what was there before.
//! Commands go through standard input, what is secret in them as hex; nothing secret is an argument.

use crate::token::Which;
use host::secret::{SecretText, hex};
use policy::call::Slot;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use zeroize::{Zeroize, Zeroizing};

const PROGRAM: &str = "/usr/bin/security";
/// Longest time for one load, save or removal, however many calls of the program it takes; what a save leaves behind is
/// taken away afterwards, in as long again.
const LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a sign-in in one item: as hex they fit into the 4095 bytes that the program reads as one line.
const PART: usize = 1_500;
/// Longest sign-in, in bytes; a file's limit too.
const LONGEST: usize = 64 * 1024;
/// Most that is read of one answer, in bytes.
const ANSWER: usize = 4_096;
/// A header that changes this often while it is read is not waited for.
const LOOKS: u8 = 3;
const VERSION: &str = "1";

/// Why the keychain does not keep or give a sign-in. No error holds any of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeychainError {
    /// The program ended with this code, or by a signal.
    Failed(Option<i32>),
    /// The program took too long, as when it waits for a person.
    Late,
    /// It is locked, or it does not let this user.
    Locked,
    /// There is no keychain.
    NoKeychain,
    /// The program could not be run.
    NotRun(std::io::ErrorKind),
    /// The sign-in is too long for it.
    TooLong,
    /// The items under this name are not one whole sign-in.
    Unusable(String),
}

impl fmt::Display for KeychainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(Some(code)) => write!(f, "the keychain's program {PROGRAM} ended with {code}; try again"),
            Self::Failed(None) => write!(f, "the keychain's program {PROGRAM} was ended by a signal; try again"),
            Self::Late => write!(
                f,
                "the keychain did not answer for {} s; look whether it asks for a password on the screen, and try again",
                LIMIT.as_secs()
            ),
            Self::Locked => f.write_str("the keychain is locked or refused; unlock the login keychain, and try again"),
            Self::NoKeychain => {
                f.write_str("this user has no keychain; log in at the screen, or take FLEETWATCH_TOKEN_STORE away")
            }
            Self::NotRun(kind) => write!(f, "the keychain's program {PROGRAM} could not be run: {kind}"),
            Self::TooLong => write!(f, "the sign-in is longer than {LONGEST} bytes and is not kept"),
            Self::Unusable(service) => write!(
                f,
                "the keychain's items {service} are not one whole sign-in; delete all whose names begin so in Keychain Access, and run fleetwatchctl login anew"
            ),
        }
    }
}

impl std::error::Error for KeychainError {}

/// Where one slot's sign-in lies in the keychain. No two slots share an item, and no item is the simulator's and a team's.
pub(crate) struct Keychain {
    program: PathBuf,
    /// What the names of all its items begin with.
    service: String,
    account: &'static str,
    limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    A,
    B,
}

impl Side {
    fn letter(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What is said of the parts.
#[derive(Clone, PartialEq, Eq)]
struct Header {
    side: Side,
    bytes: usize,
    digest: String,
}

impl Header {
    fn of(side: Side, secret: &[u8]) -> Self {
        Self { side, bytes: secret.len(), digest: hex(&Sha256::digest(secret)) }
    }

    fn text(&self) -> String {
        format!("{VERSION} {} {} {} {}", self.side.letter(), self.count(), self.bytes, self.digest)
    }

    fn count(&self) -> usize {
        self.bytes.div_ceil(PART)
    }

    // Only what `text` writes, letter for letter.
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<_> = text.split(' ').collect();
        let [_, side, _, bytes, digest] = words.as_slice() else { return None };
        let side = if *side == Side::A.letter() { Side::A } else { Side::B };
        let read = Self { side, bytes: bytes.parse().ok()?, digest: (*digest).to_owned() };
        let whole = (1..=LONGEST).contains(&read.bytes) && read.digest.len() == 64 && read.text() == text;
        whole.then_some(read)
    }
}

/// What the program answered.
enum Answer {
    Given(Zeroizing<Vec<u8>>),
    NotThere,
}

impl Keychain {
    /// The items of one slot.
    pub(crate) fn of(which: Which, slot: Slot) -> Self {
        Self::through(Path::new(PROGRAM), which, slot)
    }

    /// The same through a program that understands what `security` does.
    pub(crate) fn through(program: &Path, which: Which, slot: Slot) -> Self {
        let server = match slot {
            Slot::Sandbox => "epiphan",
            Slot::Sim => "sim",
        };
        let service = format!("fleetwatch-{server}-{}", which.as_str());
        Self { program: program.to_owned(), service, account: which.as_str(), limit: LIMIT }
    }

    pub(crate) fn unusable(&self) -> KeychainError {
        KeychainError::Unusable(self.service.clone())
    }

    /// The sign-in; nothing when none was kept.
    pub(crate) async fn load(&self) -> Result<Option<SecretText>, KeychainError> {
        self.within(self.whole()).await
    }

    /// The same for a caller that cannot wait otherwise; the thread stands still meanwhile.
    pub(crate) fn load_now(&self) -> Result<Option<SecretText>, KeychainError> {
        let look = || {
            let own = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(not_run)?;
            own.block_on(self.load())
        };
        // A runtime cannot begin inside another one's thread.
        std::thread::scope(|scope| scope.spawn(look).join().unwrap_or(Err(KeychainError::Failed(None))))
    }

    /// Keeps a sign-in in the place of what was there, which stays when this fails.
    pub(crate) async fn save(&self, secret: &[u8]) -> Result<(), KeychainError> {
        let side = self.within(self.put(secret)).await?;
        if let Err(error) = self.within(self.clear(side.other())).await {
            tracing::warn!(%error, "the sign-in before this one is still in the keychain");
        }
        Ok(())
    }

    /// Takes the sign-in away; none is fine.
    pub(crate) async fn remove(&self) -> Result<(), KeychainError> {
        self.within(async {
            self.delete(&self.service).await?;
            self.clear(Side::A).await?;
            self.clear(Side::B).await
        })
        .await
    }

    async fn within<T>(&self, act: impl Future<Output = Result<T, KeychainError>>) -> Result<T, KeychainError> {
        tokio::time::timeout(self.limit, act).await.unwrap_or(Err(KeychainError::Late))
    }

    async fn whole(&self) -> Result<Option<SecretText>, KeychainError> {
        let mut seen = None;
        for _ in 0..LOOKS {
            let Some(header) = self.header().await? else { return Ok(None) };
            // The same header once more: nobody is writing, it is broken.
            if seen.as_ref() == Some(&header) {
                break;
            }
            match self.secret(&header).await {
                Ok(secret) => return self.text(secret).map(Some),
                Err(KeychainError::Unusable(_)) => seen = Some(header),
                Err(error) => return Err(error),
            }
        }
        Err(self.unusable())
    }

    async fn put(&self, secret: &[u8]) -> Result<Side, KeychainError> {
        if secret.is_empty() || secret.len() > LONGEST {
            return Err(KeychainError::TooLong);
        }
        let side = match self.header().await {
            Ok(Some(header)) => header.side.other(),
            Ok(None) | Err(KeychainError::Unusable(_)) => Side::A,
            Err(error) => return Err(error),
        };
        for (number, part) in secret.chunks(PART).enumerate() {
            self.add(&self.part(side, number), part).await?;
        }
        let header = Header::of(side, secret);
        self.secret(&header).await?;
        let added = self.add(&self.service, header.text().as_bytes()).await;
        // What is there now counts, not what the program said of it.
        if self.header().await? == Some(header) {
            return Ok(side);
        }
        added.and_then(|()| Err(self.unusable()))
    }

    async fn header(&self) -> Result<Option<Header>, KeychainError> {
        let Answer::Given(answer) = self.find(&self.service).await? else { return Ok(None) };
        // It has blanks, so it is never hex by itself.
        let plain = unhex(&answer).unwrap_or(answer);
        let text = std::str::from_utf8(&plain).map_err(|_| self.unusable())?;
        Header::parse(text).map(Some).ok_or_else(|| self.unusable())
    }

    async fn secret(&self, header: &Header) -> Result<Zeroizing<Vec<u8>>, KeychainError> {
        let mut secret = Zeroizing::new(Vec::with_capacity(header.bytes));
        for number in 0..header.count() {
            let Answer::Given(answer) = self.find(&self.part(header.side, number)).await? else {
                return Err(self.unusable());
            };
            let length = PART.min(header.bytes - number * PART);
            // The program gives text as it is and everything else as hex; only the length tells one from the other.
            let part = match answer.len() {
                found if found == length => answer,
                found if found == 2 * length => unhex(&answer).ok_or_else(|| self.unusable())?,
                _ => return Err(self.unusable()),
            };
            secret.extend_from_slice(&part);
        }
        if hex(&Sha256::digest(&*secret)) != header.digest {
            return Err(self.unusable());
        }
        Ok(secret)
    }

    fn text(&self, mut secret: Zeroizing<Vec<u8>>) -> Result<SecretText, KeychainError> {
        String::from_utf8(std::mem::take(&mut *secret)).map(SecretText::from).map_err(|error| {
            error.into_bytes().zeroize();
            self.unusable()
        })
    }

    // The last one first: what an ended removal leaves is found again from the first on.
    async fn clear(&self, side: Side) -> Result<(), KeychainError> {
        let mut count = 0;
        while count < LONGEST.div_ceil(PART) && self.is_there(&self.part(side, count)).await? {
            count += 1;
        }
        for number in (0..count).rev() {
            self.delete(&self.part(side, number)).await?;
        }
        Ok(())
    }

    fn part(&self, side: Side, number: usize) -> String {
        format!("{}.part-{}{number}", self.service, side.letter())
    }

    async fn add(&self, item: &str, value: &[u8]) -> Result<(), KeychainError> {
        let mut line = Zeroizing::new(String::with_capacity(ANSWER));
        line.push_str(&format!("add-generic-password -U -a {} -s {item} -X ", self.account));
        for byte in value {
            for half in [byte >> 4, byte & 15] {
                line.push(char::from(b"0123456789abcdef"[usize::from(half)]));
            }
        }
        line.push('\n');
        match self.say(&line, false).await? {
            Answer::Given(_) => Ok(()),
            Answer::NotThere => Err(KeychainError::NoKeychain),
        }
    }

    async fn find(&self, item: &str) -> Result<Answer, KeychainError> {
        self.say(&format!("find-generic-password -a {} -s {item} -w\n", self.account), true).await
    }

    async fn is_there(&self, item: &str) -> Result<bool, KeychainError> {
        let answer = self.say(&format!("find-generic-password -a {} -s {item}\n", self.account), false).await?;
        Ok(matches!(answer, Answer::Given(_)))
    }

    async fn delete(&self, item: &str) -> Result<(), KeychainError> {
        self.say(&format!("delete-generic-password -a {} -s {item}\n", self.account), false).await.map(drop)
    }

    // One command for each run: the program ends with what its last command came to.
    async fn say(&self, line: &str, listen: bool) -> Result<Answer, KeychainError> {
        let mut command = Command::new(&self.program);
        command.arg("-i").env_clear().current_dir("/").kill_on_drop(true);
        if let Some(home) = std::env::var_os("HOME") {
            command.env("HOME", home);
        }
        // What it says of errors could repeat the command.
        command.stdin(Stdio::piped()).stderr(Stdio::null());
        command.stdout(if listen { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(not_run)?;
        if let Some(mut input) = child.stdin.take() {
            // One that ended without reading says why by its code.
            let _read = input.write_all(line.as_bytes()).await;
        }
        // It never grows, so no copy stays behind.
        let mut answer = Zeroizing::new(Vec::with_capacity(ANSWER + 64));
        if let Some(output) = child.stdout.take() {
            let most = u64::try_from(ANSWER + 1).unwrap_or(u64::MAX);
            output.take(most).read_to_end(&mut answer).await.map_err(not_run)?;
        }
        if answer.len() > ANSWER {
            return Err(self.unusable());
        }
        if answer.last() == Some(&b'\n') {
            answer.pop();
        }
        answer_of(child.wait().await.map_err(not_run)?.code(), answer)
    }
}

impl fmt::Debug for Keychain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keychain").field("service", &self.service).finish_non_exhaustive()
    }
}

// A code is the lowest byte of the system's own number for the error.
fn answer_of(code: Option<i32>, answer: Zeroizing<Vec<u8>>) -> Result<Answer, KeychainError> {
    match code {
        Some(0) => Ok(Answer::Given(answer)),
        Some(44) => Ok(Answer::NotThere),
        // Nobody may be asked; the password was wrong; the person said no.
        Some(36 | 51 | 128) => Err(KeychainError::Locked),
        Some(37 | 50) => Err(KeychainError::NoKeychain),
        other => Err(KeychainError::Failed(other)),
    }
}

fn not_run(error: impl Into<std::io::Error>) -> KeychainError {
    KeychainError::NotRun(error.into().kind())
}

fn unhex(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    if text.is_empty() || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 2));
    for pair in text.chunks_exact(2) {
        let [high, low] = pair else { return None };
        bytes.push(digit(*high)? << 4 | digit(*low)?);
    }
    Some(bytes)
}

#[cfg(test)]
pub(crate) mod tests;
