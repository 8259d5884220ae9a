//! Lightning, in a process of its own: the service's wallet, which it reaches by Nostr Wallet Connect, and the users'
//! money.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{Fees, LightningNetwork, Method, NwcService};

/// How long the wallet may take to reach the relay.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Questions on their way to the process.
const ASKED: usize = 1024;

/// What is asked of the process: a line of JSON each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Query {
    /// A user pays this invoice.
    Pay(String),
    /// What the service has called for.
    Metrics,
}

/// What the process answers: a line of JSON each, in the order of the queries.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Paid(Settled),
    Metrics(Metrics),
    Failed(String),
}

/// A payment that has arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Settled {
    /// Shows that it was made.
    pub(crate) preimage: Preimage,
    /// When, as [`monotonic`] has it.
    pub(crate) at: Duration,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Metrics {
    /// `lookup_invoice`.
    pub(crate) look_ups: u64,
}

/// The process; it ends with this value.
pub(crate) struct Lightning {
    child: Child,
    url: String,
    client: LightningClient,
    /// Carries queries and replies.
    _carrier: JoinSet<()>,
}

/// Asks the process.
#[derive(Clone)]
pub(crate) struct LightningClient(mpsc::Sender<(Query, oneshot::Sender<Reply>)>);

/// A clock that all processes of this machine share; it says how long ago, not when.
pub(crate) fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    let secs = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(secs, u32::try_from(now.tv_nsec).unwrap_or_default())
}

impl Lightning {
    /// Starts it, with the service's wallet at this relay.
    pub(crate) async fn start(relay: &str) -> Result<Self> {
        let this = std::env::current_exe().context("this program has no path")?;
        let mut child = Command::new(this)
            .args(["--lightning", relay])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("Lightning did not start")?;
        let stdin = child.stdin.take().context("Lightning has no standard input")?;
        let stdout = child.stdout.take().context("Lightning has no standard output")?;
        let mut replies = BufReader::new(stdout).lines();
        let url = replies.next_line().await?.context("Lightning ended")?;
        ensure!(url.starts_with("nostr+walletconnect://"), "Lightning did not say how it is reached");
        let (client, queries) = mpsc::channel(ASKED);
        let mut carrier = JoinSet::new();
        carrier.spawn(carry(stdin, replies, queries));
        Ok(Self { child, url, client: LightningClient(client), _carrier: carrier })
    }

    /// How the service reaches its wallet.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) fn client(&self) -> &LightningClient {
        &self.client
    }
}

impl LightningClient {
    pub(crate) async fn pay(self, invoice: String) -> Result<Settled> {
        match self.ask(Query::Pay(invoice)).await? {
            Reply::Paid(settled) => Ok(settled),
            other => bail!("a payment ended as {other:?}"),
        }
    }

    /// What the service has called for so far.
    pub(crate) async fn metrics(&self) -> Result<Metrics> {
        match self.ask(Query::Metrics).await? {
            Reply::Metrics(metrics) => Ok(metrics),
            other => bail!("the metrics are {other:?}"),
        }
    }

    async fn ask(&self, query: Query) -> Result<Reply> {
        let (answer, reply) = oneshot::channel();
        self.0.send((query, answer)).await.ok().context("Lightning has ended")?;
        reply.await.context("Lightning has ended")
    }
}

/// Carries queries there and replies back, which come in the order of the queries; ends when Lightning does.
async fn carry(
    mut there: ChildStdin,
    mut back: Lines<BufReader<ChildStdout>>,
    mut queries: mpsc::Receiver<(Query, oneshot::Sender<Reply>)>,
) {
    let mut waiting: VecDeque<oneshot::Sender<Reply>> = VecDeque::new();
    loop {
        tokio::select! {
            query = queries.recv() => {
                let Some((query, answer)) = query else { return };
                let Ok(line) = serde_json::to_string(&query) else { return };
                if there.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    return;
                }
                waiting.push_back(answer);
            }
            line = back.next_line() => {
                let Ok(Some(line)) = line else { return };
                let reply = serde_json::from_str(&line).unwrap_or_else(|error| Reply::Failed(error.to_string()));
                if let Some(answer) = waiting.pop_front() {
                    // Who asked may have given up.
                    let _ = answer.send(reply);
                }
            }
        }
    }
}

/// The child process: serves until standard input ends, which it does when the parent process ends.
#[expect(clippy::print_stdout, reason = "the parent reads the address and the replies from there")]
pub(crate) async fn run(relay: &str) -> Result<()> {
    let network = LightningNetwork::new();
    network.set_fees(Fees::NONE);
    let users = network.open_account("users", u64::MAX / 2);
    let service = NwcService::start(&network.open_account("service", 0), &[relay]).await;
    service.ready(TIMEOUT).await?;
    println!("{}", service.url());
    let mut queries = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = queries.next_line().await? {
        let reply = match serde_json::from_str(&line)? {
            Query::Pay(invoice) => match users.pay(&invoice, None) {
                Ok(paid) => Reply::Paid(Settled { preimage: paid.preimage, at: monotonic() }),
                Err(error) => Reply::Failed(error.to_string()),
            },
            Query::Metrics => {
                let metrics = service.metrics();
                Reply::Metrics(Metrics { look_ups: metrics.calls(Method::LookupInvoice) })
            }
        };
        println!("{}", serde_json::to_string(&reply)?);
    }
    Ok(())
}
