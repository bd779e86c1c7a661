//! What both daemons look at in the same way for `doctor` (`issue line 3.19`; facts 7.5). Each check is a pure ruling on
//! facts; only the functions that gather the facts touch the machine. Nobody is signed in, no tool is called.

use crate::reach::{NotReached, place_of, reach};
use crate::token::{Facts, SignIn, Store, Trouble};
use host::files::{self, FileError, Owner};
use host::notify;
use host::secret::hex;
use host::service::{self, Manager};
use policy::behaviour::Behaviour;
use policy::tool_policy::ToolPolicy;
use protocol::doctor::{Check, Grade, Row};
use protocol::shown::Worded;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

/// SHA-256 in hex over the texts of `policy.yaml` and `tool_policy.yaml`: two daemons with the same one run the same
/// policy.
#[must_use]
pub fn policy_hash(behaviour: &str, tools: &str) -> String {
    let length = u64::try_from(behaviour.len()).unwrap_or(u64::MAX).to_be_bytes();
    hex(&Sha256::new().chain_update(length).chain_update(behaviour).chain_update(tools).finalize())
}

/// The policy files as they lie in `folder` now, against the hash of what runs.
#[must_use]
pub fn policy_files(folder: &Path, running: &str) -> Row {
    policy_ruling(&on_disk(folder), running)
}

fn on_disk(folder: &Path) -> Result<String, String> {
    let read = |name: &str| {
        files::read_settings(&folder.join(name), Owner::RootOrMe).map_err(|error: FileError| error.to_string())
    };
    let (behaviour, tools) = (read("policy.yaml")?, read("tool_policy.yaml")?);
    Behaviour::parse(&behaviour, "policy.yaml").map_err(|error| error.to_string())?;
    ToolPolicy::parse(&tools, "tool_policy.yaml").map_err(|error| error.to_string())?;
    Ok(policy_hash(&behaviour, &tools))
}

fn policy_ruling(on_disk: &Result<String, String>, running: &str) -> Row {
    let short = running.get(..12).unwrap_or(running);
    match on_disk {
        Ok(found) if found == running => Row::new(
            Check::Policy,
            Grade::Ok,
            Worded::new(
                format!("the policy files are the ones that run ({short})"),
                format!("los archivos de política son los que se usan ({short})"),
            ),
        ),
        Ok(_) => Row::new(
            Check::Policy,
            Grade::Warn,
            Worded::new(
                "the policy files were edited since the start; the old ones still run",
                "los archivos de política se editaron desde el arranque; aún se usan los anteriores",
            ),
        )
        .advise("Restart both daemons.", "Reinicie ambos servicios."),
        Err(why) => Row::new(
            Check::Policy,
            Grade::Fail,
            Worded::new(format!("the next start would fail: {why}"), format!("el próximo arranque fallaría: {why}")),
        )
        .advise("Put the file right, then restart both daemons.", "Corrija el archivo y reinicie ambos servicios."),
    }
}

/// The read guard tries itself on every write tool.
#[must_use]
pub fn guard(policy: &ToolPolicy) -> Row {
    guard_ruling(&policy.leaks(), policy.write_count(), policy.read_tools().count())
}

fn guard_ruling(leaks: &[&str], writes: usize, reads: usize) -> Row {
    if leaks.is_empty() && writes > 0 {
        let found = Worded::new(
            format!("{writes} write tools are refused, {reads} read tools pass"),
            format!("se rechazan {writes} herramientas de escritura y pasan {reads} de lectura"),
        );
        return Row::new(Check::Guard, Grade::Ok, found);
    }
    let names = leaks.join(", ");
    let found = Worded::new(
        format!("the read guard lets something else through: {names}"),
        format!("el control de lectura deja pasar otra cosa: {names}"),
    );
    Row::new(Check::Guard, Grade::Fail, found)
        .advise("Stop this daemon and install Fleetwatch anew.", "Pare este servicio e instale Fleetwatch de nuevo.")
}

