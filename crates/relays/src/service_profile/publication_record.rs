//! The stored record of the service's own profile.

use std::collections::BTreeMap;

use nostr::{Event, EventId, PublicKey};
use serde::{Deserialize, Serialize};
use usher_engine::ports::{ProfileChange, SettingStore, StoreError};

use crate::relay_address::RelayAddress;

const SETTING: &str = "profile";

/// The record of the service's own profile, in one setting because it changes together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PublicationRecord {
    /// The value of `profile.*` when it was last published.
    #[serde(default)]
    pub(super) configured: ConfiguredProfile,
    pub(super) profile: Option<Event>,
    pub(super) relay_list: Option<Event>,
    #[serde(default)]
    accepted: BTreeMap<String, Vec<EventId>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConfiguredProfile {
    name: Option<String>,
    display_name: Option<String>,
    picture: Option<String>,
    about: Option<String>,
    nip05: Option<String>,
}

impl PublicationRecord {
    /// The stored record of the key `own`. A record of another key or an unreadable one is ignored: the profile is
    /// published again.
    pub(super) async fn load(settings: &dyn SettingStore, own: &PublicKey) -> Result<Self, StoreError> {
        let text = match settings.setting(SETTING).await {
            // Treated as damaged JSON.
            Err(StoreError::Unreadable(_)) => Some(String::new()),
            text => text?,
        };
        let Some(text) = text else { return Ok(Self::default()) };
        let record: Self = serde_json::from_str(&text).unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the stored record of the service's profile; publishing it again");
            Self::default()
        });
        let ours = record.events().all(|event| event.pubkey == *own);
        Ok(if ours { record } else { Self::default() })
    }

    pub(super) async fn save(&self, settings: &dyn SettingStore) -> Result<(), StoreError> {
        let text = serde_json::to_string(self).map_err(|error| StoreError::Failed(Box::new(error)))?;
        settings.set_setting(SETTING, Some(&text)).await
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.profile.iter().chain(&self.relay_list)
    }

    pub(super) fn has_accepted(&self, relay: &RelayAddress, id: EventId) -> bool {
        self.accepted.get(relay.as_str()).is_some_and(|ids| ids.contains(&id))
    }

    pub(super) fn accept(&mut self, relay: &RelayAddress, id: EventId) {
        self.accepted.entry(relay.to_string()).or_default().push(id);
    }

    /// Removes other relays and events.
    pub(super) fn prune(&mut self, relays: &[RelayAddress]) {
        let current: Vec<_> = self.events().map(|event| event.id).collect();
        self.accepted.retain(|relay, ids| {
            ids.retain(|id| current.contains(id));
            !ids.is_empty() && relays.iter().any(|known| known.as_str() == relay)
        });
    }
}

impl ConfiguredProfile {
    pub(super) fn of(change: &ProfileChange) -> Self {
        let ProfileChange { name, display_name, picture, about, nip05 } = change.clone();
        Self { name, display_name, picture, about, nip05 }
    }

    /// Changes `profile` where the configuration differs from `before`: sets what is configured, removes what no longer
    /// is, and keeps what never was.
    pub(super) fn apply(&self, before: &Self, profile: &mut ProfileChange) {
        let fields = [
            (&self.name, &before.name, &mut profile.name),
            (&self.display_name, &before.display_name, &mut profile.display_name),
            (&self.picture, &before.picture, &mut profile.picture),
            (&self.about, &before.about, &mut profile.about),
            (&self.nip05, &before.nip05, &mut profile.nip05),
        ];
        for (now, before, field) in fields {
            if now != before {
                field.clone_from(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use nostr::{EventBuilder, Keys, Kind};
    use usher_testing::ports::MemorySettings;

    use super::*;

    #[test]
    fn only_configuration_changes_override_the_profile() {
        let some = |text: &str| Some(text.to_owned());
        let before = ConfiguredProfile { name: some("a"), picture: some("p"), ..ConfiguredProfile::default() };
        let now = ConfiguredProfile { name: some("b"), display_name: some("d"), ..ConfiguredProfile::default() };
        let mut profile = ProfileChange { picture: some("p"), about: some("by PUT"), ..ProfileChange::default() };
        now.apply(&before, &mut profile);
        let expected = ProfileChange {
            name: some("b"),
            display_name: some("d"),
            about: some("by PUT"),
            ..ProfileChange::default()
        };
        assert_eq!(profile, expected);
        now.apply(&now, &mut profile);
        assert_eq!(profile, expected);
    }

    #[tokio::test]
    async fn damaged_record_or_one_of_another_key_is_ignored() {
        let (settings, keys) = (MemorySettings::default(), Keys::generate());
        let event = EventBuilder::new(Kind::Metadata, "{}").sign_with_keys(&keys).unwrap();
        let (here, gone) =
            (RelayAddress::parse("wss://a.example").unwrap(), RelayAddress::parse("wss://b.example").unwrap());
        let mut record = PublicationRecord { profile: Some(event.clone()), ..PublicationRecord::default() };
        record.accept(&here, event.id);
        record.accept(&gone, event.id);
        record.accept(&here, EventId::all_zeros());
        record.prune(std::slice::from_ref(&here));
        assert!(record.has_accepted(&here, event.id));
        assert!(!record.has_accepted(&gone, event.id) && !record.has_accepted(&here, EventId::all_zeros()));
        record.save(&settings).await.unwrap();
        assert_eq!(PublicationRecord::load(&settings, &keys.public_key()).await.unwrap(), record);
        let other = Keys::generate().public_key();
        assert_eq!(PublicationRecord::load(&settings, &other).await.unwrap(), PublicationRecord::default());
        settings.set_setting(SETTING, Some("[")).await.unwrap();
        assert_eq!(PublicationRecord::load(&settings, &keys.public_key()).await.unwrap(), PublicationRecord::default());
    }
}
