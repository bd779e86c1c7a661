//! Hostile texts as names of the fleet, on the real binaries (`seed 000, Prompt injection`; issue line 2.30): they start
//! nothing when somebody only asks, and wherever a person reads them they hide nothing and are no markup.
//!
//! `tests/data/injection.dev.jsonl` holds the texts, `tests/data/injection.ATTRIBUTION.md` says whose they are.

#[path = "hostile/cards.rs"]
mod cards;
#[path = "hostile/questions.rs"]
mod questions;
#[path = "hostile/texts.rs"]
mod texts;
