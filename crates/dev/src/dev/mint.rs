//! The Cashu mint of `usher dev`: the program `usher-mint` next to this one.
//!
//! A mint's address is part of its tokens, so its folder also has the port, which the next start reuses.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::spawn_blocking;
use usher::output::tell;
use usher::service_lifecycle::make_data_dir;
use usher_engine::ports::{OsRandomness, Randomness as _};

use super::data_dir::DataDir;

const FOLDER: &str = "mint";

/// The file of its token, in its folder.
const TOKEN: &str = "auth-token";

/// The file of its last port, in its folder.
const PORT: &str = "port";

/// Time limit of its start and stop.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Prefix of its only line on standard output.
const LISTENING: &str = "listening on ";

/// A running mint. It ends with this process, because its standard input closes.
pub(super) struct DevMint {
    url: String,
    token: SecretString,
    process: Child,
    /// The mint's standard input; the mint runs while it is open.
    running: ChildStdin,
}

impl DevMint {
    /// Starts the mint of this folder, and creates one in a new folder. If there is no program to start, prints the
    /// reason and advice.
    pub(super) async fn start(folder: &DataDir) -> Option<Self> {
        let program = program()?;
        match start(&program, &folder.path().join(FOLDER)).await {
            Ok(mint) => Some(mint),
            Err(error) => {
                tell(&format!("usher: no mint, and so no tickets: {} does not start: {error}", program.display()));
                None
            }
        }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Anybody with this token may mint. It is shown, because it was generated for this purpose.
    pub(super) const fn token(&self) -> &SecretString {
        &self.token
    }

    pub(super) async fn stop(self) {
        let Self { mut process, running, .. } = self;
        drop(running);
        // It ends with this process in any case.
        let _ = tokio::time::timeout(TIMEOUT, spawn_blocking(move || process.wait())).await;
    }
}

fn program() -> Option<PathBuf> {
    let beside = |path: PathBuf| path.with_file_name(format!("usher-mint{EXE_SUFFIX}"));
    let program = std::env::current_exe().map(beside).ok()?;
    if program.exists() {
        return Some(program);
    }
    tell(&format!(
        "usher: no mint, and so no tickets: {} is missing; scripts/dev builds it, as does: cargo build -p usher-mint",
        program.display()
    ));
    None
}

async fn start(program: &Path, folder: &Path) -> io::Result<DevMint> {
    make_data_dir(folder).map_err(|error| io::Error::other(error.to_string()))?;
    let token = token(&folder.join(TOKEN))?;
    let last = fs::read_to_string(folder.join(PORT)).ok().and_then(|port| port.trim().parse::<u16>().ok());
    if let Some(port) = last {
        match launch(program, folder, &token, port).await {
            Ok(mint) => return Ok(mint),
            Err(error) => tell(&format!(
                "usher: the mint does not start on port {port} as before ({error}); on another one, tokens from before \
                 name an address where it is not"
            )),
        }
    }
    let mint = launch(program, folder, &token, 0).await?;
    if let Some((_, port)) = mint.url.rsplit_once(':') {
        fs::write(folder.join(PORT), port)?;
    }
    Ok(mint)
}

/// Starts the program on this port (0: any free one) and waits until it listens.
async fn launch(program: &Path, folder: &Path, token: &SecretString, port: u16) -> io::Result<DevMint> {
    let mut process = Command::new(program)
        .args(["--until-stdin-closes", "--auth-only-for-minting"])
        .args(["--listen", &format!("127.0.0.1:{port}"), "--data-dir"])
        .arg(folder)
        // Not an argument, which everybody on this machine could see.
        .env("USHER_MINT_AUTH_TOKEN", token.expose_secret())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let missing = || io::Error::other("it has no pipes");
    let running = process.stdin.take().ok_or_else(missing)?;
    let output = process.stdout.take().ok_or_else(missing)?;
    let first_line = spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    });
    // On a failure the mint ends, because its standard input is closed.
    let line = tokio::time::timeout(TIMEOUT, first_line).await???;
    match line.trim_end().strip_prefix(LISTENING) {
        Some(url) => Ok(DevMint { url: url.to_owned(), token: token.clone(), process, running }),
        None => Err(io::Error::other("it ended, or does not say where it listens")),
    }
}

/// The token in this file, generated if missing.
fn token(path: &Path) -> io::Result<SecretString> {
    match fs::read_to_string(path) {
        Ok(token) => return Ok(token.trim().into()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    let mut bytes = [0; 16];
    OsRandomness.fill(&mut bytes);
    let token = hex::encode(bytes);
    // The folder is accessible only to its owner.
    fs::write(path, &token)?;
    Ok(token.into())
}
