//! Which pages a person may be sent to for signing in. A daemon's word alone shows no link: its host must be one that a
//! setting of this command names (issue line 3.1).

use policy::call::Slot;
use protocol::shown::Language;
use protocol::signin::LoginLink;
use std::env;
use std::fmt;
use std::net::Ipv4Addr;

const HOSTS: &str = "FLEETWATCH_LOGIN_HOSTS";
const SLOT: &str = "FLEETWATCH_SLOT";
/// Epiphan's regions (`go`, `eu`, `au`) are names below this one; the page may be a sibling of them (`facts 1.1`, `1.2`).
const EPIPHAN: &str = "*.epiphan.cloud";
/// The simulator, on whatever port it took.
const HERE: &str = "127.0.0.1";
/// Longest link that is looked at, in bytes.
const LONGEST: usize = 8_192;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
/// Most characters of a link that is not shown.
const MOST_SHOWN: usize = 100;

/// The settings as they stand, not understood yet: only signing in needs them.
#[derive(Debug, Default)]
pub(crate) struct Setting {
    /// `FLEETWATCH_LOGIN_HOSTS`.
    pub(crate) hosts: Option<String>,
    /// `FLEETWATCH_SLOT`.
    pub(crate) slot: Option<String>,
}

impl Setting {
    /// From the environment; an empty setting is an absent one.
    pub(crate) fn of_env() -> Self {
        let set = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let set = |name| set(name).filter(|value| !value.trim().is_empty());
        Self { hosts: set(HOSTS), slot: set(SLOT) }
    }
}

/// The hosts that links may lead to.
#[derive(Debug)]
pub(crate) struct Hosts(Vec<Entry>);

/// One host, or all names below one.
#[derive(Debug)]
struct Entry {
    name: String,
    below: bool,
    port: Option<u16>,
}

/// A setting that is not understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadSetting {
    /// This part of `FLEETWATCH_LOGIN_HOSTS`.
    Host(String),
    /// `FLEETWATCH_SLOT`.
    Slot,
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(part) => write!(
                f,
                "{HOSTS}: {:?} is no host; write names like login.example, *.example.com for all names below one, or \
                 127.0.0.1, each with :PORT where it is not the usual one, separated by commas",
                part.chars().take(MOST_SHOWN).collect::<String>()
            ),
            Self::Slot => write!(f, "{SLOT}: write sandbox or sim, as the daemons have it"),
        }
    }
}

impl std::error::Error for BadSetting {}

/// Why a link is not shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotShown {
    /// It is written in a way that browsers and people read differently; this is the part that should be a host.
    Odd(String),
    /// Another host than the daemon says.
    OtherThanNamed,
    /// A host that no setting names, with its port where it has one.
    Unknown(String),
}

impl NotShown {
    /// For `--json`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Odd(_) | Self::OtherThanNamed => "odd_link",
            Self::Unknown(_) => "unknown_login_host",
        }
    }

    /// What was found and what to do. Nothing of a link stands in it but its host.
    pub(crate) fn words(&self, hosts: &Hosts, language: Language) -> String {
        use crate::render::{pick, safe};
        match self {
            Self::Odd(part) => {
                let words = pick(
                    language,
                    "the daemon's link is not a plain https link (or http on 127.0.0.1); it is not shown. Where its host should be stands",
                    "el enlace del servicio no es un enlace https sencillo (ni http en 127.0.0.1); no se muestra. Donde debería estar su servidor pone",
                );
                format!("{words}: {}", safe(part))
            }
            Self::OtherThanNamed => pick(
                language,
                "the daemon's link does not lead to the server that it names; it is not shown",
                "el enlace del servicio no lleva al servidor que nombra; no se muestra",
            )
            .to_owned(),
            Self::Unknown(host) => {
                let (host, now) = (safe(host), hosts.to_string());
                match language {
                    Language::English => format!(
                        "the daemon's link leads to {host}, and {HOSTS} does not name that host; it is not shown. It names {now}. If \
                         your team signs in there, name it too and run this again"
                    ),
                    Language::Spanish => format!(
                        "el enlace del servicio lleva a {host}, un servidor que {HOSTS} no nombra; no se muestra. Nombra {now}. Si su \
                         equipo inicia sesión ahí, añádalo y repita esto"
                    ),
                }
            }
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, entry) in self.0.iter().enumerate() {
            let (comma, star) = (if at == 0 { "" } else { "," }, if entry.below { "*." } else { "" });
            write!(f, "{comma}{star}{}", entry.name)?;
            if let Some(port) = entry.port {
                write!(f, ":{port}")?;
            }
        }
        Ok(())
    }
}

