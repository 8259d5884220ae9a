//! Resolves identifiers once and caches the results.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::Origin;
use usher_engine::ports::{Clock, LookUpError, Nip05, Nip05Answer};

use super::client::Nip05Client;
use crate::profile_lookup::{ExpiringCache, SingleFlight};

/// How long a found profile or name is cached.
pub(crate) const KEEP_FOUND: Duration = Duration::from_secs(600);

/// How long an empty or incomplete result is cached.
pub(crate) const KEEP_MISSING: Duration = Duration::from_secs(60);

pub(crate) struct CachingResolver {
    client: Nip05Client,
    clock: Arc<dyn Clock>,
    known: ExpiringCache<Nip05, Option<Nip05Answer>>,
    asked: Arc<SingleFlight<Nip05, Option<Nip05Answer>>>,
}

impl CachingResolver {
    pub(crate) fn new(
        client: Nip05Client,
        clock: Arc<dyn Clock>,
        known: ExpiringCache<Nip05, Option<Nip05Answer>>,
        asked: Arc<SingleFlight<Nip05, Option<Nip05Answer>>>,
    ) -> Arc<Self> {
        Arc::new(Self { client, clock, known, asked })
    }

    /// The key that `identifier` names, for the API key `origin`.
    pub(crate) async fn resolve(
        self: &Arc<Self>,
        identifier: &Nip05,
        origin: Option<Origin>,
    ) -> Result<Option<Nip05Answer>, LookUpError> {
        let known = || self.known.get(identifier, self.clock.now());
        let (context, asked) = (Arc::clone(self), identifier.clone());
        self.asked.join(identifier.clone(), origin, known, || async move { context.ask(asked).await }).await
    }

    async fn ask(&self, identifier: Nip05) -> Option<Nip05Answer> {
        let answer = self.client.look_up(&identifier).await;
        let keep = if answer.is_some() { KEEP_FOUND } else { KEEP_MISSING };
        let relays: usize = answer.iter().flat_map(|answer| &answer.relays).map(String::len).sum();
        let bytes = identifier.as_str().len() + relays;
        self.known.put(identifier, answer.clone(), bytes, self.clock.now(), keep);
        answer
    }
}
