//! What services ask.

use usher_protocol::message::{
    AuthChallenge, CloseSubscription, InvoiceRequest, PaymentRequest, RecurringRequest, ServiceMessage,
};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Event, PublicKey, kind};

/// Something a service asked the user.
#[derive(Clone, Debug)]
pub struct Request {
    /// By which an answer refers to it: the challenge or request id. With [`from`](Self::from) it identifies the
    /// request.
    pub id: String,
    /// Who asked: the key that signed.
    pub from: PublicKey,
    /// The service's main key, when the wallet opened a handshake URL of the service.
    pub service: Option<PublicKey>,
    /// What is asked.
    pub asked: Asked,
    /// The event it came in (the first one).
    pub event: Event,
    /// When it came first, in Unix seconds.
    pub received_at: u64,
    /// How often it came, copies by several relays not counted.
    pub times: u32,
    /// How often it was answered, repeated answers counted.
    pub answers: u32,
    /// The last answer was that the payment failed: it can be tried again.
    pub failed: bool,
}

/// What is asked. More will come: do not rely on [`Other`](Self::Other).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Asked {
    /// To prove who one is.
    Authentication(AuthChallenge),
    /// To pay an invoice.
    Payment(Box<PaymentRequest>),
    /// To agree to a subscription.
    Recurring(Box<RecurringRequest>),
    /// To make an invoice.
    Invoice(Box<InvoiceRequest>),
    /// Nothing: the service closes a subscription.
    Closed(CloseSubscription),
    /// A message that is no request, or one that this wallet cannot answer.
    Other(Box<ServiceMessage>),
}

impl Asked {
    /// The request that `message` is, with its correlation id (the event's id where it has none).
    pub(super) fn from_message(message: ServiceMessage, event: &Event) -> (String, Self) {
        let id = match &message {
            ServiceMessage::AuthChallenge(challenge) => challenge.challenge.clone(),
            ServiceMessage::PaymentRequest(request) => request.request_id.clone(),
            ServiceMessage::RecurringRequest(request) => request.request_id.clone(),
            ServiceMessage::InvoiceRequest(request) => request.request_id.clone(),
            ServiceMessage::CashuRequest(request) => request.request_id.clone(),
            ServiceMessage::CloseSubscription(close) => close.subscription_id.clone(),
            _ => event.id.to_hex(),
        };
        let asked = match message {
            ServiceMessage::AuthChallenge(challenge) => Self::Authentication(challenge),
            ServiceMessage::PaymentRequest(request) => Self::Payment(Box::new(request)),
            ServiceMessage::RecurringRequest(request) => Self::Recurring(Box::new(request)),
            ServiceMessage::InvoiceRequest(request) => Self::Invoice(Box::new(request)),
            ServiceMessage::CloseSubscription(close) => Self::Closed(close),
            other => Self::Other(Box::new(other)),
        };
        (id, asked)
    }

    /// The service's proof, when it runs on a subkey and says so.
    pub(super) fn proof(&self) -> Option<&SubkeyProof> {
        match self {
            Self::Authentication(challenge) => challenge.subkey_proof.as_ref(),
            _ => None,
        }
    }

    /// Whether this wallet knows an answer.
    pub const fn is_request(&self) -> bool {
        matches!(self, Self::Authentication(_) | Self::Payment(_) | Self::Recurring(_) | Self::Invoice(_))
    }

    /// The kind of its event.
    pub const fn kind(&self) -> u16 {
        match self {
            Self::Authentication(_) => kind::AUTH_CHALLENGE,
            Self::Payment(_) => kind::PAYMENT_REQUEST,
            Self::Recurring(_) => kind::RECURRING_REQUEST,
            Self::Invoice(_) => kind::INVOICE_REQUEST,
            Self::Closed(_) => kind::CLOSE_SUBSCRIPTION,
            Self::Other(message) => message.kind(),
        }
    }

    /// Until when it can be answered, in Unix seconds.
    pub fn expires_at(&self) -> Option<u64> {
        match self {
            Self::Authentication(challenge) => Some(challenge.expires_at),
            Self::Payment(request) => Some(request.expires_at),
            Self::Recurring(request) => Some(request.expires_at),
            Self::Invoice(request) => Some(request.expires_at),
            Self::Closed(_) => None,
            Self::Other(message) => match message.as_ref() {
                ServiceMessage::CashuRequest(request) => Some(request.expires_at),
                _ => None,
            },
        }
    }

    /// What is asked, in a word or two.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Authentication(_) => "authentication",
            Self::Payment(_) => "payment",
            Self::Recurring(_) => "recurring payment",
            Self::Invoice(_) => "invoice",
            Self::Closed(_) => "closed subscription",
            Self::Other(message) => match message.as_ref() {
                ServiceMessage::CashuRequest(_) => "ecash",
                ServiceMessage::CashuDirect(_) => "ecash received",
                _ => "message",
            },
        }
    }
}
