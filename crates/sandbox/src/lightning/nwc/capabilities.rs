use std::collections::BTreeSet;

use super::Method;

/// What a wallet service can do, and whether it publishes that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The encryptions it accepts and uses.
    pub encryptions: Encryptions,
    /// The methods it supports; it refuses others with `NOT_IMPLEMENTED`.
    pub methods: BTreeSet<Method>,
    /// Whether it notifies the app of payments.
    pub notifications: bool,
    /// Whether it publishes its capabilities (kind 13194).
    pub announced: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { encryptions: Encryptions::Both, methods: Method::ALL.into(), notifications: true, announced: true }
    }
}

impl Capabilities {
    pub(super) const fn notification_types(&self) -> &'static [&'static str] {
        if self.notifications { &["payment_received", "payment_sent"] } else { &[] }
    }
}

/// The encryptions of a wallet service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryptions {
    /// NIP-44 version 2, and NIP-04 for old apps.
    Both,
    /// NIP-04 only, as in the first version of NIP-47, which did not announce encryptions either.
    Nip04,
    Nip44,
}
