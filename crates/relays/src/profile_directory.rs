//! The engine's [`Directory`]: users' profiles, NIP-05 identifiers, and the service's own profile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use nostr::Event;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    Directory, LookUpError, Nip05, Nip05Answer, Profile, ProfileChange, PublishError, SettingStore, StoreError,
    WellKnown,
};
use usher_engine::{FieldError, Origin};
use usher_nostr_connection::web_tls;
use usher_protocol::PublicKey;

use crate::nip05::{CachingResolver, KEEP_FOUND, KEEP_MISSING, Nip05Client};
use crate::profile_lookup::profile_content::{self, ProfileContent};
use crate::profile_lookup::{ExpiringCache, Found, ProfileSearcher, SingleFlight};
use crate::relay_pool::RelayPool;
use crate::service_profile::ServiceProfile;

/// Most profiles, and most identifiers, that are cached, and most of their bytes.
const CACHE: (usize, usize) = (4096, 8 * 1024 * 1024);

/// Options of look-ups.
#[derive(Clone, Debug)]
pub struct DirectoryOptions {
    /// The service's own profile as configured; see [`check_profile`]. An empty one is not published.
    pub profile: ProfileChange,
    /// How long to wait for relays. Default 5 s.
    pub relays_within: Duration,
    /// How long to wait for other relays after the last event, once a profile is found and a relay named by the user
    /// has responded. Default 1 s.
    pub settle: Duration,
    /// How long a domain may take to respond to a NIP-05 query. Default 5 s.
    pub domain_within: Duration,
    /// How long a profile waits for the domain before the identifier is omitted. Default 3 s: a profile takes at most 8
    /// s.
    pub profile_waits_for_domain: Duration,
    /// Most concurrent look-ups of profiles, and of identifiers. Default 64.
    pub at_once: usize,
    /// Most concurrent one-shot queries to users' relays. Default 32.
    pub one_shot_queries: usize,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            profile: ProfileChange::default(),
            relays_within: Duration::from_secs(5),
            settle: Duration::from_secs(1),
            domain_within: Duration::from_secs(5),
            profile_waits_for_domain: Duration::from_secs(3),
            at_once: 64,
            one_shot_queries: 32,
        }
    }
}

/// The relays that a user named, in order, as [`Store::user_relays`](usher_engine::ports::Store::user_relays) knows
/// them. Empty when they are not known or cannot be read.
pub type RelaysOfUser = Arc<dyn Fn(PublicKey) -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// Why the directory cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// The configured profile cannot be published.
    #[error("the configured profile cannot be published")]
    Profile(Vec<FieldError>),
    /// The profile published last cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// TLS cannot be used.
    #[error("TLS cannot be used")]
    Tls(#[source] rustls::Error),
}

/// Looks up profiles and identifiers, and keeps the service's own profile published.
pub struct ProfileDirectory {
    context: Arc<LookupContext>,
    profiles: Arc<SingleFlight<PublicKey, Result<Option<Profile>, LookUpError>>>,
}

/// What a look-up needs; it outlives the caller.
struct LookupContext {
    options: DirectoryOptions,
    pool: Arc<RelayPool>,
    searcher: Arc<ProfileSearcher>,
    relays_of: RelaysOfUser,
    identifiers: Arc<CachingResolver>,
    profiles: ExpiringCache<PublicKey, Option<Profile>>,
    own: Arc<ServiceProfile>,
}

/// Checks whether a profile of our own can be published.
///
/// # Errors
/// The invalid fields.
pub fn check_profile(profile: &ProfileChange) -> Result<(), Vec<FieldError>> {
    profile.check(|picture| profile_content::picture(picture).is_some() && picture.trim() == picture)
}

