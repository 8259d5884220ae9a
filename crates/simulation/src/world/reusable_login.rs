//! A reusable login, at which all users log in, with its URL or on its page.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use usher_engine::event::EventType;
use usher_protocol::PublicKey;

use super::State;
use super::action::{Action, WalletAction};

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
    /// A user approves a challenge.
    pub(crate) fn user_approves(&mut self, key: &PublicKey, challenge: &str) {
        self.approves.entry(key.to_hex()).or_default().insert(challenge.to_owned());
    }

    /// The keys that were named and have no outcome.
    pub(crate) fn without_outcome(&self) -> impl Iterator<Item = &String> {
        self.named.iter()
    }
}

impl State {
    /// A user is there, and scans the reusable login's URL or that of their page.
    pub(super) fn at_reusable_login(&mut self, who: usize, page: bool, token: String) {
        let after = self.decisions.number(500..20_000);
        let scan = |state: &mut Self, after: u64, token: String| {
            state.later(Duration::from_millis(after), Action::UserActs { who, action: WalletAction::Scan(token) });
        };
        scan(self, after, token);
        if page && self.decisions.percent(40) {
            // They scan the poster as well, a moment before or after.
            let near = after + self.decisions.number(0..600);
            scan(self, near.saturating_sub(300), STATIC_TOKEN.to_owned());
        }
    }

    /// An event of the reusable login's stream is durable.
    pub(super) fn told_at_reusable_login(&mut self, event_type: EventType, status: &str, data: &Value) {
        let Some(key) = data.get("main_key").and_then(Value::as_str).map(str::to_owned) else {
            return self.violation("one-outcome-each", "an event at the reusable login is of nobody");
        };
        if event_type == EventType::KeyHandshake {
            self.invariants.reusable_login.named.insert(key);
            return;
        }
        if data.get("method").and_then(Value::as_str).is_none() {
            self.violation("one-outcome-each", &format!("{status} of {key} has no method"));
        }
        if !self.invariants.reusable_login.named.remove(&key) {
            self.violation("one-outcome-each", &format!("{status} of {key}, who has an outcome already"));
        }
        if status == "approved" {
            let reusable_login = &mut self.invariants.reusable_login;
            let approved = reusable_login.approved.entry(key.clone()).or_default();
            *approved += 1;
            if *approved > reusable_login.approves.get(&key).map_or(0, BTreeSet::len) {
                self.violation(
                    "approved-by-its-user",
                    &format!("{key} is approved at the reusable login once too often"),
                );
            }
        }
    }
}
