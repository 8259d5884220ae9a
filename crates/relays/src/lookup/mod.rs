//! Looking up who somebody is: at relays, within a bound, with what was found kept for a while.

mod cache;
pub(crate) mod document;
mod flights;
mod newest;
pub(crate) mod relay_list;
mod search;
mod visit;

pub(crate) use cache::Cache;
pub(crate) use flights::Flights;
pub(crate) use search::{Found, Searcher};
