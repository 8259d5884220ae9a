//! A list instead of relays.

use async_trait::async_trait;
use parking_lot::Mutex;

use usher_engine::UnixMillis;
use usher_engine::ports::{RelayChangeError, RelayInfo, RelayLinkState, RelayOrigin, RelayRegistry};

/// Has no relay at first, and at most two.
#[derive(Default)]
pub struct FakeRelayRegistry(Mutex<Vec<RelayInfo>>);

#[async_trait]
impl RelayRegistry for FakeRelayRegistry {
    fn relays(&self) -> Vec<RelayInfo> {
        self.0.lock().clone()
    }

    async fn add(&self, url: &str, public_only: bool) -> Result<RelayInfo, RelayChangeError> {
        if public_only && url.contains("127.0.0.1") {
            return Err(RelayChangeError::Invalid("the address is not on the public Internet".to_owned()));
        }
        if !url.starts_with("ws") {
            return Err(RelayChangeError::Invalid("must be the address of a relay: wss:// or ws://".to_owned()));
        }
        let mut relays = self.0.lock();
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
        let mut relays = self.0.lock();
        let place = relays.iter().position(|relay| relay.url == url).ok_or(RelayChangeError::NotFound)?;
        Ok(relays.remove(place))
    }
}
