use super::*;
use host::clock::ManualClock;
use zeroize::Zeroizing;

const PIN: &str = "4711-0815-42";

/// A list with one operator, who has no PIN yet.
struct List {
    _folder: tempfile::TempDir,
    time: ManualClock,
    registry: Registry,
    ana: Person,
}

fn list() -> List {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("principals.yaml");
    files::create_private(&path, b"- name: ana\n  uid: 1001\n  operator: true\n").unwrap();
    let (clock, time) = Clock::dangerous_manual(1_900_000_000, 5_000_000, "boot-1");
    let registry = Registry::load(&path, &clock).unwrap();
    let ana = registry.person_of_uid(1_001).unwrap();
    List { _folder: folder, time, registry, ana }
}

/// The same with a PIN, and the person who knows it.
async fn list_with_pin() -> List {
    let mut list = list();
    list.registry.set_pin(&list.ana, false, &typed(PIN)).await.unwrap();
    list.ana = list.registry.person_of_uid(1_001).unwrap();
    list
}

fn typed(pin: &str) -> PinEntry {
    PinEntry::new(Zeroizing::new(pin.to_owned()))
}

fn code<T: std::fmt::Debug>(result: Result<T, Refusal>) -> RefusalCode {
    result.unwrap_err().code
}

#[tokio::test]
async fn whoever_has_no_pin_is_let_in_by_none() {
    let List { registry, ana, _folder, .. } = list();
    for pin in ["", PIN] {
        assert_eq!(code(registry.check_pin(&ana, &typed(pin)).await), RefusalCode::NoPin, "{pin:?}");
    }
}

#[tokio::test]
async fn a_pin_is_right_to_the_last_character() {
    let List { registry, ana, _folder, .. } = list_with_pin().await;
    for pin in ["", "4711-0815-4", "4711-0815-42 "] {
        assert_eq!(code(registry.check_pin(&ana, &typed(pin)).await), RefusalCode::WrongPin, "{pin:?}");
    }
    registry.check_pin(&ana, &typed(PIN)).await.unwrap();
}

#[tokio::test]
async fn five_wrong_pins_lock_the_right_one_for_a_quarter_of_an_hour() {
    let List { registry, ana, time, _folder } = list_with_pin().await;
    for _ in 0..limits::PIN_TRIES {
        assert_eq!(code(registry.check_pin(&ana, &typed("0000000000")).await), RefusalCode::WrongPin);
    }
    assert!(registry.is_locked(&ana));
    time.advance(15 * 60 - 1);
    assert_eq!(code(registry.check_pin(&ana, &typed(PIN)).await), RefusalCode::PinLocked);
    time.advance(1);
    registry.check_pin(&ana, &typed(PIN)).await.unwrap();
}

#[tokio::test]
async fn a_session_from_before_a_new_pin_has_no_rights_any_more() {
    let List { registry, ana, _folder, .. } = list_with_pin().await;
    assert!(registry.still_operates(&ana));
    registry.set_pin(&ana, true, &typed("another-pin-1")).await.unwrap();
    assert!(!registry.still_operates(&ana));
    assert!(!registry.still_operates(&Person::dangerous_made_up("eve", 1_002)), "no row names her");
}

#[tokio::test]
async fn who_has_a_pin_is_known_of_each_person() {
    let list = list();
    assert!(!list.registry.has_pin(&list.ana));
    list.registry.set_pin(&list.ana, false, &typed(PIN)).await.unwrap();
    assert!(list.registry.has_pin(&list.ana) && list.registry.any_pin());
}
