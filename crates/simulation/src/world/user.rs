//! Users and their wallets.

mod actions;

use std::collections::{BTreeMap, BTreeSet};

use nostr::EventId;
use nostr::nips::nip44::v2::ConversationKey;
use usher_protocol::Keys;

use super::action::WalletAction;

#[derive(Debug)]
pub(crate) struct User {
    /// What they are called in the history.
    pub(crate) name: &'static str,
    pub(crate) keys: Keys,
    /// The relays their wallet listens to.
    pub(crate) relays: Vec<usize>,
    /// Until when their wallet is away, in milliseconds since the beginning.
    pub(crate) away_until: u64,
    /// The subscriptions they have agreed to, and whether they have closed them.
    pub(crate) subscriptions: BTreeMap<String, bool>,
    conversation: Option<ConversationKey>,
    seen: BTreeSet<EventId>,
    /// Requests to which they have replied, with the reply, or decided not to.
    decided: BTreeMap<String, Option<WalletAction>>,
}
