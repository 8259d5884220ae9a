//! What happens in the world: actions, and what they are about.

use std::time::Duration;

use nostr::{Event, EventId};
use serde_json::Value;
use usher_engine::{Decision, StreamId};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, PaymentRequest, WalletMessage};

use super::instances::InstanceFault;

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Action {
    /// The app or the operator asks the service for something.
    Call(Call),
    /// A relay's message reaches the service.
    FromRelay {
        /// Which relay.
        relay: usize,
        /// On which connection.
        connection: u64,
        /// The message.
        text: String,
        /// The event it brings.
        event: EventId,
    },
    /// An event reaches a user's wallet.
    ToUser {
        /// Whose.
        user: usize,
        /// The event.
        event: Event,
    },
    /// A user's wallet does something.
    UserActs {
        /// Whose.
        who: usize,
        /// What.
        action: WalletAction,
    },
    /// A user closes a subscription.
    UserCloses {
        /// Who.
        who: usize,
        /// Which.
        id: String,
    },
    /// A request reaches the wallet behind the Lightning backend.
    ToNode {
        /// The request.
        event: Event,
    },
    /// It acts on a request.
    NodeActs(Request),
    /// A payment that was under way ends.
    PaymentEnds {
        /// Which.
        hash: PaymentHash,
        /// Whether the payee has it.
        succeeds: bool,
        /// The request that gets its response then.
        answers: Option<EventId>,
    },
    /// The app looks at a stream and compares with what it saw before.
    Look,
    /// The service is killed now.
    Kill,
    /// It is killed at the so-manyth instant of interest.
    KillAt(u64),
    /// It is stopped in an orderly way and started again, after this time if one is given.
    Restart(Option<Duration>),
    /// The disk takes nothing for a while.
    DiskFull(Duration),
    /// A relay is down for a while.
    RelayDown(usize, Duration),
    /// A user's wallet is away for a while.
    UserAway(usize, Duration),
    /// The wallet behind the Lightning backend is away for a while.
    NodeAway(Duration),
    /// It is back, and announces itself.
    NodeBack,
    /// The receiver of webhooks fails for a while.
    ReceiverFails(Duration),
    /// The clocks are set back.
    SetBack(Duration),
    /// The clocks are set forward.
    SetForward(Duration),
    /// Something happens to one of several instances, or to their database.
    Instance(InstanceFault),
    /// The app gives up waiting for this instance, and repeats what it may.
    Impatience(usize),
    /// Nothing goes wrong from now on.
    Calm,
    /// It is over.
    End,
}

/// What the service's keeper has to do for an action.
#[derive(Clone, Debug)]
pub enum Task {
    /// Calls the engine.
    Call(Call),
    /// Looks at a stream through the engine.
    Look,
    /// Ends the process here and now.
    Kill,
    /// Stops it in order, and starts it again.
    Restart(Option<Duration>),
    /// Does this to one of several instances.
    Instance(InstanceFault),
    /// Ends the run.
    End,
}

/// A call of the app or its operator.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number: the key under which it is done once.
    pub number: u64,
    /// The request.
    pub what: AppRequest,
    /// Whether it has an idempotency key and is repeated until it has a response.
    pub once: bool,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum AppRequest {
    /// A handshake, which this user will complete.
    Handshake(usize),
    /// That a user logs in at the reusable login, where everybody does: with its URL, or on its page.
    ReusableLogin {
        /// The user.
        user: usize,
        /// With a browser.
        page: bool,
    },
    /// That a user proves their key.
    Authenticate(usize),
    /// A payment of a user to us.
    Payment {
        /// The user.
        user: usize,
        /// For how many seconds it can be paid.
        lives: u64,
        /// The subscription it belongs to.
        subscription: Option<String>,
    },
    /// A subscription with automatic charges.
    Subscribe {
        /// The user.
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
        /// Whose.
        user: usize,
        /// Which.
        id: String,
    },
    /// An invoice of a user's.
    Invoice(usize),
    /// That a user pays another's invoice.
    PayTheirs(usize, Option<Invoice>),
    /// That the service's own wallet pays another's invoice.
    PayOurs(Option<Invoice>),
    /// A decision about a payment that waits for an approval.
    Decide {
        /// The payment's stream.
        stream: StreamId,
        /// The decision.
        decision: Decision,
        /// By the client that asked for the payment.
        by_requester: bool,
    },
}

/// What a user's wallet does after its user has thought about it.
#[derive(Clone, Debug)]
pub enum WalletAction {
    /// Sends this.
    Send(WalletMessage, &'static str),
    /// Pays and reports it.
    Pay(PaymentRequest),
    /// Scans a handshake URL's token.
    Scan(String),
}

/// A request that the wallet behind the Lightning backend is about to act on.
#[derive(Clone, Debug)]
pub struct Request {
    /// The event that it came with.
    pub id: EventId,
    /// What it is asked to do.
    pub method: String,
    /// With what.
    pub params: Value,
    /// Until when it may act, in Unix seconds.
    pub until: Option<u64>,
}
