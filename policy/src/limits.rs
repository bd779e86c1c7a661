//! The numbers that are fixed (`seed 000, Limits against approval fatigue`). A limit of 0 means none allowed.

/// Waiting proposals per workspace.
pub const PENDING: u64 = 3;
/// Proposals per rolling hour; denied ones do not count, withdrawn ones do.
pub const PER_HOUR: u64 = 10;
/// Length of that hour, in seconds.
pub const HOUR: i64 = 3_600;
/// Denials of the same tool and targets within an hour that pause it for an hour.
pub const DENIALS_BEFORE_PAUSE: u64 = 3;
/// Denials of one agent within an hour that pause the agent.
pub const AGENT_DENIALS_BEFORE_PAUSE: u64 = 6;
/// Life of an approval, in seconds.
pub const APPROVAL_LIFE: i64 = 300;
/// Life of a waiting proposal, in seconds.
pub const PENDING_LIFE: i64 = 900;
/// First read to write, in milliseconds.
pub const READ_TO_WRITE_MS: i64 = 15_000;
/// How long a card must be on screen before a decision, in milliseconds.
pub const TOO_SOON_MS: i64 = 2_000;
/// Approvals of one person within [`LATELY`] from which a card asks for a pause.
pub const MANY_APPROVALS: u64 = 5;
/// What counts as lately then, in seconds.
pub const LATELY: i64 = 1_800;
/// Longest text argument that can be shown, in characters.
pub const SHOWABLE_TEXT: usize = 256;
/// Longest canonical arguments, in bytes.
pub const ARGUMENT_BYTES: usize = 4_000;
/// Longest name on a card, in characters.
pub const NAME: usize = 120;
/// Longest model name on a card, in characters.
pub const MODEL: usize = 60;
/// How far ahead events are read, in seconds.
pub const EVENT_HORIZON: i64 = 24 * 3_600;
/// PIN: fewest characters.
pub const PIN_LENGTH: usize = 8;
/// PIN: wrong tries before it locks.
pub const PIN_TRIES: u32 = 5;
