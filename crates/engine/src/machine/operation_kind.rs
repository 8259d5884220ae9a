//! The kinds of operations, as they are stored.

/// Declares the kinds: each with its number in the store, and its name, which is the label in metrics and names the state in the
/// store. Neither ever changes its meaning.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $code:literal, $name:literal;)+) => {
        /// The kind of an operation, as stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum OperationKind {
            $($(#[doc = $doc])* $kind = $code,)+
        }

        impl OperationKind {
            /// Every kind, in the order of the numbers.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$kind),+];

            /// The kind as the label of a metric.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// The reserved stream `subscriptions`; not a state machine.
    Subscriptions = 0, "subscriptions";
    /// A key handshake.
    KeyHandshake = 1, "key_handshake";
    /// A key authentication.
    Authentication = 2, "authentication";
    /// A payment to the service, requested from a user.
    SinglePayment = 3, "single_payment";
    /// A payment of somebody else's invoice, requested from a user.
    InvoicePayment = 4, "invoice_payment";
    /// A payment of somebody else's invoice by the Lightning backend.
    OutgoingPayment = 5, "own_payment";
    /// An invoice, requested from a user.
    InvoiceRequest = 6, "invoice_request";
    /// A request to a user to agree to a subscription.
    RecurringRequest = 7, "recurring_request";
    /// A subscription.
    Subscription = 8, "subscription";
    /// A Cashu token, requested from a user.
    TicketRequest = 9, "ticket_request";
    /// A token being sent to a user.
    TicketDelivery = 10, "ticket_delivery";
    /// An age verification.
    VerificationSession = 11, "verification_session";
    /// A login: a handshake and an authentication, or the proof of another signer.
    Login = 12, "login";
    /// A refund of a payment.
    Refund = 13, "refund";
    /// A page at which many people can pay.
    PaymentLink = 14, "payment_link";
    /// A payment at such a page.
    LinkPayment = 15, "link_payment";
    /// An on-chain payment of the service's Lightning node.
    OnChainPayment = 16, "on_chain_payment";
    /// A test of the app's webhook.
    WebhookTest = 17, "webhook_test";
}

impl OperationKind {
    /// The number in the store.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}
