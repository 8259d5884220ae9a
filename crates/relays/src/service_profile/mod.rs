//! Publishes the service's own profile and relay list when they change.
//!
//! | event | when |
//! | --- | --- |
//! | profile (kind 0) | at start, when `profile.*` differs from what was published last; on `publish` |
//! | relay list (kind 10002, NIP-65) | with a profile, when our relays differ from those of the last list |
//!
//! Both are stored before they are sent. Each of our relays gets each event until it has acknowledged it, at once or
//! when it connects. Acknowledgements are remembered across restarts, so a service without changes sends nothing.
//!
//! They are signed with the key that the service runs on: with a subkey it is the subkey's profile.
//!
//! Other programs may use the same key. Before a change, relays are queried for the key's newest events: unknown fields
//! of the profile are kept, and a relay list that is not ours is left alone.

mod publication_record;

use std::sync::Arc;
use std::time::Duration;

use nostr::{Event, EventBuilder, Kind, PublicKey, Timestamp};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Notify};
use tokio::time::sleep;
use usher_engine::ports::{Profile, ProfileChange, PublishError, SettingStore, StoreError};

use crate::profile_lookup::profile_content::{self, ProfileContent};
use crate::profile_lookup::{ProfileSearcher, relay_list_event};
use crate::publications::Publication;
use crate::relay_address::RelayAddress;
use crate::relay_pool::RelayPool;
use crate::shared_state;
use publication_record::{ConfiguredProfile, PublicationRecord};

/// Most relays in our list: NIP-65 asks for 2 to 4.
const LISTED: usize = 4;

/// How long until relays are queried again for our key's newest events, if none responded and none connects.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

pub(crate) struct ServiceProfile {
    pool: Arc<RelayPool>,
    searcher: Arc<ProfileSearcher>,
    settings: Arc<dyn SettingStore>,
    configured: ConfiguredProfile,
    /// Locked for a whole change.
    record: Mutex<PublicationRecord>,
    published: RwLock<Option<Profile>>,
    heard: Arc<Notify>,
    /// Relays with another program's list, which is left alone.
    left_alone: RwLock<Option<Vec<String>>>,
}

impl ServiceProfile {
    pub(crate) async fn load(
        pool: Arc<RelayPool>,
        searcher: Arc<ProfileSearcher>,
        settings: Arc<dyn SettingStore>,
        configured: &ProfileChange,
    ) -> Result<Arc<Self>, StoreError> {
        let own = pool.shared.options.identity.own_key();
        let record = PublicationRecord::load(&*settings, &own).await?;
        let published = record.profile.as_ref().and_then(as_profile);
        Ok(Arc::new(Self {
            pool,
            searcher,
            settings,
            configured: ConfiguredProfile::of(configured),
            record: Mutex::new(record),
            published: RwLock::new(published),
            heard: Arc::default(),
            left_alone: RwLock::default(),
        }))
    }

    pub(crate) fn published(&self) -> Option<Profile> {
        self.published.read().clone()
    }

    /// Our relays that others can reach.
    pub(crate) fn public_relays(&self) -> Vec<String> {
        let reachable = |address: &RelayAddress| {
            self.pool.shared.options.allow_private || RelayAddress::parse_from_user(address.as_str()).is_ok()
        };
        let handles = self.pool.handles();
        handles
            .iter()
            .map(|handle| &handle.address)
            .filter(|address| reachable(address))
            .map(ToString::to_string)
            .collect()
    }

    /// Publishes `wanted`, which was validated.
    pub(crate) async fn publish(&self, wanted: &ProfileChange) -> Result<Profile, PublishError> {
        let mut record = self.record.lock().await;
        let base = self.newest_profile(&record).await.ok_or(PublishError::NoRelay)?;
        self.put(&mut record, base, wanted).await
    }

    /// Publishes what is due whenever a relay connects or responds, or our relays change. Never ends.
    pub(crate) async fn keep_published(self: Arc<Self>) {
        let mut changes = self.pool.shared.changes.subscribe();
        loop {
            let again = self.bring_up_to_date().await.unwrap_or_else(|error| {
                tracing::warn!(?error, "cannot publish the service's profile yet");
                true
            });
            tokio::select! {
                _ = changes.changed() => {}
                () = self.heard.notified() => {}
                () = sleep(AGAIN_AFTER), if again => {}
            }
        }
    }

    /// True if something failed and must be retried.
    async fn bring_up_to_date(&self) -> Result<bool, PublishError> {
        let mut record = self.record.lock().await;
        self.note_accepted(&mut record).await?;
        self.announce(&record);
        if record.configured != self.configured {
            let Some(base) = self.newest_profile(&record).await else { return Ok(true) };
            let mut wanted = base.as_ref().map(|event| profile_content::as_change(&event.content)).unwrap_or_default();
            self.configured.apply(&record.configured, &mut wanted);
            self.put(&mut record, base, &wanted).await?;
        }
        self.update_relay_list(&mut record).await
    }

