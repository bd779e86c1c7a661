//@ compiles
//! What the assistant is for: it may say what it would like.

/// A draft.
pub fn draft() -> Option<protocol::propose::Propose> {
    let request = protocol::ids::Label::new("a")?;
    let origin = protocol::propose::Origin::Model;
    Some(protocol::propose::Propose { request, origin, tool: String::new(), arguments: Vec::new(), reason: String::new() })
}
