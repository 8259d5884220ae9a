//! The newest valid events of one author, from all relays.

use std::cmp::Reverse;

use nostr::{Event, EventId, PublicKey};
use serde_json::value::RawValue;
use usher_nostr_connection::EventHead;
use usher_protocol::envelope;

use super::profile_content::{MAX_DOCUMENT_BYTES, ProfileContent};
use super::relay_list_event::RELAY_LIST;

pub(crate) const PROFILE: u16 = 0;

/// The newest profile and relay list of one author.
#[derive(Debug)]
pub(crate) struct NewestEvents {
    author: PublicKey,
    not_after: u64,
    profile: Option<(Event, ProfileContent)>,
    relay_list: Option<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileUpdate {
    Nothing,
    Profile,
    RelayList,
}

impl NewestEvents {
    /// Ignores events dated later than `not_after` (Unix seconds): they would hide all others until that time.
    pub(crate) fn new(author: PublicKey, not_after: u64) -> Self {
        Self { author, not_after, profile: None, relay_list: None }
    }

    /// Keeps an event if it is the author's, valid, and newer than the known one.
    pub(crate) fn take(&mut self, json: &str) -> ProfileUpdate {
        self.try_take(json).unwrap_or(ProfileUpdate::Nothing)
    }

    fn try_take(&mut self, json: &str) -> Option<ProfileUpdate> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        let head = EventHead::parse(raw)?;
        let author = PublicKey::from_hex(&head.pubkey).ok()?;
        let kind = u16::try_from(head.kind).ok().filter(|kind| matches!(*kind, PROFILE | RELAY_LIST))?;
        let id = EventId::from_hex(&head.id).ok()?;
        if author != self.author || head.created_at > self.not_after || !self.is_news(kind, head.created_at, id) {
            return None;
        }
        let event: Event = serde_json::from_str(json).ok()?;
        let document = match kind {
            PROFILE => Some(ProfileContent::read(&event.content)?),
            _ if event.content.len() > MAX_DOCUMENT_BYTES => return None,
            _ => None,
        };
        envelope::verify(&event).ok()?;
        Some(match document {
            Some(document) => {
                self.profile = Some((event, document));
                ProfileUpdate::Profile
            }
            None => {
                self.relay_list = Some(event);
                ProfileUpdate::RelayList
            }
        })
    }

    /// Of two events of the same second the lower id wins (NIP-01).
    fn is_news(&self, kind: u16, created_at: u64, id: EventId) -> bool {
        let known = match kind {
            PROFILE => self.profile.as_ref().map(|(event, _)| event),
            _ => self.relay_list.as_ref(),
        };
        known.is_none_or(|known| (created_at, Reverse(id)) > (known.created_at.as_secs(), Reverse(known.id)))
    }

    pub(crate) fn profile(&self) -> Option<&(Event, ProfileContent)> {
        self.profile.as_ref()
    }

    pub(crate) fn relay_list(&self) -> Option<&Event> {
        self.relay_list.as_ref()
    }

    pub(crate) fn into_parts(self) -> (Option<(Event, ProfileContent)>, Option<Event>) {
        (self.profile, self.relay_list)
    }
}

#[cfg(test)]
mod tests {
    use nostr::{EventBuilder, JsonUtil as _, Keys, Kind, Timestamp};

    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn event(keys: &Keys, kind: u16, content: &str, created_at: u64) -> Event {
        EventBuilder::new(Kind::from_u16(kind), content)
            .custom_created_at(Timestamp::from_secs(created_at))
            .sign_with_keys(keys)
            .unwrap()
    }

    fn named(keys: &Keys, name: &str, created_at: u64) -> Event {
        event(keys, PROFILE, &format!("{{\"name\":\"{name}\"}}"), created_at)
    }

    fn name(newest: &NewestEvents) -> Option<&str> {
        newest.profile().and_then(|(_, document)| document.name.as_deref())
    }

    #[test]
    fn newest_event_wins_in_any_order() {
        let keys = Keys::generate();
        let mut newest = NewestEvents::new(keys.public_key(), NOW);
        assert_eq!(newest.take(&named(&keys, "b", NOW - 10).as_json()), ProfileUpdate::Profile);
        assert_eq!(newest.take(&named(&keys, "a", NOW - 20).as_json()), ProfileUpdate::Nothing);
        assert_eq!(newest.take(&named(&keys, "b", NOW - 10).as_json()), ProfileUpdate::Nothing);
        assert_eq!(newest.take(&named(&keys, "c", NOW).as_json()), ProfileUpdate::Profile);
        assert_eq!(name(&newest), Some("c"));
        assert_eq!(newest.take(&event(&keys, RELAY_LIST, "", NOW - 50).as_json()), ProfileUpdate::RelayList);
        assert_eq!(newest.take(&event(&keys, 1, "{}", NOW).as_json()), ProfileUpdate::Nothing);
    }

    #[test]
    fn lower_id_wins_within_the_same_second() {
        let keys = Keys::generate();
        let mut both = [named(&keys, "a", NOW), named(&keys, "b", NOW)];
        both.sort_by_key(|event| event.id);
        for order in [[0, 1], [1, 0]] {
            let mut newest = NewestEvents::new(keys.public_key(), NOW);
            order.iter().for_each(|i| {
                newest.take(&both[*i].as_json());
            });
            assert_eq!(newest.profile().unwrap().0.id, both[0].id);
        }
    }

    #[test]
    fn forgeries_of_any_kind_are_refused() {
        let (keys, other) = (Keys::generate(), Keys::generate());
        let mut newest = NewestEvents::new(keys.public_key(), NOW);
        let good = named(&keys, "good", NOW - 100);
        let mut renamed = good.clone();
        renamed.content = "{\"name\":\"evil\"}".to_owned();
        renamed.created_at = Timestamp::from_secs(NOW);
        let mut rehashed = named(&other, "evil", NOW);
        rehashed.pubkey = keys.public_key();
        let mut signed_by_other = named(&keys, "evil", NOW);
        signed_by_other.sig = named(&other, "evil", NOW).sig;
        for bad in [
            renamed.as_json(),
            rehashed.as_json(),
            signed_by_other.as_json(),
            named(&other, "evil", NOW).as_json(),
            named(&keys, "future", NOW + 1).as_json(),
            event(&keys, PROFILE, "no object", NOW).as_json(),
            event(&keys, PROFILE, &"x".repeat(MAX_DOCUMENT_BYTES + 1), NOW).as_json(),
            "{}".to_owned(),
            String::new(),
        ] {
            assert_eq!(newest.take(&bad), ProfileUpdate::Nothing, "{bad}");
        }
        assert_eq!(newest.take(&good.as_json()), ProfileUpdate::Profile);
        assert_eq!(name(&newest), Some("good"));
    }
}
