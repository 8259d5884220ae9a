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
use crate::verification::start::VerificationRules;

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The service's main key, for handshake URLs.
    pub main_key: PublicKey,
    /// The service's subkey, if it runs on one, for handshake URLs.
    pub subkey: Option<PublicKey>,
    /// The proof of the service's subkey, if it runs on one; it goes into challenges.
    pub subkey_proof: Option<SubkeyProof>,
    /// Scheme of handshake URLs: the first of `nostr.url_scheme`.
    pub url_scheme: String,
    /// The others: pages have a link and a code for each.
    pub other_url_schemes: Vec<String>,
    /// How long a single-use handshake URL is valid (`handshake.ttl_seconds`).
    pub handshake_ttl: Duration,
    /// How long an authentication challenge is valid (`auth.challenge_ttl_seconds`).
    pub challenge_ttl: Duration,
    /// Most streams of operations that may be open at a time (`limits.max_open_streams`); the reserved stream is not counted.
    pub max_open_streams: usize,
    /// How long finished streams stay readable (`streams.retention_days`).
    pub retention: Duration,
    /// How long a ticket is sent to its user until the mint says that it is spent (`cashu.send_ttl_hours`).
    pub ticket_send_ttl: Duration,
    /// The rules of payments and subscriptions.
    pub payments: PaymentRules,
    /// The rules of age verification.
    pub verification: VerificationRules,
    /// The rules of pages.
    pub pages: PageRules,
    /// How the audit log is kept.
    pub audit: AuditOptions,
}

/// What the engine runs with.
pub struct EngineParts {
    /// Stores operations.
    pub store: Arc<dyn Store>,
    /// Stores responses to idempotent requests.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// Stores deliveries to the webhook.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// Posts to the app's webhook, if it has one.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// Sends messages to wallets.
    pub messenger: Arc<dyn Messenger>,
    /// The time.
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
    /// Verifies ages, if a provider is configured; otherwise staff do.
    pub age_verifier: Option<Arc<dyn AgeVerifier>>,
    /// Asks Lightning addresses for invoices; without it, refunds are paid to invoices alone.
    pub payees: Option<Arc<dyn Payees>>,
    /// Reaches users' remote signers; without it logins do not offer them.
    pub remote_signer: Option<Arc<dyn RemoteSigner>>,
    /// Exchange rates, if sources are configured; without them all amounts are in millisats.
    pub rates: Option<Arc<dyn ExchangeRates>>,
}
