use nostr::{Event, EventId};

use super::parsing::{json, object};
use super::{
    AuthChallenge, CashuDirect, CashuRequest, CloseSubscription, InvoiceRequest, ParseError, PaymentRequest,
    RecurringRequest,
};
use crate::envelope::replies_to;
use crate::kind;
use crate::subkey::SubkeyProof;

/// A message from the service to a wallet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ServiceMessage {
    /// Kind 27000.
    AuthChallenge(AuthChallenge),
    /// Kind 28000.
    PaymentRequest(PaymentRequest),
    /// Kind 28005.
    RecurringRequest(RecurringRequest),
    /// Kind 28007.
    CloseSubscription(CloseSubscription),
    /// Kind 28008.
    InvoiceRequest(InvoiceRequest),
    /// Kind 29500.
    CashuRequest(CashuRequest),
    /// Kind 29502.
    CashuDirect(CashuDirect),
    /// Kind 30000: the service cannot read the wallet's event `about`, because it runs on a subkey of the recipient.
    SubkeyProof {
        /// The service's proof.
        proof: SubkeyProof,
        /// The wallet's event that the service could not decrypt.
        about: EventId,
    },
}

impl ServiceMessage {
    /// Parses the JSON text of a message of `kind`; `about` is the `e` tag of its event, required only for kind 30000.
    pub fn parse(kind: u16, about: Option<EventId>, json: &str) -> Result<Self, ParseError> {
        Ok(match kind {
            kind::AUTH_CHALLENGE => Self::AuthChallenge(object(json)?),
            kind::PAYMENT_REQUEST => Self::PaymentRequest(object(json)?),
            kind::RECURRING_REQUEST => Self::RecurringRequest(object(json)?),
            kind::CLOSE_SUBSCRIPTION => Self::CloseSubscription(object(json)?),
            kind::INVOICE_REQUEST => Self::InvoiceRequest(object(json)?),
            kind::CASHU_REQUEST => Self::CashuRequest(object(json)?),
            kind::CASHU_DIRECT => Self::CashuDirect(object(json)?),
            kind::SUBKEY_PROOF => {
                Self::SubkeyProof { about: about.ok_or(ParseError::MissingReference)?, proof: object(json)? }
            }
            kind => return Err(ParseError::UnknownKind(kind)),
        })
    }

    /// Parses the message of an event whose content was [opened](crate::envelope::open) to `json`.
    pub fn from_event(event: &Event, json: &str) -> Result<Self, ParseError> {
        Self::parse(event.kind.as_u16(), replies_to(event), json)
    }

    /// The kind of its event.
    pub const fn kind(&self) -> u16 {
        match self {
            Self::AuthChallenge(_) => kind::AUTH_CHALLENGE,
            Self::PaymentRequest(_) => kind::PAYMENT_REQUEST,
            Self::RecurringRequest(_) => kind::RECURRING_REQUEST,
            Self::CloseSubscription(_) => kind::CLOSE_SUBSCRIPTION,
            Self::InvoiceRequest(_) => kind::INVOICE_REQUEST,
            Self::CashuRequest(_) => kind::CASHU_REQUEST,
            Self::CashuDirect(_) => kind::CASHU_DIRECT,
            Self::SubkeyProof { .. } => kind::SUBKEY_PROOF,
        }
    }

    /// The event it refers to by an `e` tag.
    pub const fn about(&self) -> Option<EventId> {
        match self {
            Self::SubkeyProof { about, .. } => Some(*about),
            _ => None,
        }
    }

    /// Its JSON text.
    pub fn to_json(&self) -> String {
        match self {
            Self::AuthChallenge(message) => json(message),
            Self::PaymentRequest(message) => json(message),
            Self::RecurringRequest(message) => json(message),
            Self::CloseSubscription(message) => json(message),
            Self::InvoiceRequest(message) => json(message),
            Self::CashuRequest(message) => json(message),
            Self::CashuDirect(message) => json(message),
            Self::SubkeyProof { proof, .. } => json(proof),
        }
    }
}
