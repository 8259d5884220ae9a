//! The relay, in a process of its own.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use usher_faults::relay::{Quirks, QuirkyRelay};

/// A relay in a child process; it ends with this value.
pub(crate) struct Relay {
    child: Child,
    url: String,
}

impl Relay {
    /// Starts one that delays everything by `latency` in each direction.
    pub(crate) async fn start(latency: Duration) -> Result<Self> {
        let this = std::env::current_exe().context("this program has no path")?;
        let mut child = Command::new(this)
            .args(["--relay", "--relay-latency-ms", &latency.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the relay did not start")?;
        let stdout = child.stdout.take().context("the relay has no standard output")?;
        let mut url = String::new();
        BufReader::new(stdout).read_line(&mut url).await?;
        let url = url.trim_end().to_owned();
        anyhow::ensure!(url.starts_with("ws://"), "the relay did not say where it listens");
        Ok(Self { child, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn address(&self) -> Result<SocketAddr> {
        Ok(self.url.trim_start_matches("ws://").parse()?)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }
}

/// The child process: serves until standard input ends, which it does when the parent process ends.
pub(crate) async fn run(latency: Duration) -> Result<()> {
    // A relay runs elsewhere, so that it costs this machine as little as possible: signatures are the service's to check.
    let relay = QuirkyRelay::start(Quirks { latency, accept_forged: true, ..Quirks::default() }).await?;
    #[expect(clippy::print_stdout, reason = "the parent reads the address from there")]
    {
        println!("{}", relay.url());
    }
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    Ok(())
}
