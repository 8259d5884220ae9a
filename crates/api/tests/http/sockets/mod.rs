//! `/ws`

mod admission;
pub(crate) mod client;
mod endings;
mod events;
mod faults;
mod requests;
mod shutdown;
