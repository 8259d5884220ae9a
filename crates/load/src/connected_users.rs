//! Concurrent users, each with a wallet on the relay and an app connection, who do the same again and again.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::fixture::{Fixture, Tool};
use crate::http::{self, Connection};
use crate::latencies::Latencies;
use crate::process_usage::Usage;
use crate::report::{Row, float, grouped, per_second};
use crate::wallet::{Identity, Wallet};

/// Wallets that connect at the same time.
const CONNECT_AT_ONCE: usize = 100;

/// What takes longer than this, without what is simulated, is lost.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct ConnectedUser {
    /// Who the user is in each round: another key each time.
    identities: Vec<Identity>,
    pub(crate) wallet: Wallet,
    pub(crate) app: Connection,
    pub(crate) token: String,
    service: SocketAddr,
}

/// Connects so many users. The apps come last: the service closes connections that are idle for long.
pub(crate) async fn connect_users(fixture: &Fixture, users: usize, rounds: usize) -> Result<Vec<ConnectedUser>> {
    let wallets = stream::iter((0..users).map(|_| async move {
        let identities = (0..rounds).map(|_| fixture.identity()).collect::<Result<Vec<_>>>()?;
        let wallet = Wallet::connect(fixture.relay.address()?, &identities).await?;
        anyhow::Ok((identities, wallet))
    }));
    let wallets: Vec<_> = wallets.buffer_unordered(CONNECT_AT_ONCE).try_collect().await?;
    let mut people = Vec::with_capacity(users);
    for (identities, wallet) in wallets {
        let (service, token) = (fixture.service.address(), fixture.instance.token().to_owned());
        let mut app = Connection::open(service).await?;
        // With the token: the service keeps only so many connections of strangers.
        app.call(&http::get("/version", &token)).await?.ok()?;
        people.push(ConnectedUser { identities, wallet, app, token, service });
    }
    Ok(people)
}

/// What came of all rounds.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Of each round, beyond what was simulated.
    pub(crate) latencies: Latencies,
    /// Of a part of each round, where that is measured, too.
    pub(crate) parts: Latencies,
    lost: usize,
    /// Messages of the service that came again although they had been answered.
    pub(crate) repeated: usize,
    first_loss: Option<anyhow::Error>,
}

pub(crate) trait Round: Clone + Send + 'static {
    const NAME: &'static str;

    /// The time of a round that is simulated at most.
    fn simulated(&self) -> Duration;

    /// Does it once, and notes how long it took.
    fn once(
        &self,
        user: &mut ConnectedUser,
        identity: &Identity,
        outcome: &mut Outcome,
    ) -> impl Future<Output = Result<()>> + Send;
}

pub(crate) async fn run(fixture: &Fixture, users: Vec<ConnectedUser>, round: &impl Round) -> Result<Outcome> {
    let mut running: JoinSet<_> = users.into_iter().map(|user| user.again_and_again(round.clone())).collect();
    let mut outcome = Outcome::default();
    while let Some(one) = running.join_next().await {
        outcome.add(one?);
    }
    if let Some(reason) = &outcome.first_loss {
        Tool::say(&format!("{}: one was lost: {reason:#}\n{}", round_name(round), fixture.instance.log_tail()));
    }
    Ok(outcome)
}

const fn round_name<R: Round>(_: &R) -> &'static str {
    R::NAME
}

impl ConnectedUser {
    async fn again_and_again<R: Round>(mut self, round: R) -> Outcome {
        let mut outcome = Outcome::default();
        for identity in std::mem::take(&mut self.identities) {
            let once = timeout(TIMEOUT + round.simulated(), round.once(&mut self, &identity, &mut outcome)).await;
            if let Err(reason) = once.unwrap_or_else(|_| Err(anyhow!("no end in time"))) {
                outcome.lost += 1;
                outcome.first_loss.get_or_insert(reason);
                // What the connection would answer next belongs to the lost round.
                if let Ok(app) = Connection::open(self.service).await {
                    self.app = app;
                }
            }
        }
        outcome
    }
}

impl Outcome {
    fn add(&mut self, other: Self) {
        self.latencies.append(other.latencies);
        self.parts.append(other.parts);
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.first_loss = self.first_loss.take().or(other.first_loss);
    }

    /// The line of the table: how many of all succeeded, how fast, and how fast so many users could be at most if only what
    /// is simulated took time.
    pub(crate) fn row(&self, what: &str, users: usize, simulated: Duration, usage: (Duration, Usage)) -> Row {
        let succeeded = self.latencies.len();
        let rate = per_second(succeeded, usage.0);
        let mut result = format!("{} of {}, {rate}", grouped(succeeded), grouped(succeeded + self.lost));
        if !simulated.is_zero() {
            result += &format!(" (the delays allow {:.0}/s)", float(users) / simulated.as_secs_f64());
        }
        Row { what: what.to_owned(), result, lost: self.lost, ..Row::default() }.with_usage(succeeded, usage)
    }
}

/// The delay of a relay, for people.
#[derive(Clone, Copy)]
pub(crate) struct Latency(pub(crate) Duration);

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            f.write_str("no latency")
        } else {
            write!(f, "{} ms of relay latency each way", self.0.as_millis())
        }
    }
}
