//! Epiphan Edge through its MCP server: reads through the guarded reader, one write through [`wire`].

pub(crate) mod answer;
mod echo;
pub(crate) mod receipt;
pub(crate) mod wire;
pub(crate) mod write;
