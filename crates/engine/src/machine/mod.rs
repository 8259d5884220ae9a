//! State machines: what an operation is, without any that exists. One takes an [`Input`] and the time, changes its state, and
//! returns [`Effect`]s; the engine commits both in one transaction and then applies the effects. It has no clock, network or database.
//!
//! Nothing here knows a feature, the kernel or the [`registry`](crate::registry).

mod effect;
mod input;
mod operation_kind;
mod signal;
mod signer_call;
mod spending;
mod state_machine;
pub(crate) mod ticket_call;
mod timing;
pub(crate) mod user_keys;

pub use self::effect::{Effect, LightningRequest, LinkedChange, StepResult};
pub(crate) use self::effect::{emit, start};
pub use self::input::Input;
pub use self::operation_kind::OperationKind;
pub(crate) use self::signal::RenewalPaid;
pub use self::signal::{Charge, ChargeEnd, Charged, RequestedPayment, Signal};
pub use self::signer_call::{SignerCall, SignerReport, SignerUpdate};
pub(crate) use self::spending::BUDGET_WINDOW;
pub use self::spending::{Budget, Spending};
pub use self::state_machine::StateMachine;
pub use self::ticket_call::{TicketCall, TicketReply, VerifiedToken};
pub(crate) use self::timing::lease;
pub use self::user_keys::MAX_SUBKEYS;
