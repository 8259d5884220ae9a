//! `/ws`

mod admission;
mod client;
mod endings;
mod events;
mod faults;
mod independent;
mod requests;
mod stop;
