//! `/ws`

mod admission;
pub(crate) mod client;
mod endings;
mod events;
mod faults;
mod independent_client;
mod requests;
mod shutdown;
