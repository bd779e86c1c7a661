//! Why there is no answer by the model.

use protocol::shown::{Language, Worded};

/// Why the model gave no usable answer. Holds nothing of what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelError {
    /// Too many requests, or overloaded, also after every wait.
    Busy,
    /// The model declined to answer.
    Declined,
    /// The connection ended in the middle of the answer.
    HungUp,
    /// The API refused the key.
    KeyRefused,
    /// The answer is not one that we understand.
    NotUnderstood,
    /// The API failed.
    Server(u16),
    /// The API refused the request.
    Status(u16),
    /// No whole answer in time.
    Timeout,
    /// The answer is larger than 8 MiB.
    TooLarge,
    /// There was no connection to the API.
    Unreachable,
}

impl ModelError {
    pub(super) fn from_http(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::Timeout
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::HungUp
        }
    }

    /// What an answer of this status means, when it is not 200.
    pub(super) fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::KeyRefused,
            429 | 529 => Self::Busy,
            500..=599 => Self::Server(status),
            other => Self::Status(other),
        }
    }

    /// Whether the same request may well be answered a moment later.
    pub(crate) fn is_passing(self) -> bool {
        match self {
            Self::Busy | Self::Server(_) => true,
            Self::Declined
            | Self::HungUp
            | Self::KeyRefused
            | Self::NotUnderstood
            | Self::Status(_)
            | Self::Timeout
            | Self::TooLarge
            | Self::Unreachable => false,
        }
    }

    /// A stable word for logs.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Declined => "declined",
            Self::HungUp => "hung_up",
            Self::KeyRefused => "key_refused",
            Self::NotUnderstood => "not_understood",
            Self::Server(_) => "server",
            Self::Status(_) => "status",
            Self::Timeout => "timeout",
            Self::TooLarge => "too_large",
            Self::Unreachable => "unreachable",
        }
    }

    /// A few plain words for the person who asked.
    pub(crate) fn words(self) -> Worded {
        match self {
            Self::Busy => Worded::new("the model is busy", "el modelo está ocupado"),
            Self::Declined => Worded::new("the model declined to answer", "el modelo no quiso responder"),
            Self::HungUp => Worded::new("the model's API hung up", "la API del modelo cortó la conexión"),
            Self::KeyRefused => Worded::new("the model's API refused the key", "la API del modelo rechazó la clave"),
            Self::NotUnderstood => {
                Worded::new("the model's answer could not be understood", "no se entendió la respuesta del modelo")
            }
            Self::Server(status) => Worded::new(
                format!("the model's API failed with status {status}"),
                format!("la API del modelo falló con el estado {status}"),
            ),
            Self::Status(status) => Worded::new(
                format!("the model's API refused the request with status {status}"),
                format!("la API del modelo rechazó la solicitud con el estado {status}"),
            ),
            Self::Timeout => Worded::new("the model took too long", "el modelo tardó demasiado"),
            Self::TooLarge => {
                Worded::new("the model's answer was too long", "la respuesta del modelo era demasiado larga")
            }
            Self::Unreachable => Worded::new("the model could not be reached", "no se pudo contactar al modelo"),
        }
    }

    /// The words in one language.
    pub(crate) fn said(self, language: Language) -> String {
        self.words().get(language).to_owned()
    }
}
