//! How reliable this backend's look-ups are: learned from known payments, and stored.
//!
//! Some deployed backends respond `NOT_FOUND`, or find the payee's invoice, even for succeeded payments. So "not found"
//! is proof only after the backend has found a payment of ours.

use std::sync::Arc;
use std::time::Duration;

use nostr::hashes::{Hash as _, sha256};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tracing::{info, warn};
use usher_engine::ports::{LookupCoverage, SettingStore};

use super::connection_uri::ConnectionUri;

/// How often look-ups are checked again.
const EVERY: Duration = Duration::from_secs(600);

/// The stored values, as JSON.
const SETTLED: &str = "\"settled\"";
const UNSETTLED: &str = "\"unsettled\"";

/// What is known about one connection's look-ups.
pub(super) struct LookupReliability {
    settings: Option<Arc<dyn SettingStore>>,
    /// The name of the stored setting, one per connection.
    name: String,
    loaded: OnceCell<()>,
    coverage: Mutex<LookupCoverage>,
    tried: Mutex<Option<Instant>>,
}

impl LookupReliability {
    pub(super) fn of(uri: &ConnectionUri, settings: Option<Arc<dyn SettingStore>>) -> Self {
        let keys = [uri.backend.to_hex(), uri.keys.public_key().to_hex()].concat();
        let mut id = sha256::Hash::hash(keys.as_bytes()).to_string();
        id.truncate(16);
        Self {
            settings,
            name: format!("nwc.look-ups.{id}"),
            loaded: OnceCell::new(),
            coverage: Mutex::default(),
            tried: Mutex::default(),
        }
    }

    /// Which payments look-ups are known to find.
    pub(super) async fn coverage(&self) -> LookupCoverage {
        self.load().await;
        *self.coverage.lock()
    }

    async fn load(&self) {
        let Some(settings) = &self.settings else { return };
        let loading = async {
            let kept = settings.setting(&self.name).await?;
            *self.coverage.lock() = match kept.as_deref() {
                Some(SETTLED) => LookupCoverage::Ended,
                Some(UNSETTLED) => LookupCoverage::InProgress,
                _ => LookupCoverage::None,
            };
            Ok::<_, usher_engine::ports::StoreError>(())
        };
        if let Err(error) = self.loaded.get_or_try_init(|| loading).await {
            warn!(error = ?error, "cannot read what is known about the Lightning backend's look-ups");
        }
    }

    /// Whether it is time to look up a payment that is known to have succeeded.
    pub(super) fn should_try(&self) -> bool {
        let mut tried = self.tried.lock();
        let now = Instant::now();
        let due = tried.is_none_or(|last| last + EVERY <= now);
        if due {
            *tried = Some(now);
        }
        due
    }

    /// Records that a look-up found a succeeded payment.
    pub(super) async fn found(&self, seen: LookupCoverage) {
        self.load().await;
        if seen > *self.coverage.lock() {
            info!(coverage = ?seen, "the Lightning backend's look-ups find our payments");
            self.keep(seen).await;
        }
    }

    /// Records that a look-up did not find a succeeded payment.
    pub(super) async fn missed(&self) {
        self.load().await;
        if *self.coverage.lock() != LookupCoverage::None {
            warn!("the Lightning backend's look-ups no longer find our payments");
            self.keep(LookupCoverage::None).await;
        }
    }

    async fn keep(&self, coverage: LookupCoverage) {
        *self.coverage.lock() = coverage;
        let Some(settings) = &self.settings else { return };
        let value = match coverage {
            LookupCoverage::None => None,
            LookupCoverage::Ended => Some(SETTLED),
            LookupCoverage::InProgress => Some(UNSETTLED),
        };
        if let Err(error) = settings.set_setting(&self.name, value).await {
            warn!(error = ?error, "cannot store what is known about the Lightning backend's look-ups");
        }
    }
}
