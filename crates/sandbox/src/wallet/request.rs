//! What services ask.

use usher_protocol::message::{AuthChallenge, ServiceMessage};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Event, PublicKey};

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
}

/// What is asked. More will come: do not rely on [`Other`](Self::Other).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Asked {
    /// To prove who one is.
    Authentication(AuthChallenge),
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
            other => Self::Other(Box::new(other)),
        };
        (id, asked)
    }

    /// The service's proof, when it runs on a subkey and says so.
    pub(super) fn proof(&self) -> Option<&SubkeyProof> {
        match self {
            Self::Authentication(challenge) => challenge.subkey_proof.as_ref(),
            Self::Other(_) => None,
        }
    }

    /// The kind of its event.
    pub fn kind(&self) -> u16 {
        match self {
            Self::Authentication(_) => usher_protocol::kind::AUTH_CHALLENGE,
            Self::Other(message) => message.kind(),
        }
    }

    /// Until when it can be answered, in Unix seconds.
    pub fn expires_at(&self) -> Option<u64> {
        match self {
            Self::Authentication(challenge) => Some(challenge.expires_at),
            Self::Other(message) => match message.as_ref() {
                ServiceMessage::PaymentRequest(request) => Some(request.expires_at),
                ServiceMessage::RecurringRequest(request) => Some(request.expires_at),
                ServiceMessage::InvoiceRequest(request) => Some(request.expires_at),
                ServiceMessage::CashuRequest(request) => Some(request.expires_at),
                _ => None,
            },
        }
    }

    /// What is asked, in a word or two.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Authentication(_) => "authentication",
            Self::Other(message) => match message.as_ref() {
                ServiceMessage::PaymentRequest(_) => "payment",
                ServiceMessage::RecurringRequest(_) => "recurring payment",
                ServiceMessage::CloseSubscription(_) => "closed subscription",
                ServiceMessage::InvoiceRequest(_) => "invoice",
                ServiceMessage::CashuRequest(_) => "ecash",
                ServiceMessage::CashuDirect(_) => "ecash received",
                _ => "message",
            },
        }
    }
}
