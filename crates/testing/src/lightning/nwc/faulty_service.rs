//! A wallet service that misbehaves on demand.

use std::ops::Deref;
use std::sync::Arc;

use usher_protocol::message::PaymentHash;
use usher_sandbox::lightning::{Account, NwcKeys, NwcService};

use super::behaviour::{Behaviour, Memory};
use super::false_results;
use super::faulty_handler::FaultyHandler;

/// An [`NwcService`] whose [`Behaviour`] can be changed while it runs. Without a change it is honest.
#[derive(Debug)]
pub struct FaultyNwcService {
    service: NwcService,
    handler: FaultyHandler,
}

impl Deref for FaultyNwcService {
    type Target = NwcService;

    fn deref(&self) -> &NwcService {
        &self.service
    }
}

impl FaultyNwcService {
    /// As [`NwcService::start`].
    pub async fn start(account: &Account, relays: &[&str]) -> Self {
        Self::start_with(account, relays, NwcKeys::of(account), Behaviour::default()).await
    }

    /// As [`start`](Self::start), with these keys and this behaviour.
    pub async fn start_with(account: &Account, relays: &[&str], keys: NwcKeys, behaviour: Behaviour) -> Self {
        let capabilities = behaviour.capabilities();
        let handler = FaultyHandler::new(behaviour);
        let service = NwcService::start_with(account, relays, keys, capabilities, Arc::new(handler.clone())).await;
        Self { service, handler }
    }

    /// As [`NwcService::stop`]. What is held stays held; which requests it has seen depends on [`Memory`].
    pub async fn stop(&self) {
        self.service.stop().await;
        if self.handler.behaviour.lock().memory == Memory::WhileRunning {
            self.service.context().forget_seen();
        }
    }

    /// The behaviour now.
    pub fn behaviour(&self) -> Behaviour {
        self.handler.behaviour.lock().clone()
    }

    /// Changes the behaviour from now on, and announces the capabilities again.
    pub fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        let capabilities = {
            let mut behaviour = self.handler.behaviour.lock();
            change(&mut behaviour);
            behaviour.capabilities()
        };
        self.service.context().set_capabilities(capabilities);
    }

    /// Sends the responses that were held; returns how many.
    pub fn release(&self) -> usize {
        self.handler.release(self.service.context())
    }

    /// The payments in flight arrive, or (`false`) fail, and their requests are answered. Returns how many.
    pub fn release_payments(&self, arrive: bool) -> usize {
        self.handler.release_payments(self.service.context(), arrive)
    }

    /// Sends a notification with any content, encrypted and signed like a true one.
    pub fn notify(&self, notification_type: &str, notification: &serde_json::Value) {
        self.service.context().notify(notification_type, notification);
    }

    /// Sends the notification that an invoice of the account was paid, whether it was or not, with an unrelated preimage
    /// if it was not; returns whether the account knows the invoice.
    pub fn claim_received(&self, hash: PaymentHash) -> bool {
        let context = self.service.context();
        let Some(found) = context.account().incoming(hash) else { return false };
        context.notify("payment_received", &false_results::claimed_payment(&found, context.now()));
        true
    }
}
