//! The status of the service's parts: implements the API's port with the engine, store and relays.

mod lightning_node_metrics;
mod measures;
mod rate_status;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tracing::warn;
use usher_api::{
    Family, Measure, MintReadiness, Readiness, RelaysReadiness, Sample, ServiceStatus, Setting, WalletReadiness,
};
use usher_engine::ports::{DeliveryStatus, NodeState, OperationKind, Table, TicketWallet as _};
use usher_engine::{Engine, EngineMetrics, ScanLimit, ScanMetrics, UnixMillis};
use usher_rates::{CurrencyStatus, MedianRates};
use usher_relays::{Counter, Metrics, Origin, Refusal, RelayPool};
use usher_store::{Database, HistogramValues, StoreMetrics};
use usher_tickets::{CashuWallet, MintStatus};
use usher_webhooks::HttpWebhookSender;

use self::measures::{gauge, number};
use crate::{last_backup, process};

/// Time limit of the store: half of what probes usually wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);

/// Most units with their own label.
const MAX_UNITS: usize = 20;

pub(crate) struct Parts {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<dyn Database>,
    pub(crate) relays: Arc<RelayPool>,
    pub(crate) tickets: Arc<CashuWallet>,
    pub(crate) rates: Option<Arc<MedianRates>>,
    pub(crate) webhook: Option<Arc<HttpWebhookSender>>,
    pub(crate) settings: Arc<Mutex<Vec<Setting>>>,
    pub(crate) data_dir: PathBuf,
}

#[async_trait]
impl ServiceStatus for Parts {
    async fn readiness(&self) -> Readiness {
        let store = match tokio::time::timeout(TIMEOUT, self.store.check()).await {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                warn!(error = ?error, "the database does not read or write");
                false
            }
            Err(_elapsed) => {
                warn!(seconds = TIMEOUT.as_secs(), "the database does not answer");
                false
            }
        };
        let relays = self.relays.status();
        let ours = relays.iter().filter(|relay| relay.origin == Origin::Configured);
        let (connected, total) = ours
            .fold((0, 0), |(connected, total), relay| (connected + usize::from(relay.state.is_connected()), total + 1));
        let damaged = self.engine.damaged_rows();
        let mints = self.mints().await;
        let wallet = self.wallet().await;
        let rates = rate_status::readiness(self.rates());
        let last_backup = last_backup::made_at(self.data_dir.clone()).await.ok().flatten();
        Readiness { relays: RelaysReadiness { connected, total }, store, damaged, wallet, mints, rates, last_backup }
    }

    fn settings(&self) -> Vec<Setting> {
        self.settings.lock().clone()
    }

    fn webhook_secret_uses(&self) -> Vec<Option<UnixMillis>> {
        self.webhook.as_ref().map(|webhook| webhook.last_uses()).unwrap_or_default()
    }

    async fn metrics(&self) -> Vec<Family> {
        let mut families = operations(&self.engine.metrics(), &self.engine.scan_metrics());
        families.extend(self.deliveries().await);
        families.extend(self.engine.webhooks().is_failing().map(|failing| {
            Family::single(
                "usher_webhook_failing",
                "Whether the webhook refused the last events.",
                number(u64::from(failing)),
            )
        }));
        families.extend(self.lightning());
        families.extend(self.lightning_node_state().await.iter().flat_map(lightning_node_metrics::families));
        families.push(self.ticket_jobs());
        families.extend(self.ticket_balances().await);
        families.push(self.waiting_payments());
        families.push(self.ticket_calls());
        families.extend(store(self.store.metrics()));
        families.push(self.damaged());
        families.extend(self.audit_log().await);
        families.extend(relays(&self.relays));
        families.extend(messages(self.relays.metrics()));
        families.extend(rate_status::families(&self.rates()));
        families.extend(files());
        families
    }
}

impl Parts {
    fn rates(&self) -> Vec<CurrencyStatus> {
        self.rates.as_ref().map(|rates| rates.status()).unwrap_or_default()
    }

