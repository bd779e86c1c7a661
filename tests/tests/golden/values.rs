//! Values that several words carry.

use protocol::doctor::{Check, Grade, Report, Row};
use protocol::hello::{AuditHead, Hello};
use protocol::ids::{Label, ProposalNumber};
use protocol::propose::{News, ProposalState};
use protocol::refusal::{Refusal, RefusalCode};
use protocol::shown::Worded;
use protocol::signin::{LoginLink, SignedIn};

pub(crate) fn hello() -> Hello {
    Hello { wire: 1, build: "fleetwatch golden".to_owned() }
}

pub(crate) fn head() -> AuditHead {
    AuditHead { sequence: 300, hash: [0x11; 32], mac: [0x22; 32] }
}

pub(crate) fn number(number: u64) -> ProposalNumber {
    ProposalNumber::new(number).unwrap()
}

pub(crate) fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

pub(crate) fn worded(text: &str) -> Worded {
    Worded::new(format!("{text} en"), format!("{text} es"))
}

pub(crate) fn report() -> Report {
    let row = Row { check: Check::Fence, grade: Grade::Fail, found: worded("none"), advice: worded("set it") };
    Report { hello: hello(), policy: "ab".repeat(32), rows: vec![row] }
}

pub(crate) fn refusal() -> Refusal {
    Refusal::new(RefusalCode::NumberNotInteger, "line 1 column 9")
}

pub(crate) fn news() -> News {
    News {
        number: number(9_007_199_254_740_991),
        state: ProposalState::Refused,
        refusal: Some(refusal()),
        detail: "Niño".to_owned(),
    }
}

pub(crate) fn login_link() -> LoginLink {
    LoginLink { url: "https://a.example/authorize?state=s".to_owned(), host: "a.example".to_owned(), seconds: 300 }
}

pub(crate) fn signed_in() -> SignedIn {
    SignedIn {
        scope: Some("devices".to_owned()),
        expires_in: Some(3_600),
        renewed: true,
        devices: Some(3),
        notes: vec![worded("note")],
    }
}
