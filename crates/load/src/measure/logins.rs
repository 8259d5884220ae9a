//! Logins, end to end: the app's calls, the user's wallet and a relay between it and the service.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use usher_protocol::handshake_url::HandshakeUrl;

use crate::connected_users::{ConnectedUser, connect_users};
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::latencies::Latencies;
use crate::report::{Row, float, grouped, per_second};
use crate::wallet::{Identity, Wallet};
use crate::{api, report};

/// A login that takes longer than this, without what people take, is lost.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a person takes to scan, and again to approve, in milliseconds.
const PERSON_MS: std::ops::Range<u64> = 1_000..3_000;

/// Messages between wallet and service in a login: handshake, challenge, answer. Each crosses the relay, and so takes
/// the simulated delay twice.
const MESSAGES: u32 = 3;

/// Of a run.
#[derive(Clone, Copy)]
pub(crate) struct Conditions {
    users: usize,
    rounds: usize,
    latency: Duration,
    people: bool,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    /// Time beyond what was simulated, of each login.
    latencies: Latencies,
    lost: usize,
    /// Challenges that came again although they had been answered.
    repeated: usize,
    first_loss: Option<anyhow::Error>,
}

/// Measures logins for each number of users: with relay latency, with that and people, with neither.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (latency, people) in [(tool.options.latency(), false), (tool.options.latency(), true), (Duration::ZERO, false)]
    {
        for &users in &tool.options.users {
            // People make a round last four seconds; three rounds of them are enough.
            let rounds = (tool.options.logins / users.max(1)).clamp(1, if people { 3 } else { usize::MAX });
            rows.push(run(tool, Conditions { users, rounds, latency, people }).await?);
        }
    }
    Ok(rows)
}

async fn run(tool: &Tool, conditions: Conditions) -> Result<Row> {
    let under = conditions.to_string();
    Tool::say(&format!("logins: {under}"));
    log_in(&tool.fixture(conditions.latency).await?, conditions, under).await
}

/// Logs users in at this service.
pub(crate) async fn log_in(fixture: &Fixture, conditions: Conditions, under: String) -> Result<Row> {
    let users = users(fixture, conditions).await?;
    let meter = fixture.meter()?;
    let mut running: JoinSet<_> = users.into_iter().map(User::log_in_again_and_again).collect();
    let mut outcome = Outcome::default();
    while let Some(one) = running.join_next().await {
        outcome.add(one?);
    }
    let usage = meter.stop()?;
    if let Some(reason) = &outcome.first_loss {
        Tool::say(&format!("a login was lost: {reason:#}\n{}", fixture.instance.log_tail()));
    }
    Ok(outcome.row(conditions, under, usage))
}

async fn users(fixture: &Fixture, conditions: Conditions) -> Result<Vec<User>> {
    let user = |ConnectedUser { identities, wallet, app }| User {
        conditions,
        service: fixture.service.address(),
        token: fixture.instance.token().to_owned(),
        identities,
        app,
        wallet,
        relay: fixture.relay.url().to_owned(),
    };
    Ok(connect_users(fixture, conditions.users, conditions.rounds).await?.into_iter().map(user).collect())
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.latencies.append(other.latencies);
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.first_loss = self.first_loss.take().or(other.first_loss);
    }

    fn row(mut self, conditions: Conditions, under: String, usage: (Duration, crate::process_usage::Usage)) -> Row {
        let succeeded = self.latencies.len();
        let all = succeeded + self.lost;
        let (rate, value) = per_second(succeeded, usage.0);
        let mut result = format!("{} of {}, {rate}", grouped(succeeded), grouped(all));
        if let Some(most) = conditions.most_per_second() {
            result += &format!(" (the delays allow {most:.0}/s)");
        }
        if self.repeated > 0 {
            result += &format!(", {} challenges repeated", grouped(self.repeated));
        }
        let (p50_ms, p99_ms) = (self.latencies.percentile_ms(50), self.latencies.percentile_ms(99));
        let (lost, aim) = (self.lost, "none lost; 500/s");
        report::Row { what: "Logins".to_owned(), under, result, value, lost, aim, p50_ms, p99_ms, ..Row::default() }
            .with_usage(succeeded, usage)
    }
}

impl Conditions {
    /// So many users at once, without latency and thinking, who log in about `logins` times together.
    pub(crate) fn at_once(users: usize, logins: usize) -> Self {
        Self { users, rounds: logins.div_ceil(users.max(1)), latency: Duration::ZERO, people: false }
    }

