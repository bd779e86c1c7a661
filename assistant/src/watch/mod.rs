//! The watcher: every `heartbeat_seconds` one guarded look at the fleet, by code alone, and a post when something is new,
//! over, or about to begin (issue lines 3.14, 3.15). It holds no link to the executor, so it can propose nothing.

pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod findings;
mod own;
pub(crate) mod posts;
pub(crate) mod readiness;
pub(crate) mod replay;
pub(crate) mod rules;
pub(crate) mod seen;
pub(crate) mod state;
mod sweep;
#[cfg(test)]
pub(crate) mod testing;

use crate::desk::Desk;
use crate::fleet::Fleet;
use host::clock::Clock;
use own::Writing;
use policy::tool_policy::ToolPolicy;
use posts::{Channel, PostError, Queued, Timed};
use protocol::shown::{Language, Worded};
use rules::Rules;
use seen::{Readings, Seen};
use state::{Posted, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const FILE: &str = "watch.json";
/// Most posts that wait for one channel; older ones are dropped, and the log says so.
const MOST_WAITING: usize = 20;

/// What it goes by, where it posts, and what it knows.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Thresholds, hours, zone, language.
    pub(crate) rules: Rules,
    channels: Vec<Channel>,
    file: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    state: State,
    last: Option<Seen>,
    // How often somebody has signed in.
    sign_ins: u64,
    post_trouble: BTreeMap<&'static str, PostError>,
    save_trouble: Option<String>,
}

impl Watch {
    /// A watcher that goes on from what an earlier run remembered in `state_dir`.
    pub(crate) fn new(rules: Rules, channels: Vec<Channel>, state_dir: &Path) -> Self {
        let file = state_dir.join(FILE);
        let mut state = State::load(&file);
        // A channel that is no longer set up takes nothing any more.
        state.queue.retain(|queued| channels.iter().any(|channel| channel.word() == queued.channel));
        Self { rules, channels, file, known: Mutex::new(Known { state, ..Known::default() }) }
    }

    /// One beat: a look, or none without a sign-in to look with; how the sign-in for writing is; then all that is to be said,
    /// each post tried once with each channel.
    pub(crate) async fn beat(&self, fleet: &Fleet, policy: &ToolPolicy, writing: Writing, clock: &Clock) {
        if fleet.has_sign_in() {
            self.look(fleet, policy, clock.unix()).await;
        } else {
            // Nobody is asked, and a sign-in that is over is told.
            self.not_seen(fleet);
        }
        self.note_writing(writing);
        self.save();
        self.deliver(clock).await;
    }

    // A list that cannot be read, or is empty after there were units, is no look: nothing is compared, nothing new is said,
    // nothing is over.
    async fn look(&self, fleet: &Fleet, policy: &ToolPolicy, now: i64) {
        let sign_ins = self.known().sign_ins;
        let seen = Seen::look(Readings::Fleet(fleet, policy), now).await;
        if self.known().sign_ins != sign_ins {
            // Whose fleet was read is not known; the next look is the new one's.
            return;
        }
        if !self.take(seen, now) {
            self.not_seen(fleet);
            // The next look begins with a session of its own.
            fleet.reconnect().await;
        }
    }

    /// Somebody has signed in, perhaps with another account: a look that is under way counts for nothing.
    pub(crate) fn signed_in_anew(&self) {
        let mut known = self.known();
        known.sign_ins = known.sign_ins.wrapping_add(1);
    }

    fn not_seen(&self, fleet: &Fleet) {
        let trouble = fleet.trouble();
        let over = if fleet.has_sign_in() { None } else { fleet.over() };
        let mut known = self.known();
        if let Some(post) = own::not_seen(&mut known.state, over.as_ref(), trouble.as_ref(), &self.rules) {
            let failures = known.state.failures;
            tracing::error!(failures, over = over.is_some(), "the fleet is not seen any more; this is said once");
            self.queue(&mut known.state, &post);
        }
    }

    fn note_writing(&self, writing: Writing) {
        let mut known = self.known();
        if let Some(post) = own::writing(&mut known.state, writing, &self.rules) {
            self.queue(&mut known.state, &post);
        }
    }

    // Whether it was a look.
    fn take(&self, seen: Option<Seen>, now: i64) -> bool {
        let mut known = self.known();
        let had_units = known.state.had_units;
        let Some(seen) = seen.filter(|seen| !(had_units && seen.team.devices.is_empty())) else {
            known.state.failures = known.state.failures.saturating_add(1);
            tracing::warn!(
                failures = known.state.failures,
                "the fleet could not be looked at; nothing follows from it"
            );
            diff::failed(&mut known.state, &self.rules, now);
            return false;
        };
        known.state.failures = 0;
        if let Some(post) = own::seen_again(&mut known.state, &self.rules) {
            self.queue(&mut known.state, &post);
        }
        for post in diff::step(&mut known.state, &seen, &self.rules) {
            self.queue(&mut known.state, &post);
        }
        known.last = Some(seen);
        true
    }