    /// The newest profile of our key, stored or at relays; `None` if unknown: no relay responds and nothing was
    /// published from here.
    async fn newest_profile(&self, record: &PublicationRecord) -> Option<Option<Event>> {
        let found = self.searcher.at_ours(self.own_key()).await;
        if found.answered == 0 && record.profile.is_none() {
            return None;
        }
        let elsewhere = found.profile.map(|(event, _)| event);
        Some(elsewhere.into_iter().chain(record.profile.clone()).max_by_key(|event| event.created_at))
    }

    /// Makes `wanted` the profile, based on `base`, and sends it to our relays.
    async fn put(
        &self,
        record: &mut PublicationRecord,
        base: Option<Event>,
        wanted: &ProfileChange,
    ) -> Result<Profile, PublishError> {
        let content = profile_content::write(base.as_ref().map(|event| event.content.as_str()), wanted);
        let event = match base {
            Some(base) if is_same(&base.content, &content) => base,
            base => self.sign(Kind::Metadata, &content, base.as_ref())?,
        };
        let profile = as_profile(&event).ok_or(PublishError::Signing)?;
        let mut next = record.clone();
        next.configured = self.configured.clone();
        next.profile = Some(event);
        self.replace(record, next).await?;
        *self.published.write() = Some(profile.clone());
        Ok(profile)
    }

    /// Publishes our relay list if it differs from the last one; true if that must be retried.
    async fn update_relay_list(&self, record: &mut PublicationRecord) -> Result<bool, PublishError> {
        let mut wanted = self.public_relays();
        wanted.truncate(LISTED);
        let last = record.relay_list.as_ref().map(|event| relay_list_event::write_relays(event, LISTED));
        let done = last.as_ref() == Some(&wanted) || self.left_alone.read().as_ref() == Some(&wanted);
        if record.profile.is_none() || wanted.is_empty() || done {
            return Ok(false);
        }
        let found = self.searcher.at_ours(self.own_key()).await;
        if found.answered == 0 {
            return Ok(true);
        }
        let base = record.relay_list.clone();
        let newer = |event: &Event| base.as_ref().is_none_or(|base| event.created_at > base.created_at);
        if found.relay_list.as_ref().is_some_and(newer) {
            tracing::info!("another program published the key's relay list; leaving it as it is");
            *self.left_alone.write() = Some(wanted);
            return Ok(false);
        }
        let created_at = self.after(base.as_ref());
        let keys = &self.pool.shared.options.identity.keys;
        let event = relay_list_event::build(&wanted, keys, created_at).ok_or(PublishError::Signing)?;
        let mut next = record.clone();
        next.relay_list = Some(event);
        self.replace(record, next).await?;
        Ok(false)
    }

    async fn replace(&self, record: &mut PublicationRecord, mut next: PublicationRecord) -> Result<(), StoreError> {
        next.prune(&self.addresses());
        next.save(&*self.settings).await?;
        *record = next;
        self.announce(record);
        Ok(())
    }

    fn announce(&self, record: &PublicationRecord) {
        let publications: Vec<_> = record
            .events()
            .map(|event| Publication { id: event.id, frame: shared_state::outgoing(event, None).frame })
            .collect();
        for handle in self.pool.handles() {
            let missing: Vec<_> =
                publications.iter().filter(|a| !record.has_accepted(&handle.address, a.id)).cloned().collect();
            if handle.publications.set(&missing, &self.heard) {
                handle.queue.wake();
            }
        }
    }

    async fn note_accepted(&self, record: &mut PublicationRecord) -> Result<(), StoreError> {
        let mut next = record.clone();
        for handle in self.pool.handles() {
            for id in record.events().map(|event| event.id) {
                if handle.publications.has_accepted(id) && !record.has_accepted(&handle.address, id) {
                    next.accept(&handle.address, id);
                }
            }
        }
        if next != *record { self.replace(record, next).await } else { Ok(()) }
    }

    fn sign(&self, kind: Kind, content: &str, base: Option<&Event>) -> Result<Event, PublishError> {
        EventBuilder::new(kind, content)
            .custom_created_at(Timestamp::from_secs(self.after(base)))
            .sign_with_keys(&self.pool.shared.options.identity.keys)
            .map_err(|_| PublishError::Signing)
    }

    /// The current time, but later than `base`: of two events of the same second, relays keep the one with the lower
    /// id.
    fn after(&self, base: Option<&Event>) -> u64 {
        let now = self.pool.shared.clock.now().secs();
        base.map_or(now, |base| now.max(base.created_at.as_secs().saturating_add(1)))
    }

    fn addresses(&self) -> Vec<RelayAddress> {
        self.pool.handles().iter().map(|handle| handle.address.clone()).collect()
    }

    fn own_key(&self) -> PublicKey {
        self.pool.shared.options.identity.own_key()
    }
}

/// The profile in an event of ours; `nip05` as we claim it.
fn as_profile(event: &Event) -> Option<Profile> {
    ProfileContent::read(&event.content).map(|document| document.into_profile(event))
}

/// Whether two contents are equal as JSON.
fn is_same(one: &str, other: &str) -> bool {
    let parse = |content: &str| serde_json::from_str::<serde_json::Value>(content).ok();
    parse(one).is_some_and(|value| parse(other) == Some(value))
}
