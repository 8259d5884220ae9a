//! What the look-ups of this wallet are worth: learned from payments that are known, and kept.
//!
//! Deployed backends answer `NOT_FOUND`, or find the payee's invoice, even for payments of ours that have arrived. So "not
//! found" proves something only of a wallet that has been seen to find a payment of ours.

use std::sync::Arc;
use std::time::Duration;

use nostr::hashes::{Hash as _, sha256};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tracing::{info, warn};
use usher_engine::ports::{Finds, SettingStore};

use super::connection_uri::ConnectionUri;

/// How often it is looked whether a wallet that found nothing does now, or one that did still does.
const EVERY: Duration = Duration::from_secs(600);

/// The stored forms, which are JSON.
const SETTLED: &str = "\"settled\"";
const UNSETTLED: &str = "\"unsettled\"";

/// What is known of the look-ups of one connection.
pub(super) struct LookupReliability {
    settings: Option<Arc<dyn SettingStore>>,
    /// Under this name it is kept: one for each connection.
    name: String,
    loaded: OnceCell<()>,
    finds: Mutex<Finds>,
    /// When it was looked last.
    tried: Mutex<Option<Instant>>,
}

impl LookupReliability {
    pub(super) fn of(url: &ConnectionUri, settings: Option<Arc<dyn SettingStore>>) -> Self {
        let keys = [url.wallet.to_hex(), url.keys.public_key().to_hex()].concat();
        let mut id = sha256::Hash::hash(keys.as_bytes()).to_string();
        id.truncate(16);
        Self {
            settings,
            name: format!("nwc.look-ups.{id}"),
            loaded: OnceCell::new(),
            finds: Mutex::default(),
            tried: Mutex::default(),
        }
    }

    /// Which payments they have been seen to find.
    pub(super) async fn finds(&self) -> Finds {
        self.load().await;
        *self.finds.lock()
    }

    async fn load(&self) {
        let Some(settings) = &self.settings else { return };
        let loading = async {
            let kept = settings.setting(&self.name).await?;
            *self.finds.lock() = match kept.as_deref() {
                Some(SETTLED) => Finds::Settled,
                Some(UNSETTLED) => Finds::Unsettled,
                _ => Finds::Nothing,
            };
            Ok::<_, usher_engine::ports::StoreError>(())
        };
        if let Err(error) = self.loaded.get_or_try_init(|| loading).await {
            warn!(error = ?error, "what is known of the wallet's look-ups cannot be read");
        }
    }

    /// Whether it is time to look at a payment that is known to have arrived.
    pub(super) fn should_try(&self) -> bool {
        let mut tried = self.tried.lock();
        let now = Instant::now();
        let due = tried.is_none_or(|last| last + EVERY <= now);
        if due {
            *tried = Some(now);
        }
        due
    }

    /// A look-up found such a payment.
    pub(super) async fn found(&self, seen: Finds) {
        self.load().await;
        if seen > *self.finds.lock() {
            info!(finds = ?seen, "the wallet's look-ups find payments of ours");
            self.keep(seen).await;
        }
    }

    /// A look-up did not find a payment that has arrived.
    pub(super) async fn missed(&self) {
        self.load().await;
        if *self.finds.lock() != Finds::Nothing {
            warn!("the wallet's look-ups no longer find payments of ours");
            self.keep(Finds::Nothing).await;
        }
    }

    async fn keep(&self, finds: Finds) {
        *self.finds.lock() = finds;
        let Some(settings) = &self.settings else { return };
        let value = match finds {
            Finds::Nothing => None,
            Finds::Settled => Some(SETTLED),
            Finds::Unsettled => Some(UNSETTLED),
        };
        if let Err(error) = settings.set_setting(&self.name, value).await {
            warn!(error = ?error, "what is known of the wallet's look-ups cannot be kept");
        }
    }
}
