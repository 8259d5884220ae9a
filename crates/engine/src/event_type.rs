use std::fmt;

usher_protocol::words! {
    /// The `type` of an event (docs/api.md, Reading events).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum EventType {
        /// A user completed a key handshake.
        KeyHandshake = "KeyHandshake",
        /// An operation's status changed.
        StatusUpdate = "StatusUpdate",
        /// A subscription was agreed.
        Subscription = "Subscription",
        /// A subscription was closed by the user.
        SubscriptionClosed = "SubscriptionClosed",
        /// A due date of a subscription was charged, or could not be.
        SubscriptionPayment = "SubscriptionPayment",
        /// A user's wallet answered an invoice request.
        InvoiceResponse = "InvoiceResponse",
        /// A Cashu request or a verification has its result.
        CashuResponse = "CashuResponse",
        /// The operator tests the webhook.
        Test = "Test",
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
