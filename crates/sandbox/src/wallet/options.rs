//! How a wallet is set up.

use std::time::Duration;

use super::{Identity, KnownService, PaymentSource, Subscription};
use crate::clock::{UnixClock, system_clock};
use crate::lightning::Account;

/// Sets a wallet up.
#[derive(Clone, Debug)]
pub struct WalletOptions {
    /// Who it is.
    pub identity: Identity,
    /// The user's own relays: connected at once, and named to services as where the user can be reached. Without any,
    /// the relays of the handshake URL are named.
    pub relays: Vec<String>,
    /// The services known from earlier; their relays are connected at once.
    pub services: Vec<KnownService>,
    /// The subscriptions agreed to earlier.
    pub subscriptions: Vec<Subscription>,
    /// What it pays with.
    pub payment_source: Option<PaymentSource>,
    /// What it does by itself.
    pub policy: Policy,
    /// Where it reads the time.
    pub clock: UnixClock,
    /// Whether it behaves as the wallets that people have do: it knows a repeated request by the event's id alone, so that a fresh event is
    /// another request, to be answered and paid once more; it loses an event that arrives right behind another; and it sends
    /// the token of a handshake URL as it stands there, percent-encoded.
    pub deployed: bool,
    /// Slots of the channel by which `nostr-sdk` hands over what a relay says, for each relay; about 0.3 KB each. A
    /// burst that is longer than this may lose messages.
    pub notifications: usize,
}

impl WalletOptions {
    /// A wallet that answers nothing by itself.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            relays: Vec::new(),
            services: Vec::new(),
            subscriptions: Vec::new(),
            payment_source: None,
            policy: Policy::silent(),
            clock: system_clock(),
            deployed: false,
            notifications: 4_096,
        }
    }

    /// With this relay of the user's own, too.
    #[must_use]
    pub fn relay(mut self, url: impl Into<String>) -> Self {
        self.relays.push(url.into());
        self
    }

    /// Paying from this account.
    #[must_use]
    pub fn paying_from(mut self, account: &Account) -> Self {
        self.payment_source = Some(PaymentSource::Account(account.clone()));
        self
    }

    /// Behaving as a deployed wallet does.
    #[must_use]
    pub const fn deployed(mut self) -> Self {
        self.deployed = true;
        self
    }

    /// With this policy.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

/// What a wallet does by itself with a request.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What it does.
    pub reaction: Option<Reaction>,
    /// How long it takes its time, as a human would.
    pub delay: Duration,
    /// Whether it reacts to services whose handshake URL it never opened.
    pub strangers: bool,
    /// Whether it pays by itself what belongs to an open subscription, at most the agreed amount; whatever the
    /// reaction to other requests is.
    pub auto_pay: bool,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Yes.
    Approve,
    /// No, with a reason for people.
    Decline(Option<String>),
}

impl Policy {
    /// Collects requests and stays silent until told what to answer.
    pub const fn silent() -> Self {
        Self { reaction: None, delay: Duration::ZERO, strangers: true, auto_pay: false }
    }

    /// Approves everything at once.
    pub const fn auto_approve() -> Self {
        Self { reaction: Some(Reaction::Approve), delay: Duration::ZERO, strangers: true, auto_pay: false }
    }

    /// Declines everything at once.
    pub fn auto_decline(reason: Option<&str>) -> Self {
        let reaction = Some(Reaction::Decline(reason.map(str::to_owned)));
        Self { reaction, delay: Duration::ZERO, strangers: true, auto_pay: false }
    }

    /// The same, and what belongs to a subscription is paid without asking.
    #[must_use]
    pub const fn paying_subscriptions(mut self) -> Self {
        self.auto_pay = true;
        self
    }

    /// The same after a while.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The same, but only for services whose handshake URL the wallet opened.
    #[must_use]
    pub const fn for_known_services(mut self) -> Self {
        self.strangers = false;
        self
    }
}
