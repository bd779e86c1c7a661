//@ fails E0433 `rmcp` in `reader`
//! The reader hands on none of it.

use reader::rmcp::service::Peer;

/// Never.
pub type Session = Peer<reader::rmcp::RoleClient>;
