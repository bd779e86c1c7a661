use super::*;
use std::fs;

/// A folder with a program that does what `security` does, and its items.
pub(crate) struct Double {
    folder: tempfile::TempDir,
}

impl Double {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/security-double");
        // A link: a program that was just written can be busy while another test starts one.
        std::os::unix::fs::symlink(program, folder.path().join("security")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn keychain(&self, which: Which) -> Keychain {
        Keychain::through(&self.path("security"), which, Slot::Sim)
    }

    pub(crate) fn mood(&self, mood: &str) {
        fs::write(self.path("mood"), format!("{mood}\n")).unwrap();
    }

    pub(crate) fn items(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut items: Vec<_> =
            names.filter_map(|name| name.to_str()?.strip_prefix("item.").map(str::to_owned)).collect();
        items.sort();
        items
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

fn secret(length: usize) -> String {
    // Every letter of it is a hex digit too, as in the worst of tokens.
    "never5ec0de".replace(['n', 'v', 'r'], "a").chars().cycle().take(length).collect()
}

async fn loaded(keychain: &Keychain) -> Result<Option<String>, KeychainError> {
    Ok(keychain.load().await?.map(|text| text.expose().to_owned()))
}

#[tokio::test]
async fn a_sign_in_of_any_length_comes_back_as_hex_or_as_text() {
    let double = Double::new();
    let keychain = double.keychain(Which::Normal);
    assert_eq!(loaded(&keychain).await, Ok(None));
    for length in [1, 1_500, 1_501, 4_700, 20] {
        let secret = secret(length);
        keychain.save(secret.as_bytes()).await.unwrap();
        for mood in ["", "text"] {
            double.mood(mood);
            assert_eq!(loaded(&keychain).await, Ok(Some(secret.clone())), "{length} {mood}");
        }
        double.mood("");
        assert_eq!(double.items().len(), 1 + length.div_ceil(PART), "only the newest is there: {:?}", double.items());
    }
    let other = "{\n  \"scope\": \"caf\u{e9}\"\n}\n";
    keychain.save(other.as_bytes()).await.unwrap();
    assert_eq!(keychain.load_now().unwrap().unwrap().expose(), other);
    keychain.remove().await.unwrap();
    keychain.remove().await.unwrap();
    assert_eq!((loaded(&keychain).await, double.items().len()), (Ok(None), 0));
    assert_eq!(keychain.save(&[b'x'; LONGEST + 1]).await, Err(KeychainError::TooLong));
}

#[tokio::test]
async fn nothing_secret_is_an_argument_and_no_setting_is_handed_on() {
    let double = Double::new();
    let keychain = double.keychain(Which::Sandbox);
    keychain.save(secret(1_600).as_bytes()).await.unwrap();
    loaded(&keychain).await.unwrap();
    keychain.remove().await.unwrap();
    assert!(double.text("arguments").lines().count() > 8);
    assert!(double.text("arguments").lines().all(|line| line == "-i"));
    assert!(!double.text("environment").contains("CARGO"), "{}", double.text("environment"));
    assert!(!format!("{keychain:?}").contains("5ec0de"));
}

#[tokio::test]
async fn the_slots_and_the_simulator_share_no_item() {
    let of = |which, slot| Keychain::of(which, slot).service;
    let names = [Which::Normal, Which::Sandbox].map(|which| [Slot::Sandbox, Slot::Sim].map(|slot| of(which, slot)));
    let all: std::collections::BTreeSet<_> = names.iter().flatten().collect();
    assert_eq!(all.len(), 4);
    assert!(all.contains(&"fleetwatch-epiphan-normal".to_owned()), "{all:?}");

    let double = Double::new();
    let (one, two) = (double.keychain(Which::Normal), double.keychain(Which::Sandbox));
    one.save(b"one").await.unwrap();
    two.save(b"two").await.unwrap();
    one.remove().await.unwrap();
    assert_eq!((loaded(&one).await, loaded(&two).await), (Ok(None), Ok(Some("two".to_owned()))));
}

#[tokio::test]
async fn a_write_that_fails_anywhere_leaves_the_sign_in_before_it() {
    let double = Double::new();
    let keychain = double.keychain(Which::Normal);
    let before = secret(2_000);
    keychain.save(before.as_bytes()).await.unwrap();
    let unusable = KeychainError::Unusable("fleetwatch-sim-normal".to_owned());
    for (more, (mood, why)) in [
        ("locked .part-b1", KeychainError::Locked),
        ("refused .part-b0", KeychainError::Locked),
        ("half .part-b1", unusable.clone()),
        ("forgets .part-b2", unusable.clone()),
        ("takes-and-fails .part-b0", KeychainError::Locked),
        ("none .part-b0", KeychainError::NoKeychain),
        ("odd .part-b0", KeychainError::Failed(Some(9))),
        // The header's name ends so.
        ("forgets normal", unusable.clone()),
    ]
    .into_iter()
    .enumerate()
    {
        double.mood(mood);
        // Never the one that the last try left the parts of.
        assert_eq!(keychain.save(secret(4_000 + more).as_bytes()).await, Err(why), "{mood}");
        double.mood("");
        assert_eq!(loaded(&keychain).await, Ok(Some(before.clone())), "{mood}");
    }
    // What is there counts, not what the program says of it.
    double.mood("takes-and-fails normal");
    keychain.save(secret(4_000).as_bytes()).await.unwrap();
    assert_eq!(loaded(&keychain).await, Ok(Some(secret(4_000))));
}

#[tokio::test]
async fn a_torn_or_changed_sign_in_is_unusable_and_never_half_of_one() {
    let double = Double::new();
    let keychain = double.keychain(Which::Normal);
    let unusable = Err(KeychainError::Unusable("fleetwatch-sim-normal".to_owned()));
    let header = "item.normal.fleetwatch-sim-normal";
    let part = "item.normal.fleetwatch-sim-normal.part-a1";
    let hexed = |text: &str| hex(text.as_bytes());
    for (item, value) in [
        (part, None),
        (part, Some(String::new())),
        (part, Some(hexed(&secret(499)))),
        (part, Some(hexed(&"x".repeat(500)))),
        (part, Some("z".repeat(1_000))),
        (header, Some(hexed("1 a 2 2000 abc"))),
        (header, Some(hexed(&format!("1 a 1 2000 {}", "0".repeat(64))))),
        (header, Some(hexed(&format!("2 a 2 2000 {}", "0".repeat(64))))),
        (header, Some(hexed(&format!("1 a 2 2000 {}", "0".repeat(64))))),
        (header, Some(hexed(&format!("1 a 99999 148497000 {}", "0".repeat(64))))),
        (header, Some("not a header".to_owned())),
    ] {
        keychain.remove().await.unwrap();
        keychain.save(secret(2_000).as_bytes()).await.unwrap();
        match &value {
            Some(value) => fs::write(double.path(item), value).unwrap(),
            None => fs::remove_file(double.path(item)).unwrap(),
        }
        assert_eq!(loaded(&keychain).await, unusable, "{item} {value:?}");
    }
    // A new sign-in begins anew.
    keychain.save(b"new").await.unwrap();
    assert_eq!(loaded(&keychain).await, Ok(Some("new".to_owned())));
    for mood in ["garbage", "flood"] {
        double.mood(mood);
        assert_eq!(loaded(&keychain).await, unusable, "{mood}");
    }
}

#[tokio::test]
async fn a_program_that_waits_for_a_person_is_ended_in_time() {
    let double = Double::new();
    let mut keychain = double.keychain(Which::Normal);
    keychain.save(b"before").await.unwrap();
    keychain.limit = Duration::from_millis(300);
    double.mood("slow");
    for done in [keychain.load().await.map(drop), keychain.save(b"new").await, keychain.remove().await] {
        assert_eq!(done, Err(KeychainError::Late));
    }
    double.mood("");
    keychain.limit = LIMIT;
    assert_eq!(loaded(&keychain).await, Ok(Some("before".to_owned())));
    let none = Keychain::through(&double.path("nothing"), Which::Normal, Slot::Sim);
    assert_eq!(none.load_now().map(drop), Err(KeychainError::NotRun(std::io::ErrorKind::NotFound)));
}

#[test]
fn each_error_says_what_to_do_in_plain_words() {
    for (error, word) in [
        (KeychainError::Failed(Some(9)), "ended with 9"),
        (KeychainError::Failed(None), "signal"),
        (KeychainError::Late, "on the screen"),
        (KeychainError::Locked, "locked or refused"),
        (KeychainError::NoKeychain, "log in at the screen"),
        (KeychainError::NotRun(std::io::ErrorKind::NotFound), "could not be run"),
        (KeychainError::TooLong, "longer than"),
        (KeychainError::Unusable("fleetwatch-epiphan-normal".to_owned()), "login anew"),
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
}
