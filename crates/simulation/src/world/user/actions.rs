//! What happens in the world: users and their wallets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nostr::{Event, EventId};
use usher_protocol::bolt11::Invoice;
use usher_protocol::envelope;
use usher_protocol::message::{
    Addressed, AuthResponse, AuthStatus, CloseSubscription, Currency, InvoiceResponse, KeyHandshake, PaymentRequest,
    PaymentResponse, PaymentStatus, RecurringRequest, RecurringResponse, RecurringStatus, ServiceMessage,
    WalletMessage,
};

use super::User;
use crate::fault_plan::Workload;
use crate::world::action::{Action, WalletAction};
use crate::world::relay::Relay;
use crate::world::{State, invoice, keys, preimage};

const NAMES: [&str; 6] = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"];

const HOSTS: [&str; 6] = ["ada.example", "ben.example", "cleo.example", "dan.example", "eve.example", "finn.example"];

/// The number of a user's key.
fn node(who: usize) -> u8 {
    u8::try_from(who).unwrap_or_default() + 1
}

impl State {
    pub(in crate::world) fn people(&mut self) {
        let says_ok = self.decisions.percent(60);
        self.relays.push(Relay::new("main.example", says_ok));
        for (n, (name, host)) in NAMES.into_iter().zip(HOSTS).take(self.plan.users).enumerate() {
            self.relays.push(Relay::new(host, true));
            let keys = keys(node(n));
            // Some listen to their own relay alone.
            let alone =
                self.plan.workload == Workload::Years || (self.plan.script.is_none() && self.decisions.percent(20));
            self.users.push(User {
                name,
                conversation: envelope::conversation_key(&keys, &self.service.public_key()).ok(),
                keys,
                relays: if alone { vec![n + 1] } else { vec![0, n + 1] },
                away_until: 0,
                subscriptions: BTreeMap::new(),
                seen: BTreeSet::new(),
                decided: BTreeMap::new(),
            });
        }
    }

    pub(crate) fn user_hears(&mut self, who: usize, event: &Event) {
        let now = self.now();
        let Some(user) = self.users.get_mut(who) else { return };
        if user.away_until > now || !user.seen.insert(event.id) {
            return;
        }
        let name = user.name;
        let Some(text) = user.conversation.as_ref().and_then(|with| envelope::open(with, event).ok()) else {
            return self.log(&format!("{name}'s wallet cannot read an event"));
        };
        let Ok(message) = ServiceMessage::from_event(event, &text) else { return };
        match message {
            ServiceMessage::AuthChallenge(challenge) => {
                let agrees = !self.plan.is_troubled() || self.decisions.percent(85);
                let approved = AuthStatus::Approved { granted_permissions: Vec::new(), session_token: None };
                let status = if agrees { approved } else { AuthStatus::Declined { reason: None } };
                let id = challenge.challenge.clone();
                let response = AuthResponse { challenge: challenge.challenge, subkey_proof: None, status };
                self.decide(who, id, WalletAction::Send(WalletMessage::AuthResponse(response), "answers a challenge"));
            }
            ServiceMessage::PaymentRequest(request) => self.asked_to_pay(who, request),
            ServiceMessage::RecurringRequest(request) => self.asked_to_subscribe(who, request),
            ServiceMessage::InvoiceRequest(request) => {
                let number = self.number();
                let (secs, id) = (self.secs(), request.request_id.clone());
                let Some(user) = self.users.get(who) else { return };
                let key = user.keys.public_key();
                let made = invoice(node(who), number, request.amount, secs, 600);
                let response = InvoiceResponse {
                    request: Addressed { inner: request, main_key: key, recipient: key },
                    payment_hash: Some(made.payment_hash()),
                    invoice: made.as_str().to_owned(),
                };
                self.decide(who, id, WalletAction::Send(WalletMessage::InvoiceResponse(response), "makes an invoice"));
            }
            ServiceMessage::CloseSubscription(close) => {
                self.log(&format!("{name}'s wallet hears that {} is closed", close.subscription_id));
                if let Some(user) = self.users.get_mut(who) {
                    user.subscriptions.insert(close.subscription_id, true);
                }
            }
            _ => {}
        }
    }

