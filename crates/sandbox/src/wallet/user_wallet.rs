//! The wallet: starting and stopping it, opening handshake URLs, reading and answering requests.

use std::sync::Arc;
use std::time::Duration;

use nostr::{Filter, Kind};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::handshake_url::HandshakeUrl;
use usher_protocol::message::{ClientInfo, KeyHandshake, WalletMessage};
use usher_protocol::{Event, PublicKey, kind};

use super::error::{NoRequest, WalletError};
use super::identity::Identity;
use super::inbox::Inbox;
use super::known_service::KnownService;
use super::open_receipts::OpenReceipts;
use super::options::{Reaction, WalletOptions};
use super::outgoing_messages::Messages;
use super::received_requests::ReceivedRequests;
use super::reply;
use super::request::Request;
use super::request_saving_task::SavingTask;
use super::saved_requests::RequestSaver;
use super::service_name::ServiceNames;
use super::tickets::Tickets;
use super::wallet_state::WalletState;
use crate::relay_client::{DeliveryStatus, RelayClient};

const CLIENT_NAME: &str = "Usher reference wallet";

/// A user's wallet. Dropping it closes the connections.
#[derive(Debug)]
pub struct Wallet {
    pub(super) inner: Arc<WalletState>,
}

/// The result of opening a handshake URL.
#[derive(Clone, Debug)]
pub struct Opened {
    pub service: KnownService,
    /// No authentication challenge will follow.
    pub no_request: bool,
    /// The 27010 event that was sent.
    pub event: Event,
}

impl Wallet {
    /// The name in the service's profile, safe for a terminal; `None` without one in two seconds or for unknown
    /// services.
    pub async fn service_name(&self, request: &Request) -> Option<String> {
        self.inner.names.find(self.services(), request).await
    }

    /// Starts a wallet and connects it to its relays, without waiting for them.
    pub async fn start(options: WalletOptions) -> Self {
        let WalletOptions {
            identity,
            relays,
            services,
            subscriptions,
            payment_source,
            tickets,
            policy,
            outcomes,
            clock,
            work,
            saved_in,
            deployed,
        } = options;
        let known: Vec<String> =
            relays.iter().chain(services.iter().flat_map(|service| &service.relays)).cloned().collect();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        // Kind 30000 is kept by relays; of the past a few are enough.
        let filter = Filter::new()
            .pubkeys([identity.public_key(), identity.main_key()])
            .kinds(kind::FROM_SERVICE.map(Kind::from_u16))
            .limit(100);
        let (relay_client, received) = RelayClient::new(identity.keys().clone(), filter, tasks.clone(), stop.clone());
        let (saver, to_save) = match saved_in {
            Some(path) => {
                let (saver, arrived) = RequestSaver::new();
                (Some(saver), Some(SavingTask { path, arrived }))
            }
            None => (None, None),
        };
        let inner = Arc::new(WalletState {
            messages: Messages::new(identity.keys().clone(), clock.clone()),
            requests: ReceivedRequests::new(deployed),
            saver,
            names: ServiceNames::default(),
            deployed,
            policy,
            outcomes,
            clock,
            work,
            services: Mutex::new(services.clone()),
            subscriptions: Mutex::new(subscriptions),
            payment_source,
            payments: tokio::sync::Mutex::new(()),
            tickets,
            receipts: OpenReceipts::default(),
            identity,
            relays: relays.clone(),
            relay_client,
            tasks: tasks.clone(),
            stop: stop.clone(),
        });
        if let Some(to_save) = to_save {
            tasks.spawn(stop.clone().run_until_cancelled_owned(to_save.run(Arc::clone(&inner))));
        }
        let inbox = Inbox::new(Arc::clone(&inner));
        tasks.spawn(stop.run_until_cancelled_owned(inbox.run(received)));
        inner.relay_client.add(&known);
        Self { inner }
    }

    /// The key it signs with: the main key, or the device's subkey.
    pub fn public_key(&self) -> PublicKey {
        self.inner.identity.keys().public_key()
    }

    pub fn main_key(&self) -> PublicKey {
        self.inner.identity.main_key()
    }

    /// Now, in Unix seconds, by the wallet's clock.
    pub fn now(&self) -> u64 {
        self.inner.messages.now()
    }