    async fn wallet(&self) -> WalletReadiness {
        let (backend, connected) =
            self.engine.lightning_status().map_or(("none", true), |(backend, status)| (backend, status.connected));
        let warnings = self.lightning_node_state().await.map(|state| state.warnings).unwrap_or_default();
        let disputed = (self.engine.disputed_settlements() > 0).then_some("disputed_settlements");
        let warnings = warnings.iter().map(|warning| warning.code).chain(disputed).collect();
        WalletReadiness { backend, connected, warnings }
    }

    /// `None` unless the service runs the node itself.
    pub(crate) async fn lightning_node_state(&self) -> Option<NodeState> {
        let node = self.engine.lightning_node()?;
        tokio::time::timeout(TIMEOUT, node.state()).await.ok()?.ok()
    }

    /// None while the store does not respond, which is reported separately.
    async fn mints(&self) -> Vec<MintReadiness> {
        let mints = tokio::time::timeout(TIMEOUT, self.tickets.mints()).await;
        let mints = mints.ok().and_then(Result::ok).unwrap_or_default().into_iter();
        let readiness =
            |MintStatus { mint_url, unfinished_jobs, responds }| MintReadiness { mint_url, unfinished_jobs, responds };
        mints.map(readiness).collect()
    }

    /// None without a wallet.
    fn lightning(&self) -> Vec<Family> {
        let Some((_, status)) = self.engine.lightning_status() else { return Vec::new() };
        let calls = self.engine.lightning_calls().into_iter().map(|(call, result, count)| Sample {
            labels: vec![("call", call.to_owned()), ("result", result.to_owned())],
            measure: Measure::Counter(count),
        });
        vec![
            Family::single(
                "usher_lightning_connected",
                "Whether the Lightning wallet can be asked.",
                number(u64::from(status.connected)),
            ),
            Family {
                name: "usher_lightning_calls_total",
                help: "What the Lightning wallet was asked, by what came of it.",
                samples: calls.collect(),
            },
            Family::single(
                "usher_lightning_watched_invoices",
                "Invoices of the service's own that may be paid.",
                number(self.engine.watched_invoices() as u64),
            ),
        ]
    }

    fn waiting_payments(&self) -> Family {
        Family::single(
            "usher_payments_waiting_for_approval",
            "Payments by the service that wait for an approval.",
            number(self.engine.payments().waiting_for_approval_count() as u64),
        )
    }

    fn ticket_calls(&self) -> Family {
        let calls = self.engine.tickets().calls().into_iter().map(|(call, result, count)| Sample {
            labels: vec![("call", call.to_owned()), ("result", result.to_owned())],
            measure: Measure::Counter(count),
        });
        Family {
            name: "usher_ticket_calls_total",
            help: "Calls to the ticket wallet, by result.",
            samples: calls.collect(),
        }
    }

    fn ticket_jobs(&self) -> Family {
        Family::single(
            "usher_ticket_jobs_unfinished",
            "Jobs of the ticket wallet that are not finished.",
            number(self.tickets.unfinished_jobs() as u64),
        )
    }

    /// The balances of all mints together, by unit; none if the store does not respond, or there is no balance.
    async fn ticket_balances(&self) -> Option<Family> {
        let balances = tokio::time::timeout(TIMEOUT, self.tickets.balances()).await.ok()?.ok()?;
        let mut by_unit: BTreeMap<&str, u64> = BTreeMap::new();
        for balance in &balances {
            // Mints choose units, so the number of labels is limited.
            let is_listed = by_unit.len() < MAX_UNITS || by_unit.contains_key(balance.unit.as_str());
            let sum = by_unit.entry(if is_listed { &balance.unit } else { "other" }).or_default();
            *sum = sum.saturating_add(balance.amount);
        }
        Some(Family {
            name: "usher_ticket_balance",
            help: "What the ticket wallet holds at all mints together, by unit.",
            samples: by_unit.into_iter().map(|(unit, amount)| gauge("unit", unit, amount)).collect(),
        })
    }