/// The redaction tries itself on made-up secrets and plain words.
#[must_use]
pub fn redaction() -> Row {
    redaction_ruling(&policy::redact::self_test())
}

fn redaction_ruling(tested: &Result<usize, String>) -> Row {
    match tested {
        Ok(count) => {
            let found = Worded::new(
                format!("{count} test texts come out right"),
                format!("{count} textos de prueba correctos"),
            );
            Row::new(Check::Redaction, Grade::Ok, found)
        }
        Err(why) => Row::new(Check::Redaction, Grade::Fail, Worded::same(why.as_str())).advise(
            "Stop this daemon and install Fleetwatch anew.",
            "Pare este servicio e instale Fleetwatch de nuevo.",
        ),
    }
}

/// A daemon's sign-in as it is held and as it is kept now; `refused` when the server did not take it last time.
/// Nobody is signed in, and nothing is renewed.
pub async fn sign_in(sign_in: &SignIn, refused: bool, slot: &str) -> Row {
    let kept = sign_in.check_kept().await.map_err(|error| error.to_string());
    sign_in_ruling(slot, &sign_in.facts_after(refused), (sign_in.store(), &kept), sign_in.clock().unix())
}

fn sign_in_ruling(slot: &str, facts: &Facts, (store, kept): (Store, &Result<(), String>), now: i64) -> Row {
    let row = |grade, words: Worded| {
        let [en, es] = [&words.en, &words.es].map(|text| format!("{slot}: {text}"));
        Row::new(Check::SignIn, grade, Worded::new(en, es))
    };
    if let Err(why) = kept {
        let row = row(Grade::Fail, Worded::same(why.as_str()));
        return match store {
            Store::File => row.advise(
                "Put the file right; it is looked at again by itself.",
                "Corrija el archivo; se vuelve a mirar solo.",
            ),
            Store::Keychain => row.advise(
                "Put the login keychain right; it is looked at again by itself.",
                "Corrija el llavero de inicio de sesión; se vuelve a mirar solo.",
            ),
        };
    }
    match facts.trouble {
        Some(trouble @ (Trouble::Missing(_) | Trouble::NotSaved(_))) => row(Grade::Warn, trouble.words()),
        Some(trouble) => row(Grade::Fail, trouble.words()),
        None => row(Grade::Ok, held(facts, store, now)),
    }
}

/// When it runs out and what was granted, as far as it is known.
fn held(facts: &Facts, store: Store, now: i64) -> Worded {
    let mut words = match store {
        Store::File => Worded::new("present, its file is private", "presente, su archivo es privado"),
        Store::Keychain => Worded::new("present, kept in the keychain", "presente, guardado en el llavero"),
    };
    let mut add = |en: String, es: String| {
        words.en.push_str(&en);
        words.es.push_str(&es);
    };
    match (facts.renewed, facts.expires_at) {
        (true, Some(at)) => {
            let minutes = (at - now).max(0) / 60;
            add(
                format!("; good for {minutes} minutes more, then renewed by itself"),
                format!("; vale {minutes} minutos más y luego se renueva solo"),
            );
        }
        (true, None) => add("; renewed by itself".to_owned(), "; se renueva solo".to_owned()),
        (false, Some(at)) => {
            let minutes = (at - now).max(0) / 60;
            add(format!("; runs out in {minutes} minutes"), format!("; caduca en {minutes} minutos"));
        }
        (false, None) => add("; it does not say when it runs out".to_owned(), "; no dice cuándo caduca".to_owned()),
    }
    match &facts.scope {
        Some(scope) => add(format!("; granted: {scope}"), format!("; concedido: {scope}")),
        None => add("; what was granted is not known".to_owned(), "; no se sabe qué se concedió".to_owned()),
    }
    words
}

