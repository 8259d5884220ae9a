//! What the pages of `usher dev` share.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use tokio::task::JoinHandle;
use usher_engine::Engine;
use usher_engine::access::KeyRing;
use usher_page_layout::{AccentColor, Site};

use super::page::Look;
use crate::dev::test_wallet::TestWallet;

/// How long a form waits for what it began, which goes on in any case.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the pages need.
#[derive(Clone)]
pub(in crate::dev) struct Browser {
    pub(super) engine: Arc<Engine>,
    pub(super) keys: Arc<KeyRing>,
    pub(super) wallet: Arc<TestWallet>,
    /// The hosted pages.
    pub(super) site: Site,
    pub(super) look: Arc<Look>,
    pub(super) about: Arc<About>,
}

/// What the start page says about the service.
pub(in crate::dev) struct About {
    /// The address of the API, and of the start page.
    pub(in crate::dev) base: String,
    /// The token. It is shown, because it was generated for this purpose.
    pub(in crate::dev) token: SecretString,
    /// The price of a payment, in millisats.
    pub(in crate::dev) price: u64,
    /// The mint's address and token.
    pub(in crate::dev) mint: Option<(String, SecretString)>,
}

impl Browser {
    pub(in crate::dev) fn new(
        engine: &Arc<Engine>,
        keys: &Arc<KeyRing>,
        wallet: Arc<TestWallet>,
        site: &Site,
        accent: &AccentColor,
        about: About,
    ) -> Self {
        let (look, about) = (Arc::new(Look::new(accent)), Arc::new(about));
        Self { engine: Arc::clone(engine), keys: Arc::clone(keys), wallet, site: site.clone(), look, about }
    }
}

/// Waits a little for what a form began.
pub(super) async fn wait(begun: JoinHandle<()>) {
    let _ = tokio::time::timeout(PATIENCE, begun).await;
}
