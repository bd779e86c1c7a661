use super::*;

fn hosts(text: &str) -> Hosts {
    Hosts::of(&Setting { hosts: Some(text.to_owned()), slot: None }).unwrap()
}

fn usual(slot: Option<&str>) -> Hosts {
    Hosts::of(&Setting { hosts: None, slot: slot.map(str::to_owned) }).unwrap()
}

// A link whose daemon names the host that a browser would see, unless it can't be told.
fn checked(hosts: &Hosts, url: &str) -> Result<(), NotShown> {
    let host = Place::of(url).map(|place| place.host).unwrap_or_default();
    hosts.check(&LoginLink { url: url.to_owned(), host, seconds: 300 })
}

#[test]
fn epiphans_hosts_are_the_usual_ones_and_the_simulator_only_in_its_slot() {
    for url in
        ["https://go.epiphan.cloud/authorize?a=b", "https://login.eu.epiphan.cloud?x", "https://AU.Epiphan.cloud/"]
    {
        assert_eq!(checked(&usual(None), url), Ok(()), "{url}");
        assert_eq!(checked(&usual(Some("sandbox")), url), Ok(()), "{url}");
        checked(&usual(Some("sim")), url).unwrap_err();
    }
    let sim = "http://127.0.0.1:4711/authorize?a=b";
    assert_eq!(checked(&usual(Some("sim")), sim), Ok(()));
    assert_eq!(checked(&usual(None), sim), Err(NotShown::Unknown("127.0.0.1:4711".to_owned())));
    assert_eq!(Hosts::of(&Setting { hosts: None, slot: Some("Sim".to_owned()) }).unwrap_err(), BadSetting::Slot);
}

#[test]
fn a_name_that_only_looks_like_a_configured_one_is_not_it() {
    let hosts = hosts("login.example, *.example.com");
    for url in [
        "https://login.example/authorize",
        "https://LOGIN.example/",
        "https://a.example.com/",
        "https://a.b.example.com/",
    ] {
        assert_eq!(checked(&hosts, url), Ok(()), "{url}");
    }
    for url in [
        "https://evillogin.example/",
        "https://login.example.evil.test/",
        "https://a.login.example/",
        "https://example.com/",
        "https://evilexample.com/",
        "https://a.example.com.evil.test/",
        "https://evil.test/login.example",
        "https://evil.test/?https://login.example/",
        "https://evil.test#@login.example",
        // Looks like login with another letter, as browsers write it.
        "https://xn--lgin-6qa.example/",
        "https://2130706433/",
        "https://0x7f.1/",
    ] {
        assert!(matches!(checked(&hosts, url), Err(NotShown::Unknown(_))), "{url}");
    }
    assert_eq!(checked(&self::hosts("xn--lgin-6qa.example"), "https://xn--lgin-6qa.example/"), Ok(()));
}

#[test]
fn a_link_that_browsers_and_people_read_differently_is_not_shown() {
    let hosts = hosts("login.example,127.0.0.1");
    for url in [
        "http://login.example/authorize",
        "https://login.example@evil.test/",
        "https://login.example:443@evil.test/",
        "https://user@login.example/",
        "https://login.example\\@evil.test/",
        "https://login.example./authorize",
        "https://.login.example/",
        "https://login..example/",
        "https://login.example:/",
        "https://login.example:0/",
        "https://login.example:65979/",
        "https://login.example:+443/",
        "https://login.example:443:443/",
        "https://login%2eexample/",
        "https://l\u{f3}gin.example/",
        "https://login.example\u{3002}evil.test/",
        "https://[::1]/",
        "http://[::1]:4711/authorize",
        "http://localhost:4711/authorize",
        "http://127.0.0.1:@evil.test/",
        "http://127.0.0.2:4711/",
        "http://127.0.0.1.evil.test:4711/",
        "https:login.example/",
        "https:///login.example/",
        "//login.example/",
        "HTTPS://login.example/",
        "https://login.example/\u{1b}[2J",
        "https://login.example/\tx",
        " https://login.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "",
    ] {
        assert!(matches!(checked(&hosts, url), Err(NotShown::Odd(_))), "{url}");
    }
    checked(&hosts, &format!("https://login.example/{}", "a".repeat(LONGEST))).unwrap_err();
}

#[test]
fn a_port_counts_only_where_the_setting_names_it() {
    for (setting, url, fits) in [
        ("login.example", "https://login.example:443/", true),
        ("login.example", "https://login.example:8443/", false),
        ("login.example:8443", "https://login.example:8443/", true),
        ("login.example:8443", "https://login.example/", false),
        ("login.example:443", "https://login.example/", true),
        ("127.0.0.1", "http://127.0.0.1:4711/", true),
        ("127.0.0.1:4711", "http://127.0.0.1:4711/", true),
        ("127.0.0.1:4711", "http://127.0.0.1:4712/", false),
        ("127.0.0.1", "https://127.0.0.1:4711/", true),
        ("10.0.0.7", "https://10.0.0.7/", true),
    ] {
        assert_eq!(checked(&hosts(setting), url).is_ok(), fits, "{setting} {url}");
    }
}

#[test]
fn a_setting_that_is_no_list_of_hosts_is_refused() {
    for bad in [
        "https://login.example",
        "login.example,",
        "*",
        "*.",
        "*.com",
        "*.127.0.0.1",
        "login.*.example",
        "127.1",
        "2130706433",
        "login.example/",
        "login.example:x",
        "user@login.example",
        "[::1]",
        "login example",
    ] {
        let error = Hosts::of(&Setting { hosts: Some(bad.to_owned()), slot: None }).unwrap_err();
        assert!(error.to_string().contains("FLEETWATCH_LOGIN_HOSTS"), "{bad}: {error}");
    }
}

#[test]
fn what_is_not_shown_is_told_escaped_with_the_settings_name() {
    let hosts = hosts("login.example:8443,*.example.com");
    let unknown = checked(&hosts, "https://evil.test:99/?state=never-show").unwrap_err();
    let words = unknown.words(&hosts, Language::English);
    assert!(words.contains("leads to evil.test:99,") && words.contains("FLEETWATCH_LOGIN_HOSTS"), "{words}");
    assert!(words.contains("It names login.example:8443,*.example.com.") && !words.contains("never-show"), "{words}");
    let words = unknown.words(&hosts, Language::Spanish);
    assert!(words.contains("lleva a evil.test:99") && words.contains("FLEETWATCH_LOGIN_HOSTS"), "{words}");
    let odd = checked(&hosts, "https://login.example\u{202e}@evil.test\u{1b}[2J/?state=never-show").unwrap_err();
    let words = odd.words(&hosts, Language::English);
    assert!(
        words.contains("@evil.test") && !words.contains(['\u{1b}', '\u{202e}']) && !words.contains("never-show"),
        "{words}"
    );
}

#[test]
fn another_host_than_the_daemon_names_is_not_shown() {
    let link = |host: &str| LoginLink { url: "https://login.example/".to_owned(), host: host.to_owned(), seconds: 300 };
    let hosts = hosts("login.example,other.example");
    assert_eq!(hosts.check(&link("other.example")), Err(NotShown::OtherThanNamed));
    assert_eq!(hosts.check(&link("login.example")), Ok(()));
}
