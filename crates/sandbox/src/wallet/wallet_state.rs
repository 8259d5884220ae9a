use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::{Event, PublicKey};

use super::error::WalletError;
use super::identity::Identity;
use super::known_service::KnownService;
use super::open_receipts::OpenReceipts;
use super::options::Policy;
use super::outgoing_messages::{Messages, OutgoingMessage};
use super::payment_source::PaymentSource;
use super::received_requests::ReceivedRequests;
use super::saved_requests::RequestSaver;
use super::scripted_outcomes::ScriptedOutcomes;
use super::service_name::ServiceNames;
use super::subscription::Subscription;
use super::tickets::Tickets;
use super::work::WorkCount;
use crate::clock::SharedClock;
use crate::relay_client::RelayClient;

/// The shared state of the wallet's tasks.
#[derive(Debug)]
pub(super) struct WalletState {
    pub(super) identity: Identity,
    pub(super) relays: Vec<String>,
    pub(super) deployed: bool,
    pub(super) policy: Policy,
    pub(super) outcomes: ScriptedOutcomes,
    pub(super) clock: SharedClock,
    pub(super) work: WorkCount,
    pub(super) services: Mutex<Vec<KnownService>>,
    pub(super) subscriptions: Mutex<Vec<Subscription>>,
    pub(super) payment_source: Option<PaymentSource>,
    /// One payment at a time, so that a request that arrives twice is paid once.
    pub(super) payments: tokio::sync::Mutex<()>,
    pub(super) tickets: Option<Tickets>,
    pub(super) receipts: OpenReceipts,
    pub(super) requests: ReceivedRequests,
    pub(super) saver: Option<RequestSaver>,
    pub(super) names: ServiceNames,
    pub(super) messages: Messages,
    pub(super) relay_client: RelayClient,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl WalletState {
    pub(super) fn send(&self, to: PublicKey, outgoing: &OutgoingMessage) -> Result<Event, WalletError> {
        let participants = KnownService::keys_of(&self.services.lock(), to);
        let event = self.messages.seal(to, &participants, outgoing)?;
        self.relay_client.send(&event)?;
        Ok(event)
    }
}
