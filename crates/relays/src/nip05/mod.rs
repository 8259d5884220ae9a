//! NIP-05 identifiers (`name@domain`): asks the domain whose key an identifier names.

mod caching_resolver;
mod client;
mod well_known_document;

pub(crate) use caching_resolver::{CachingResolver, KEEP_FOUND, KEEP_MISSING};
pub(crate) use client::Nip05Client;
