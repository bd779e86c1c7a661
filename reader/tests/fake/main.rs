//! The reader against a hand-written server that answers byte by byte as a test says.

#[cfg(test)]
mod fleet;
#[cfg(test)]
mod greeting;
#[cfg(test)]
mod oauth;
#[cfg(test)]
mod renewing;
#[cfg(test)]
mod server;
#[cfg(test)]
mod session;
#[cfg(test)]
mod signing;
