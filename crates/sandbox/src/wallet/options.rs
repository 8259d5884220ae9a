use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Identity, KnownService, PaymentSource, ScriptedOutcomes, Subscription, Tickets, WorkCount};
use crate::clock::SharedClock;
use crate::lightning::Account;

#[derive(Clone, Debug)]
pub struct WalletOptions {
    pub identity: Identity,
    /// The user's own relays, also given to services; without any, the relays of the handshake URL are given.
    pub relays: Vec<String>,
    /// The known services; their relays are connected at once.
    pub services: Vec<KnownService>,
    /// The subscriptions agreed to earlier.
    pub subscriptions: Vec<Subscription>,
    /// The Lightning account that it pays from.
    pub payment_source: Option<PaymentSource>,
    /// The tickets that the user holds.
    pub tickets: Option<Tickets>,
    /// Its automatic replies.
    pub policy: Policy,
    /// What a test has scripted, which is stronger than the policy.
    pub outcomes: ScriptedOutcomes,
    /// Its time.
    pub clock: SharedClock,
    pub work: WorkCount,
    /// The wallet's file, where requests that wait for the user are saved for `usher wallet` in another terminal.
    pub saved_in: Option<PathBuf>,
    /// Whether it has the limitations of deployed wallets: it knows a repeated request by its event id alone, so a new
    /// event is paid again; it loses an event right after another; and it sends tokens percent-encoded.
    pub deployed: bool,
}

impl WalletOptions {
    /// A wallet without automatic replies.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            relays: Vec::new(),
            services: Vec::new(),
            subscriptions: Vec::new(),
            payment_source: None,
            tickets: None,
            policy: Policy::silent(),
            outcomes: ScriptedOutcomes::default(),
            clock: SharedClock::default(),
            work: WorkCount::default(),
            saved_in: None,
            deployed: false,
        }
    }

    /// With this relay of the user's own, too.
    #[must_use]
    pub fn relay(mut self, url: impl Into<String>) -> Self {
        self.relays.push(url.into());
        self
    }

    #[must_use]
    pub fn paying_from(mut self, account: &Account) -> Self {
        self.payment_source = Some(PaymentSource::Account(account.clone()));
        self
    }

    #[must_use]
    pub fn holding(mut self, tickets: Tickets) -> Self {
        self.tickets = Some(tickets);
        self
    }

    #[must_use]
    pub fn saving_in(mut self, file: &Path) -> Self {
        self.saved_in = Some(file.to_owned());
        self
    }

    #[must_use]
    pub const fn deployed(mut self) -> Self {
        self.deployed = true;
        self
    }

    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

/// The automatic replies of a wallet.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The reply, if any.
    pub reaction: Option<Reaction>,
    /// How long it waits before it replies, as a person would.
    pub delay: Duration,
    /// Whether it also replies to services whose handshake URL it never opened.
    pub strangers: bool,
    /// Whether it pays charges of open subscriptions, up to the authorized amount, whatever `reaction` is.
    pub auto_pay: bool,
    /// Whether it receives tickets that known services send, whatever the reply to other requests is.
    pub receive_tickets: bool,
}

/// An automatic reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    Approve,
    /// Decline, with a reason for people.
    Decline(Option<String>),
    /// Report that the payment failed, or that the wallet does not hold the ticket.
    Fail,
}

impl Policy {
    /// Collects requests and replies only on command.
    pub const fn silent() -> Self {
        Self { reaction: None, delay: Duration::ZERO, strangers: true, auto_pay: false, receive_tickets: false }
    }

    /// Approves everything at once.
    pub const fn auto_approve() -> Self {
        Self {
            reaction: Some(Reaction::Approve),
            delay: Duration::ZERO,
            strangers: true,
            auto_pay: false,
            receive_tickets: false,
        }
    }

    /// The same, and charges of subscriptions are paid automatically.
    #[must_use]
    pub const fn paying_subscriptions(mut self) -> Self {
        self.auto_pay = true;
        self
    }

    /// The same, and tickets that known services send are received automatically.
    #[must_use]
    pub const fn receiving_tickets(mut self) -> Self {
        self.receive_tickets = true;
        self
    }

    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}
