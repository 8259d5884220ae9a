//! The relays, in a process of their own.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use usher_testing::relay::{Quirks, QuirkyRelay};

/// Relays in a child process; they end with this value.
pub(crate) struct Relay {
    child: Child,
    /// Their URLs, separated by commas; the wallets are at the first.
    urls: String,
}

impl Relay {
    /// Starts so many that delay everything by `latency` in each direction.
    pub(crate) async fn start(latency: Duration, count: usize) -> Result<Self> {
        let this = std::env::current_exe().context("this program has no path")?;
        let mut child = Command::new(this)
            .args(["--relays", &count.to_string(), "--relay-latency-ms", &latency.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the relay did not start")?;
        let stdout = child.stdout.take().context("the relay has no standard output")?;
        let mut urls = String::new();
        BufReader::new(stdout).read_line(&mut urls).await?;
        let urls = urls.trim_end().to_owned();
        anyhow::ensure!(urls.starts_with("ws://"), "the relay did not say where it listens");
        Ok(Self { child, urls })
    }

    /// The relay of the wallets.
    pub(crate) fn url(&self) -> &str {
        self.urls.split(',').next().unwrap_or_default()
    }

    /// All of them, separated by commas: the service's.
    pub(crate) fn urls(&self) -> &str {
        &self.urls
    }

    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.url().trim_start_matches("ws://").parse()?)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }
}

/// The child process: serves until standard input ends, which it does when the parent process ends.
pub(crate) async fn run(latency: Duration, count: usize) -> Result<()> {
    // A relay runs elsewhere, so that it costs this machine as little as possible: signatures are the service's to check.
    let mut relays = Vec::with_capacity(count);
    for _ in 0..count {
        relays.push(QuirkyRelay::start(Quirks { latency, accept_forged: true, ..Quirks::default() }).await?);
    }
    let urls: Vec<_> = relays.iter().map(|relay| relay.url().to_string()).collect();
    #[expect(clippy::print_stdout, reason = "the parent reads the addresses from there")]
    {
        println!("{}", urls.join(","));
    }
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}
