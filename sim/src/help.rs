//! A few help pages for `kb_search` and `kb_fetch`.

use serde_json::{Value, json};

struct Page {
    id: &'static str,
    title: &'static str,
    words: &'static [&'static str],
    text: &'static str,
}

const PAGES: [Page; 5] = [
    Page {
        id: "recording-start",
        title: "Start and stop a recording",
        words: &["record", "recording", "start", "stop", "grabar", "grabación"],
        text: "A channel records to the disk of its device. Starting a channel that already records changes nothing: the device answers that it is busy.",
    },
    Page {
        id: "no-signal",
        title: "A source shows no signal",
        words: &["signal", "hdmi", "source", "black", "señal"],
        text: "Check the cable, wake the computer on the input, then look at the source list of the device.",
    },
    Page {
        id: "disk-space",
        title: "The disk is nearly full",
        words: &["disk", "storage", "space", "full", "disco"],
        text: "Copy finished recordings to the archive, then delete them on the device. A device without free space can't record.",
    },
    Page {
        id: "restart",
        title: "Restart a device",
        words: &["reboot", "restart", "reiniciar"],
        text: "A restart takes a couple of minutes and ends every recording and stream of the device.",
    },
    Page {
        id: "streaming",
        title: "Stream to a destination",
        words: &["stream", "streaming", "rtmp", "srt", "transmitir"],
        text: "One destination takes one device at a time. Stop the first device before another one starts.",
    },
];

/// The pages that share a word with the query; `low_confidence` when none does.
pub(crate) fn search(query: &str) -> Value {
    let query = query.to_lowercase();
    let asked: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let results: Vec<Value> = PAGES
        .iter()
        .filter(|page| page.words.iter().any(|word| asked.contains(word)))
        .map(|page| json!({"id": page.id, "title": page.title, "snippet": page.text}))
        .collect();
    json!({"low_confidence": results.is_empty(), "results": results})
}

/// One page by id.
pub(crate) fn fetch(id: &str) -> Option<Value> {
    let page = PAGES.iter().find(|page| page.id == id)?;
    Some(json!({"id": page.id, "title": page.title, "text": page.text, "low_confidence": false}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_no_page_covers_is_low_confidence() {
        assert_eq!(search("HDMI cable?")["low_confidence"], false);
        assert_eq!(search("HDMI cable?")["results"][0]["id"], "no-signal");
        assert_eq!(search("pizza")["low_confidence"], true);
        assert!(fetch("restart").is_some() && fetch("pizza").is_none());
    }
}