    /// The user decides once and replies after a while, or never. If another event repeats the request, the wallet repeats its
    /// reply, because the first one may have been lost.
    fn decide(&mut self, who: usize, about: String, action: WalletAction) -> bool {
        let quick = self.plan.script.is_some() || self.decisions.percent(50);
        let think = self.decisions.delay(if quick { 100..1500 } else { 1000..60_000 });
        let moody = !self.calm && self.plan.is_troubled() && self.decisions.percent(8);
        let Some(user) = self.users.get_mut(who) else { return false };
        if let Some(before) = user.decided.get(&about) {
            if let Some(action @ WalletAction::Send(..)) = before.clone() {
                self.later(think, Action::UserActs { who, action });
            }
            return false;
        }
        let name = user.name;
        user.decided.insert(about, (!moody).then(|| action.clone()));
        if moody {
            self.log(&format!("{name} does not answer"));
            return false;
        }
        self.later(think, Action::UserActs { who, action });
        true
    }

    fn asked_to_pay(&mut self, who: usize, request: PaymentRequest) {
        let Some(user) = self.users.get(who) else { return };
        let (name, id) = (user.name, request.request_id.clone());
        if user.decided.contains_key(&id) {
            return;
        }
        let closed = request.subscription_id.as_ref().and_then(|id| user.subscriptions.get(id)).copied();
        self.log(&format!("{name}'s wallet is asked for {} for {}", request.amount, request.description));
        if closed == Some(true) {
            // What the user sees. Whether the service was allowed to ask is checked where it asks.
            return self.log(&format!("{name} is asked for a subscription that is closed"));
        }
        let refuses = self.plan.is_troubled() && self.decisions.percent(10);
        let says = |status| {
            WalletAction::Send(
                WalletMessage::PaymentResponse(PaymentResponse { request_id: id.clone(), status }),
                "answers a payment request",
            )
        };
        if refuses {
            self.decide(who, id.clone(), says(PaymentStatus::Rejected { reason: None }));
        } else if self.decide(who, id.clone(), WalletAction::Pay(request.clone())) && self.decisions.percent(50) {
            let soon = self.decisions.delay(50..900);
            self.later(soon, Action::UserActs { who, action: says(PaymentStatus::Approved) });
        }
    }

    fn asked_to_subscribe(&mut self, who: usize, request: RecurringRequest) {
        let (name, number) = (self.users.get(who).map_or("?", |user| user.name), self.number());
        let subscription_id = format!("subscription-{number}");
        let status = if !self.plan.is_troubled() || self.decisions.percent(90) {
            RecurringStatus::Confirmed {
                subscription_id: subscription_id.clone(),
                authorized_amount: request.amount,
                authorized_currency: Currency::Millisats,
                authorized_recurrence: request.recurrence,
            }
        } else {
            RecurringStatus::Rejected { reason: None }
        };
        let confirms = matches!(status, RecurringStatus::Confirmed { .. });
        let message = RecurringResponse { request_id: request.request_id.clone(), status };
        let message = WalletMessage::RecurringResponse(message);
        if self.decide(who, request.request_id, WalletAction::Send(message, "answers a subscription request"))
            && confirms
        {
            self.log(&format!("{name} will agree to {subscription_id}"));
        }
    }

    pub(crate) fn user_acts(&mut self, who: usize, action: WalletAction) {
        match action {
            WalletAction::Send(message, what) => {
                let agreed = match &message {
                    WalletMessage::RecurringResponse(RecurringResponse {
                        status: RecurringStatus::Confirmed { subscription_id, .. },
                        ..
                    }) => Some(subscription_id.clone()),
                    _ => None,
                };
                if let WalletMessage::AuthResponse(AuthResponse {
                    challenge, status: AuthStatus::Approved { .. }, ..
                }) = &message
                    && let Some(user) = self.users.get(who)
                {
                    self.invariants.reusable_login.user_approves(&user.keys.public_key(), challenge);
                }
                let event = self.user_sends(who, &message, what);
                let Some(id) = agreed else { return };
                if let Some(event) = event {
                    self.invariants.agreements.insert(event, id.clone());
                }
                let Some(user) = self.users.get_mut(who) else { return };
                if user.subscriptions.contains_key(&id) {
                    return;
                }
                user.subscriptions.insert(id.clone(), false);
                // Some think better of it, a few at once.
                if self.plan.is_troubled() && self.decisions.percent(40) {
                    let after = if self.decisions.percent(40) { 0..300 } else { 1000..600_000 };
                    let after = Duration::from_millis(self.decisions.number(after));
                    self.later(after, Action::UserCloses { who, id });
                }
            }
            WalletAction::Pay(request) => self.user_pays(who, &request),
            WalletAction::Scan(token) => {
                let relays = self.users.get(who).map(|user| user.relays.clone()).unwrap_or_default();
                let hosts = relays.iter().filter_map(|relay| self.relays.get(*relay));
                let preferred_relays = hosts.map(|relay| format!("ws://{}", relay.host)).collect();
                let message = KeyHandshake { token, client_info: None, preferred_relays };
                // A handshake is sent where the URL says, whatever the wallet listens to.
                self.user_sends_to(who, &[0], &WalletMessage::KeyHandshake(message), "scans a handshake URL");
            }
        }
    }

