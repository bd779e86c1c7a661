//! The command line, and the two bearer tokens that are read from files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::faults::Fault;

/// Longest token file that is read, in bytes.
const TOKEN_LIMIT: u64 = 4096;

/// A simulated fleet behind a real MCP server, and a scripted stand-in for the model's API.
/// Both listen on 127.0.0.1 and nowhere else.
#[derive(Debug, Parser)]
#[command(name = "fleetwatch-sim", version)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent switch")]
pub(crate) struct Config {
    /// Port of the MCP server; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
    /// Port of the model stand-in; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    pub(crate) model_port: u16,
    /// File with the bearer token of the normal sign-in.
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file_normal: PathBuf,
    /// File with the bearer token of the sandbox sign-in.
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file_sandbox: PathBuf,
    /// Append one JSON line for every tools/call that arrives.
    #[arg(long, value_name = "PATH")]
    pub(crate) log: Option<PathBuf>,
    /// Number of rooms.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub(crate) rooms: u32,
    /// The sandbox sign-in sees only the first N rooms (default: all of them).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=5000))]
    pub(crate) sandbox_rooms: Option<u32>,
    /// The sandbox sign-in's rooms are a team of their own: the normal sign-in sees the others and not these.
    #[arg(long, requires = "sandbox_rooms")]
    pub(crate) two_teams: bool,
    /// What goes wrong when a write tool is called.
    #[arg(long, value_name = "KIND")]
    pub(crate) fault: Option<Fault>,
    /// Only the first write call meets the fault.
    #[arg(long, requires = "fault")]
    pub(crate) fault_once: bool,
    /// Let people sign in to the fleet too: a small authorization server on the MCP server's port.
    #[arg(long)]
    pub(crate) oauth: bool,
    /// How long an access token of that server is good for.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) oauth_seconds: u32,
    /// The address that people and programs reach the fleet at when something stands before it, such as a TLS front.
    #[arg(long, value_name = "URL", requires = "oauth", value_parser = origin)]
    pub(crate) oauth_origin: Option<String>,
    /// Exit when standard input ends.
    #[arg(long)]
    pub(crate) stop_with_stdin: bool,
}

fn origin(text: &str) -> Result<String, String> {
    let port = ["http://127.0.0.1:", "https://127.0.0.1:"].into_iter().find_map(|start| text.strip_prefix(start));
    let good = port.is_some_and(|port| port.parse::<u16>().is_ok());
    if good { Ok(text.to_owned()) } else { Err("write it like https://127.0.0.1:8443".to_owned()) }
}

/// The two accepted bearer tokens. `Debug` prints neither.
pub(crate) struct Tokens {
    normal: String,
    sandbox: String,
}

/// Whose token a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The tests' own channel, which sees every room.
    Everyone,
    /// The normal sign-in.
    Normal,
    /// The sandbox sign-in.
    Sandbox,
    /// No token, or one that nobody gave out.
    Unknown,
}

impl Caller {
    /// The word that stands in the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Normal => "normal",
            Self::Sandbox => "sandbox",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(..)")
    }
}

impl Tokens {
    /// Reads both token files.
    ///
    /// # Errors
    /// A file that can't be read, is empty, or holds the same token as the other.
    pub(crate) fn read(config: &Config) -> Result<Self, TokenError> {
        let normal = read_token(&config.token_file_normal)?;
        let sandbox = read_token(&config.token_file_sandbox)?;
        Self::new(normal, sandbox)
    }

    /// Both tokens as text.
    ///
    /// # Errors
    /// The two must differ.
    pub(crate) fn new(normal: String, sandbox: String) -> Result<Self, TokenError> {
        if normal == sandbox {
            return Err(TokenError::Same);
        }
        Ok(Self { normal, sandbox })
    }

    /// Whose token stands in this `Authorization` header.
    pub(crate) fn caller(&self, header: Option<&str>) -> Caller {
        let Some((scheme, token)) = header.and_then(|text| text.split_once(' ')) else {
            return Caller::Unknown;
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Caller::Unknown;
        }
        let token = token.trim();
        if token == self.normal {
            Caller::Normal
        } else if token == self.sandbox {
            Caller::Sandbox
        } else {
            Caller::Unknown
        }
    }
}

/// Why the tokens could not be read. Never holds a token.
#[derive(Debug)]
pub(crate) enum TokenError {
    /// The file could not be read.
    Unreadable(PathBuf, io::Error),
    /// The file holds no token, or blanks inside one.
    NotAToken(PathBuf),
    /// Both files hold the same token.
    Same,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(path, error) => {
                write!(f, "token file {}: {error}", path.display())
            }
            Self::NotAToken(path) => write!(f, "token file {}: one line with one token is wanted", path.display()),
            Self::Same => f.write_str("both token files hold the same token: make two"),
        }
    }
}

impl std::error::Error for TokenError {}

fn read_token(path: &Path) -> Result<String, TokenError> {
    let unreadable = |error| TokenError::Unreadable(path.to_owned(), error);
    let mut text = String::new();
    File::open(path).map_err(unreadable)?.take(TOKEN_LIMIT).read_to_string(&mut text).map_err(unreadable)?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(TokenError::NotAToken(path.to_owned()));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        Tokens::new("nnn".to_owned(), "sss".to_owned()).expect("two tokens")
    }

    #[test]
    fn each_token_is_known_and_anything_else_is_not() {
        assert_eq!(tokens().caller(Some("Bearer nnn")), Caller::Normal);
        assert_eq!(tokens().caller(Some("bearer sss")), Caller::Sandbox);
        for odd in [None, Some("nnn"), Some("Basic nnn"), Some("Bearer nn")] {
            assert_eq!(tokens().caller(odd), Caller::Unknown, "{odd:?}");
        }
    }

    #[test]
    fn equal_tokens_are_refused_and_debug_prints_none() {
        assert!(matches!(Tokens::new("a".to_owned(), "a".to_owned()), Err(TokenError::Same)));
        assert_eq!(format!("{:?}", tokens()), "Tokens(..)");
    }

    #[test]
    fn an_empty_token_file_is_refused_with_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        std::fs::write(&path, "\n").expect("a file");
        let error = read_token(&path).expect_err("no token");
        assert!(error.to_string().contains("one token"), "{error}");
    }
}
