//! The real binary, driven over HTTP that is written by hand.

#![expect(clippy::expect_used, reason = "helpers of tests may fail the test")]

mod fleet;
mod model;
mod support;