    fn damaged(&self) -> Family {
        let rows = self.engine.damaged_rows();
        let count = |table| rows.iter().filter(|row| row.table == table).count() as u64;
        Family {
            name: "usher_store_damaged_rows",
            help: "Rows of the database that are damaged and were set aside.",
            samples: Table::ALL.into_iter().map(|table| gauge("table", table.as_str(), count(table))).collect(),
        }
    }

    /// The number of the newest entry; none if the store does not respond.
    async fn audit_log(&self) -> Option<Family> {
        let newest = tokio::time::timeout(TIMEOUT, self.engine.audit().newest()).await.ok()?.ok()?;
        Some(Family::single(
            "usher_audit_log_newest_entry",
            "The number of the newest entry of the audit log, which never falls.",
            number(newest),
        ))
    }

    /// Pending and given-up deliveries; none if the store does not respond.
    async fn deliveries(&self) -> Option<Family> {
        let counts = tokio::time::timeout(TIMEOUT, self.engine.webhooks().count()).await.ok()?.ok()?;
        Some(Family {
            name: "usher_webhook_deliveries",
            help: "Deliveries to the webhook that wait, and those that were given up and can be retried.",
            samples: vec![gauge("status", "pending", counts.pending), gauge("status", "failed", counts.failed)],
        })
    }
}

fn operations(counts: &EngineMetrics, scans: &ScanMetrics) -> Vec<Family> {
    // The reserved stream is not an operation.
    let kinds = || counts.operations.iter().filter(|counts| counts.kind != OperationKind::Subscriptions);
    let finished = kinds().flat_map(|counts| {
        counts.finished.iter().map(|(outcome, count)| Sample {
            labels: vec![("kind", counts.kind.as_str().to_owned()), ("outcome", outcome.as_str().to_owned())],
            measure: Measure::Counter(*count),
        })
    });
    let attempts = counts.attempts.iter().map(|(status, count)| {
        let result = match status {
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::Pending => "retried",
            DeliveryStatus::Failed => "given_up",
        };
        (result, *count)
    });
    vec![
        Family {
            name: "usher_operations_open",
            help: "Operations that are open.",
            samples: kinds().map(|counts| gauge("kind", counts.kind.as_str(), counts.open)).collect(),
        },
        Family::counters(
            "usher_operations_started_total",
            "Operations that were started.",
            "kind",
            kinds().map(|counts| (counts.kind.as_str(), counts.started)),
        ),
        Family {
            name: "usher_operations_finished_total",
            help: "Operations that are over, by how they ended.",
            samples: finished.collect(),
        },
        Family::counters(
            "usher_events_total",
            "Events of streams, by type.",
            "type",
            counts.events.iter().map(|(kind, count)| (kind.as_str(), *count)),
        ),
        Family::counters(
            "usher_wallet_messages_total",
            "Messages of wallets, by whether they belong to an open operation.",
            "match",
            [("operation", counts.matched), ("none", counts.unmatched)],
        ),
        Family::counters(
            "usher_handshake_scans_total",
            "Scans of reusable handshake URLs, by whether they were accepted or which limit refused them in the end.",
            "result",
            [("accepted", scans.accepted)]
                .into_iter()
                .chain(ScanLimit::ALL.into_iter().map(|limit| (refused_by(limit), scans.refused_by(limit)))),
        ),
        Family::single(
            "usher_messages_sent_total",
            "Messages handed to the relays, repetitions among them.",
            Measure::Counter(counts.sent),
        ),
        Family::single(
            "usher_step_store_failures_total",
            "Steps of operations that failed because the database did; they are tried again.",
            Measure::Counter(counts.store_failures),
        ),
        Family::single(
            "usher_step_defects_total",
            "Steps of operations that a defect of the program prevented.",
            Measure::Counter(counts.step_defects),
        ),
        Family::counters(
            "usher_webhook_attempts_total",
            "Posts to the webhook, by what came of them.",
            "result",
            attempts,
        ),
    ]
}

