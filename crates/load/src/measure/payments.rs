//! Payments, end to end: the app's call, the service's Lightning wallet, the user's wallet that pays, and the event.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::OptionFuture;
use nostr::Timestamp;
use tokio::time::sleep;
use usher_protocol::message::{PaymentRequest, PaymentStatus};

use crate::api;
use crate::connected_users::{ConnectedUser, Latency, Outcome, Round, connect_users, run as run_users};
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::lightning::{LightningClient, Metrics, Settled, monotonic};
use crate::open_streams::{Opened, open};
use crate::report::{Row, float, grouped, per_second};
use crate::wallet::Identity;

/// No making of invoices takes longer.
const MAKING: Duration = Duration::from_secs(600);

/// Payments that are started before their invoices are waited for. Payments that are started much faster than the wallet
/// makes invoices end as errors, as they should.
const BATCH: usize = 500;

/// How long a payment may take, in seconds.
const OPEN_SECS: u64 = 3_600;

/// Messages in a payment, one after the other: the service asks its wallet for an invoice and gets it, the user is
/// asked, and the service is told of the settlement. Each crosses the relay, and so takes the simulated delay twice.
const MESSAGES: u32 = 4;

#[derive(Clone)]
struct Scenario {
    client: LightningClient,
    users: usize,
    rounds: usize,
    /// Other invoices that are open.
    open: usize,
    latency: Duration,
    /// The user's wallet says that it has paid, and shows the preimage; else the service learns it from its own alone.
    tells: bool,
}

/// Measures payments with and without relay latency, and how often the service looks its open invoices up.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for latency in [tool.options.latency(), Duration::ZERO] {
        let open = tool.options.invoices;
        Tool::say(&format!("payments: opening {} invoices, {}", grouped(open), Latency(latency)));
        let fixture = tool.fixture_with_lightning(latency).await?;
        let client = fixture.lightning.as_ref().context("no Lightning")?.client().clone();
        rows.push(invoices(&fixture, open, latency).await?);
        for tells in [false, true] {
            for &users in &tool.options.payers {
                let rounds = (tool.options.payments / users.max(1)).max(1);
                let client = client.clone();
                rows.push(run(&fixture, Scenario { client, users, rounds, open, latency, tells }).await?);
            }
        }
        rows.push(look_ups(&fixture, &client, open, Duration::from_secs(tool.options.watch_seconds)).await?);
    }
    Ok(rows)
}

/// Opens payments that nobody makes, as fast as the wallet makes their invoices, and sees that they are watched.
async fn invoices(fixture: &Fixture, count: usize, latency: Duration) -> Result<Row> {
    let meter = fixture.meter()?;
    let begun = Instant::now();
    let mut app = Connection::open(fixture.service.address()).await?;
    let mut asked = 0;
    while asked < count {
        let more = BATCH.min(count - asked);
        open(fixture, Opened::Payments, more).await?;
        asked += more;
        while api::watched_invoices(&app.call(&api::metrics(fixture.instance.token())).await?)? < asked {
            ensure!(
                begun.elapsed() < MAKING,
                "not all invoices are made in {MAKING:?}:\n{}",
                fixture.instance.log_tail()
            );
            sleep(Duration::from_millis(20)).await;
        }
    }
    let usage = meter.stop()?;
    let (what, under) = ("Invoices made".to_owned(), Latency(latency).to_string());
    let result = per_second(count, usage.0);
    Ok(Row { what, under, result, ..Row::default() }.with_usage(count, usage))
}

/// Counts look-ups while nobody pays.
async fn look_ups(fixture: &Fixture, client: &LightningClient, open: usize, time: Duration) -> Result<Row> {
    Tool::say(&format!("payments: look-ups in {} s", time.as_secs()));
    let before = client.metrics().await?;
    let meter = fixture.meter()?;
    sleep(time).await;
    let usage = meter.stop()?;
    let value = per_minute(before, client.metrics().await?, usage.0);
    let (what, under) = ("Look-ups of open invoices".to_owned(), format!("{} open, nobody pays", grouped(open)));
    let result = format!("{value:.0} per minute");
    Ok(Row { what, under, result, aim: "at most 600 per minute", ..Row::default() }.with_usage(0, usage))
}

fn per_minute(before: Metrics, after: Metrics, elapsed: Duration) -> f64 {
    let count = usize::try_from(after.look_ups.saturating_sub(before.look_ups)).unwrap_or(usize::MAX);
    float(count) * 60.0 / elapsed.as_secs_f64().max(f64::EPSILON)
}

