//! `/ws`

mod admission;
mod client;
mod endings;
mod events;
mod faults;
mod requests;
mod stop;
