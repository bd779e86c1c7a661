//! Back ends: what can be observed and written. An enum when there is a second one, never a trait.

pub(crate) mod epiphan;
