use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use usher_protocol::message::{
    AuthChallenge, CashuRequest, CloseSubscription, Currency, InvoiceRequest, PaymentRequest, RecurringRequest,
    Sensitive, ServiceMessage,
};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::text::clean;
use usher_protocol::{Event, PublicKey, kind};

use super::ReceivedTicket;

const SHOWN: usize = 200;

/// A request of a service to the user.
#[derive(Clone, Debug)]
pub struct Request {
    /// The challenge or request id, which the reply repeats. With [`from`](Self::from) it identifies the request.
    pub id: String,
    pub from: PublicKey,
    /// The service's main key, when the wallet opened a handshake URL of the service.
    pub service: Option<PublicKey>,
    /// What the service asks for.
    pub content: RequestContent,
    /// The event it came in (the first one).
    pub event: Event,
    /// When it first arrived, in Unix seconds.
    pub received_at: u64,
    /// How often it arrived, without the copies of other relays.
    pub times: u32,
    /// The wallet does by itself what is scripted, agreed or its policy.
    pub is_automatic: bool,
    /// How often it was answered, repetitions included.
    pub answers: u32,
    /// The last reply was that the payment failed: it can be tried again.
    pub failed: bool,
}

/// What a service asks for. Variants will be added: do not rely on [`Other`](Self::Other).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RequestContent {
    /// To prove the user's key.
    Authentication(AuthChallenge),
    /// To pay an invoice.
    Payment(Box<PaymentRequest>),
    /// To agree to a subscription.
    Recurring(Box<RecurringRequest>),
    Invoice(Box<InvoiceRequest>),
    Ticket(Box<CashuRequest>),
    /// The service sends a token. Approving it receives the ticket; nothing is sent in reply.
    Token(Box<SentToken>),
    Closed(CloseSubscription),
    /// A message that is no request, or one that this wallet cannot answer.
    Other(Box<ServiceMessage>),
}

#[derive(Clone, Debug)]
pub struct SentToken {
    pub token: Sensitive,
    /// The result of receiving it, once that is known: what was received, or why it was refused.
    pub outcome: Option<Result<ReceivedTicket, String>>,
}

/// The same token is the same request, however often it is sent.
fn token_id(token: &Sensitive) -> String {
    let digest = Sha256::digest(token.expose().as_bytes());
    hex::encode(digest.get(..16).unwrap_or_default())
}

impl RequestContent {
    /// The request that `message` is, with its correlation id (the event's id where it has none).
    pub(super) fn from_message(message: ServiceMessage, event: &Event) -> (String, Self) {
        let id = match &message {
            ServiceMessage::AuthChallenge(challenge) => challenge.challenge.clone(),
            ServiceMessage::PaymentRequest(request) => request.request_id.clone(),
            ServiceMessage::RecurringRequest(request) => request.request_id.clone(),
            ServiceMessage::InvoiceRequest(request) => request.request_id.clone(),
            ServiceMessage::CashuRequest(request) => request.request_id.clone(),
            ServiceMessage::CashuDirect(direct) => token_id(&direct.token),
            ServiceMessage::CloseSubscription(close) => close.subscription_id.clone(),
            _ => event.id.to_hex(),
        };
        let asked = match message {
            ServiceMessage::AuthChallenge(challenge) => Self::Authentication(challenge),
            ServiceMessage::PaymentRequest(request) => Self::Payment(Box::new(request)),
            ServiceMessage::RecurringRequest(request) => Self::Recurring(Box::new(request)),
            ServiceMessage::InvoiceRequest(request) => Self::Invoice(Box::new(request)),
            ServiceMessage::CashuRequest(request) => Self::Ticket(Box::new(request)),
            ServiceMessage::CashuDirect(direct) => {
                Self::Token(Box::new(SentToken { token: direct.token, outcome: None }))
            }
            ServiceMessage::CloseSubscription(close) => Self::Closed(close),
            other => Self::Other(Box::new(other)),
        };
        (id, asked)
    }

    pub(super) fn proof(&self) -> Option<&SubkeyProof> {
        match self {
            Self::Authentication(challenge) => challenge.subkey_proof.as_ref(),
            _ => None,
        }
    }

