//! Where log lines go: standard error, which the service manager keeps.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Our own words from `info` on, other libraries' only when something is wrong: what they carry is nobody's business here.
/// `program` is the daemon's own crate name. A second call changes nothing.
pub fn to_stderr(program: &'static str) {
    let ours = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(program, LevelFilter::INFO)
        .with_target("host", LevelFilter::INFO)
        .with_target("reader", LevelFilter::INFO);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(false);
    // Already set up: the first one stands.
    let _ = tracing_subscriber::registry().with(layer).with(ours).try_init();
}
