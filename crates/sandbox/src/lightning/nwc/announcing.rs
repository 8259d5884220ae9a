//! Saying what the wallet can do.

use nostr::{EventBuilder, Kind, Tag, TagKind, Timestamp};

use super::Encryptions;
use super::desk::notifications;
use super::serving::Shared;

/// Kind of the event by which a wallet says what it can do.
pub(super) const INFO: u16 = 13_194;

impl Shared {
    /// Says what it can do, to each relay now and whenever it is connected.
    pub(super) fn announce(&self) {
        let Some(line) = self.line.read().clone() else { return };
        let behaviour = self.behaviour.lock().clone();
        if !behaviour.announces {
            return;
        }
        let mut words: Vec<&str> = behaviour.offers.iter().map(|method| method.as_str()).collect();
        if behaviour.notifications {
            words.push("notifications");
        }
        let content = words.join(" ");
        let mut last = self.announced.lock();
        if last.0 != content || last.1 != behaviour.encryptions || last.2 == 0 {
            // Of two events of the same second a relay keeps any.
            *last = (content.clone(), behaviour.encryptions, self.now().max(last.2.saturating_add(1)));
        }
        let mut builder = EventBuilder::new(Kind::from_u16(INFO), content);
        match behaviour.encryptions {
            Encryptions::Both => builder = builder.tag(tag("encryption", "nip44_v2 nip04")),
            Encryptions::Nip44 => builder = builder.tag(tag("encryption", "nip44_v2")),
            Encryptions::Nip04 => {}
        }
        if behaviour.notifications {
            builder = builder.tag(tag("notifications", &notifications(&behaviour).join(" ")));
        }
        let builder = builder.custom_created_at(Timestamp::from_secs(last.2));
        if let Ok(event) = builder.sign_with_keys(&self.keys.wallet) {
            line.greet_with(event);
        }
    }
}

pub(super) fn tag(name: &str, value: &str) -> Tag {
    Tag::custom(TagKind::custom(name.to_owned()), [value.to_owned()])
}
