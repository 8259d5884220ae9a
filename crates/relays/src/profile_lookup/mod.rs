//! Looks up profiles and relay lists at relays, within limits, and caches the results.

mod expiring_cache;
mod newest_events;
mod one_shot_query;
pub(crate) mod profile_content;
pub(crate) mod relay_list_event;
mod relay_search;
mod single_flight;

pub(crate) use expiring_cache::ExpiringCache;
pub(crate) use relay_search::{Found, ProfileSearcher};
pub(crate) use single_flight::SingleFlight;
