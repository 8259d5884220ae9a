//! Relay lists (kind 10002, NIP-65): where a user reads and writes.

use nostr::{Event, EventBuilder, Keys, Kind, Tag, Timestamp};

use crate::relay_address::RelayAddress;

pub(crate) const RELAY_LIST: u16 = 10_002;

/// Most entries read; the NIP recommends 2 to 4 of each kind.
const MAX_ENTRIES: usize = 64;

/// The relays to which the author writes, unmodified, at most `most`. The author's profile is there.
pub(crate) fn write_relays(event: &Event, most: usize) -> Vec<String> {
    let mut relays = Vec::new();
    for tag in event.tags.iter().take(MAX_ENTRIES) {
        let relay = match tag.as_slice() {
            [name, relay] if name == "r" => relay,
            [name, relay, marker, ..] if name == "r" && (marker == "write" || marker.is_empty()) => relay,
            _ => continue,
        };
        if RelayAddress::parse(relay).is_ok() && !relays.contains(relay) {
            relays.push(relay.clone());
        }
    }
    relays.truncate(most);
    relays
}

/// A list of relays for both reading and writing.
pub(crate) fn build(relays: &[String], keys: &Keys, created_at: u64) -> Option<Event> {
    let tags = relays.iter().filter_map(|relay| Tag::parse(["r", relay.as_str()]).ok());
    EventBuilder::new(Kind::RelayList, "")
        .tags(tags)
        .custom_created_at(Timestamp::from_secs(created_at))
        .sign_with_keys(keys)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(tags: &[&[&str]]) -> Event {
        let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap());
        EventBuilder::new(Kind::RelayList, "").tags(tags).sign_with_keys(&Keys::generate()).unwrap()
    }

    #[test]
    fn write_relays_have_no_marker_or_the_write_marker() {
        let event = list(&[
            &["r", "wss://both.example"],
            &["r", "wss://read.example", "read"],
            &["r", "wss://write.example", "write"],
            &["r", "wss://write.example", "write"],
            &["r", "https://no.relay.example"],
            &["r"],
            &["p", "wss://other.example"],
            &["r", "wss://third.example", ""],
        ]);
        let all = ["wss://both.example", "wss://write.example", "wss://third.example"];
        assert_eq!(write_relays(&event, 9), all);
        assert_eq!(write_relays(&event, 2), all[..2]);
    }

    #[test]
    fn long_lists_are_truncated() {
        let mut tags = vec![&["r", "wss://r.example", "read"][..]; 5000];
        tags.push(&["r", "wss://last.example"]);
        assert!(write_relays(&list(&tags), 4).is_empty());
    }
}