async fn run(fixture: &Fixture, scenario: Scenario) -> Result<Row> {
    let under = scenario.to_string();
    Tool::say(&format!("payments: {under}"));
    let users = connect_users(fixture, scenario.users, scenario.rounds).await?;
    let before = scenario.client.metrics().await?;
    let meter = fixture.meter()?;
    let mut outcome = run_users(fixture, users, &scenario).await?;
    let usage = meter.stop()?;
    let look_ups = per_minute(before, scenario.client.metrics().await?, usage.0);
    let mut row = outcome.row("Payments", scenario.users, scenario.simulated(), usage);
    if let (Some(p50), Some(p99)) = (outcome.latencies.percentile_ms(50), outcome.latencies.percentile_ms(99)) {
        row.result += &format!(", each {p50:.0} ms (p99 {p99:.0} ms), {look_ups:.0} look-ups per minute");
    }
    if outcome.repeated > 0 {
        row.result += &format!(", {} requests repeated", grouped(outcome.repeated));
    }
    let (p50_ms, p99_ms) = (outcome.parts.percentile_ms(50), outcome.parts.percentile_ms(99));
    Ok(Row { under, aim: "none lost; settlement to event below 100 ms", p50_ms, p99_ms, ..row })
}

impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = if self.tells { "the user's wallet shows the preimage" } else { "only the service's wallet tells" };
        let (users, open, latency) = (grouped(self.users), grouped(self.open), Latency(self.latency));
        write!(f, "{users} users at once, {latency}, {open} other invoices open, {whose}")
    }
}

impl Round for Scenario {
    const NAME: &'static str = "payments";

    fn simulated(&self) -> Duration {
        self.latency * 2 * MESSAGES
    }

    async fn once(&self, user: &mut ConnectedUser, identity: &Identity, outcome: &mut Outcome) -> Result<()> {
        let begun = Instant::now();
        let delay = self.pay(user, identity, &mut outcome.repeated).await?;
        outcome.latencies.add(begun.elapsed().saturating_sub(self.simulated()));
        // From the settlement to the event.
        outcome.parts.add(delay.saturating_sub(self.latency * 2));
        Ok(())
    }
}

impl Scenario {
    /// One payment; says how long after the settlement the app knew.
    async fn pay(&self, user: &mut ConnectedUser, identity: &Identity, repeated: &mut usize) -> Result<Duration> {
        let expires_at = Timestamp::now().as_secs() + OPEN_SECS;
        let call = api::single_payment(&user.token, &identity.main_key(), expires_at);
        let (stream, _) = api::started(&user.app.call(&call).await.context("POST /payments/single")?)?;
        user.app.send(&api::wait_events(&user.token, &stream)).await?;
        let mut seen = 0;
        let mut request: Option<PaymentRequest> = None;
        let mut paying: OptionFuture<_> = None.into();
        let mut settled: Option<Settled> = None;
        loop {
            tokio::select! {
                answer = user.app.receive() => {
                    let page = api::page(&answer.context("GET /events of the payment")?)?;
                    for event in page.events {
                        let now = monotonic();
                        seen += 1;
                        match event.data.status.unwrap_or_default().as_str() {
                            "user_approved" => {}
                            "paid" => {
                                // At best the app knows of the payment before its own process has reported it.
                                let settled = match settled {
                                    Some(settled) => settled,
                                    None => paying.await.context("paid without a payment")??,
                                };
                                return Ok(now.saturating_sub(settled.at));
                            }
                            status => bail!("the payment ended as {status}"),
                        }
                    }
                    user.app.send(&api::wait_events_after(&user.token, &stream, seen)).await?;
                }
                event = user.wallet.next() => {
                    let Some(asked) = identity.asked(&event?)? else { continue };
                    if let Some(known) = &request {
                        ensure!(*known == asked, "a request came again as another");
                        *repeated += 1;
                        continue;
                    }
                    user.wallet.publish(&identity.says(&asked, PaymentStatus::Approved)?).await?;
                    paying = Some(Box::pin(self.client.clone().pay(asked.invoice.clone()))).into();
                    request = Some(asked);
                }
                Some(paid) = &mut paying, if settled.is_none() => {
                    let paid = paid?;
                    if let (true, Some(request)) = (self.tells, &request) {
                        let status = PaymentStatus::Success { preimage: Some(paid.preimage) };
                        user.wallet.publish(&identity.says(request, status)?).await?;
                    }
                    settled = Some(paid);
                }
            }
        }
    }
}
