//! Nutshell, the Python mint and its command-line wallet, for tests: not cdk's. `scripts/test` installs it into
//! `target/tools/nutshell`; the variable `USHER_TEST_NUTSHELL` names another folder.

use std::fs::{self, File};
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long it may take to start: Python reads much first.
const START: Duration = Duration::from_secs(180);

const COMMAND: Duration = Duration::from_secs(180);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running nutshell mint with the unit `sat`, whose quotes are paid by themselves. Dropping it kills it.
#[derive(Debug)]
pub struct NutshellMint {
    folder: PathBuf,
    port: u16,
    process: Child,
}

impl NutshellMint {
    /// Starts a mint on a free loopback port that keeps everything in `folder`. It listens when this returns.
    pub async fn start(folder: impl Into<PathBuf>, input_fee_ppk: u64) -> anyhow::Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        // Another process may take the port meanwhile.
        for _ in 0..4 {
            let port = usher_loopback_port::free()?;
            let mut mint = Self { process: spawn(&folder, port, input_fee_ppk)?, folder: folder.clone(), port };
            match mint.ready().await {
                Err(error) if error.to_string().contains("address already in use") => {}
                ready => return ready.map(|()| mint),
            }
        }
        bail!("no port could be had")
    }

    /// Its address as tokens name it: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    async fn ready(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        while !responds(self.port).await {
            let ended = self.process.try_wait()?;
            if ended.is_some() || Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                let start = log.char_indices().rev().nth(2_000).map_or(0, |(index, _)| index);
                bail!("nutshell does not start ({ended:?}):\n{}", log.get(start..).unwrap_or_default());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }
}

impl Drop for NutshellMint {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Its command-line wallet, in a folder of its own, for one mint and the unit `sat`. It cannot read the description of
/// a mint with units of its own, such as `multi`. Errors have what it wrote.
#[derive(Debug)]
pub struct NutshellWallet {
    folder: PathBuf,
    mint_url: String,
}

impl NutshellWallet {
    /// A wallet that keeps everything in `folder`.
    pub fn new(folder: impl Into<PathBuf>, mint_url: impl Into<String>) -> Self {
        Self { folder: folder.into(), mint_url: mint_url.into() }
    }

    /// Makes a token of exactly this amount.
    pub async fn send(&self, amount: u64) -> anyhow::Result<String> {
        let sent = self.run(&["send", &amount.to_string()]).await?;
        let token = sent.split_whitespace().find(|word| word.starts_with("cashu"));
        Ok(token.with_context(|| format!("the wallet shows no token: {sent}"))?.to_owned())
    }

    pub async fn receive(&self, token: &str) -> anyhow::Result<()> {
        self.run(&["receive", token]).await.map(drop)
    }

    /// What it holds and has not sent.
    pub async fn balance(&self) -> anyhow::Result<u64> {
        let said = self.run(&["balance"]).await?;
        let amount = said.split("Balance: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        amount.and_then(|amount| amount.parse().ok()).with_context(|| format!("the wallet shows no balance: {said}"))
    }

    async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        fs::create_dir_all(&self.folder)?;
        let output = self.folder.join("output");
        let mut process = command("cashu", &self.folder)?
            .env("MINT_URL", &self.mint_url)
            .env("CASHU_DIR", self.folder.join("data"))
            .env("TOR", "FALSE")
            .arg("--yes")
            .args(arguments)
            .stdout(File::create(&output)?)
            .stderr(File::options().append(true).create(true).open(self.folder.join("errors"))?)
            .spawn()?;
        let deadline = Instant::now() + COMMAND;
        let status = loop {
            if let Some(status) = process.try_wait()? {
                break status;
            }
            if Instant::now() > deadline {
                process.kill()?;
                process.wait()?;
                bail!("the wallet does not end: {arguments:?}");
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        let text = fs::read_to_string(&output)?;
        ensure!(status.success(), "{arguments:?} failed: {text}");
        Ok(text)
    }
}

/// A program of nutshell's environment, with nothing of ours.
fn command(name: &str, home: &Path) -> anyhow::Result<Command> {
    let installed = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/nutshell"));
    let folder = std::env::var_os("USHER_TEST_NUTSHELL").map_or_else(installed, PathBuf::from);
    let program = folder.join("bin").join(name);
    ensure!(program.exists(), "no nutshell at {}: scripts/test sets it up", program.display());
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home).stdin(Stdio::null());
    Ok(command)
}

fn spawn(folder: &Path, port: u16, input_fee_ppk: u64) -> anyhow::Result<Child> {
    let log = File::options().append(true).create(true).open(folder.join("log"))?;
    let process = command("mint", folder)?
        .env("MINT_LISTEN_HOST", "127.0.0.1")
        .env("MINT_LISTEN_PORT", port.to_string())
        .env("MINT_PRIVATE_KEY", "a key for tests")
        .env("MINT_DATABASE", folder.join("database"))
        .env("MINT_BACKEND_BOLT11_SAT", "FakeWallet")
        .env("FAKEWALLET_DELAY_INCOMING_PAYMENT", "0")
        .env("MINT_QUOTE_BACKEND_CHECK_RATE_LIMIT", "0")
        .env("MINT_INPUT_FEE_PPK", input_fee_ppk.to_string())
        .env("MINT_RATE_LIMIT", "FALSE")
        .env("TOR", "FALSE")
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn();
    process.context("nutshell does not start")
}

async fn responds(port: u16) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.write_all(b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await?;
        io::Result::Ok(response.starts_with(b"HTTP/1.1 200"))
    };
    matches!(tokio::time::timeout(Duration::from_secs(2), ask).await, Ok(Ok(true)))
}
