//! The event by which a wallet service publishes what it can do.

use nostr::{EventBuilder, Kind, Tag, TagKind, Timestamp};
use usher_protocol::nwc::INFO;
use usher_protocol::{Event, Keys};

use super::{Capabilities, Encryptions};

#[derive(Debug, Default)]
pub(super) struct LastAnnouncement(Option<(Capabilities, u64)>);

impl LastAnnouncement {
    /// The event that announces these capabilities. Its time changes only with its content: of two events of the same
    /// second, a relay keeps either.
    pub(super) fn event(&mut self, capabilities: &Capabilities, keys: &Keys, now: u64) -> Option<Event> {
        let created_at = match &self.0 {
            Some((same, at)) if same == capabilities => *at,
            Some((_, at)) => now.max(at.saturating_add(1)),
            None => now.max(1),
        };
        self.0 = Some((capabilities.clone(), created_at));
        let mut words: Vec<&str> = capabilities.methods.iter().map(|method| method.as_str()).collect();
        if capabilities.notifications {
            words.push("notifications");
        }
        let mut builder = EventBuilder::new(Kind::from_u16(INFO), words.join(" "));
        match capabilities.encryptions {
            Encryptions::Both => builder = builder.tag(tag("encryption", "nip44_v2 nip04")),
            Encryptions::Nip44 => builder = builder.tag(tag("encryption", "nip44_v2")),
            Encryptions::Nip04 => {}
        }
        if capabilities.notifications {
            builder = builder.tag(tag("notifications", &capabilities.notification_types().join(" ")));
        }
        builder.custom_created_at(Timestamp::from_secs(created_at)).sign_with_keys(keys).ok()
    }
}

pub(super) fn tag(name: &str, value: &str) -> Tag {
    Tag::custom(TagKind::custom(name.to_owned()), [value.to_owned()])
}
