//! Payments, end to end: the app's call, the service's Lightning wallet, the user's wallet that pays, and the event.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::OptionFuture;
use nostr::Timestamp;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use usher_protocol::message::{PaymentRequest, PaymentStatus};

use crate::api;
use crate::connected_users::{ConnectedUser, connect_users};
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::latencies::Latencies;
use crate::lightning::{LightningClient, Metrics, Settled, monotonic};
use crate::open_streams::{Opened, open};
use crate::report::{Row, float, grouped, per_second};
use crate::wallet::{Identity, Wallet};

/// A payment that takes longer than this, not counting simulated delays, is lost.
const TIMEOUT: Duration = Duration::from_secs(60);

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

/// Conditions of a run.
#[derive(Clone, Copy)]
struct Scenario {
    users: usize,
    rounds: usize,
    /// Other invoices that are open.
    open: usize,
    latency: Duration,
    /// The user's wallet says that it has paid, and shows the preimage; else the service learns it from its own alone.
    tells: bool,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    /// Time of each payment beyond what was simulated.
    whole: Latencies,
    /// From the settlement to the event, beyond what was simulated.
    delays: Latencies,
    lost: usize,
    /// Requests that came again although they had been answered.
    repeated: usize,
    first_loss: Option<anyhow::Error>,
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
                rows.push(run(&fixture, &client, Scenario { users, rounds, open, latency, tells }).await?);
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
    let (result, value) = per_second(count, usage.0);
    let row =
        Row { what: "Invoices made".to_owned(), under: Latency(latency).to_string(), result, value, ..Row::default() };
    Ok(row.with_usage(count, usage))
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
    Ok(Row { what, under, result, value, aim: "at most 600 per minute", ..Row::default() }.with_usage(0, usage))
}

fn per_minute(before: Metrics, after: Metrics, elapsed: Duration) -> f64 {
    let count = usize::try_from(after.look_ups.saturating_sub(before.look_ups)).unwrap_or(usize::MAX);
    float(count) * 60.0 / elapsed.as_secs_f64().max(f64::EPSILON)
}

async fn run(fixture: &Fixture, client: &LightningClient, scenario: Scenario) -> Result<Row> {
    let under = scenario.to_string();
    Tool::say(&format!("payments: {under}"));
    let users = users(fixture, client, scenario).await?;
    let before = client.metrics().await?;
    let meter = fixture.meter()?;
    let mut running: JoinSet<_> = users.into_iter().map(User::pay_again_and_again).collect();
    let mut outcome = Outcome::default();
    while let Some(one) = running.join_next().await {
        outcome.add(one?);
    }
    let usage = meter.stop()?;
    let after = client.metrics().await?;
    if let Some(reason) = &outcome.first_loss {
        Tool::say(&format!("a payment was lost: {reason:#}\n{}", fixture.instance.log_tail()));
    }
    let look_ups = per_minute(before, after, usage.0);
    Ok(outcome.row(scenario, under, usage, look_ups))
}

async fn users(fixture: &Fixture, client: &LightningClient, scenario: Scenario) -> Result<Vec<User>> {
    let user = |ConnectedUser { identities, wallet, app }| User {
        scenario,
        service: fixture.service.address(),
        token: fixture.instance.token().to_owned(),
        identities,
        app,
        wallet,
        client: client.clone(),
    };
    Ok(connect_users(fixture, scenario.users, scenario.rounds).await?.into_iter().map(user).collect())
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.whole.append(other.whole);
        self.delays.append(other.delays);
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.first_loss = self.first_loss.take().or(other.first_loss);
    }

    fn row(
        mut self,
        scenario: Scenario,
        under: String,
        usage: (Duration, crate::process_usage::Usage),
        look_ups: f64,
    ) -> Row {
        let succeeded = self.delays.len();
        let all = succeeded + self.lost;
        let (rate, value) = per_second(succeeded, usage.0);
        let mut result = format!("{} of {}, {rate}", grouped(succeeded), grouped(all));
        if let Some(most) = scenario.most_per_second() {
            result += &format!(" (the delays allow {most:.0}/s)");
        }
        if let (Some(p50), Some(p99)) = (self.whole.percentile_ms(50), self.whole.percentile_ms(99)) {
            result += &format!(", each {p50:.0} ms (p99 {p99:.0} ms), {look_ups:.0} look-ups per minute");
        }
        if self.repeated > 0 {
            result += &format!(", {} requests repeated", grouped(self.repeated));
        }
        let (p50_ms, p99_ms) = (self.delays.percentile_ms(50), self.delays.percentile_ms(99));
        let (lost, aim) = (self.lost, "none lost; settlement to event below 100 ms");
        Row { what: "Payments".to_owned(), under, result, value, lost, aim, p50_ms, p99_ms, ..Row::default() }
            .with_usage(succeeded, usage)
    }
}

