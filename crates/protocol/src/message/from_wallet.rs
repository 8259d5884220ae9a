use nostr::{Event, EventId};

use super::parsing::{json, object};
use super::{
    AuthResponse, CashuResponse, CloseSubscription, InvoiceResponse, KeyHandshake, ParseError, PaymentResponse,
    RecurringResponse,
};
use crate::envelope::replies_to;
use crate::kind;
use crate::subkey::SubkeyProof;

/// A message from a wallet to the service.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WalletMessage {
    /// Kind 27010.
    KeyHandshake(KeyHandshake),
    /// Kind 27001.
    AuthResponse(AuthResponse),
    /// Kind 28001.
    PaymentResponse(PaymentResponse),
    /// Kind 28002: same content as a payment response.
    PaymentConfirmation(PaymentResponse),
    /// Kind 28006.
    RecurringResponse(RecurringResponse),
    /// Kind 28007.
    CloseSubscription(CloseSubscription),
    /// Kind 28009.
    InvoiceResponse(InvoiceResponse),
    /// Kind 29501.
    CashuResponse(CashuResponse),
    /// Kind 30000: the author cannot read our event `about`, because it is a subkey of the event's recipient.
    SubkeyProof {
        /// The author's proof.
        proof: SubkeyProof,
        /// Our event that the author could not decrypt.
        about: EventId,
    },
}

impl WalletMessage {
    /// Parses the JSON text of a message of `kind`; `about` is the `e` tag of its event, required only for kind 30000.
    pub fn parse(kind: u16, about: Option<EventId>, json: &str) -> Result<Self, ParseError> {
        Ok(match kind {
            kind::KEY_HANDSHAKE => Self::KeyHandshake(object(json)?),
            kind::AUTH_RESPONSE => Self::AuthResponse(object(json)?),
            kind::PAYMENT_RESPONSE => Self::PaymentResponse(object(json)?),
            kind::PAYMENT_CONFIRMATION => Self::PaymentConfirmation(object(json)?),
            kind::RECURRING_RESPONSE => Self::RecurringResponse(object(json)?),
            kind::CLOSE_SUBSCRIPTION => Self::CloseSubscription(object(json)?),
            kind::INVOICE_RESPONSE => Self::InvoiceResponse(object(json)?),
            kind::CASHU_RESPONSE => Self::CashuResponse(object(json)?),
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
            Self::KeyHandshake(_) => kind::KEY_HANDSHAKE,
            Self::AuthResponse(_) => kind::AUTH_RESPONSE,
            Self::PaymentResponse(_) => kind::PAYMENT_RESPONSE,
            Self::PaymentConfirmation(_) => kind::PAYMENT_CONFIRMATION,
            Self::RecurringResponse(_) => kind::RECURRING_RESPONSE,
            Self::CloseSubscription(_) => kind::CLOSE_SUBSCRIPTION,
            Self::InvoiceResponse(_) => kind::INVOICE_RESPONSE,
            Self::CashuResponse(_) => kind::CASHU_RESPONSE,
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
            Self::KeyHandshake(message) => json(message),
            Self::AuthResponse(message) => json(message),
            Self::PaymentResponse(message) | Self::PaymentConfirmation(message) => json(message),
            Self::RecurringResponse(message) => json(message),
            Self::CloseSubscription(message) => json(message),
            Self::InvoiceResponse(message) => json(message),
            Self::CashuResponse(message) => json(message),
            Self::SubkeyProof { proof, .. } => json(proof),
        }
    }
}
