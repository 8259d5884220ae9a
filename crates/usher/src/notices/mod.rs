//! Notices to the operator (docs/notices.md): what needs attention, sent to where they look.
//!
//! [`conditions`] reads what there is, [`attention`] decides what to send to whom, [`message`] writes it, [`target`] sends
//! it. One task does all of this, in the instance that is active; what was sent to each target is in one setting of the
//! store. A target that fails is tried again after growing pauses.

mod attention;
mod conditions;
mod message;
mod target;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, StoreError, SystemClock};
use usher_instance::LeaseGate;
use usher_relays::{Origin, RelayAddress};

use self::attention::{Attention, Causes, MAX_CAUSES, Sent};
use self::conditions::Conditions;
use self::message::Message;
use self::target::{Sender, Target};
use crate::config::Config;
use crate::config::setting::{NoticeTargets, Trigger};
use crate::failure::Failure;
use crate::identity::identity;
use crate::service_options::{pages_url, service_name};
use crate::service_status::Parts;

/// The name of the setting with what was sent to each target, by its id.
const SETTING: &str = "notices";

/// How often conditions are read.
const INTERVAL: Duration = Duration::from_secs(10);

/// Every how many times the balance is read: that is a request to the wallet.
const BALANCE_EVERY: u64 = 30;

const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// How long a message that is being sent may take when the service stops.
const STOPPING: Duration = Duration::from_secs(3);

/// After how many milliseconds without news the time until which payments were read is stored.
const PAYMENTS_STORED_EVERY: u64 = 60 * 60 * 1000;

/// Sends notices while the service runs.
pub(crate) struct Notices {
    conditions: Conditions,
    targets: Vec<Receiver>,
    triggers: BTreeSet<Trigger>,
    attention: Attention,
    /// What is stored.
    stored: BTreeMap<String, Sent>,
    service: String,
    console: Option<String>,
    gate: LeaseGate,
}

/// A target with what was sent to it.
struct Receiver {
    id: String,
    name: String,
    target: Target,
    on: Vec<Trigger>,
    sent: Sent,
    failures: u32,
    /// When it is tried again, on the monotonic clock.
    paused_until: Duration,
}

impl Notices {
    /// The notices of this configuration; `None` if it has no targets.
    pub(crate) async fn load(
        config: &Config,
        parts: Arc<Parts>,
        clock: Arc<dyn Clock>,
        data_dir: PathBuf,
        gate: LeaseGate,
    ) -> Result<Option<Self>, Failure> {
        let Some(configured) = &config.root.notices else { return Ok(None) };
        let relays = {
            let parts = Arc::clone(&parts);
            move || -> Vec<RelayAddress> {
                let relays = parts.relays.status().into_iter();
                relays.filter(|relay| relay.origin == Origin::Configured).map(|relay| relay.url).collect()
            }
        };
        let sender = Sender { keys: identity(config).keys, relays: Arc::new(relays), gate: gate.clone() };
        let mut stored = read(&*parts.store).await?;
        let (now, monotonic) = (clock.now(), clock.monotonic());
        let (mut attention, mut targets) = (Attention::default(), Vec::new());
        for target in configured.targets() {
            let id = target.id();
            let mut sent = stored.get(&id).cloned().unwrap_or(Sent { payments_from: now.0, ..Sent::default() });
            sent.keep_only(&target.on);
            attention.restore(&sent.causes, monotonic);
            targets.push(Receiver {
                name: target.address.to_string(),
                target: Target::new(&target.address, sender.clone())?,
                on: target.on.clone(),
                sent,
                failures: 0,
                paused_until: Duration::ZERO,
                id,
            });
        }
        stored.retain(|id, _| targets.iter().any(|target| target.id == *id));
        let (service, console) = names(config);
        let triggers = configured.triggers();
        let conditions = Conditions { parts, clock, data_dir };
        Ok(Some(Self { conditions, targets, triggers, attention, stored, service, console, gate }))
    }

