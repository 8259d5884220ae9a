//! A delivery as shown to the app, and the results of a reclaim.

use usher_protocol::PublicKey;

use crate::machine::Effect;
use crate::ports::ReceiveTerms;

usher_protocol::words! {
    /// The status of a delivery, for the app.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DeliveryStatus {
        /// Not sent yet.
        Queued = "queued",
        /// Being sent repeatedly.
        Sent = "sent",
        /// Expired; it can be reclaimed.
        Timeout = "timeout",
        /// It is being reclaimed.
        Reclaiming = "reclaiming",
    }
}

/// A delivery for the app, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryView {
    /// The user.
    pub main_key: PublicKey,
    /// The token's mint.
    pub mint_url: String,
    /// Its unit.
    pub unit: String,
    /// Its value in the unit, without fees.
    pub amount: u64,
    /// Its status.
    pub status: DeliveryStatus,
    /// Unix seconds until which it is sent.
    pub expires_at: u64,
}

/// The result of a reclaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// Changed, with these effects: from now on the ticket wallet may redeem the token with these terms.
    Begun(Vec<Effect>, ReceiveTerms),
    /// It was already being reclaimed, with these terms.
    UnderWay(ReceiveTerms),
    /// The delivery is over, because the mint reported the token as spent. Nothing was changed; the ticket wallet may
    /// try these terms, unless another delivery sends the token.
    AfterEnd(ReceiveTerms),
    /// It was reclaimed before; the received amount.
    Done(u64),
    /// Another delivery sends the token.
    Gone,
}
