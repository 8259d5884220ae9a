//! A delivery as the app sees it, and what a reclaim does.

use usher_protocol::PublicKey;

use crate::operations::Effect;
use crate::ports::ReceiveTerms;

/// How a delivery stands, as the app sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// It was not sent yet.
    Queued,
    /// It is sent again and again.
    Sent,
    /// The user has not redeemed it in time; it can be reclaimed.
    Timeout,
    /// It is being reclaimed.
    Reclaiming,
}

impl DeliveryStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Sent, Self::Timeout, Self::Reclaiming];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Timeout => "timeout",
            Self::Reclaiming => "reclaiming",
        }
    }
}

/// A delivery as the app sees it, without the token.
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
    /// How it stands.
    pub status: DeliveryStatus,
    /// Unix seconds until which it is sent.
    pub expires_at: u64,
}

/// What a reclaim does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reclaim {
    /// The delivery was changed, with these effects: from now on the ticket wallet may redeem the token by these terms.
    Begun(Vec<Effect>, ReceiveTerms),
    /// It began before: by these terms.
    UnderWay(ReceiveTerms),
    /// The delivery is over, because the mint says that the token is spent. Nothing was changed; the ticket wallet may try
    /// these terms, unless another delivery sends the token.
    AfterEnd(ReceiveTerms),
    /// It was reclaimed before; what was received.
    Done(u64),
    /// The token is being sent by another delivery.
    Gone,
}
