//! Addresses of mints, and units.

use std::fmt;
use std::net::IpAddr;

use usher_protocol::{mint_url, ticket_unit};

/// The address of a mint in its normal form (see [`mint_url`]): equal for all spellings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MintAddress(String);

impl MintAddress {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        mint_url::normalize(text).map(Self).ok_or("it is not the address of a mint")
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn ip(&self) -> Option<IpAddr> {
        let uri: http::Uri = self.0.parse().ok()?;
        uri.host()?.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.starts_with("https:")
    }
}

impl fmt::Display for MintAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

usher_protocol::debug_shows!(MintAddress as Display);

/// A unit in its normal form (see [`ticket_unit`]). Text that is not a unit is unchanged, and equals no unit.
pub(crate) fn normal_unit(text: &str) -> String {
    ticket_unit::normalize(text).unwrap_or_else(|| text.to_owned())
}
