//! A mint in a process of its own: `usher-mint`.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// A running mint in memory; it ends with this value, and with this program.
pub(crate) struct Mint {
    _child: Child,
    url: String,
}

impl Mint {
    /// Starts a mint that wants this token of everybody.
    pub(crate) async fn start(program: &Path, token: &str) -> Result<Self> {
        ensure!(
            program.is_file(),
            "there is no {}: build it with `cargo build --release -p usher-mint`, or name it with --mint",
            program.display()
        );
        let mut child = Command::new(program)
            .arg("--until-stdin-closes")
            .env("USHER_MINT_AUTH_TOKEN", token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("the mint did not start")?;
        let stdout = child.stdout.take().context("the mint has no standard output")?;
        let line = BufReader::new(stdout).lines().next_line().await?.context("the mint ended")?;
        let url = line.strip_prefix("listening on ").context("the mint did not say where it listens")?.to_owned();
        Ok(Self { _child: child, url })
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}
