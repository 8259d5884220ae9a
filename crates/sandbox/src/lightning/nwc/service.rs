use std::sync::Arc;
use std::time::Duration;

use nostr::{Filter, Kind};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::nwc::REQUEST;

use super::capabilities::Capabilities;
use super::keys::NwcKeys;
use super::metrics::NwcMetrics;
use super::payment_notifier;
use super::request_handler::{HonestHandler, RequestHandler};
use super::service_context::{NwcServiceContext, Running};
use crate::lightning::Account;
use crate::relay_client::{RelayClient, RelayClientError, RelayEvent};

/// The NIP-47 wallet service of one account. Dropping it stops it; the account stays.
#[derive(Debug)]
pub struct NwcService {
    context: Arc<NwcServiceContext>,
    handler: Arc<dyn RequestHandler>,
}

impl NwcService {
    /// Starts the service at these relays, without waiting. Same account and relays: same connection string.
    pub async fn start(account: &Account, relays: &[&str]) -> Self {
        let keys = NwcKeys::of(account);
        Self::start_with(account, relays, keys, Capabilities::default(), Arc::new(HonestHandler)).await
    }

    /// As [`start`](Self::start), with these keys and capabilities and this request handler.
    pub async fn start_with(
        account: &Account,
        relays: &[&str],
        keys: NwcKeys,
        capabilities: Capabilities,
        handler: Arc<dyn RequestHandler>,
    ) -> Self {
        let relays = relays.iter().map(|&relay| relay.to_owned()).collect();
        let context = Arc::new(NwcServiceContext::new(account.clone(), relays, keys, capabilities));
        let service = Self { context, handler };
        service.start_again().await;
        service
    }

    /// Starts it again after [`stop`](Self::stop); does nothing while it runs.
    pub async fn start_again(&self) {
        let context = &self.context;
        if context.running.read().is_some() {
            return;
        }
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        // Requests are ephemeral; a relay that keeps them anyway is not asked for old ones.
        let filter = Filter::new().pubkey(context.keys().wallet.public_key()).kind(Kind::from_u16(REQUEST)).limit(0);
        let (client, events) = RelayClient::new(context.keys().wallet.clone(), filter, tasks.clone(), stop.clone());
        let client = Arc::new(client);
        *context.running.write() = Some(Running { client: Arc::clone(&client), tasks, stop });
        context.announce();
        context.spawn(serve(Arc::clone(context), Arc::clone(&self.handler), events));
        context.spawn(payment_notifier::run(Arc::clone(context)));
        client.add(&context.relays);
    }

    /// Stops it: later requests are not received. Everything else is kept for [`start_again`](Self::start_again).
    pub async fn stop(&self) {
        let running = self.context.running.write().take();
        let Some(Running { tasks, stop, .. }) = running else { return };
        stop.cancel();
        tasks.close();
        tasks.wait().await;
    }

    /// Waits until it listens at one of its relays.
    ///
    /// # Errors
    /// [`RelayClientError`] when it does not within `deadline`.
    pub async fn ready(&self, deadline: Duration) -> Result<(), RelayClientError> {
        let client = self.context.running.read().as_ref().map(|running| Arc::clone(&running.client));
        match client {
            Some(client) => client.wait_for_any(&self.context.relays, deadline).await,
            None => Err(RelayClientError::NoRelays),
        }
    }

    /// What its tasks share.
    pub const fn context(&self) -> &Arc<NwcServiceContext> {
        &self.context
    }

    /// The connection string, `nostr+walletconnect://…`. A secret: who has it can spend.
    pub fn url(&self) -> String {
        self.context.keys().url(&self.context.relays)
    }

    pub fn keys(&self) -> &NwcKeys {
        self.context.keys()
    }

    pub fn account(&self) -> &Account {
        self.context.account()
    }

    /// What it saw and did so far.
    pub fn metrics(&self) -> NwcMetrics {
        self.context.metrics.borrow().clone()
    }

    /// Waits until its metrics satisfy `enough`.
    ///
    /// # Errors
    /// The metrics after `deadline` (from now) has passed.
    pub async fn wait_for(
        &self,
        deadline: Duration,
        enough: impl FnMut(&NwcMetrics) -> bool,
    ) -> Result<NwcMetrics, NwcMetrics> {
        let mut metrics = self.context.metrics.subscribe();
        match tokio::time::timeout(deadline, metrics.wait_for(enough)).await {
            Ok(Ok(metrics)) => Ok(metrics.clone()),
            _ => Err(self.metrics()),
        }
    }
}

impl Drop for NwcService {
    fn drop(&mut self) {
        if let Some(running) = self.context.running.write().take() {
            running.stop.cancel();
        }
    }
}

async fn serve(
    context: Arc<NwcServiceContext>,
    handler: Arc<dyn RequestHandler>,
    mut events: mpsc::Receiver<RelayEvent>,
) {
    while let Some(events) = events.recv().await {
        if let Some(request) = context.read(&events.event, handler.handles_copies()) {
            handler.handle(&context, request);
        }
    }
}
