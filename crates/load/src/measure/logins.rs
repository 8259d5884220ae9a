//! Logins, end to end: the app's calls, the user's wallet and a relay between it and the service.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use tokio::time::sleep;
use usher_protocol::envelope;
use usher_protocol::handshake_url::HandshakeUrl;

use crate::api;
use crate::connected_users::{ConnectedUser, Latency, Outcome, Round, connect_users, run};
use crate::fixture::{Fixture, Tool};
use crate::report::{Row, grouped};
use crate::wallet::Identity;

/// How long a person takes to scan, and again to approve, in milliseconds.
const PERSON_MS: std::ops::Range<u64> = 1_000..3_000;

/// Messages between wallet and service in a login: handshake, challenge, answer. Each crosses the relay, and so takes
/// the simulated delay twice.
const MESSAGES: u32 = 3;

/// How often the cryptography of a login is measured.
const CRYPTOGRAPHY_RUNS: usize = 1_001;

#[derive(Clone)]
struct Conditions {
    users: usize,
    rounds: usize,
    latency: Duration,
    people: bool,
    relay: String,
}

/// Measures logins for each number of users: with relay latency, with that and people, with neither.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (latency, people) in [(tool.options.latency(), false), (tool.options.latency(), true), (Duration::ZERO, false)]
    {
        for &users in &tool.options.users {
            // People make a round last four seconds; three rounds of them are enough.
            let rounds = (tool.options.logins / users.max(1)).clamp(1, if people { 3 } else { usize::MAX });
            let conditions = Conditions { users, rounds, latency, people, relay: String::new() };
            rows.push(log_in(&tool.fixture(latency).await?, conditions).await?);
        }
    }
    Ok(rows)
}

async fn log_in(fixture: &Fixture, mut conditions: Conditions) -> Result<Row> {
    let under = conditions.to_string();
    Tool::say(&format!("logins: {under}"));
    fixture.relay.url().clone_into(&mut conditions.relay);
    let users = connect_users(fixture, conditions.users, conditions.rounds).await?;
    let meter = fixture.meter()?;
    let mut outcome = run(fixture, users, &conditions).await?;
    // Of what people take, the mean.
    let people = if conditions.people { PERSON_MS.start + PERSON_MS.end } else { 0 };
    let simulated = conditions.delays() + Duration::from_millis(people);
    let mut row = outcome.row("Logins", conditions.users, simulated, meter.stop()?);
    if outcome.repeated > 0 {
        row.result += &format!(", {} challenges repeated", grouped(outcome.repeated));
    }
    if let Some(each) = row.usher_us_each {
        let cryptography = cryptography(&fixture.identity()?)?;
        row.result += &format!("; {:.1} × its cryptography ({cryptography:.0} µs)", each / cryptography);
    }
    let (p50_ms, p99_ms) = (outcome.latencies.percentile_ms(50), outcome.latencies.percentile_ms(99));
    Ok(Row { under, aim: "none lost; 500/s", p50_ms, p99_ms, ..row })
}

/// Processor time of what a login cannot do without, in microseconds: two signatures verified, two key agreements, and one
/// message encrypted and signed. The median of many.
fn cryptography(identity: &Identity) -> Result<f64> {
    let mut took = Vec::with_capacity(CRYPTOGRAPHY_RUNS);
    for _ in 0..CRYPTOGRAPHY_RUNS {
        let begun = Instant::now();
        let event = identity.handshake(String::new(), "wss://relay.example")?;
        for _ in 0..2 {
            envelope::verify(&event)?;
            identity.agree()?;
        }
        took.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    took.sort_by(f64::total_cmp);
    Ok(took[CRYPTOGRAPHY_RUNS / 2])
}

impl Conditions {
    /// Time of a login that is simulated, but for the people.
    fn delays(&self) -> Duration {
        self.latency * 2 * MESSAGES
    }

    fn person(&self) -> Duration {
        if self.people { Duration::from_millis(rand::random_range(PERSON_MS)) } else { Duration::ZERO }
    }
}

impl std::fmt::Display for Conditions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} users at once, {}", grouped(self.users), Latency(self.latency))?;
        if self.people { f.write_str(", people take 1–3 s twice") } else { Ok(()) }
    }
}

impl Round for Conditions {
    const NAME: &'static str = "logins";

    fn simulated(&self) -> Duration {
        self.delays() + 2 * Duration::from_millis(if self.people { PERSON_MS.end } else { 0 })
    }

    async fn once(&self, user: &mut ConnectedUser, identity: &Identity, outcome: &mut Outcome) -> Result<()> {
        let (scanning, approving, begun) = (self.person(), self.person(), Instant::now());
        let started = user.app.call(&api::key_handshake(&user.token)).await.context("POST /key-handshake")?;
        let (stream, url) = api::started(&started)?;
        let token = url.parse::<HandshakeUrl>()?.token;
        user.app.send(&api::wait_events(&user.token, &stream)).await?;
        pause(scanning).await;
        user.wallet.publish(&identity.handshake(token, &self.relay)?).await?;
        let data = loop {
            let page = api::page(&user.app.receive().await.context("GET /events of the handshake")?)?;
            match page.events.into_iter().next() {
                Some(event) => break event.data,
                None => user.app.send(&api::wait_events(&user.token, &stream)).await?,
            }
        };
        let main_key = identity.main_key();
        ensure!(data.main_key.as_deref() == Some(&main_key), "the handshake ended as {:?}", data.status);

        let started = user.app.call(&api::authenticate_key(&user.token, &main_key)).await;
        let (stream, _) = api::started(&started.context("POST /authenticate-key")?)?;
        let poll = api::wait_events(&user.token, &stream);
        user.app.send(&poll).await?;
        let mut answered = false;
        loop {
            tokio::select! {
                answer = user.app.receive() => {
                    let page = api::page(&answer.context("GET /events of the authentication")?)?;
                    if let Some(event) = page.events.into_iter().next() {
                        let status = event.data.status.unwrap_or_default();
                        ensure!(status == "approved", "the authentication ended as {status}");
                        let simulated = self.delays() + scanning + approving;
                        outcome.latencies.add(begun.elapsed().saturating_sub(simulated));
                        return Ok(());
                    }
                    user.app.send(&poll).await?;
                }
                event = user.wallet.next() => {
                    if let Some(approval) = identity.approve(&event?)? {
                        if answered {
                            outcome.repeated += 1;
                        } else {
                            pause(approving).await;
                        }
                        answered = true;
                        user.wallet.publish(&approval).await?;
                    }
                }
            }
        }
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}
