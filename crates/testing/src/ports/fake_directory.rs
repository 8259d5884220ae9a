//! A directory that knows the users whom a test names, and publishes to no relay.

use std::collections::{BTreeMap, HashMap, HashSet};

use async_trait::async_trait;
use parking_lot::Mutex;
use usher_protocol::{EventId, PublicKey};

use usher_engine::ports::{
    Directory, LookUpError, Nip05, Nip05Answer, Profile, ProfileChange, PublishError, WellKnown,
};
use usher_engine::{FieldError, Origin};

const RELAY: &str = "wss://relay.example";

/// The directory of the service with this key.
pub struct FakeDirectory {
    service: PublicKey,
    profiles: HashMap<PublicKey, Profile>,
    unreachable: HashSet<PublicKey>,
    busy: HashSet<String>,
    own: Mutex<Option<Profile>>,
    publish_error: Mutex<Option<PublishError>>,
}

impl FakeDirectory {
    /// The directory of this service, which knows nobody.
    pub fn of(service: PublicKey) -> Self {
        Self {
            service,
            profiles: HashMap::new(),
            unreachable: HashSet::new(),
            busy: HashSet::new(),
            own: Mutex::default(),
            publish_error: Mutex::default(),
        }
    }

    #[must_use]
    pub fn with_user(mut self, user: PublicKey, name: &str, nip05: &str) -> Self {
        let named =
            ProfileChange { name: Some(name.to_owned()), nip05: Some(nip05.to_owned()), ..ProfileChange::default() };
        self.profiles.insert(user, profile(user, named));
        self
    }

    /// No relay answers whether this user has a profile.
    #[must_use]
    pub fn with_unreachable(mut self, user: PublicKey) -> Self {
        self.unreachable.insert(user);
        self
    }

    /// Look-ups of this identifier are one too many.
    #[must_use]
    pub fn with_busy(mut self, identifier: &str) -> Self {
        self.busy.insert(identifier.to_owned());
        self
    }

    /// The next valid profile is not published.
    pub fn fail_publishing(&self, error: PublishError) {
        *self.publish_error.lock() = Some(error);
    }
}

fn profile(pubkey: PublicKey, change: ProfileChange) -> Profile {
    let ProfileChange { name, display_name, picture, about, nip05 } = change;
    let nip05 = nip05.and_then(|text| text.parse().ok());
    Profile { id: EventId::from_byte_array([1; 32]), pubkey, name, display_name, picture, about, nip05 }
}

#[async_trait]
impl Directory for FakeDirectory {
    async fn profile(&self, user: &PublicKey, _: Option<Origin>) -> Result<Option<Profile>, LookUpError> {
        if self.unreachable.contains(user) {
            return Err(LookUpError::NoRelay);
        }
        Ok(self.profiles.get(user).cloned())
    }

    fn forget_profile(&self, _key: &PublicKey) {}

    async fn nip05(&self, identifier: &Nip05, _: Option<Origin>) -> Result<Option<Nip05Answer>, LookUpError> {
        if self.busy.contains(identifier.as_str()) {
            return Err(LookUpError::Busy);
        }
        let named = self.profiles.values().find(|profile| profile.nip05.as_ref() == Some(identifier));
        Ok(named.map(|profile| Nip05Answer { pubkey: profile.pubkey, relays: vec![RELAY.to_owned()] }))
    }

    fn own_profile(&self) -> Option<Profile> {
        self.own.lock().clone()
    }

    fn check_profile(&self, change: &ProfileChange) -> Result<(), Vec<FieldError>> {
        change.check(|picture| picture.starts_with("https://"))
    }

    async fn publish_profile(&self, change: ProfileChange) -> Result<Profile, PublishError> {
        self.check_profile(&change).map_err(PublishError::Invalid)?;
        if let Some(error) = self.publish_error.lock().take() {
            return Err(error);
        }
        let published = profile(self.service, change);
        *self.own.lock() = Some(published.clone());
        Ok(published)
    }

    fn well_known(&self) -> WellKnown {
        let Some(Profile { name: Some(name), pubkey, .. }) = self.own_profile() else { return WellKnown::default() };
        WellKnown {
            names: BTreeMap::from([(name, pubkey.to_hex())]),
            relays: BTreeMap::from([(pubkey.to_hex(), vec![RELAY.to_owned()])]),
        }
    }
}