    /// Time of a login that is simulated, but for the people.
    fn simulated(self) -> Duration {
        self.latency * 2 * MESSAGES
    }

    /// As many logins a second as there would be if the service and the load took no time.
    fn most_per_second(self) -> Option<f64> {
        let people = if self.people { Duration::from_millis(PERSON_MS.start + PERSON_MS.end) } else { Duration::ZERO };
        let each = self.simulated() + people;
        (!each.is_zero()).then(|| float(self.users) / each.as_secs_f64())
    }
}

impl std::fmt::Display for Conditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} users at once, ", grouped(self.users))?;
        if self.latency.is_zero() {
            f.write_str("no latency")?;
        } else {
            write!(f, "{} ms of relay latency each way", self.latency.as_millis())?;
        }
        if self.people { f.write_str(", people take 1–3 s twice") } else { Ok(()) }
    }
}

/// One user: an app that logs them in, and their wallet.
struct User {
    conditions: Conditions,
    service: std::net::SocketAddr,
    token: String,
    relay: String,
    identities: Vec<Identity>,
    app: Connection,
    wallet: Wallet,
}

impl User {
    /// Logs in once with each identity.
    async fn log_in_again_and_again(mut self) -> Outcome {
        let mut outcome = Outcome::default();
        for identity in std::mem::take(&mut self.identities) {
            let scanning = self.conditions.person();
            let approving = self.conditions.person();
            let begun = Instant::now();
            let simulated = self.conditions.simulated() + scanning + approving;
            let login = self.log_in(&identity, scanning, approving, &mut outcome.repeated);
            match timeout(TIMEOUT + simulated, login).await.unwrap_or_else(|_| Err(anyhow::anyhow!("no end in time"))) {
                Ok(()) => outcome.latencies.add(begun.elapsed().saturating_sub(simulated)),
                Err(reason) => {
                    outcome.lost += 1;
                    outcome.first_loss.get_or_insert(reason);
                    // What the connection would answer next belongs to the lost login.
                    if let Ok(app) = Connection::open(self.service).await {
                        self.app = app;
                    }
                }
            }
        }
        outcome
    }

    async fn log_in(
        &mut self,
        identity: &Identity,
        scanning: Duration,
        approving: Duration,
        repeated: &mut usize,
    ) -> Result<()> {
        let started = self.app.call(&api::key_handshake(&self.token)).await.context("POST /key-handshake")?;
        let (stream, url) = api::started(&started)?;
        let token = url.parse::<HandshakeUrl>()?.token;
        self.app.send(&api::wait_events(&self.token, &stream)).await?;
        pause(scanning).await;
        self.wallet.publish(&identity.handshake(token, &self.relay)?).await?;
        let data = loop {
            let page = api::page(&self.app.receive().await.context("GET /events of the handshake")?)?;
            match page.events.into_iter().next() {
                Some(event) => break event.data,
                None => self.app.send(&api::wait_events(&self.token, &stream)).await?,
            }
        };
        let main_key = identity.main_key();
        ensure!(data.main_key.as_deref() == Some(&main_key), "the handshake ended as {:?}", data.status);

        let started = self.app.call(&api::authenticate_key(&self.token, &main_key)).await;
        let (stream, _) = api::started(&started.context("POST /authenticate-key")?)?;
        let poll = api::wait_events(&self.token, &stream);
        self.app.send(&poll).await?;
        let mut answered = false;
        loop {
            tokio::select! {
                answer = self.app.receive() => {
                    let page = api::page(&answer.context("GET /events of the authentication")?)?;
                    if let Some(event) = page.events.into_iter().next() {
                        let status = event.data.status.unwrap_or_default();
                        ensure!(status == "approved", "the authentication ended as {status}");
                        return Ok(());
                    }
                    self.app.send(&poll).await?;
                }
                event = self.wallet.next() => {
                    if let Some(approval) = identity.approve(&event?)? {
                        if answered {
                            *repeated += 1;
                        } else {
                            pause(approving).await;
                        }
                        answered = true;
                        self.wallet.publish(&approval).await?;
                    }
                }
            }
        }
    }
}

impl Conditions {
    /// How long a person takes this time.
    fn person(self) -> Duration {
        if self.people { Duration::from_millis(rand::random_range(PERSON_MS)) } else { Duration::ZERO }
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}
