//! The reference wallet: does what the wallet app of a user does.
//!
//! A [`Wallet`] holds one key ([`Identity`]): a user's main key, or the subkey of one of the user's devices. It opens
//! handshake URLs, collects the requests of services ([`Request`]), and replies on command or automatically
//! ([`Policy`]).

mod decision;
mod error;
mod fulfilment;
mod identity;
mod inbox;
mod known_service;
mod open_receipts;
mod options;
mod outbox;
mod outgoing_messages;
mod payment_source;
mod received_requests;
mod reply;
mod request;
mod request_saving_task;
mod saved_requests;
mod scripted_outcomes;
mod secret;
mod service_name;
mod session_token;
mod subscription;
mod tickets;
mod token_receipt;
mod user_actions;
mod user_wallet;
mod wallet_file;
mod wallet_file_requests;
mod wallet_state;
mod work;

pub use decision::SLOW;
pub use error::{NoRequest, WalletError};
pub use fulfilment::Fulfilled;
pub use identity::{DeviceTerms, Identity};
pub use known_service::KnownService;
pub use options::{Policy, Reaction, WalletOptions};
pub use payment_source::{PaymentSource, PaymentSourceError};
pub use request::{Request, RequestContent, SentToken};
pub use scripted_outcomes::{MAX_OUTCOMES, Outcome, RequestType, ScriptedOutcome, ScriptedOutcomes};
pub use secret::Secret;
pub use subscription::{Agreement, Closed, Subscription};
pub use tickets::{GivenState, GivenTicket, KnownMint, ReceivedTicket, TicketAmount, Tickets, TicketsError};
pub use user_wallet::{Opened, Wallet};
pub use wallet_file::{FileError, SavedRequest, Verdict, WalletFile};
pub use work::WorkCount;

pub use crate::relay_client::DeliveryStatus;