impl Scenario {
    /// Time of a payment that is simulated.
    fn simulated(self) -> Duration {
        self.latency * 2 * MESSAGES
    }

    /// As many payments a second as there would be if the service and the load took no time.
    fn most_per_second(self) -> Option<f64> {
        let each = self.simulated();
        (!each.is_zero()).then(|| float(self.users) / each.as_secs_f64())
    }
}

/// The delay of a relay, for people.
struct Latency(Duration);

impl std::fmt::Display for Latency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_zero() {
            f.write_str("no latency")
        } else {
            write!(f, "{} ms of relay latency each way", self.0.as_millis())
        }
    }
}

impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whose = if self.tells { "the user's wallet shows the preimage" } else { "only the service's wallet tells" };
        let (users, open, latency) = (grouped(self.users), grouped(self.open), Latency(self.latency));
        write!(f, "{users} users at once, {latency}, {open} other invoices open, {whose}")
    }
}

/// One user: an app that asks them for payments, and their wallet.
struct User {
    scenario: Scenario,
    service: std::net::SocketAddr,
    token: String,
    identities: Vec<Identity>,
    app: Connection,
    wallet: Wallet,
    client: LightningClient,
}

impl User {
    /// Pays once with each identity.
    async fn pay_again_and_again(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let simulated = self.scenario.simulated();
        for identity in std::mem::take(&mut self.identities) {
            let begun = Instant::now();
            let payment = timeout(TIMEOUT + simulated, self.pay(&identity, &mut outcome.repeated)).await;
            match payment.unwrap_or_else(|_| Err(anyhow::anyhow!("no end in time"))) {
                Ok(delay) => {
                    outcome.whole.add(begun.elapsed().saturating_sub(simulated));
                    outcome.delays.add(delay.saturating_sub(self.scenario.latency * 2));
                }
                Err(reason) => {
                    outcome.lost += 1;
                    outcome.first_loss.get_or_insert(reason);
                    // What the connection would answer next belongs to the lost payment.
                    if let Ok(app) = Connection::open(self.service).await {
                        self.app = app;
                    }
                }
            }
        }
        outcome
    }

    /// One payment; says how long after the settlement the app knew.
    async fn pay(&mut self, identity: &Identity, repeated: &mut usize) -> Result<Duration> {
        let expires_at = Timestamp::now().as_secs() + OPEN_SECS;
        let call = api::single_payment(&self.token, &identity.main_key(), expires_at);
        let (stream, _) = api::started(&self.app.call(&call).await.context("POST /payments/single")?)?;
        self.app.send(&api::wait_events(&self.token, &stream)).await?;
        let mut seen = 0;
        let mut request: Option<PaymentRequest> = None;
        let mut paying: OptionFuture<_> = None.into();
        let mut settled: Option<Settled> = None;
        loop {
            tokio::select! {
                answer = self.app.receive() => {
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
                    self.app.send(&api::wait_events_after(&self.token, &stream, seen)).await?;
                }
                event = self.wallet.next() => {
                    let Some(asked) = identity.asked(&event?)? else { continue };
                    if let Some(known) = &request {
                        ensure!(*known == asked, "a request came again as another");
                        *repeated += 1;
                        continue;
                    }
                    self.wallet.publish(&identity.says(&asked, PaymentStatus::Approved)?).await?;
                    paying = Some(Box::pin(self.client.clone().pay(asked.invoice.clone()))).into();
                    request = Some(asked);
                }
                Some(paid) = &mut paying, if settled.is_none() => {
                    let paid = paid?;
                    if let (true, Some(request)) = (self.scenario.tells, &request) {
                        let status = PaymentStatus::Success { preimage: Some(paid.preimage) };
                        self.wallet.publish(&identity.says(request, status)?).await?;
                    }
                    settled = Some(paid);
                }
            }
        }
    }
}
