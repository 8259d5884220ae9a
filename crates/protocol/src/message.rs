//! The messages on the wire (docs/protocol.md).
//!
//! Untrusted input is bounded here: a message with an oversized identifier, token or invoice is rejected, text for
//! people is [cleaned](crate::text::clean) and truncated, lists are truncated. `Debug` shows no secrets.

mod authentication;
mod cashu;
mod currency;
mod handshake;
mod invoice;
mod messages;
mod parsing;
mod payment;
mod recurring;
mod sensitive;

pub use authentication::{AuthChallenge, AuthResponse, AuthStatus, MAX_PERMISSIONS, MAX_SESSION_TOKEN_BYTES};
pub use cashu::{CashuDirect, CashuRequest, CashuResponse, CashuStatus, MAX_MINT_URL_BYTES, MAX_UNIT_BYTES};
pub use currency::{Currency, ExchangeRate, FiatCode, NotACurrency};
pub use handshake::{ClientInfo, KeyHandshake, MAX_PREFERRED_RELAYS, MAX_SENT_TOKEN_BYTES};
pub use invoice::{Addressed, InvoiceRequest, InvoiceResponse, MAX_INVOICE_BYTES};
pub use messages::{ServiceMessage, WalletMessage};
pub use parsing::{MAX_JSON_BYTES, ParseError};
pub use payment::{PaymentRequest, PaymentResponse, PaymentStatus};
pub use recurring::{CloseSubscription, Recurrence, RecurringRequest, RecurringResponse, RecurringStatus};
pub use sensitive::{PaymentHash, Preimage, Sensitive};
