//! The wallet behind the service's Lightning backend: a NIP-47 wallet service with a node that knows which payments were made.

mod actions;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nostr::nips::nip44::v2::ConversationKey;
use nostr::{Event, EventBuilder, EventId, Kind, Tag, Timestamp};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;
use usher_protocol::{Keys, envelope, nwc};

use super::keys;

const NODE: u8 = 202;

/// Whose invoices others pay.
pub(crate) const PAYEE: u8 = 203;

/// An invoice it has made.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// Its preimage's number, which is its name in the history.
    pub(crate) number: u64,
    pub(crate) invoice: Invoice,
    /// When it was paid, in milliseconds since the beginning.
    pub(crate) settled_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaymentState {
    /// There was no request, or it did not begin to execute one.
    Nothing,
    InFlight,
    /// The payee has it.
    Succeeded,
    /// It came back.
    Failed,
}

/// A payment of another's invoice.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Its preimage's number, which is its name in the history.
    pub(crate) number: u64,
    pub(crate) state: PaymentState,
    /// How it will end: decided beforehand, as the route decides it.
    pub(crate) behaviour: PaymentBehaviour,
    /// Requests that reached it.
    pub(crate) asked: u32,
    /// The requests that made it pay.
    pub(crate) paid_by: BTreeSet<EventId>,
    /// It only ever replied with a definite refusal.
    pub(crate) only_refused: bool,
}

/// How a payment that it is asked for goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaymentBehaviour {
    Pays,
    /// It succeeds after a while and then reports it.
    PaysLate,
    PaysSilently,
    /// It reports a failure and pays after a while.
    SaysFailedAndPays,
    Fails,
    /// Its balance is too small, and it reports that.
    Refuses,
}

/// What kind of wallet it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BackendProfile {
    /// It sends notifications of settlements.
    pub(crate) notifies: bool,
    /// Its look-ups know nothing of payments it makes.
    pub(crate) forgets_outgoing: bool,
    /// It returns an invoice again that was already paid.
    pub(crate) repeats_paid: bool,
    pub(crate) remembers: bool,
}

#[derive(Debug)]
pub(crate) struct Node {
    keys: Keys,
    conversation: Option<ConversationKey>,
    pub(crate) profile: BackendProfile,
    /// Until when it is away, in milliseconds since the beginning.
    pub(crate) away_until: u64,
    pub(crate) incoming: HashMap<PaymentHash, Incoming>,
    /// The payments it was, or may be, asked for.
    pub(crate) outgoing: HashMap<PaymentHash, Outgoing>,
    /// How often the service has sent each request.
    pub(crate) sent: BTreeMap<EventId, u32>,
    seen: BTreeSet<EventId>,
}

/// The service's key towards it.
pub(crate) fn client() -> Keys {
    keys(201)
}

impl Node {
    pub(crate) fn new() -> Self {
        let keys = keys(NODE);
        Self {
            conversation: envelope::conversation_key(&keys, &client().public_key()).ok(),
            keys,
            profile: BackendProfile::default(),
            away_until: 0,
            incoming: HashMap::new(),
            outgoing: HashMap::new(),
            sent: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    pub(crate) fn connection_string(&self) -> String {
        let (key, secret) = (self.keys.public_key().to_hex(), client().secret_key().to_secret_hex());
        format!("nostr+walletconnect://{key}?relay=ws%3A%2F%2Fmain.example&secret={secret}")
    }

    pub(crate) fn announcement(&self, at: u64) -> Option<Event> {
        let mut builder = EventBuilder::new(
            Kind::from_u16(nwc::INFO),
            "pay_invoice make_invoice lookup_invoice get_info get_balance notifications",
        )
        .custom_created_at(Timestamp::from_secs(at))
        .tag(Tag::parse(["encryption", "nip44_v2"]).ok()?);
        if self.profile.notifies {
            builder = builder.tag(Tag::parse(["notifications", "payment_received payment_sent"]).ok()?);
        }
        builder.sign_with_keys(&self.keys).ok()
    }
}