    /// Reads conditions and sends notices until `stop` is cancelled.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let clock = Arc::clone(&self.conditions.clock);
        for round in 0.. {
            if self.gate.is_open() {
                tokio::select! {
                    () = self.look(round) => {}
                    () = stop.cancelled() => return,
                }
                self.send(&stop).await;
            }
            tokio::select! {
                () = clock.sleep(INTERVAL) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn look(&mut self, round: u64) {
        for trigger in self.triggers.clone() {
            if matches!(trigger, Trigger::BalanceBelow(_)) && !round.is_multiple_of(BALANCE_EVERY) {
                continue;
            }
            if let Some(causes) = self.conditions.causes(trigger).await {
                self.attention.observe(trigger, causes, self.conditions.clock.monotonic());
            }
        }
    }

    /// Sends each target what it has no notice of yet, all at the same time, and stores what was sent.
    async fn send(&mut self, stop: &CancellationToken) {
        let Self { conditions, targets, attention, service, console, .. } = self;
        let sent = targets.iter_mut().map(|target| target.send(conditions, attention, service, console.as_deref()));
        let stopped = async {
            stop.cancelled().await;
            tokio::time::sleep(STOPPING).await;
        };
        tokio::select! {
            _ = join_all(sent) => {}
            () = stopped => {}
        }
        let now: BTreeMap<String, Sent> =
            self.targets.iter().map(|target| (target.id.clone(), target.sent.clone())).collect();
        if !is_worth_storing(&self.stored, &now) {
            return;
        }
        let result = match serde_json::to_string(&now) {
            Ok(text) => self.conditions.parts.store.set_setting(SETTING, Some(&text)).await,
            Err(_) => Err(StoreError::Unexpected("what was sent cannot be written")),
        };
        match result {
            Ok(()) => self.stored = now,
            Err(error) => tracing::warn!(?error, "what notices were sent cannot be stored yet"),
        }
    }
}

impl Receiver {
    async fn send(&mut self, conditions: &Conditions, attention: &Attention, service: &str, console: Option<&str>) {
        let clock = &conditions.clock;
        if clock.monotonic() < self.paused_until {
            return;
        }
        let now = clock.now();
        let mut news = attention.news(&self.on, &self.sent.causes);
        let payments = self.payments(conditions, now).await;
        let payments = payments.map(|(payments, causes)| {
            news.happened = causes;
            payments
        });
        if !news.is_empty() {
            let message = Message::of(&news, service, console);
            if let Err(reason) = self.target.send(&message, now).await {
                self.failed(&reason, clock.monotonic());
                return;
            }
            if std::mem::take(&mut self.failures) > 0 {
                tracing::info!(target = self.name, "notices can be sent again");
            }
            self.sent.take(news);
        }
        if let Some(payments) = payments {
            self.sent.take_payments(payments, now.0);
        }
    }

    /// The payments that it does not know yet, with the times of their settlement; `None` if they are unknown.
    async fn payments(&self, conditions: &Conditions, now: UnixMillis) -> Option<(Vec<(String, u64)>, Causes)> {
        let limit_of = |on: &Trigger| if let Trigger::PaymentAbove(limit) = on { Some(*limit) } else { None };
        let limit = self.on.iter().filter_map(limit_of).min()?;
        let from = UnixMillis(self.sent.read_from(now.0));
        let most = MAX_CAUSES + self.sent.payments.len();
        let found = conditions.payments(limit, from, most).await.ok()?;
        let new = found.iter().filter(|payment| !self.sent.payments.contains_key(&payment.stream_id.to_string()));
        Some(
            new.map(|found| {
                let (id, cause) = conditions::payment(limit, found);
                ((found.stream_id.to_string(), found.changed_at.0), (id, cause))
            })
            .unzip(),
        )
    }

    fn failed(&mut self, reason: &str, now: Duration) {
        if self.failures == 0 {
            tracing::warn!(target = self.name, reason, "a notice cannot be sent; it is tried again");
        }
        let pause = (FIRST_PAUSE * 2_u32.saturating_pow(self.failures.min(16))).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.paused_until = now + pause;
    }
}

/// Sends a test message to each target: its name, and why it was not accepted.
pub(crate) async fn test(
    config: &Config,
    relays: Vec<RelayAddress>,
) -> Result<Vec<(String, Result<(), String>)>, Failure> {
    let targets = config.root.notices.as_ref().map(NoticeTargets::targets).unwrap_or_default();
    if targets.is_empty() {
        return Err(Failure::said("notices is not set: it says where notices are sent (docs/notices.md)"));
    }
    let sender =
        Sender { keys: identity(config).keys, relays: Arc::new(move || relays.clone()), gate: LeaseGate::default() };
    let (service, console) = names(config);
    let now = SystemClock.now();
    let message = Message::test(&service, console.as_deref(), now);
    let sendable = targets.iter().map(|target| Ok((target, Target::new(&target.address, sender.clone())?)));
    let sendable = sendable.collect::<Result<Vec<_>, Failure>>()?;
    Ok(join_all(
        sendable
            .iter()
            .map(async |(target, sendable)| (target.address.to_string(), sendable.send(&message, now).await)),
    )
    .await)
}

/// The service's name for notices, and the address of the console as browsers reach it, if that is configured.
fn names(config: &Config) -> (String, Option<String>) {
    let public = config.pages.public_url.is_some() && config.console.enabled;
    let listens_on = (config.info.listen_address, config.info.port()).into();
    let console = public.then(|| format!("{}/console", pages_url(config, listens_on)));
    (service_name(config).unwrap_or("Usher").to_owned(), console)
}

/// What was sent to each target. An unreadable record is ignored: then everything is sent once more.
async fn read(store: &dyn usher_store::Database) -> Result<BTreeMap<String, Sent>, Failure> {
    let text = match store.setting(SETTING).await {
        Err(StoreError::Unreadable(_)) => None,
        text => text?,
    };
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Whether something was sent, or payments have long been read without news.
fn is_worth_storing(stored: &BTreeMap<String, Sent>, now: &BTreeMap<String, Sent>) -> bool {
    let is_known = |(id, sent): (&String, &Sent)| {
        stored.get(id).is_some_and(|stored| {
            stored.causes == sent.causes
                && sent.payments.keys().all(|payment| stored.payments.contains_key(payment))
                && sent.payments_from.abs_diff(stored.payments_from) < PAYMENTS_STORED_EVERY
        })
    };
    !now.iter().all(is_known)
}
