use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

use crate::audit::AuditOptions;
use crate::kernel::lightning_queue::LightningBackend;
use crate::page_rules::PageRules;
use crate::payment::configured_rules::PaymentRules;
use crate::ports::{
    AgeVerifier, Clock, DeliveryStore, ExchangeRates, IdempotencyStore, Inbound, LightningNotifications, Messenger,
    Payees, Randomness, RemoteSigner, Store, TicketWallet, WebhookSender,
};
use crate::verification::rules::VerificationRules;

/// Options of the engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The service's main key, for handshake URLs.
    pub main_key: PublicKey,
    /// The service's subkey, if it runs on one, for handshake URLs.
    pub subkey: Option<PublicKey>,
    /// The proof of the service's subkey, if it runs on one, for challenges.
    pub subkey_proof: Option<SubkeyProof>,
    /// Scheme of handshake URLs: the first of `nostr.url_scheme`.
    pub url_scheme: String,
    /// The other schemes: pages have a link and a code for each.
    pub other_url_schemes: Vec<String>,
    /// How long a single-use handshake URL is valid (`handshake.ttl_seconds`).
    pub handshake_ttl: Duration,
    /// How long an authentication challenge is valid (`auth.challenge_ttl_seconds`).
    pub challenge_ttl: Duration,
    /// Most open operations (`limits.max_open_streams`); the reserved stream is not counted.
    pub max_open_streams: usize,
    /// How long finished streams stay readable (`streams.retention_days`).
    pub retention: Duration,
    /// How long a ticket is sent until the mint reports it as spent (`cashu.send_ttl_hours`).
    pub ticket_send_ttl: Duration,
    /// The settings of payments and subscriptions.
    pub payments: PaymentRules,
    /// The settings of age verification.
    pub verification: VerificationRules,
    /// The settings of pages.
    pub pages: PageRules,
    /// The settings of the audit log.
    pub audit: AuditOptions,
}

/// Dependencies of the engine.
pub struct EngineParts {
    /// The storage of operations.
    pub store: Arc<dyn Store>,
    /// The storage of idempotency records.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// The storage of webhook deliveries.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// The app's webhook, if configured.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// Sends messages to wallets.
    pub messenger: Arc<dyn Messenger>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The source of tokens, challenges and stream ids.
    pub randomness: Arc<dyn Randomness>,
    /// Messages from wallets.
    pub inbox: mpsc::Receiver<Inbound>,
    /// The service's own Lightning backend, if one is configured.
    pub lightning: Option<LightningBackend>,
    /// Notifications of the Lightning backend.
    pub lightning_notifications: Option<LightningNotifications>,
    /// The service's own ticket wallet.
    pub tickets: Option<Arc<dyn TicketWallet>>,
    /// Verifies ages, if configured; otherwise staff do.
    pub age_verifier: Option<Arc<dyn AgeVerifier>>,
    /// Gets invoices from Lightning addresses; without it, refunds can only be paid to invoices.
    pub payees: Option<Arc<dyn Payees>>,
    /// Reaches users' remote signers; without it logins do not offer them.
    pub remote_signer: Option<Arc<dyn RemoteSigner>>,
    /// Exchange rates, if configured; without them all amounts are in millisats.
    pub rates: Option<Arc<dyn ExchangeRates>>,
}