    /// Whether the user can approve it.
    pub const fn is_request(&self) -> bool {
        match self {
            Self::Authentication(_) | Self::Payment(_) | Self::Recurring(_) | Self::Invoice(_) | Self::Ticket(_) => {
                true
            }
            Self::Token(sent) => sent.outcome.is_none(),
            Self::Closed(_) | Self::Other(_) => false,
        }
    }

    pub const fn kind(&self) -> u16 {
        match self {
            Self::Authentication(_) => kind::AUTH_CHALLENGE,
            Self::Payment(_) => kind::PAYMENT_REQUEST,
            Self::Recurring(_) => kind::RECURRING_REQUEST,
            Self::Invoice(_) => kind::INVOICE_REQUEST,
            Self::Ticket(_) => kind::CASHU_REQUEST,
            Self::Token(_) => kind::CASHU_DIRECT,
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
            Self::Ticket(request) => Some(request.expires_at),
            Self::Token(_) | Self::Closed(_) | Self::Other(_) => None,
        }
    }

    /// The kind of request, in a word or two.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Authentication(_) => "authentication",
            Self::Payment(_) => "payment",
            Self::Recurring(_) => "recurring payment",
            Self::Invoice(_) => "invoice",
            Self::Ticket(_) => "ticket request",
            Self::Token(sent) => match &sent.outcome {
                None => "ticket",
                Some(Ok(_)) => "ticket received",
                Some(Err(_)) => "ticket refused",
            },
            Self::Closed(_) => "closed subscription",
            Self::Other(_) => "message",
        }
    }

    /// The request in one line, with its terms (`payment, 10,000 msat: Tea`), safe for a terminal.
    pub fn summary(&self) -> String {
        format!("{}{}", self.title(), self.terms())
    }

    /// The terms as the summary shows them.
    pub fn terms(&self) -> String {
        let mut text = String::new();
        if let Self::Authentication(challenge) = self
            && !challenge.required_permissions.is_empty()
        {
            let _ = write!(text, ", permissions: {}", clean(&challenge.required_permissions.join(" "), SHOWN));
        }
        if let Some((amount, currency)) = self.amount() {
            let _ = write!(text, ", {}", crate::amounts::amount(amount, currency));
        }
        if let Some((amount, unit, mint_url)) = self.ticket() {
            let _ = write!(text, ", {}", crate::amounts::tickets(amount, unit, mint_url));
        }
        if let Self::Recurring(asked) = self {
            let _ = write!(text, " {}", asked.recurrence.calendar);
        }
        if let Some(description) = self.description() {
            let _ = write!(text, ": {}", clean(description, SHOWN));
        }
        text
    }

    /// What is to be paid.
    pub fn amount(&self) -> Option<(u64, &Currency)> {
        match self {
            Self::Payment(asked) => Some((asked.amount, &asked.currency)),
            Self::Recurring(asked) => Some((asked.amount, &asked.currency)),
            Self::Invoice(asked) => Some((asked.amount, &asked.currency)),
            _ => None,
        }
    }

    /// The amount, unit and mint of the ticket that is asked for or was sent.
    pub fn ticket(&self) -> Option<(u64, &str, &str)> {
        match self {
            Self::Ticket(asked) => Some((asked.amount, &asked.unit, &asked.mint_url)),
            Self::Token(sent) => match &sent.outcome {
                Some(Ok(received)) => Some((received.amount, &received.unit, &received.mint_url)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The service's description; of a refused ticket, the reason.
    pub fn description(&self) -> Option<&str> {
        match self {
            Self::Payment(asked) => Some(asked.description.as_str()).filter(|text| !text.is_empty()),
            Self::Recurring(asked) => asked.description.as_deref(),
            Self::Invoice(asked) => asked.description.as_deref(),
            Self::Closed(closed) => closed.reason.as_deref(),
            Self::Token(sent) => match &sent.outcome {
                Some(Err(reason)) => Some(reason),
                _ => None,
            },
            _ => None,
        }
    }
}
