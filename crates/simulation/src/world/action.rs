//! What happens in the world: actions, and what they are about.

use std::time::Duration;

use nostr::{Event, EventId};
use serde_json::Value;
use usher_engine::{Decision, StreamId};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, PaymentRequest, WalletMessage};

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    Call(Call),
    /// A relay's message reaches the service.
    FromRelay {
        relay: usize,
        connection: u64,
        text: String,
        event: EventId,
    },
    ToUser {
        user: usize,
        event: Event,
    },
    UserActs {
        who: usize,
        action: WalletAction,
    },
    UserCloses {
        who: usize,
        id: String,
    },
    /// A request reaches the wallet behind the Lightning backend.
    ToNode {
        event: Event,
    },
    /// It acts on a request.
    NodeActs(Request),
    PaymentEnds {
        hash: PaymentHash,
        /// Whether the payee has it.
        succeeds: bool,
        /// The request that gets its response then.
        answers: Option<EventId>,
    },
    /// The app looks at a stream and compares with what it saw before.
    Look,
    Kill,
    /// It is killed at the so-manyth instant of interest.
    KillAt(u64),
    /// It is stopped in an orderly way and started again, after this time if one is given.
    Restart(Option<Duration>),
    /// The disk takes nothing for a while.
    DiskFull(Duration),
    RelayDown(usize, Duration),
    UserAway(usize, Duration),
    /// The wallet behind the Lightning backend is away for a while.
    NodeAway(Duration),
    /// It is back, and announces itself.
    NodeBack,
    ReceiverFails(Duration),
    SetBack(Duration),
    SetForward(Duration),
    Calm,
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its number: the key under which it is done once.
    pub(crate) number: u64,
    pub(crate) what: AppRequest,
    /// Whether it has an idempotency key and is repeated until it has a response.
    pub(crate) once: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum AppRequest {
    /// A handshake, which this user will complete.
    Handshake(usize),
    /// That a user logs in at the reusable login, where everybody does: with its URL, or on its page.
    ReusableLogin {
        user: usize,
        /// With a browser.
        page: bool,
    },
    /// That a user proves their key.
    Authenticate(usize),
    Payment {
        user: usize,
        /// For how many seconds it can be paid.
        lives: u64,
        subscription: Option<String>,
    },
    /// A subscription with automatic charges.
    Subscribe {
        user: usize,
        /// Unix seconds of the first charge.
        first: u64,
        /// Once a year instead of every minute.
        yearly: bool,
        /// After how many charges it ends.
        charges: Option<u32>,
    },
    /// The end of a subscription.
    Close {
        user: usize,
        id: String,
    },
    Invoice(usize),
    /// That a user pays another's invoice.
    PayTheirs(usize, Option<Invoice>),
    /// That the service's own wallet pays another's invoice.
    PayOurs(Option<Invoice>),
    /// A decision about a payment that waits for an approval.
    Decide {
        stream: StreamId,
        decision: Decision,
        /// By the client that asked for the payment.
        by_requester: bool,
    },
}

/// What a user's wallet does after its user has thought about it.
#[derive(Clone, Debug)]
pub(crate) enum WalletAction {
    Send(WalletMessage, &'static str),
    Pay(PaymentRequest),
    /// Scans a handshake URL's token.
    Scan(String),
}

/// A request that the wallet behind the Lightning backend is about to act on.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) id: EventId,
    pub(crate) method: String,
    pub(crate) params: Value,
    /// Until when it may act, in Unix seconds.
    pub(crate) until: Option<u64>,
}
