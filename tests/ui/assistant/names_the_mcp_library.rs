//@ fails E0433 unlinked crate `rmcp`
//! It is below the reader, and out of reach.

use rmcp::service::RunningService;

/// Never.
pub type Session = RunningService<rmcp::RoleClient, ()>;
