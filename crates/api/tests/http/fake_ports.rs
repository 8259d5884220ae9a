//! Fakes behind the ports: a directory that knows one user, and a list instead of relays.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use usher_engine::ports::{
    Directory, LookUpError, Nip05, Nip05Answer, Profile, ProfileChange, PublishError, RelayChangeError, RelayControl,
    RelayInfo, RelayLinkState, RelayOrigin, WellKnown,
};
use usher_engine::{FieldError, UnixMillis};
use usher_protocol::{EventId, PublicKey};

use crate::app::key;

/// The user whom the directory knows.
pub const KNOWN: u8 = 7;

/// The one that the directory knows nothing of since no relay answers.
pub const UNREACHABLE: u8 = 9;

#[derive(Default)]
pub struct World {
    pub relays: Mutex<Vec<RelayInfo>>,
    pub own: Mutex<Option<Profile>>,
}

fn profile(pubkey: PublicKey, change: ProfileChange) -> Profile {
    let ProfileChange { name, display_name, picture, about, nip05 } = change;
    let nip05 = nip05.and_then(|text| text.parse().ok());
    Profile { id: EventId::from_byte_array([1; 32]), pubkey, name, display_name, picture, about, nip05 }
}

#[async_trait]
impl Directory for World {
    async fn profile(&self, user: &PublicKey) -> Result<Option<Profile>, LookUpError> {
        if *user == key(UNREACHABLE) {
            return Err(LookUpError::NoRelay);
        }
        let ada = ProfileChange {
            name: Some("ada".to_owned()),
            nip05: Some("ada@example.com".to_owned()),
            ..ProfileChange::default()
        };
        Ok((*user == key(KNOWN)).then(|| profile(*user, ada)))
    }

    async fn nip05(&self, identifier: &Nip05) -> Result<Option<Nip05Answer>, LookUpError> {
        match identifier.as_str() {
            "ada@example.com" => {
                Ok(Some(Nip05Answer { pubkey: key(KNOWN), relays: vec!["wss://relay.example".to_owned()] }))
            }
            "busy@example.com" => Err(LookUpError::Busy),
            _ => Ok(None),
        }
    }

    fn own_profile(&self) -> Option<Profile> {
        self.own.lock().clone()
    }

    fn check_profile(&self, change: &ProfileChange) -> Result<(), Vec<FieldError>> {
        change.check(|picture| picture.starts_with("https://"))
    }

    async fn publish_profile(&self, change: ProfileChange) -> Result<Profile, PublishError> {
        self.check_profile(&change).map_err(PublishError::Invalid)?;
        match change.name.as_deref() {
            Some("nobody-listens") => return Err(PublishError::NoRelay),
            Some("unsigned") => return Err(PublishError::Signing),
            _ => {}
        }
        let published = profile(key(crate::app::SERVICE), change);
        *self.own.lock() = Some(published.clone());
        Ok(published)
    }

    fn well_known(&self) -> WellKnown {
        let own = self.own.lock();
        let Some(Profile { name: Some(name), pubkey, .. }) = own.as_ref() else { return WellKnown::default() };
        WellKnown {
            names: BTreeMap::from([(name.clone(), pubkey.to_hex())]),
            relays: BTreeMap::from([(pubkey.to_hex(), vec!["wss://relay.example".to_owned()])]),
        }
    }
}

#[async_trait]
impl RelayControl for World {
    fn relays(&self) -> Vec<RelayInfo> {
        self.relays.lock().clone()
    }

    async fn add(&self, url: &str) -> Result<RelayInfo, RelayChangeError> {
        if !url.starts_with("ws") {
            return Err(RelayChangeError::Invalid("must be the address of a relay: wss:// or ws://".to_owned()));
        }
        let mut relays = self.relays.lock();
        if let Some(there) = relays.iter().find(|relay| relay.url == url) {
            return Ok(there.clone());
        }
        if relays.len() == 2 {
            return Err(RelayChangeError::TooMany { most: 2 });
        }
        let added = RelayInfo {
            url: url.to_owned(),
            origin: RelayOrigin::Added,
            state: RelayLinkState::Disconnected,
            since: Some(UnixMillis(1_732_137_600_000)),
            reason: Some("connection refused".to_owned()),
            subscribed: false,
            queued: 3,
        };
        relays.push(added.clone());
        Ok(added)
    }

    async fn remove(&self, url: &str) -> Result<RelayInfo, RelayChangeError> {
        let mut relays = self.relays.lock();
        let place = relays.iter().position(|relay| relay.url == url).ok_or(RelayChangeError::NotFound)?;
        Ok(relays.remove(place))
    }
}
