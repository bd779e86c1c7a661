//! Epiphan's identifiers, each checked once where it enters.

use std::fmt;

/// A whole unit: 8 to 32 lower-case hexadecimal characters, no hyphen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MasterId(String);

impl MasterId {
    /// The text as a master id, or nothing.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let fits = (8..=32).contains(&text.len());
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (fits && hex).then(|| Self(text.to_owned()))
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MasterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A channel's number on its unit, as text: 1 to 999, no leading zero.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelId(String);

impl ChannelId {
    /// The text as a channel number, or nothing.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let digits = (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        (digits && !text.starts_with('0')).then(|| Self(text.to_owned()))
    }

    /// The number's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Splits a channel's device id (`master-number`), or gives nothing.
#[must_use]
pub fn split_channel_device(text: &str) -> Option<(MasterId, ChannelId)> {
    let (master, channel) = text.split_once('-')?;
    Some((MasterId::new(master)?, ChannelId::new(channel)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_master_and_channel_ids_pass() {
        assert!(MasterId::new("19012341234").is_some());
        for bad in ["", "1901234", "19012341234\n", "1901234123A", "19012341234-1", "../19012341", &"a".repeat(33)] {
            assert_eq!(MasterId::new(bad), None, "{bad:?}");
        }
        for bad in ["", "0", "01", "1000", "-1", "1a", " 1", "1\n"] {
            assert_eq!(ChannelId::new(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_channel_device_id_splits_into_unit_and_channel() {
        let (master, channel) = split_channel_device("19012341234-12").unwrap();
        assert_eq!((master.as_str(), channel.as_str()), ("19012341234", "12"));
        for bad in ["19012341234", "19012341234-1-2", "19012341234-0", "-1"] {
            assert_eq!(split_channel_device(bad), None, "{bad:?}");
        }
    }
}
