//! Helpers of the suites in `tests/tests/`: where things are, what the workspace's crates may name, and the sources as
//! text. Nothing here is shipped.

pub mod base64;
pub mod conformance;
pub mod container;
pub mod crates;
pub mod demo;
pub mod hex;
pub mod needles;
pub mod places;
pub mod processes;
pub mod sources;
pub mod terminal;
pub mod variants;
pub mod world;

pub use places::{binary, peers_new_node, peers_node, peers_python, target_folder, workspace_root};
