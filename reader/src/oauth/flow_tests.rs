//! A sign-in that is dropped when nobody can wait for its tokens any more.

use super::*;
use std::future::pending;
use std::sync::Mutex;
use tokio::runtime::{Builder, Runtime};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record as Values};
use tracing::{Event, Metadata, Subscriber};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push_str(&format!("{value:?}\n"));
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Values<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn attempt(runtime: &Runtime, sent: bool) -> Attempt {
    let text = || SecretText::from("never-show".to_owned());
    let expected = Expected {
        state: text(),
        issuer: String::new(),
        sends_iss: false,
        redirect: "http://127.0.0.1:9/callback".into(),
    };
    Attempt {
        link: String::new(),
        host: String::new(),
        expected: Arc::new(expected),
        heard: mpsc::channel(1).0,
        settled: Arc::new(AtomicBool::new(sent)),
        task: Some(runtime.spawn(pending())),
        permit: None,
        slot: Slot::Sim,
    }
}

#[test]
fn a_code_that_was_sent_is_told_when_the_process_ends_before_its_tokens_came() {
    for (sent, within, told) in [(true, false, true), (true, true, true), (false, false, false), (false, true, false)] {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let attempt = attempt(&runtime, sent);
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), || {
            let inside = within.then(|| runtime.enter());
            drop(attempt);
            drop(inside);
            drop(runtime);
        });
        let text = log.0.lock().unwrap().clone();
        assert_eq!(text.contains("end that session there"), told, "sent {sent}, within {within}: {text}");
        assert!(!text.contains("never-show"), "{text}");
    }
}