const fn refused_by(limit: ScanLimit) -> &'static str {
    match limit {
        ScanLimit::Author => "refused_author",
        ScanLimit::Relay => "refused_relay",
        ScanLimit::Total => "refused_total",
        ScanLimit::Room => "refused_room",
    }
}

fn store(metrics: StoreMetrics) -> [Family; 3] {
    let histogram = |HistogramValues { buckets, count, sum }| Measure::Histogram { buckets, count, sum };
    [
        Family::single(
            "usher_store_commit_duration_seconds",
            "Time that transactions took, the writing to disk included.",
            histogram(metrics.commit_seconds),
        ),
        Family::single(
            "usher_store_commit_batch_size",
            "Changes that shared a transaction.",
            histogram(metrics.batch_size),
        ),
        Family::single(
            "usher_store_commit_failures_total",
            "Transactions that failed and were rolled back.",
            Measure::Counter(metrics.failed),
        ),
    ]
}

fn relays(pool: &RelayPool) -> [Family; 2] {
    let relays = pool.status();
    let count = |origin: Origin, state: &str| {
        relays.iter().filter(|relay| relay.origin == origin && relay.state.as_str() == state).count() as u64
    };
    let samples = [(Origin::Configured, "service"), (Origin::User, "user")].into_iter().flat_map(|(origin, name)| {
        ["connected", "connecting", "disconnected"].map(|state| Sample {
            labels: vec![("origin", name.to_owned()), ("state", state.to_owned())],
            measure: number(count(origin, state)),
        })
    });
    let queued: usize = relays.iter().map(|relay| relay.queued).sum();
    [
        Family {
            name: "usher_relays",
            help: "Relays, the service's own and those of users, by the state of the connection.",
            samples: samples.collect(),
        },
        Family::single("usher_relay_queued_events", "Events waiting to be sent, of all relays.", number(queued as u64)),
    ]
}

fn messages(of: &Metrics) -> Vec<Family> {
    let counter = |name, help, count: &Counter| Family::single(name, help, Measure::Counter(count.get()));
    vec![
        counter("usher_relay_received_total", "Events received from relays.", &of.received),
        counter("usher_relay_delivered_total", "Events that were messages, and handed on.", &of.delivered),
        counter("usher_relay_duplicates_total", "Events received that were known already.", &of.duplicates),
        Family::counters(
            "usher_relay_refused_total",
            "Events received and refused.",
            "reason",
            Refusal::ALL.map(|reason| (reason.as_str(), of.refused_for(reason))),
        ),
        counter("usher_relay_sealed_total", "Events made.", &of.sealed),
        counter("usher_relay_sent_total", "Events written to relays; one to three relays counts three.", &of.sent),
        counter("usher_relay_rejected_total", "Events that a relay said it refuses.", &of.rejected),
        counter("usher_relay_dropped_total", "Events given up because a queue was full or too slow.", &of.dropped),
        counter("usher_relay_rate_limited_total", "Times a relay said that we send too much.", &of.rate_limited),
        counter("usher_relay_connects_total", "Connections made.", &of.connects),
        counter("usher_relay_disconnects_total", "Connections lost, and attempts failed.", &of.disconnects),
        counter(
            "usher_relay_user_relays_refused_total",
            "Relays of users that were not used: a private address, or too many.",
            &of.user_relays_refused,
        ),
    ]
}

/// With the names that Prometheus' client libraries use.
fn files() -> impl Iterator<Item = Family> {
    let (allowed, open) = process::open_files();
    let family = |name, help, count: Option<u64>| count.map(|count| Family::single(name, help, number(count)));
    [
        family("process_max_fds", "Files, connections among them, that the process may have open.", allowed),
        family("process_open_fds", "Files, connections among them, that the process has open.", open),
    ]
    .into_iter()
    .flatten()
}
