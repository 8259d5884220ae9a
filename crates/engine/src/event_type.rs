use std::fmt;

/// The `type` of an event (docs/api.md, Reading events).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// A user completed a key handshake.
    KeyHandshake,
    /// An operation's status changed.
    StatusUpdate,
    /// A subscription was agreed.
    Subscription,
    /// A subscription was closed by the user.
    SubscriptionClosed,
    /// A due date of a subscription was charged, or could not be.
    SubscriptionPayment,
    /// A user's wallet answered an invoice request.
    InvoiceResponse,
    /// A Cashu request or a verification has its result.
    CashuResponse,
}

impl EventType {
    /// Every event type.
    pub const ALL: [Self; 7] = [
        Self::KeyHandshake,
        Self::StatusUpdate,
        Self::Subscription,
        Self::SubscriptionClosed,
        Self::SubscriptionPayment,
        Self::InvoiceResponse,
        Self::CashuResponse,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeyHandshake => "KeyHandshake",
            Self::StatusUpdate => "StatusUpdate",
            Self::Subscription => "Subscription",
            Self::SubscriptionClosed => "SubscriptionClosed",
            Self::SubscriptionPayment => "SubscriptionPayment",
            Self::InvoiceResponse => "InvoiceResponse",
            Self::CashuResponse => "CashuResponse",
        }
    }

    /// The event type with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
