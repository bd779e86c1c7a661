//! The operating system: the one clock, secrets, safe files, safe sockets, framed links, and the wish to stop.
//!
//! Nothing here knows what Fleetwatch is for. Everything that can go wrong is an error that names the place,
//! what was found and what to do; no error text holds a secret.

pub mod activation;
pub mod clock;
pub mod credentials;
pub mod descriptors;
pub mod files;
pub mod link;
pub mod log;
pub mod notify;
pub mod sandbox;
pub mod secret;
pub mod service;
pub mod socket;
pub mod stop;
