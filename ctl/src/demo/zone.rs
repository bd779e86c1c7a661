//! The name of this machine's time zone, for the demo's policy file.

use std::path::Path;

const ZONES: &str = "/usr/share/zoneinfo";

/// The zone that `/etc/localtime` points to, or UTC.
pub(crate) fn local() -> String {
    let link = std::fs::read_link("/etc/localtime").unwrap_or_default();
    let name = name_of(&link.to_string_lossy());
    name.filter(|name| Path::new(ZONES).join(name).is_file()).unwrap_or_else(|| "UTC".to_owned())
}

fn name_of(link: &str) -> Option<String> {
    let (_, name) = link.split_once("/zoneinfo/")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_+-/".contains(&b);
    (!name.is_empty() && name.len() <= 60 && name.bytes().all(plain)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_plain_name_behind_zoneinfo() {
        for (link, want) in [
            ("/usr/share/zoneinfo/Europe/Madrid", Some("Europe/Madrid")),
            ("../usr/share/zoneinfo/America/Argentina/Buenos_Aires", Some("America/Argentina/Buenos_Aires")),
            ("/usr/share/zoneinfo/a: b", None),
            ("/usr/share/zoneinfo/", None),
            ("/elsewhere", None),
            ("", None),
        ] {
            assert_eq!(name_of(link).as_deref(), want, "{link}");
        }
    }
}
