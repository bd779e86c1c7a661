//! How a sign-in is, for `status`: facts, and what is wrong with what to do, in both languages.

use super::{Held, Which};
use crate::store::Death;
use protocol::shown::Worded;
use std::path::Path;

/// How a sign-in is. Times are Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Whether a call can be made with it.
    pub usable: bool,
    /// Whether it is renewed by itself: made by `login`, and in a place that can be written.
    pub renewed: bool,
    /// When what it holds now runs out.
    pub expires_at: Option<i64>,
    /// What the server granted, made safe to show.
    pub scope: Option<String>,
    /// What is wrong.
    pub trouble: Option<Trouble>,
}

/// What can be wrong with a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The server does not take the service manager's file any more.
    CredentialOver(Which),
    /// The service manager's file has run out.
    CredentialRanOut(Which),
    /// The server ended it while it had time left.
    EndedEarly(Which),
    /// Made for another server.
    Foreign(Which),
    /// Nobody signed in.
    Missing(Which),
    /// It is renewed, and not saved yet.
    NotSaved(Which),
    /// The server does not renew it.
    Over(Which),
}

impl Which {
    /// The command that signs it in.
    fn login(self) -> &'static str {
        match self {
            Self::Normal => "fleetwatchctl login",
            Self::Sandbox => "fleetwatchctl login --sandbox",
        }
    }

    /// What people call it, in English and in Spanish.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Normal => ("normal", "normal"),
            Self::Sandbox => ("sandbox", "de pruebas"),
        }
    }
}

impl Facts {
    pub(super) fn of(held: &Held, (which, read_only): (Which, bool), now: i64) -> Self {
        let none = Self { usable: false, renewed: false, expires_at: None, scope: None, trouble: None };
        match held {
            Held::Nothing => Self { trouble: Some(Trouble::Missing(which)), ..none },
            Held::Foreign => Self { trouble: Some(Trouble::Foreign(which)), ..none },
            Held::Bearer(_) => Self { usable: true, ..none },
            Held::Signed { record, saved } => {
                let ran_out = read_only && record.left(now).is_some_and(|left| left <= 0);
                let trouble = match record.dead {
                    Some(Death::Early | Death::RanOut | Death::Refused) if read_only => {
                        Some(Trouble::CredentialOver(which))
                    }
                    Some(Death::Early) => Some(Trouble::EndedEarly(which)),
                    Some(Death::RanOut | Death::Refused) => Some(Trouble::Over(which)),
                    None if ran_out => Some(Trouble::CredentialRanOut(which)),
                    None if !saved => Some(Trouble::NotSaved(which)),
                    None => None,
                };
                Self {
                    usable: record.dead.is_none() && !ran_out,
                    renewed: !read_only && record.refresh.is_some(),
                    expires_at: record.expires_at,
                    scope: record.scope.clone(),
                    trouble,
                }
            }
        }
    }

    /// Whether it is over: only a new sign-in helps.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        let Some(trouble) = self.trouble else { return false };
        match trouble {
            Trouble::CredentialOver(_) | Trouble::CredentialRanOut(_) | Trouble::EndedEarly(_) | Trouble::Over(_) => {
                true
            }
            Trouble::Foreign(_) | Trouble::Missing(_) | Trouble::NotSaved(_) => false,
        }
    }
}

impl Trouble {
    /// The same of a file that the service manager keeps, which `login` cannot replace.
    pub(super) fn of_a_credential(self, path: &Path) -> Worded {
        let (which, en, es) = match self {
            Self::Missing(which) => (which, "is not there", "no está"),
            Self::Foreign(which) => (which, "was made for another server", "se hizo para otro servidor"),
            Self::CredentialRanOut(_) => return self.words(),
            Self::CredentialOver(which) | Self::EndedEarly(which) | Self::NotSaved(which) | Self::Over(which) => {
                return Self::CredentialOver(which).words();
            }
        };
        let (path, (slot_en, slot_es)) = (path.display(), which.names());
        Worded::new(
            format!(
                "the {slot_en} sign-in is a credential of the service manager, and {path} {en}; put it right there, or let its setting name a file in the state folder and run {}",
                which.login()
            ),
            format!(
                "el inicio de sesión {slot_es} es una credencial del gestor de servicios y {path} {es}; corríjalo allí, o haga que su ajuste nombre un archivo en la carpeta de estado y ejecute {}",
                which.login()
            ),
        )
    }

    /// What is wrong and what to do.
    #[must_use]
    pub fn words(self) -> Worded {
        let (which, en, es) = match self {
            Self::EndedEarly(which) => (
                which,
                "the server ended the {slot} sign-in before its time; most often somebody signed in elsewhere with the same account, which ends the older sign-in: use one account per slot, then run {login}",
                "el servidor terminó el inicio de sesión {slot} antes de tiempo; lo más habitual es que alguien iniciara sesión en otro lugar con la misma cuenta, lo que termina la sesión anterior: use una cuenta por ranura y ejecute {login}",
            ),
            Self::CredentialOver(which) => (
                which,
                "the {slot} sign-in is a credential of the service manager and the server does not take it any more; renew it there, or let its setting name a file in the state folder and run {login}",
                "el inicio de sesión {slot} es una credencial del gestor de servicios y el servidor ya no lo acepta; renuévela allí, o haga que su ajuste nombre un archivo en la carpeta de estado y ejecute {login}",
            ),
            Self::CredentialRanOut(which) => (
                which,
                "the {slot} sign-in is a credential of the service manager and has run out; renew it there, or let its setting name a file in the state folder and run {login}",
                "el inicio de sesión {slot} es una credencial del gestor de servicios y ha caducado; renuévela allí, o haga que su ajuste nombre un archivo en la carpeta de estado y ejecute {login}",
            ),
            Self::Foreign(which) => (
                which,
                "the {slot} sign-in was made for another server and is not sent to this one; run {login}",
                "el inicio de sesión {slot} se hizo para otro servidor y no se envía a este; ejecute {login}",
            ),
            Self::Missing(which) => {
                (which, "there is no {slot} sign-in; run {login}", "no hay inicio de sesión {slot}; ejecute {login}")
            }
            Self::NotSaved(which) => (
                which,
                "the renewed {slot} sign-in could not be saved; it is lost if the daemon stops: look at the disk or the keychain, and at the log",
                "el inicio de sesión {slot} renovado no se pudo guardar; se pierde si el servicio se detiene: mire el disco o el llavero, y el registro",
            ),
            Self::Over(which) => (
                which,
                "the server does not take the {slot} sign-in any more; run {login}",
                "el servidor ya no acepta el inicio de sesión {slot}; ejecute {login}",
            ),
        };
        let (login, (slot_en, slot_es)) = (which.login(), which.names());
        let put = |text: &str, slot: &str| text.replace("{slot}", slot).replace("{login}", login);
        Worded::new(put(en, slot_en), put(es, slot_es))
    }
}