    /// A user's wallet closes a subscription and sends the close once.
    pub(crate) fn user_closes(&mut self, who: usize, id: String) {
        let Some(user) = self.users.get_mut(who) else { return };
        if user.subscriptions.insert(id.clone(), true) == Some(true) {
            return;
        }
        let close = CloseSubscription { subscription_id: id.clone(), reason: None, by_service: false };
        if let Some(event) = self.user_sends(who, &WalletMessage::CloseSubscription(close), "closes a subscription") {
            self.invariants.closes.insert(event, id);
        }
    }

    fn user_pays(&mut self, who: usize, request: &PaymentRequest) {
        let name = self.users.get(who).map_or("?", |user| user.name);
        if request.expires_at <= self.secs() {
            return self.log(&format!("{name} comes too late to pay"));
        }
        let closed = request.subscription_id.as_ref().and_then(|id| self.users.get(who)?.subscriptions.get(id));
        if closed == Some(&true) {
            return;
        }
        let Ok(invoice) = request.invoice.parse::<Invoice>() else { return };
        let hash = invoice.payment_hash();
        let paid = if self.node.incoming.contains_key(&hash) {
            self.settle(hash)
        } else {
            self.invariants.of_others.get(&hash).copied().inspect(|_| {
                self.invariants.paid_to_others.insert(hash);
            })
        };
        let Some(number) = paid else {
            return self.log(&format!("{name} cannot pay"));
        };
        self.invariants.charge_paid(&request.request_id);
        let twice = self.invariants.dates_paid_twice();
        for date in twice {
            self.violation("a-date-is-paid-once", &date);
        }
        // Not everybody shows the preimage, and our own invoices need none; another's does.
        let shows = !self.node.incoming.contains_key(&hash) || self.decisions.percent(50);
        let status = PaymentStatus::Success { preimage: shows.then(|| preimage(number)) };
        let response = PaymentResponse { request_id: request.request_id.clone(), status };
        let message = WalletMessage::PaymentResponse(response);
        self.user_sends(who, &message, "says that a payment is made");
        // It is not acknowledged: a wallet sends it a few times.
        for after in [20, 90] {
            let action = WalletAction::Send(message.clone(), "says again that a payment is made");
            self.later(Duration::from_secs(after), Action::UserActs { who, action });
        }
    }

    fn user_sends(&mut self, who: usize, message: &WalletMessage, what: &str) -> Option<EventId> {
        let relays = self.users.get(who)?.relays.clone();
        self.user_sends_to(who, &relays, message, what)
    }

    fn user_sends_to(&mut self, who: usize, relays: &[usize], message: &WalletMessage, what: &str) -> Option<EventId> {
        let (now, secs) = (self.now(), self.secs());
        let user = self.users.get(who)?;
        let what = format!("{} {what}", user.name);
        if user.away_until > now {
            self.log(&format!("{what}: their wallet is away"));
            return None;
        }
        let with = user.conversation.as_ref()?;
        let (service, kind, about) = (self.service.public_key(), message.kind(), message.about());
        let event = envelope::seal(&user.keys, with, &[service], about, kind, &message.to_json(), secs).ok()?;
        self.log(&what);
        for relay in relays {
            self.publish(*relay, &event, &what);
        }
        Some(event.id)
    }
}