impl ProfileDirectory {
    /// Starts publishing the service's profile at the relays of `pool`, without waiting for a relay. The tasks run on
    /// `tasks` and end when `stop` is cancelled.
    pub async fn start(
        options: DirectoryOptions,
        pool: Arc<RelayPool>,
        settings: Arc<dyn SettingStore>,
        relays_of: RelaysOfUser,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, DirectoryError> {
        check_profile(&options.profile).map_err(DirectoryError::Profile)?;
        let searcher =
            ProfileSearcher::new(Arc::clone(&pool), options.one_shot_queries, options.relays_within, options.settle);
        let searcher = Arc::new(searcher);
        let tls = pool.shared.options.tls.clone().map_or_else(web_tls, Ok).map_err(DirectoryError::Tls)?;
        let domains = Nip05Client::new(&tls, options.domain_within, pool.shared.options.allow_private);
        let own = ServiceProfile::load(Arc::clone(&pool), Arc::clone(&searcher), settings, &options.profile).await?;
        tasks.spawn(stop.clone().run_until_cancelled_owned(Arc::clone(&own).keep_published()));
        let profiles = SingleFlight::new(options.at_once, tasks.clone(), stop.clone());
        let identifiers = CachingResolver::new(
            domains,
            Arc::clone(&pool.shared.clock),
            ExpiringCache::new(CACHE.0, CACHE.1),
            SingleFlight::new(options.at_once, tasks.clone(), stop),
        );
        let context = LookupContext {
            pool,
            searcher,
            relays_of,
            identifiers,
            profiles: ExpiringCache::new(CACHE.0, CACHE.1),
            own,
            options,
        };
        Ok(Arc::new(Self { context: Arc::new(context), profiles }))
    }
}

#[async_trait]
impl Directory for ProfileDirectory {
    async fn profile(&self, key: &PublicKey, origin: Option<Origin>) -> Result<Option<Profile>, LookUpError> {
        let (context, key) = (Arc::clone(&self.context), *key);
        let known = || self.context.profiles.get(&key, self.context.pool.shared.clock.now()).map(Ok);
        self.profiles.join(key, origin, known, || async move { context.look_up(key).await }).await?
    }

    fn forget_profile(&self, key: &PublicKey) {
        self.context.profiles.remove(key);
    }

    async fn nip05(&self, identifier: &Nip05, origin: Option<Origin>) -> Result<Option<Nip05Answer>, LookUpError> {
        self.context.identifiers.resolve(identifier, origin).await
    }

    fn own_profile(&self) -> Option<Profile> {
        self.context.own.published()
    }

    fn check_profile(&self, change: &ProfileChange) -> Result<(), Vec<FieldError>> {
        check_profile(change)
    }

    async fn publish_profile(&self, change: ProfileChange) -> Result<Profile, PublishError> {
        check_profile(&change).map_err(PublishError::Invalid)?;
        let profile = self.context.own.publish(&change).await?;
        self.context.profiles.remove(&profile.pubkey);
        Ok(profile)
    }

    fn well_known(&self) -> WellKnown {
        let Some(Profile { name, nip05, .. }) = self.context.own.published() else { return WellKnown::default() };
        let name = nip05.map(|nip05| nip05.name().to_owned()).or(name.map(|name| name.to_lowercase()));
        let Some(name) = name.filter(|name| Nip05::is_name(name)) else { return WellKnown::default() };
        let key = self.context.pool.shared.options.identity.main_key.to_hex();
        WellKnown {
            names: BTreeMap::from([(name, key.clone())]),
            relays: BTreeMap::from([(key, self.context.own.public_relays())]),
        }
    }
}

impl LookupContext {
    async fn look_up(&self, key: PublicKey) -> Result<Option<Profile>, LookUpError> {
        let told = (self.relays_of)(key).await;
        let Found { profile, answered, .. } = self.searcher.everywhere(key, &told).await;
        let (profile, bytes, keep) = match profile {
            Some((event, document)) => self.confirm(&event, document).await,
            None if answered == 0 => return Err(LookUpError::NoRelay),
            None => (None, 0, KEEP_MISSING),
        };
        self.profiles.put(key, profile.clone(), bytes, self.pool.shared.clock.now(), keep);
        Ok(profile)
    }

    /// The profile, with its identifier if the domain confirms it; its size; how long to cache it.
    async fn confirm(&self, event: &Event, document: ProfileContent) -> (Option<Profile>, usize, Duration) {
        let bytes = document.bytes();
        let mut profile = document.into_profile(event);
        let Some(identifier) = profile.nip05.take() else { return (Some(profile), bytes, KEEP_FOUND) };
        let open_queries = timeout(self.options.profile_waits_for_domain, self.identifiers.resolve(&identifier, None));
        let named = matches!(open_queries.await, Ok(Ok(Some(answer))) if answer.pubkey == profile.pubkey);
        profile.nip05 = named.then_some(identifier);
        // The domain may be down temporarily.
        (Some(profile), bytes, if named { KEEP_FOUND } else { KEEP_MISSING })
    }
}
