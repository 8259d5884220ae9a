//! The engine's [`RelayRegistry`]: our relays, changed at run time.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{sleep, timeout};
use usher_engine::ports::{RelayChangeError, RelayInfo, RelayLinkState, RelayOrigin, RelayRegistry, SettingStore};

use crate::relay_address::RelayAddress;
use crate::relay_handle::RelayHandle;
use crate::relay_pool::RelayPool;
use crate::relay_status::{Origin, RelayState, RelayStatus};
use crate::runtime_relay_changes::ServiceRelays;

/// Most relays of ours: as many as a handshake URL may name. Each receives every event; three to five are common.
pub const MAX_RELAYS: usize = usher_protocol::handshake_url::MAX_RELAYS;

/// How long an addition waits for the connection, to report its state: enough for a relay on another continent.
const WAIT: Duration = Duration::from_secs(2);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Adds and removes relays. Each change is stored before it takes effect.
pub struct RelayManager {
    pool: Arc<RelayPool>,
    settings: Arc<dyn SettingStore>,
    /// Locked for a whole change. The configured part never changes.
    roster: tokio::sync::Mutex<ServiceRelays>,
    configured: ServiceRelays,
}

impl RelayManager {
    /// Manages the relays of `pool`, which was started with those of `roster`.
    pub fn new(pool: Arc<RelayPool>, roster: ServiceRelays, settings: Arc<dyn SettingStore>) -> Self {
        Self { pool, settings, configured: roster.clone(), roster: tokio::sync::Mutex::new(roster) }
    }

    fn info(&self, status: RelayStatus) -> RelayInfo {
        let (state, since, reason) = match status.state {
            RelayState::Connecting => (RelayLinkState::Connecting, None, None),
            RelayState::Connected { since } => (RelayLinkState::Connected, Some(since), status.refusal),
            RelayState::Disconnected { since, reason } => (RelayLinkState::Disconnected, Some(since), Some(reason)),
        };
        let origin = match status.origin {
            Origin::User => RelayOrigin::User,
            Origin::Configured if self.configured.is_configured(&status.url) => RelayOrigin::Configured,
            Origin::Configured => RelayOrigin::Added,
        };
        RelayInfo {
            url: status.url.to_string(),
            origin,
            state,
            since,
            reason,
            subscribed: status.subscribed,
            queued: status.queued,
        }
    }

    fn handle(&self, address: &RelayAddress) -> Result<Arc<RelayHandle>, RelayChangeError> {
        self.pool.handles().into_iter().find(|handle| handle.address == *address).ok_or(RelayChangeError::NotFound)
    }
}

#[async_trait]
impl RelayRegistry for RelayManager {
    fn relays(&self) -> Vec<RelayInfo> {
        self.pool.status().into_iter().map(|status| self.info(status)).collect()
    }

    async fn add(&self, url: &str, public_only: bool) -> Result<RelayInfo, RelayChangeError> {
        let public_only = public_only && !self.pool.shared.options.allow_private;
        let address = if public_only { parse_public(url)? } else { parse(url)? };
        let mut roster = self.roster.lock().await;
        let (is_new, was_public_only) = (!roster.contains(&address), roster.is_public_only(&address));
        if is_new && roster.relays().len() >= MAX_RELAYS {
            return Err(RelayChangeError::TooMany { most: MAX_RELAYS });
        }
        let changed = roster.with(&address, public_only);
        if changed != *roster {
            changed.save(&*self.settings).await?;
            *roster = changed;
            tracing::info!(relay = %address, "relay added");
        }
        if was_public_only && !public_only {
            self.pool.remove(&address);
        }
        self.pool.add(address.clone(), roster.is_public_only(&address));
        let handle = self.handle(&address)?;
        drop(roster);
        // The response is correct whether or not the relay connects in time.
        let _ = timeout(WAIT, settled(&handle)).await;
        Ok(self.info(handle.status()))
    }

    async fn remove(&self, url: &str) -> Result<RelayInfo, RelayChangeError> {
        let address = parse(url)?;
        let mut roster = self.roster.lock().await;
        if !roster.contains(&address) {
            return Err(RelayChangeError::NotFound);
        }
        let handle = self.handle(&address)?;
        let changed = roster.without(&address);
        changed.save(&*self.settings).await?;
        *roster = changed;
        let info = self.info(handle.status());
        self.pool.remove(&address);
        tracing::info!(relay = %address, "relay removed");
        if roster.relays().is_empty() {
            tracing::warn!("the service has no relay left: add one, or users cannot reach it");
        }
        Ok(info)
    }
}

fn parse(url: &str) -> Result<RelayAddress, RelayChangeError> {
    RelayAddress::parse(url).map_err(|error| RelayChangeError::Invalid(error.to_string()))
}

fn parse_public(url: &str) -> Result<RelayAddress, RelayChangeError> {
    RelayAddress::parse_from_user(url).map_err(|error| RelayChangeError::Invalid(error.to_string()))
}

/// Waits until the relay serves our subscription or the connection fails.
async fn settled(handle: &RelayHandle) {
    while !handle.status().subscribed && !handle.is_down() {
        sleep(POLL_INTERVAL).await;
    }
}