impl Hosts {
    /// Understands the settings. Without hosts these are Epiphan's, or this machine where the slot is the simulator's.
    ///
    /// # Errors
    /// [`BadSetting`], which names it and says what to write.
    pub(crate) fn of(setting: &Setting) -> Result<Self, BadSetting> {
        let slot = match setting.slot.as_deref() {
            None => Slot::Sandbox,
            Some(text) => Slot::from_text(text).ok_or(BadSetting::Slot)?,
        };
        let usual = match slot {
            Slot::Sandbox => EPIPHAN,
            Slot::Sim => HERE,
        };
        let text = setting.hosts.as_deref().unwrap_or(usual);
        let entries = text.split(',').map(str::trim);
        entries
            .map(|part| Entry::read(part).ok_or_else(|| BadSetting::Host(part.to_owned())))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether a person may be sent to this link.
    ///
    /// # Errors
    /// [`NotShown`]
    pub(crate) fn check(&self, link: &LoginLink) -> Result<(), NotShown> {
        let place = Place::of(&link.url).ok_or_else(|| NotShown::Odd(host_part(&link.url)))?;
        if place.host != link.host {
            return Err(NotShown::OtherThanNamed);
        }
        if self.0.iter().any(|entry| entry.holds(&place)) {
            return Ok(());
        }
        let port = place.port.map(|port| format!(":{port}")).unwrap_or_default();
        Err(NotShown::Unknown(format!("{}{port}", place.host)))
    }
}

impl Entry {
    fn read(part: &str) -> Option<Self> {
        let (below, rest) = part.strip_prefix("*.").map_or((false, part), |rest| (true, rest));
        let (name, port) = name_and_port(rest)?;
        let is_number = is_number(&name);
        // All names below a top-level domain are everybody's, and an address has none below it.
        let fits =
            if below { name.contains('.') && !is_number } else { !is_number || name.parse::<Ipv4Addr>().is_ok() };
        fits.then_some(Self { name, below, port })
    }

    fn holds(&self, place: &Place) -> bool {
        let mut labels = place.host.rsplit('.');
        let ends = self.name.rsplit('.').all(|label| labels.next() == Some(label));
        let usual = if place.secure { 443 } else { 80 };
        let here = self.name == HERE;
        let port = match self.port {
            None => here || place.port.is_none_or(|port| port == usual),
            Some(port) => place.port.unwrap_or(usual) == port,
        };
        // Only this machine may be spoken to in the clear.
        ends && labels.next().is_some() == self.below && port && (place.secure || here)
    }
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
    secure: bool,
}

impl Place {
    // Strict: whatever a browser would have to mend is no link of ours.
    fn of(url: &str) -> Option<Self> {
        if url.len() > LONGEST || !url.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return None;
        }
        let (secure, rest) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return None,
        };
        let (host, port) = name_and_port(rest.split(['/', '?', '#']).next()?)?;
        (secure || host == HERE).then_some(Self { host, port, secure })
    }
}

// A name in small letters and a port, without anything else: no user name, no bracket, no dot at the end.
fn name_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = match text.split_once(':') {
        None => (text, None),
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port.parse::<u16>().ok().filter(|port| *port != 0)?))
        }
        Some(_) => return None,
    };
    let label = |label: &str| {
        let plain = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        plain && (1..=LONGEST_LABEL).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    let fits = name.len() <= LONGEST_NAME && name.split('.').all(label);
    fits.then(|| (name.to_ascii_lowercase(), port))
}

// Browsers read a name whose last part is a number, in any notation, as an address.
fn is_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x")
}

fn host_part(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().chars().take(MOST_SHOWN).collect()
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
