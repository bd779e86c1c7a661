//! Landlock: files, ports, and whom a signal reaches. It bounds this process and what it becomes, whatever user it has.

use super::Plan;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

/// Which parts hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) files: bool,
    pub(super) ports: bool,
}

/// Closes everything but the plan's places. What does not hold is false; nothing is left half closed without a word.
pub(super) fn close(plan: &Plan) -> Closed {
    match restrict(plan) {
        Ok(status) => Closed {
            files: status.ruleset != RulesetStatus::NotEnforced,
            ports: status.ruleset == RulesetStatus::FullyEnforced,
        },
        Err(error) => {
            tracing::warn!(%error, "Landlock does not hold");
            Closed::default()
        }
    }
}

fn restrict(plan: &Plan) -> Result<RestrictionStatus, RulesetError> {
    // The first version forbids every move between folders, by which a socket comes to its place: without the second
    // there is none of it.
    let files = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = files.handle_access(AccessFs::from_all(ABI::V2))?;
    // The rest as far as the kernel knows it.
    let all = files.set_compatibility(CompatLevel::BestEffort);
    let all = all.handle_access(AccessFs::from_all(ABI::V5))?.handle_access(AccessNet::BindTcp)?.scope(scopes())?;
    let ruleset = all.create()?.add_rules(path_beneath_rules(&plan.read, AccessFs::ReadFile | AccessFs::ReadDir))?;
    let mut ruleset = ruleset.add_rules(path_beneath_rules(&plan.write, own()))?;
    for port in &plan.ports {
        ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
    }
    ruleset.restrict_self()
}

// Everything in a folder of its own but programs, devices, pipes and links.
fn own() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeDir
        | AccessFs::MakeReg
        | AccessFs::MakeSock
        | AccessFs::RemoveDir
        | AccessFs::RemoveFile
        | AccessFs::Refer
}

// An old service manager listens on an abstract socket, which has to stay in reach.
fn scopes() -> BitFlags<Scope> {
    let abstract_manager = std::env::var("NOTIFY_SOCKET").is_ok_and(|place| place.starts_with('@'));
    if abstract_manager { Scope::Signal.into() } else { Scope::Signal | Scope::AbstractUnixSocket }
}
