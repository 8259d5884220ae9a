//! What happens in the world: a reusable login.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use usher_engine::event::EventType;

use super::STATIC_TOKEN;
use crate::world::State;
use crate::world::action::{Action, WalletAction};

impl State {
    /// A user is there, and scans the reusable login's URL or that of their page.
    pub(in crate::world) fn at_reusable_login(&mut self, who: usize, page: bool, token: String) {
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
    pub(in crate::world) fn told_at_reusable_login(&mut self, event_type: EventType, status: &str, data: &Value) {
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
