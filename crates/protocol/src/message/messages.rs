use nostr::{Event, EventId};

use super::parsing::{json, object};
use super::{
    AuthChallenge, AuthResponse, CashuDirect, CashuRequest, CashuResponse, CloseSubscription, InvoiceRequest,
    InvoiceResponse, KeyHandshake, ParseError, PaymentRequest, PaymentResponse, RecurringRequest, RecurringResponse,
};
use crate::envelope::replies_to;
use crate::kind;
use crate::subkey::SubkeyProof;

/// The messages in one direction, each with the kind of its event.
macro_rules! messages {
    ($(#[$attribute:meta])* $name:ident { $($(#[$kind_attribute:meta])* $message:ident($content:ident) = $kind:ident,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$kind_attribute])* $message($content),)*
            /// Kind 30000: its author runs on a subkey of the recipient of the event `about`, and cannot read that event.
            SubkeyProof {
                /// The author's proof.
                proof: SubkeyProof,
                /// The event that the author could not decrypt.
                about: EventId,
            },
        }

        impl $name {
            /// Parses the JSON text of a message of `kind`; `about` is the `e` tag of its event, required only for kind 30000.
            pub fn parse(kind: u16, about: Option<EventId>, json: &str) -> Result<Self, ParseError> {
                Ok(match kind {
                    $(kind::$kind => Self::$message(object(json)?),)*
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
                    $(Self::$message(_) => kind::$kind,)*
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
                    $(Self::$message(message) => json(message),)*
                    Self::SubkeyProof { proof, .. } => json(proof),
                }
            }
        }
    };
}

messages! {
    /// A message from the service to a wallet.
    ServiceMessage {
        /// Kind 27000.
        AuthChallenge(AuthChallenge) = AUTH_CHALLENGE,
        /// Kind 28000.
        PaymentRequest(PaymentRequest) = PAYMENT_REQUEST,
        /// Kind 28005.
        RecurringRequest(RecurringRequest) = RECURRING_REQUEST,
        /// Kind 28007.
        CloseSubscription(CloseSubscription) = CLOSE_SUBSCRIPTION,
        /// Kind 28008.
        InvoiceRequest(InvoiceRequest) = INVOICE_REQUEST,
        /// Kind 29500.
        CashuRequest(CashuRequest) = CASHU_REQUEST,
        /// Kind 29502.
        CashuDirect(CashuDirect) = CASHU_DIRECT,
    }
}

messages! {
    /// A message from a wallet to the service.
    WalletMessage {
        /// Kind 27010.
        KeyHandshake(KeyHandshake) = KEY_HANDSHAKE,
        /// Kind 27001.
        AuthResponse(AuthResponse) = AUTH_RESPONSE,
        /// Kind 28001.
        PaymentResponse(PaymentResponse) = PAYMENT_RESPONSE,
        /// Kind 28002: same content as a payment response.
        PaymentConfirmation(PaymentResponse) = PAYMENT_CONFIRMATION,
        /// Kind 28006.
        RecurringResponse(RecurringResponse) = RECURRING_RESPONSE,
        /// Kind 28007.
        CloseSubscription(CloseSubscription) = CLOSE_SUBSCRIPTION,
        /// Kind 28009.
        InvoiceResponse(InvoiceResponse) = INVOICE_RESPONSE,
        /// Kind 29501.
        CashuResponse(CashuResponse) = CASHU_RESPONSE,
    }
}
