//! Where the MCP server is. Checked once; the sign-in travels on every request, so nothing but https is taken, and
//! the simulator only on this machine.

use policy::call::Slot;
use reqwest::Url;
use std::fmt;

/// Longest address that is read.
const LONGEST: usize = 2_048;

/// A checked address of an MCP server, with the slot it is for.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    url: String,
    slot: Slot,
}

impl Endpoint {
    /// Checks an address (`facts 1.1`; issue line 1.8): for [`Slot::Sandbox`], and for the normal sign-in, https;
    /// for [`Slot::Sim`], http on 127.0.0.1.
    ///
    /// # Errors
    /// [`EndpointError`] saying which rule is broken and what to write instead; never any of the address.
    pub fn parse(url: &str, slot: Slot) -> Result<Self, EndpointError> {
        // The parser below would drop tabs and read a backslash as a slash.
        if url.len() > LONGEST || !url.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
            return Err(EndpointError::NotAnAddress);
        }
        let parsed = Url::parse(url).map_err(|_| EndpointError::NotAnAddress)?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(EndpointError::Credentials);
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(EndpointError::Query);
        }
        let host = parsed.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or(EndpointError::NotAnAddress)?;
        if parsed.port() == Some(0) {
            return Err(EndpointError::NotAnAddress);
        }
        let fits = match slot {
            Slot::Sandbox => parsed.scheme() == "https",
            Slot::Sim => parsed.scheme() == "http" && host == "127.0.0.1",
        };
        if !fits {
            return Err(EndpointError::WrongPlace(slot));
        }
        Ok(Self { url: parsed.into(), slot })
    }

    /// The slot that this address was checked for.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The address. It holds no secret.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.url
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({}, {})", self.slot.as_str(), self.url)
    }
}

/// Why an address is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointError {
    /// A user name or password in it.
    Credentials,
    /// Not an address that can be used at all.
    NotAnAddress,
    /// A query or a fragment in it.
    Query,
    /// The wrong scheme or host for this slot.
    WrongPlace(Slot),
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Credentials => {
                "the MCP address holds a user name or password; take it out, the sign-in has its own file"
            }
            Self::NotAnAddress => "the MCP address is no usable address; write it like https://go.epiphan.cloud/mcp",
            Self::Query => "the MCP address has a query or a fragment; end it after the path, like /mcp",
            Self::WrongPlace(Slot::Sandbox) => {
                "the MCP address must begin with https://, because the sign-in travels on every request"
            }
            Self::WrongPlace(Slot::Sim) => {
                "the simulator's address must begin with http://127.0.0.1: and its port; for a real team use the \
                 sandbox slot"
            }
        })
    }
}

impl std::error::Error for EndpointError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_team_is_reached_over_https_only() {
        let good = Endpoint::parse("https://go.epiphan.cloud/mcp", Slot::Sandbox).unwrap();
        assert_eq!((good.as_str(), good.slot()), ("https://go.epiphan.cloud/mcp", Slot::Sandbox));
        for bad in ["http://go.epiphan.cloud/mcp", "http://127.0.0.1:9/mcp", "ftp://go.epiphan.cloud/"] {
            let error = Endpoint::parse(bad, Slot::Sandbox).unwrap_err();
            assert_eq!(error, EndpointError::WrongPlace(Slot::Sandbox), "{bad}");
        }
    }

    #[test]
    fn the_simulator_is_on_this_machine_only() {
        Endpoint::parse("http://127.0.0.1:4711/mcp", Slot::Sim).unwrap();
        for bad in [
            "https://127.0.0.1:4711/mcp",
            "https://go.epiphan.cloud/mcp",
            "http://localhost:4711/mcp",
            "http://127.0.0.2:4711/mcp",
            "http://127.0.0.1.example.com/mcp",
            "http://[::1]:4711/mcp",
            "http://0.0.0.0:4711/mcp",
        ] {
            let error = Endpoint::parse(bad, Slot::Sim).unwrap_err();
            assert_eq!(error, EndpointError::WrongPlace(Slot::Sim), "{bad}");
        }
    }

    #[test]
    fn credentials_queries_and_tricks_are_refused_without_being_repeated() {
        for (bad, why) in [
            ("https://user:hunter2@go.epiphan.cloud/mcp", EndpointError::Credentials),
            ("https://hunter2@go.epiphan.cloud/mcp", EndpointError::Credentials),
            ("https://go.epiphan.cloud/mcp?token=hunter2", EndpointError::Query),
            ("https://go.epiphan.cloud/mcp#hunter2", EndpointError::Query),
            ("https://go.epiphan.cloud\\@hunter2/mcp", EndpointError::NotAnAddress),
            ("https://go.epiphan.cloud/\thunter2", EndpointError::NotAnAddress),
            (" https://go.epiphan.cloud/hunter2", EndpointError::NotAnAddress),
            ("https://go.epiphan.cloud:0/hunter2", EndpointError::NotAnAddress),
            ("https:///", EndpointError::NotAnAddress),
            ("", EndpointError::NotAnAddress),
        ] {
            let error = Endpoint::parse(bad, Slot::Sandbox).unwrap_err();
            assert_eq!(error, why, "{bad}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