    fn queue(&self, state: &mut State, timed: &Timed) {
        for channel in &self.channels {
            let waits = |queued: &Queued| queued.channel == channel.word();
            if state.queue.iter().filter(|queued| waits(queued)).count() >= MOST_WAITING
                && let Some(oldest) = state.queue.iter().position(waits)
            {
                tracing::warn!(channel = channel.word(), "too many posts wait; the oldest is dropped");
                state.queue.remove(oldest);
            }
            let Timed { post, until, rest } = timed.clone();
            state.queue.push(Queued { channel: channel.word().to_owned(), post, until, rest });
        }
    }

    // In order for each channel; one that does not take a post gets it again at the next look.
    async fn deliver(&self, clock: &Clock) {
        for channel in &self.channels {
            let word = channel.word();
            while let Some(next) = self.next(word, clock.unix()) {
                let taken = channel.post(&next.post).await;
                if let Err(error) = taken {
                    tracing::warn!(channel = word, %error, "a post was not taken; it is tried again at the next look");
                    self.known().post_trouble.insert(word, error);
                    break;
                }
                {
                    let mut known = self.known();
                    known.post_trouble.remove(word);
                    let at = known.state.queue.iter().position(|queued| queued.channel == word);
                    at.map(|at| known.state.queue.remove(at));
                }
                // At once, so that a restart does not post it again.
                self.save();
            }
        }
    }

    // The oldest post that waits for this channel. Verdicts whose event has begun are no news any more.
    fn next(&self, word: &'static str, now: i64) -> Option<Queued> {
        let mut known = self.known();
        let mut dropped = false;
        known.state.queue.retain_mut(|queued| {
            if queued.channel != word || !queued.is_late(now) {
                return true;
            }
            dropped = true;
            tracing::warn!(channel = word, "a room check was not taken before its event began; it is dropped");
            queued.until = None;
            let rest = queued.rest.take();
            let left = rest.is_some();
            if let Some(post) = rest {
                queued.post = post;
            }
            left
        });
        let next = known.state.queue.iter().find(|queued| queued.channel == word).cloned();
        if next.is_none() {
            known.post_trouble.remove(word);
        }
        drop(known);
        if dropped {
            self.save();
        }
        next
    }

    fn save(&self) {
        let mut known = self.known();
        let saved = known.state.save(&self.file);
        if let Err(error) = &saved
            && known.save_trouble.as_ref() != Some(error)
        {
            tracing::error!(error, "what the watcher knows could not be kept");
        }
        known.save_trouble = saved.err();
    }