/// Whether a server is reached: TCP, and TLS for https. No request is sent.
pub async fn server(check: Check, address: &str) -> Row {
    let place = place_of(address).unwrap_or_else(|| "?".to_owned());
    server_ruling(check, &place, &reach(address).await)
}

fn server_ruling(check: Check, place: &str, reached: &Result<(), NotReached>) -> Row {
    match reached {
        Ok(()) => {
            let found = Worded::new(format!("{place} is reached"), format!("{place} responde"));
            Row::new(check, Grade::Ok, found)
        }
        Err(why) => {
            let found = Worded::new(format!("{place} is not reached: {why}"), format!("no se llega a {place}: {why}"));
            Row::new(check, Grade::Warn, found).advise(
                "Check the network, the name service and the clock of this machine.",
                "Compruebe la red, el servicio de nombres y el reloj de esta máquina.",
            )
        }
    }
}

/// Which pieces of its own sandbox hold for this process.
#[must_use]
pub fn sandbox() -> Row {
    sandbox_ruling(&host::sandbox::missing())
}

fn sandbox_ruling(missing: &[String]) -> Row {
    if missing.is_empty() {
        let names = host::sandbox::Piece::ALL.map(host::sandbox::Piece::as_str).join(", ");
        let found = Worded::new(
            format!("in-process sandbox: whole ({names})"),
            format!("aislamiento dentro del proceso: completo ({names})"),
        );
        return Row::new(Check::Sandbox, Grade::Ok, found);
    }
    let names = missing.join(", ");
    let found = Worded::new(
        format!("in-process sandbox: this system does not give {names}"),
        format!("aislamiento dentro del proceso: este sistema no da {names}"),
    );
    Row::new(Check::Sandbox, Grade::Warn, found).advise(
        "Use Linux 6.12 or newer with Landlock, outside a container that forbids it. FLEETWATCH_REQUIRE_SANDBOX=1 refuses to \
         run without.",
        "Use Linux 6.12 o posterior con Landlock, fuera de un contenedor que lo prohíba. Con FLEETWATCH_REQUIRE_SANDBOX=1 \
         no se arranca sin él.",
    )
}

/// Who starts this daemon again.
#[must_use]
pub fn service() -> Row {
    service_ruling(service::manager(), notify::watchdog())
}

fn service_ruling(manager: Manager, watchdog: Option<Duration>) -> Row {
    let name = manager.as_str();
    let (en, es) = match watchdog {
        Some(patience) => {
            let seconds = patience.as_secs();
            (format!("every {seconds} s"), format!("cada {seconds} s"))
        }
        None => ("none".to_owned(), "ninguno".to_owned()),
    };
    let found = match manager {
        Manager::Container | Manager::Launchd | Manager::Systemd => {
            Worded::new(format!("started by {name}; watchdog: {en}"), format!("iniciado por {name}; vigilante: {es}"))
        }
        Manager::None => Worded::new(
            format!("started by hand: nobody starts it again when it ends; watchdog: {en}"),
            format!("iniciado a mano: nadie lo reinicia si termina; vigilante: {es}"),
        ),
    };
    Row::new(Check::Service, Grade::Info, found)
}

/// A folder that is this daemon's alone.
#[must_use]
pub fn own_folder(path: &Path) -> Row {
    own_folder_ruling(path, files::check_dir(path, Owner::Me, 0o700).map_err(|error| error.to_string()))
}

fn own_folder_ruling(path: &Path, checked: Result<(), String>) -> Row {
    match checked {
        Ok(()) => {
            let place = path.display();
            let found = Worded::new(format!("{place} is closed to others"), format!("{place} está cerrada a otros"));
            Row::new(Check::Folders, Grade::Ok, found)
        }
        Err(why) => Row::new(Check::Folders, Grade::Fail, Worded::same(why))
            .advise("Put owner and mode right, then restart.", "Corrija dueño y permisos y reinicie."),
    }
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
