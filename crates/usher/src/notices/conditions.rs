//! What there is to report: reads the state of the service's parts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use usher_engine::ports::{BookedPayment, Clock, DeliveryStatus, StoreError};
use usher_engine::{Requester, UnixMillis};
use usher_relays::{Origin, RelayState};

use super::attention::{Cause, Causes, MAX_CAUSES};
use crate::config::setting::Trigger;
use crate::last_backup;
use crate::service_status::{Parts, TIMEOUT};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How old an event is that the webhook does not accept; the rest of the hour passes before the notice.
const WEBHOOK_AGE: Duration = Duration::from_secs(55 * 60);

pub(super) struct Conditions {
    pub(super) parts: Arc<Parts>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) data_dir: PathBuf,
}

impl Conditions {
    /// All causes of a trigger that there are now; `None` if they are unknown.
    pub(super) async fn causes(&self, trigger: Trigger) -> Option<Causes> {
        let read = async {
            match trigger {
                Trigger::Webhook => self.webhook().await,
                Trigger::Approval => self.approvals().await,
                Trigger::Relay => Some(self.relays()),
                Trigger::Backup => self.backup().await,
                Trigger::BalanceBelow(limit) => {
                    let (_, info) = self.parts.engine.lightning_info().await?;
                    self.low(trigger, info.ok()?.balance?, limit, "can send")
                }
                Trigger::InboundBelow(limit) => {
                    self.low(trigger, self.parts.lightning_node_state().await?.inbound, limit, "can receive")
                }
                Trigger::PaymentAbove(_) => Some(Causes::new()),
            }
        };
        // What does not respond must not hold up the rest.
        tokio::time::timeout(TIMEOUT, read).await.ok().flatten()
    }

    async fn webhook(&self) -> Option<Causes> {
        let webhooks = self.parts.engine.webhooks();
        // Oldest first, and each is tried before those behind it.
        let pending = webhooks.list(DeliveryStatus::Pending, None, MAX_CAUSES).await.ok()?;
        let is_late = |since| self.clock.now().since(since) >= WEBHOOK_AGE;
        let late = pending.into_iter().find(|delivery| delivery.attempts > 0 && is_late(delivery.since));
        let Some(late) = late else { return Some(Causes::new()) };
        let given_up = webhooks.count().await.ok()?.failed;
        let note = if given_up > 0 { format!(" {given_up} were given up before.") } else { String::new() };
        let reason = late.last_error.map(|reason| format!(": {reason}")).unwrap_or_default();
        Some(one(
            Trigger::Webhook,
            late.since,
            format!("The webhook has not accepted events for an hour{reason}."),
            format!("Repair your app. Events are kept, and given up after three days.{note}"),
            "The webhook accepts events again. Those that were given up can be sent again in the console.",
        ))
    }

    async fn approvals(&self) -> Option<Causes> {
        let (waiting, _) =
            self.parts.engine.payments().waiting_for_approval(&Requester::Service, None, MAX_CAUSES).await.ok()?;
        let causes = waiting.into_iter().map(|payment| {
            let amount = sats(payment.amount);
            cause(
                Trigger::Approval,
                &payment.id.to_string(),
                payment.requested_at,
                format!("A payment of {amount} waits for an approval."),
                "Look at the payee, then approve or decline it.".to_owned(),
                &format!("A payment of {amount} no longer waits for an approval."),
            )
        });
        Some(causes.collect())
    }

    fn relays(&self) -> Causes {
        let now = self.clock.now();
        let relays = self.parts.relays.status().into_iter();
        let lost = relays.filter(|relay| relay.origin == Origin::Configured && !relay.state.is_connected());
        lost.take(MAX_CAUSES)
            .map(|relay| {
                // The rest of the URL may be a secret.
                let host = relay.url.host().to_string();
                let since = match relay.state {
                    RelayState::Disconnected { since, .. } => since,
                    RelayState::Connecting | RelayState::Connected { .. } => now,
                };
                let id = hex::encode(Sha256::digest(relay.url.as_str()));
                cause(
                    Trigger::Relay,
                    id.get(..16).unwrap_or_default(),
                    since,
                    format!("The relay {host} is lost."),
                    "Usher tries to connect again. `usher doctor` shows the reason.".to_owned(),
                    &format!("The relay {host} is connected again, or removed."),
                )
            })
            .collect()
    }

    async fn backup(&self) -> Option<Causes> {
        let made = last_backup::made_at(self.data_dir.clone()).await.ok()?;
        let now = self.clock.now();
        let (since, what) = match made {
            Some(made) if now.since(made) < DAY => return Some(Causes::new()),
            Some(made) => (made, "The last backup is older than a day."),
            None => (now, "No backup has been made with `usher backup`."),
        };
        let step = "Look at the timer or the script that makes backups.".to_owned();
        Some(one(Trigger::Backup, since, what.to_owned(), step, "A backup was made."))
    }

    fn low(&self, trigger: Trigger, amount: u64, limit: u64, can: &str) -> Option<Causes> {
        if amount >= limit {
            return Some(Causes::new());
        }
        let (amount, limit) = (sats(amount), sats(limit));
        let step = match trigger {
            Trigger::InboundBelow(_) => "Spend, or have a channel opened to you.",
            _ => "Send money to the wallet.",
        };
        Some(one(
            trigger,
            self.clock.now(),
            format!("The Lightning backend {can} {amount}, which is less than {limit}."),
            step.to_owned(),
            &format!("The Lightning backend {can} at least {limit} again."),
        ))
    }

    /// At most `limit` payments of more than `above` millisats that were settled at `from` or later.
    pub(super) async fn payments(
        &self,
        above: u64,
        from: UnixMillis,
        limit: usize,
    ) -> Result<Vec<BookedPayment>, StoreError> {
        self.parts.store.large_payments(above, from, limit).await
    }
}

/// The cause for a payment.
pub(super) fn payment(limit: u64, payment: &BookedPayment) -> (String, Cause) {
    let verb = if payment.record.kind.is_incoming() { "received" } else { "made" };
    let amount = sats(payment.record.settled.unwrap_or_default());
    let what = format!("A payment of {amount} was {verb}.");
    let (id, at) = (payment.stream_id.to_string(), payment.changed_at);
    cause(Trigger::PaymentAbove(limit), &id, at, what, String::new(), "")
}

fn one(trigger: Trigger, since: UnixMillis, what: String, step: String, over: &str) -> Causes {
    Causes::from([cause(trigger, "", since, what, step, over)])
}

fn cause(trigger: Trigger, detail: &str, since: UnixMillis, what: String, step: String, over: &str) -> (String, Cause) {
    let (on, over, since) = (trigger.name().to_owned(), over.to_owned(), since.secs());
    (trigger.id(detail), Cause { on, what, step, over, since })
}

/// An amount of millisats in sats, rounded down, with separators.
fn sats(millisats: u64) -> String {
    let digits = (millisats / 1000).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} sat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_sats_with_separators() {
        let all = [0, 1_999, 999_000, 1_000_000, 1_234_567_890_123].map(sats);
        assert_eq!(all, ["0 sat", "1 sat", "999 sat", "1,000 sat", "1,234,567,890 sat"]);
    }
}
