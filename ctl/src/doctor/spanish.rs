//! What a silent daemon's error says in Spanish. What the system or a file's check says inside it stays as it is.

use crate::client::{ClientError, Daemon, Places};
use crate::render;
use host::link::LinkError;
use host::socket::SocketError;
use protocol::shown::Language;
use std::io::ErrorKind;

/// The same as the error's own words.
pub(super) fn of(error: &ClientError, places: &Places) -> String {
    match error {
        ClientError::Folder(daemon, why) => format!("no se pregunta a {}: {why}", daemon.as_str()),
        ClientError::HungUp(daemon) | ClientError::Lost(daemon, LinkError::Closed) => format!(
            "{} colgó sin responder; su registro dice por qué (¿tiene usted permiso para preguntarle?)",
            daemon.as_str()
        ),
        ClientError::Lost(daemon, LinkError::Timeout) => format!("{} no respondió a tiempo", daemon.as_str()),
        ClientError::Lost(daemon, why) => format!("se perdió la conexión con {}: {why}", daemon.as_str()),
        ClientError::NotReached(daemon, why) => not_reached(*daemon, why, places),
        ClientError::OutOfOrder(daemon) => {
            format!("{} respondió otra cosa; instale la misma versión de ambos", daemon.as_str())
        }
        ClientError::OtherVersion(daemon, theirs) => format!(
            "{} es de otra versión ({}), esta orden es {}; instale la misma versión de ambos",
            daemon.as_str(),
            render::safe(&theirs.build),
            protocol::hello::BUILD
        ),
        ClientError::Refused(refusal) => format!("rechazado: {}", render::refusal(refusal, Language::Spanish)),
        ClientError::Unanswered(error) => of(error, places),
    }
}

fn not_reached(daemon: Daemon, why: &SocketError, places: &Places) -> String {
    let (name, socket) = (daemon.as_str(), daemon.socket(places));
    let socket = render::safe(&socket.display().to_string());
    if let SocketError::Io { source, .. } = why
        && source.kind() == ErrorKind::PermissionDenied
    {
        return format!("usted no puede hablar con {name}: {socket} es para el grupo {}", daemon.group());
    }
    if let SocketError::NoServer { .. } = why {
        return format!("{name} no responde: nadie escucha en {socket}; inícielo, o diga dónde escucha con --run-dir");
    }
    format!("{name} no responde: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn the_common_errors_are_whole_in_spanish() {
        let places = Places { run: PathBuf::from("/r"), executor: None, assistant: None };
        let denied = SocketError::Io {
            path: PathBuf::new(),
            doing: "connect to",
            source: io::Error::from(ErrorKind::PermissionDenied),
        };
        let daemon = Daemon::Executor;
        for (error, words) in [
            (ClientError::HungUp(daemon), "colgó sin responder"),
            (ClientError::Lost(daemon, LinkError::Timeout), "a tiempo"),
            (ClientError::NotReached(daemon, SocketError::NoServer { path: PathBuf::new() }), "nadie escucha en /r"),
            (ClientError::NotReached(daemon, denied), "grupo fleetwatch-operators"),
            (ClientError::OutOfOrder(daemon), "misma versión"),
        ] {
            let text = of(&error, &places);
            assert!(text.contains(words) && text.contains("fleetwatch-executor"), "{text}");
            assert!(!text.contains("answer") && !text.contains("listens") && !text.contains("may not"), "{text}");
        }
    }
}
