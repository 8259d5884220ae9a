//! A reusable login, at which all users log in, with its URL or on its page.

mod actions;

use std::collections::{BTreeMap, BTreeSet};

use usher_protocol::PublicKey;

/// The reusable login's static token, which is the token of its URL, too.
pub(crate) const STATIC_TOKEN: &str = "door";

/// What was told on the reusable login's stream, by key.
#[derive(Debug, Default)]
pub(crate) struct ReusableLoginRecord {
    /// Those that were named and have no outcome yet.
    named: BTreeSet<String>,
    /// How often each was approved.
    approved: BTreeMap<String, usize>,
    /// The challenges that each user has approved, of the reusable login and of others.
    approves: BTreeMap<String, BTreeSet<String>>,
}

impl ReusableLoginRecord {
    pub(crate) fn user_approves(&mut self, key: &PublicKey, challenge: &str) {
        self.approves.entry(key.to_hex()).or_default().insert(challenge.to_owned());
    }

    /// The keys that were named and have no outcome.
    pub(crate) fn without_outcome(&self) -> impl Iterator<Item = &String> {
        self.named.iter()
    }
}
