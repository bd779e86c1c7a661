use super::*;
use host::files::FileError;
use policy::call::Slot;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn load(text: &str, mode: u32) -> (tempfile::TempDir, Result<Arc<SignIn>, SignInError>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sign-in");
    if mode != 0 {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let endpoint = Endpoint::parse("http://127.0.0.1:9/mcp", Slot::Sim).unwrap();
    let sign_in = SignIn::load(&path, Which::Normal, endpoint, Clock::system().unwrap());
    (folder, sign_in)
}

#[test]
fn a_private_file_is_a_sign_in_that_prints_nothing() {
    let (_folder, sign_in) = load("bearer-never-show\n", 0o600);
    let sign_in = sign_in.unwrap();
    assert!(!format!("{sign_in:?}").contains("never-show"));
    let header = sign_in.header().unwrap();
    assert_eq!(header.as_bytes(), b"Bearer bearer-never-show");
    assert!(!format!("{header:?}").contains("never-show"));
    let facts = sign_in.facts();
    assert!(facts.usable && !facts.renewed && facts.trouble.is_none());
}

#[test]
fn a_missing_file_is_a_sign_in_that_nobody_has_made_yet() {
    let (folder, sign_in) = load("", 0);
    let sign_in = sign_in.unwrap();
    assert!(sign_in.header().is_none());
    assert_eq!(sign_in.facts().trouble, Some(Trouble::Missing(Which::Normal)));
    // Put there later by a person: found without a restart.
    files::write_private(&folder.path().join("sign-in"), b"bearer\n").unwrap();
    assert!(sign_in.facts().usable);
}

#[test]
fn an_open_file_and_a_file_without_a_bearer_are_refused() {
    let (_folder, sign_in) = load("bearer-never-show", 0o644);
    assert!(matches!(sign_in.unwrap_err(), SignInError::File(FileError::WrongMode { .. })));
    for text in
        ["Bearer never-show", "never-show\nagain", "never-show\u{e9}", "{\"never-show\": 1}", &"x".repeat(8_193)]
    {
        let (_folder, sign_in) = load(text, 0o600);
        let error = sign_in.unwrap_err();
        assert!(matches!(error, SignInError::NotASignIn { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("never-show"));
    }
}

#[test]
fn one_sign_in_at_a_time() {
    let logins = Arc::new(Semaphore::new(1));
    let first = turn(&logins).unwrap();
    assert_eq!(turn(&logins).unwrap_err(), OauthError::Busy);
    drop(first);
    drop(turn(&logins).unwrap());
}

#[test]
fn a_store_that_is_not_supported_is_refused_with_what_to_do() {
    for mac in [true, false] {
        assert_eq!(kept::choose(None, mac), Ok(Store::File));
        assert_eq!(kept::choose(Some("file"), mac), Ok(Store::File));
        kept::choose(Some("auto"), mac).unwrap_err();
    }
    assert_eq!(kept::choose(Some("keychain"), true), Ok(Store::Keychain));
    let elsewhere = kept::choose(Some("keychain"), false).unwrap_err();
    assert!(elsewhere.contains("macOS only") && elsewhere.contains("0600 file"), "{elsewhere}");
    assert_eq!(check_store(Some("keychain")).is_ok(), cfg!(target_os = "macos"));
}

#[test]
fn only_a_credential_that_no_login_can_replace_is_the_end() {
    let signed = |server: &str, at: i64| {
        let mut record = store::tests::sample(server);
        record.expires_at = Some(at);
        String::from_utf8(store::write(&record, Which::Normal).to_vec()).unwrap()
    };
    let (here, late) = ("http://127.0.0.1:9/mcp", 99_999_999_999);
    for (text, mode, over) in [
        (signed(here, 4_600), 0o600, Some("has run out")),
        (signed("http://127.0.0.1:8/mcp", late), 0o600, Some("another server")),
        (String::new(), 0, Some("is not there")),
        (signed(here, late), 0o600, None),
        ("static-bearer".to_owned(), 0o600, None),
    ] {
        let (_folder, sign_in) = load(&text, mode);
        assert_eq!(sign_in.unwrap().beyond_login(), None, "login can replace it: {over:?}");
        let (folder, _) = load(&text, mode);
        let endpoint = Endpoint::parse(here, Slot::Sim).unwrap();
        let path = folder.path().join("sign-in");
        let kept = SignIn::load_as(&path, Which::Normal, (endpoint, true), Clock::system().unwrap()).unwrap();
        let words = kept.beyond_login();
        assert_eq!(words.is_some(), over.is_some(), "{over:?}");
        if let (Some(words), Some(over)) = (words, over) {
            assert!(words.en.contains(over) && words.es.contains("gestor de servicios"), "{words:?}");
            assert!(!words.en.contains("never-show"), "{words:?}");
        }
    }
}

#[test]
fn a_sign_in_that_the_server_refuses_is_told_with_what_helps_and_nothing_hides_it() {
    let kept_as = |text: &[u8], read_only: bool| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sign-in");
        files::write_private(&path, text).unwrap();
        let endpoint = Endpoint::parse("http://127.0.0.1:9/mcp", Slot::Sim).unwrap();
        let sign_in = SignIn::load_as(&path, Which::Normal, (endpoint, read_only), Clock::system().unwrap()).unwrap();
        (folder, sign_in)
    };
    let mut record = store::tests::sample("http://127.0.0.1:9/mcp");
    record.expires_at = Some(99_999_999_999);
    let text = store::write(&record, Which::Normal);

    // A credential: no `login` can replace it.
    let over = Trouble::CredentialOver(Which::Normal);
    let dead = store::write(&record.died(Death::Refused), Which::Normal);
    for text in [&b"static-bearer"[..], &text, &dead] {
        let (_folder, sign_in) = kept_as(text, true);
        let facts = sign_in.facts_after(true);
        assert_eq!((facts.usable, facts.trouble, facts.is_dead()), (false, Some(over), true));
        let words = facts.trouble.unwrap().words();
        assert!(words.en.contains("renew it there") && words.es.contains("renuévela allí"), "{words:?}");
        assert!(!words.en.contains("any more; run fleetwatchctl"), "{words:?}");
    }
    let (_folder, sign_in) = kept_as(&dead, true);
    assert!(sign_in.beyond_login().unwrap().en.contains("the server does not take it any more"));

    // One that could not be saved: whether the disk has it does not matter any more.
    let (_folder, sign_in) = kept_as(&text, false);
    let Held::Signed { record, .. } = sign_in.held().clone() else { panic!() };
    *sign_in.held() = Held::Signed { record, saved: false };
    assert_eq!(sign_in.facts_after(false).trouble, Some(Trouble::NotSaved(Which::Normal)));
    let facts = sign_in.facts_after(true);
    assert_eq!((facts.usable, facts.trouble), (false, Some(Trouble::Over(Which::Normal))));
    // What explains more is kept.
    let early = store::tests::sample("http://127.0.0.1:9/mcp").died(Death::Early);
    let (_folder, sign_in) = kept_as(&store::write(&early, Which::Normal), false);
    assert_eq!(sign_in.facts_after(true).trouble, Some(Trouble::EndedEarly(Which::Normal)));
}

fn in_keychain(double: &crate::keychain::tests::Double, which: Which) -> Result<Arc<SignIn>, SignInError> {
    let endpoint = Endpoint::parse("http://127.0.0.1:9/mcp", Slot::Sim).unwrap();
    let kept = Kept::Keychain(double.keychain(which));
    SignIn::load_kept(&double.path("state-token"), which, (endpoint, kept), Clock::system().unwrap())
}

fn good() -> Record {
    let mut record = store::tests::sample("http://127.0.0.1:9/mcp");
    record.expires_at = Some(99_999_999_999);
    record
}

#[tokio::test]
async fn a_sign_in_is_kept_in_the_keychain_found_after_a_restart_and_forgotten_there() {
    let double = crate::keychain::tests::Double::new();
    let sign_in = in_keychain(&double, Which::Normal).unwrap();
    assert_eq!((sign_in.store(), sign_in.facts().usable), (Store::Keychain, false));
    let new = NewSignIn::new(sign_in.candidate(good()));
    sign_in.adopt(&new).await.unwrap();
    assert!(sign_in.facts().usable);
    sign_in.check_kept().await.unwrap();

    let again = in_keychain(&double, Which::Normal).unwrap();
    assert_eq!(again.header().unwrap().as_bytes(), b"Bearer access-never-show");
    assert!(!in_keychain(&double, Which::Sandbox).unwrap().facts().usable, "the other slot has its own items");
    assert!(!double.path("state-token").exists(), "no file holds it too");

    assert_eq!(again.sign_out().await.unwrap(), SignedOut::NotRevoked);
    assert!(!in_keychain(&double, Which::Normal).unwrap().facts().usable);
    assert_eq!(double.items(), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_keychain_does_not_take_is_told_kept_in_use_and_offered_again() {
    let double = crate::keychain::tests::Double::new();
    let sign_in = in_keychain(&double, Which::Normal).unwrap();
    double.mood("locked");
    let new = NewSignIn::new(sign_in.candidate(good()));
    let error = sign_in.adopt(&new).await.unwrap_err();
    assert_eq!(error.to_string(), KeychainError::Locked.to_string());
    assert!(!sign_in.facts().usable, "what was held before is untouched");
    new.settled.store(true, Ordering::SeqCst);

    sign_in.keep(good()).await;
    let facts = sign_in.facts();
    assert!(facts.usable && facts.trouble == Some(Trouble::NotSaved(Which::Normal)), "{facts:?}");
    assert!(matches!(sign_in.sign_out().await, Err(SignInError::Keychain(KeychainError::Locked))));
    assert!(sign_in.facts().usable, "nothing is forgotten");

    double.mood("");
    sign_in.pass(60).await.unwrap();
    assert_eq!(sign_in.facts().trouble, None);
    assert!(in_keychain(&double, Which::Normal).unwrap().facts().usable);
}

#[tokio::test]
async fn a_keychain_that_is_locked_or_broken_or_not_alone_stops_the_start() {
    let double = crate::keychain::tests::Double::new();
    let sign_in = in_keychain(&double, Which::Normal).unwrap();
    sign_in.keep(good()).await;
    double.mood("locked");
    assert!(matches!(in_keychain(&double, Which::Normal), Err(SignInError::Keychain(KeychainError::Locked))));
    double.mood("");
    // The other slot's sign-in under this slot's name.
    let other = double.keychain(Which::Normal);
    other.save(&store::write(&good(), Which::Sandbox)).await.unwrap();
    let error = in_keychain(&double, Which::Normal).unwrap_err();
    assert!(
        error.to_string().contains("fleetwatch-sim-normal") && !error.to_string().contains("never-show"),
        "{error}"
    );
    // A file from before would outlive a sign-out.
    files::write_private(&double.path("state-token"), b"bearer-never-show\n").unwrap();
    let error = in_keychain(&double, Which::Normal).unwrap_err();
    assert!(matches!(error, SignInError::FileToo { .. }) && error.to_string().contains("logout"), "{error}");
}

#[tokio::test]
async fn a_sign_in_that_another_process_put_into_the_keychain_is_found_at_the_next_call() {
    let double = crate::keychain::tests::Double::new();
    let sign_in = in_keychain(&double, Which::Normal).unwrap();
    assert_eq!(sign_in.pass(60).await.unwrap_err(), NoPass::Missing);
    double.keychain(Which::Normal).save(&store::write(&good(), Which::Normal)).await.unwrap();
    sign_in.pass(60).await.unwrap();
}

#[tokio::test]
async fn an_older_sign_in_that_waits_to_be_saved_never_takes_the_place_of_a_newer_one() {
    let double = crate::keychain::tests::Double::new();
    let sign_in = in_keychain(&double, Which::Normal).unwrap();
    let (older, newer) = (Arc::new(good()), Arc::new(good()));
    sign_in.hold(Held::Signed { record: Arc::clone(&older), saved: false });
    let turn = sign_in.saving.lock().await;
    let (late, me) = (Arc::clone(&older), Arc::clone(&sign_in));
    let saving = tokio::spawn(async move { me.save(&late).await });
    tokio::task::yield_now().await;
    sign_in.hold(Held::Signed { record: newer, saved: false });
    drop(turn);
    saving.await.unwrap();
    assert_eq!(double.items(), Vec::<String>::new(), "the older one is not written any more");
    sign_in.pass(60).await.unwrap();
    assert_eq!(sign_in.facts().trouble, None);
}
