//! What a machine does not allow to be tested is said aloud, and is a failure where everything must be tested.

/// Set by `tests/run` when it runs as root: then a test that cannot be made is a failure.
const NO_SKIP: &str = "FLEETWATCH_NO_SKIP";

/// Says that the test ends here without having tested anything, and what is missing for it.
///
/// # Panics
/// With `FLEETWATCH_NO_SKIP=1`.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that was not made must be seen in its output")]
pub fn skipped(missing: &str) {
    let strict = std::env::var_os(NO_SKIP).is_some_and(|value| value == "1");
    assert!(!strict, "this test cannot be made here, and {NO_SKIP}=1 wants every one: {missing}");
    eprintln!("skipped: {missing}");
}