    /// What is wrong, each with what to do.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let known = self.known();
        let mut all = Vec::new();
        if known.state.failures > 0 {
            let failures = known.state.failures;
            all.push(format!("the fleet could not be read at the last {failures} looks; the log says why"));
        }
        for (channel, error) in &known.post_trouble {
            all.push(format!("a post to {channel} waits: {error}"));
        }
        if let Some(error) = &known.save_trouble {
            all.push(format!("what the watcher knows cannot be kept, so a restart may repeat posts: {error}"));
        }
        all
    }

    /// What the last good look knows, and whether the newest one was good.
    pub(crate) fn digest(&self, language: Language, now: i64) -> (String, bool) {
        let known = self.known();
        let Some(seen) = &known.last else {
            let words = Worded::new(
                "The fleet has not been looked at since the assistant started. fleetwatchctl status says what is wrong.",
                "No se ha leído la flota desde que arrancó el asistente. fleetwatchctl status dice qué falla.",
            );
            return (words.get(language).to_owned(), false);
        };
        let mut text = digest::digest(seen, &self.rules, (language, now));
        if known.state.failures > 0 {
            let words = Worded::new(
                "The newest look did not work; this is older.",
                "La última lectura no salió; esto es anterior.",
            );
            text = format!("{}\n{text}", words.get(language));
        }
        (text, known.state.failures == 0)
    }

    /// One line a day, newest first.
    pub(crate) fn history(&self, days: usize, language: Language) -> String {
        digest::history(&self.known().state, days, language)
    }

    /// The last digest that was posted.
    pub(crate) fn posted(&self) -> Option<Posted> {
        self.known().state.posted.clone()
    }

    /// The last good look.
    pub(crate) fn last(&self) -> Option<Seen> {
        self.known().last.clone()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches for ever. Without a sign-in there is nothing to look at; `status` says so, and a post when it was there before.
pub(crate) async fn run(desk: &Desk) {
    let every = Duration::from_secs(u64::from(desk.watch.rules.behaviour.heartbeat_seconds()));
    loop {
        let writing = Writing::of_executor(desk.poll.proposing());
        desk.watch.beat(&desk.fleet, &desk.policy, writing, &desk.clock).await;
        tokio::time::sleep(every).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Source;
    use crate::watch::posts::Sender;
    use crate::watch::posts::testing::Taker;
    use crate::watch::testing::{NOON, event, readings, rules, unit};
    use protocol::ask::{DEVICES, READINGS};
    use serde_json::{Value, json};

    struct World {
        folder: tempfile::TempDir,
        policy: ToolPolicy,
        files: BTreeMap<String, Value>,
        now: i64,
    }

    impl World {
        fn new() -> Self {
            let (folder, policy) = (tempfile::tempdir().unwrap(), ToolPolicy::shipped().unwrap());
            Self { folder, policy, files: readings(), now: NOON }
        }

        fn watch(&self, takers: &[&Taker]) -> Watch {
            let kinds = [Channel::Teams, Channel::Ntfy];
            let channels = takers.iter().zip(kinds).map(|(taker, kind)| kind(Sender::for_test(&taker.address())));
            let channels = channels.collect();
            Watch::new(rules(""), channels, self.folder.path())
        }

        async fn beat(&mut self, watch: &Watch) {
            self.beat_while(watch, Writing::Unknown).await;
        }

        async fn beat_while(&mut self, watch: &Watch, writing: Writing) {
            self.now += 180;
            let (clock, _) = Clock::dangerous_manual(self.now, 0, "boot");
            let known = READINGS.iter().filter_map(|tool| Some((*tool, self.files.get(*tool)?.clone()))).collect();
            let fleet = Fleet::new(Source::Canned(known), clock.clone());
            watch.beat(&fleet, &self.policy, writing, &clock).await;
        }
    }

    #[tokio::test]
    async fn a_failed_or_emptied_look_posts_nothing_and_resolves_nothing() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200]).await);
        let watch = world.watch(&[&taker]);
        unit(&mut world.files, 0, &json!({"Status": "offline"}));
        world.beat(&watch).await;
        assert_eq!(taker.count(), 1);
        let good = world.files[DEVICES].clone();
        let bad = [json!({"devices": []}), json!({}), json!("Error"), json!({"devices": [{"Name": "no id"}]})];
        for bad in bad.iter().take(2) {
            world.files.insert(DEVICES.to_owned(), bad.clone());
            world.beat(&watch).await;
            assert!(watch.troubles()[0].contains("could not be read"), "{:?}", watch.troubles());
        }
        assert_eq!(taker.count(), 1);
        world.files.insert(DEVICES.to_owned(), good.clone());
        world.beat(&watch).await;
        for bad in bad.iter().skip(2) {
            world.files.insert(DEVICES.to_owned(), bad.clone());
            world.beat(&watch).await;
            assert!(watch.troubles()[0].contains("could not be read"), "{:?}", watch.troubles());
        }
        assert!(watch.digest(Language::English, world.now).0.starts_with("The newest look did not work"));
        world.files.insert(DEVICES.to_owned(), good);
        world.beat(&watch).await;
        assert_eq!((taker.count(), watch.troubles()), (1, Vec::<String>::new()));
    }

    #[tokio::test]
    async fn a_first_look_at_an_empty_team_is_fine_and_an_empty_list_stays_a_failure_after_a_restart() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200]).await);
        let full = world.files.insert(DEVICES.to_owned(), json!({"devices": []})).unwrap();
        let watch = world.watch(&[&taker]);
        world.beat(&watch).await;
        assert!(watch.troubles().is_empty());
        world.files.insert(DEVICES.to_owned(), full);
        world.beat(&watch).await;
        world.files.insert(DEVICES.to_owned(), json!({"devices": []}));
        let again = world.watch(&[&taker]);
        world.beat(&again).await;
        assert!(again.troubles()[0].contains("could not be read"));
    }

    #[tokio::test]
    async fn looks_that_did_not_work_are_counted_across_restarts() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200]).await);
        world.beat(&world.watch(&[&taker])).await;
        let first = taker.count();
        world.files.insert(DEVICES.to_owned(), json!("Error"));
        // Restarted before each look.
        for posts in [0, 0, 1, 0] {
            let before = taker.count();
            let watch = world.watch(&[&taker]);
            world.beat(&watch).await;
            assert_eq!(taker.count() - before, posts);
            assert!(watch.troubles()[0].contains("could not be read"), "{:?}", watch.troubles());
        }
        let body = taker.last().body;
        assert!(taker.count() == first + 1 && body.contains("The last 3 looks did not work"), "{body}");
    }

    #[tokio::test]
    async fn a_restart_posts_nothing_again() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200]).await);
        unit(&mut world.files, 0, &json!({"Status": "offline"}));
        for _ in 0..3 {
            let watch = world.watch(&[&taker]);
            world.beat(&watch).await;
        }
        assert_eq!(taker.count(), 1);
        unit(&mut world.files, 0, &json!({"Status": "online"}));
        world.beat(&world.watch(&[&taker])).await;
        assert!(taker.last().body.contains("resolved"), "{:?}", taker.last());
    }

    #[tokio::test]
    async fn a_post_that_is_not_taken_is_tried_again_and_not_doubled_for_the_others() {
        let (mut world, good) = (World::new(), Taker::start(vec![200]).await);
        let bad = Taker::start(vec![500, 500, 200]).await;
        let watch = world.watch(&[&bad, &good]);
        world.beat(&watch).await;
        assert_eq!((bad.count(), good.count()), (1, 1));
        assert!(watch.troubles()[0].starts_with("a post to teams waits: the service answered with HTTP status 500"));
        // A restart keeps it, and a new post waits behind it.
        let watch = world.watch(&[&bad, &good]);
        unit(&mut world.files, 0, &json!({"Status": "offline"}));
        world.beat(&watch).await;
        assert_eq!((bad.count(), good.count()), (2, 2));
        world.beat(&watch).await;
        assert_eq!((bad.count(), good.count()), (4, 2));
        assert!(bad.last().body.contains("Hall A") && watch.troubles().is_empty());
        world.beat(&watch).await;
        assert_eq!((bad.count(), good.count()), (4, 2));
    }

    #[tokio::test]
    async fn a_room_check_that_was_not_taken_is_not_posted_once_its_event_has_begun() {
        let (mut world, bad) = (World::new(), Taker::start(vec![200, 500, 500, 200]).await);
        let watch = world.watch(&[&bad]);
        world.beat(&watch).await;
        event(&mut world.files, 1, NOON + 700, "Seminar");
        world.beat(&watch).await;
        assert!(bad.count() == 2 && bad.last().body.contains("Seminar"), "{:?}", bad.last());
        // Before the start it is tried again, by a restarted watcher too.
        let watch = world.watch(&[&bad]);
        world.beat(&watch).await;
        assert!(bad.count() == 3 && bad.last().body.contains("Seminar") && !watch.troubles().is_empty());
        world.beat(&watch).await;
        assert_eq!((bad.count(), watch.troubles()), (3, Vec::<String>::new()));
        assert!(watch.known().state.queue.is_empty());
    }

    #[tokio::test]
    async fn what_else_a_late_post_says_is_still_posted() {
        let (mut world, bad) = (World::new(), Taker::start(vec![200, 500, 200]).await);
        let watch = world.watch(&[&bad]);
        world.beat(&watch).await;
        event(&mut world.files, 1, NOON + 500, "Seminar");
        unit(&mut world.files, 0, &json!({"Status": "offline"}));
        world.beat(&watch).await;
        let body = bad.last().body;
        assert!(body.contains("Seminar") && body.contains("Hall A: offline"), "{body}");
        world.beat(&watch).await;
        let body = bad.last().body;
        assert!(bad.count() == 3 && body.contains("1 new") && body.contains("Hall A: offline"), "{body}");
        assert!(!body.contains("Seminar") && !body.contains("room check"), "{body}");
    }

    #[tokio::test]
    async fn a_writing_sign_in_that_is_over_is_posted_once_and_its_return_once_across_a_restart_and_a_failed_post() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200, 500, 200]).await);
        world.beat(&world.watch(&[&taker])).await;
        let mut counts = Vec::new();
        for writing in [Writing::Over, Writing::Over, Writing::Over, Writing::Unknown, Writing::Good, Writing::Good] {
            let watch = world.watch(&[&taker]);
            world.beat_while(&watch, writing).await;
            counts.push(taker.count());
            let body = taker.last().body;
            let back = writing == Writing::Good;
            assert!(body.contains(if back { "can propose again" } else { "login --sandbox" }), "{body}");
        }
        // The first one was not taken, and is tried again.
        assert_eq!(counts, [2, 3, 3, 3, 4, 4]);
    }

    #[tokio::test]
    async fn a_damaged_state_says_the_fleet_anew_and_nothing_is_resolved() {
        let (mut world, taker) = (World::new(), Taker::start(vec![200]).await);
        unit(&mut world.files, 0, &json!({"Status": "offline"}));
        world.beat(&world.watch(&[&taker])).await;
        host::files::write_private(&world.folder.path().join(FILE), b"{\"open\":").unwrap();
        unit(&mut world.files, 0, &json!({"Status": "online"}));
        world.beat(&world.watch(&[&taker])).await;
        let body = taker.last().body;
        assert!(body.contains("Fleet check") && body.contains("All clear") && !body.contains("esolved"), "{body}");
    }
}
