//! The operations and what they are made of, for other crates: each is a small pure state machine in a folder of its feature.

#[cfg(test)]
pub(crate) mod fixtures;

pub use crate::login::authentication::Authentication;
pub use crate::login::key_handshake::{KeyHandshake, LoginUrl};
pub use crate::login::operation::{
    AskSignerError, Login, LoginMethod, LoginOrigin, LoginOver, LoginRedeemed, LoginState, LoginTerms, RedeemFault,
};
pub use crate::login::signer_request::{SignerFault, SignerRequest, SignerStatus};
pub use crate::machine::{
    Budget, Charge, ChargeEnd, Charged, Effect, Input, LightningRequest, LinkedChange, MAX_SUBKEYS, RequestedPayment,
    Signal, SignerCall, SignerReport, SignerUpdate, Spending, StateMachine, StepResult, TicketCall, TicketReply,
    VerifiedToken,
};
pub use crate::payment::approval::HeldPayment;
pub use crate::payment::invoice_request::InvoiceRequest;
pub use crate::payment::link::{LinkAmount, LinkState, LinkTerms, PaymentLink};
pub use crate::payment::on_chain::OnChainPayment;
pub use crate::payment::operation::{Payer, Payment, PaymentOfLink, PaymentProgress, PaymentTerms, SubscriptionLink};
pub use crate::payment::outgoing::OutgoingPayment;
pub use crate::payment::refund::{Refund, RefundProgress};
pub use crate::registry::Operation;
pub use crate::subscription::operation::{Subscription, SubscriptionRules, SubscriptionState, SubscriptionView};
pub use crate::subscription::request::RecurringRequest;
pub use crate::ticket::delivery::{DeliveryStatus, DeliveryView, Reclaim, TicketDelivery};
pub use crate::ticket::request::TicketRequest;
pub use crate::verification::operation::{
    AgeCheck, AgeDecision, AwaitedBrowser, BeginFault, CheckReturn, DecisionFault, VerificationSession,
    VerificationState, VerificationTerms,
};
pub use crate::webhook_test::WebhookTest;