    pub fn identity(&self) -> &Identity {
        &self.inner.identity
    }

    /// The services whose handshake URLs it opened, including those in its file.
    pub fn services(&self) -> Vec<KnownService> {
        self.inner.services.lock().clone()
    }

    /// Opens a handshake URL of any scheme: connects to its relays and introduces itself to the service. Returns when a
    /// relay of the URL has accepted our subscription; the reply comes with [`next_request`](Self::next_request).
    ///
    /// # Errors
    /// If neither the URL nor the wallet names a relay, or if none can be reached before `deadline` (from now).
    pub async fn open(&self, url: &HandshakeUrl, deadline: Duration) -> Result<Opened, WalletError> {
        let relays = if url.relays.is_empty() { &self.inner.relays } else { &url.relays };
        if relays.is_empty() {
            return Err(WalletError::NoRelays);
        }
        let service = KnownService::of(url, relays);
        KnownService::remember(&mut self.inner.services.lock(), &service);
        self.inner.relay_client.add(relays);
        self.inner.relay_client.wait_for_any(relays, deadline).await?;
        let preferred = if self.inner.relays.is_empty() { relays } else { &self.inner.relays };
        let message = WalletMessage::KeyHandshake(KeyHandshake {
            token: if self.inner.deployed { url.encoded_token() } else { url.token.clone() },
            client_info: Some(ClientInfo {
                name: CLIENT_NAME.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            }),
            preferred_relays: preferred.clone(),
        });
        let event = self.inner.send(url.recipient(), &message.into())?;
        Ok(Opened { service, no_request: url.no_request, event })
    }

    /// Waits until one of these relays, which it must know, has accepted our subscription.
    ///
    /// # Errors
    /// [`WalletError::Unreachable`] if none can be reached before `deadline` (from now).
    pub async fn wait_for_relay(&self, relays: &[String], deadline: Duration) -> Result<(), WalletError> {
        Ok(self.inner.relay_client.wait_for_any(relays, deadline).await?)
    }

    pub fn tickets(&self) -> Option<&Tickets> {
        self.inner.tickets.as_ref()
    }

    /// The last 10,000 requests, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.inner.requests.all()
    }

    /// The next request that this method has not returned yet, oldest first. A repeated request is not returned again.
    ///
    /// # Errors
    /// [`NoRequest`] if none arrives before `deadline` (from now).
    pub async fn next_request(&self, deadline: Duration) -> Result<Request, NoRequest> {
        tokio::time::timeout(deadline, self.inner.requests.next()).await.map_err(|_| NoRequest)
    }

    /// Reads a request from a verified event that arrived earlier; `None` if it is not a request to this key. It is not
    /// added to [`requests`](Self::requests).
    pub fn read(&self, event: &Event) -> Option<Request> {
        self.inner.read(event)
    }

    /// Approves a request. The next call sends the reply again, also after a [`decline`](Self::decline). Slow work
    /// continues in the background ([`fulfil`](Self::fulfil) waits for it): a payment is reported as approved and then
    /// made; an invoice or a ticket is sent when it is ready.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] if the wallet does not support this reply.
    pub fn approve(&self, request: &Request) -> Result<Option<Event>, WalletError> {
        self.inner.react(request, &Reaction::Approve)
    }

    /// Declines a request, with a reason for people.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] if the wallet does not support this reply.
    pub fn decline(&self, request: &Request, reason: Option<&str>) -> Result<Event, WalletError> {
        let reaction = Reaction::Decline(reason.map(str::to_owned));
        let message = reply::answer(request, &reaction, &self.inner.identity)?;
        self.inner.respond(request, message.into())
    }

    /// The reply that [`approve`](Self::approve) would send. Tests change it and send it themselves.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] if the wallet does not support this reply.
    pub fn approval(&self, request: &Request) -> Result<WalletMessage, WalletError> {
        reply::answer(request, &Reaction::Approve, &self.inner.identity)
    }

    /// Waits until the delivery of each sent event is known, at most until `deadline` (from now).
    pub async fn flush(&self, deadline: Duration) -> DeliveryStatus {
        self.inner.relay_client.flush(deadline).await
    }

    /// Stops the wallet: closes the connections and ends the background work.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl Drop for Wallet {
    fn drop(&mut self) {
        self.inner.stop.cancel();
    }
}
