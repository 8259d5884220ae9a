//! The service under load: the real program, in a process and a data directory of its own.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use usher_protocol::Keys;

use crate::process_usage::resident_bytes;

/// Longest wait for a start or a stop.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How often a start is looked for.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// What outlives a restart: the data directory, the key and the token.
pub(crate) struct Instance {
    program: PathBuf,
    folder: TempDir,
    keys: Keys,
    token: String,
    relays: String,
    variables: Vec<(&'static str, String)>,
}

/// A running service; it is killed with this value.
pub(crate) struct Service {
    child: Child,
    address: SocketAddr,
    /// From before the start of the process to its first answer.
    pub(crate) started_in: Duration,
}

impl Instance {
    /// A new data directory in `parent` for a service that uses `relays` (separated by commas) and has these variables, too.
    pub(crate) fn new(program: &Path, parent: &Path, relays: &str, variables: &[(&'static str, &str)]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("usher-load-").tempdir_in(parent)?;
        let token = Keys::generate().public_key().to_hex();
        let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Ok(Self {
            program: program.into(),
            folder,
            keys: Keys::generate(),
            token,
            relays: relays.to_owned(),
            variables,
        })
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Starts the service and waits until it answers.
    pub(crate) fn start(&self) -> Result<Service> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SERVICE_") || name == "RUST_LOG") {
            command.env_remove(name);
        }
        command
            .arg("--data-dir")
            .arg(self.folder.path())
            .arg("serve")
            .env("SERVICE__INFO__LISTEN_PORT", address.port().to_string())
            .env("SERVICE__AUTH__AUTH_TOKEN", &self.token)
            .env("SERVICE__NOSTR__PRIVATE_KEY", self.keys.secret_key().to_secret_hex())
            .env("SERVICE__NOSTR__RELAYS", &self.relays)
            .env("SERVICE__NOSTR__ALLOW_PRIVATE_RELAYS", "true")
            // What is opened to be many must not end while it is measured.
            .env("SERVICE__HANDSHAKE__TTL_SECONDS", "86400")
            .env("SERVICE__AUTH__CHALLENGE_TTL_SECONDS", "86400")
            .env("SERVICE__LIMITS__MAX_OPEN_STREAMS", "2000000")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        let begun = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot run {}", self.program.display()))?;
        let mut service = Service { child, address, started_in: Duration::ZERO };
        while !is_at_work(address, self.shares_its_database().then_some(&self.token)) {
            if let Some(status) = service.child.try_wait()? {
                bail!("the service ended ({status}):\n{}", self.log_tail());
            }
            ensure!(begun.elapsed() < TIMEOUT, "the service does not answer:\n{}", self.log_tail());
            std::thread::sleep(POLL_INTERVAL);
        }
        service.started_in = begun.elapsed();
        Ok(service)
    }

    /// A further instance with the same configuration and the same PostgreSQL database, for which it has to wait.
    pub(crate) fn start_standby(&self) -> Result<(Self, Service)> {
        let parent = self.folder.path().parent().context("the data directory has no parent")?;
        let folder = tempfile::Builder::new().prefix("usher-load-").tempdir_in(parent)?;
        let standby = Self {
            program: self.program.clone(),
            folder,
            keys: self.keys.clone(),
            token: self.token.clone(),
            relays: self.relays.clone(),
            variables: self.variables.clone(),
        };
        let service = standby.start()?;
        Ok((standby, service))
    }

    fn shares_its_database(&self) -> bool {
        self.variables.iter().any(|(name, _)| *name == "SERVICE__DATABASE__URL")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("service.log")
    }

    /// The last lines that the service logged, without those that only say that a call was answered.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().filter(|line| !line.contains(" answered ")).collect();
        lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
    }

    /// Size of all that the service has written into its data directory, in bytes.
    pub(crate) fn stored_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            if entry.path() != self.log() {
                bytes += entry.metadata()?.len();
            }
        }
        Ok(bytes)
    }
}

impl Service {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        resident_bytes(self.pid().context("the service has ended")?)
    }

    /// Asks it to stop, as a service manager does, and waits until it has; says how long that took.
    pub(crate) async fn stop(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        kill_process(pid.context("the service has ended")?, Signal::TERM)?;
        tokio::time::timeout(TIMEOUT, self.child.wait()).await.context("the service does not stop")??;
        Ok(begun.elapsed())
    }

    pub(crate) async fn kill(&mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// Whether the service answers; with a shared database (and then the token), whether an instance is active. Blocking: nothing else is to run on this
/// thread while a start is timed.
fn is_at_work(address: SocketAddr, shared: Option<&String>) -> bool {
    let request = match shared {
        Some(token) => format!("GET /health/ready HTTP/1.1\r\nAuthorization: Bearer {token}\r\n"),
        None => "GET /health HTTP/1.1\r\n".to_owned(),
    };
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "{request}Host: usher\r\nConnection: close\r\n\r\n")?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(if shared.is_some() { response.contains(r#""instance":"#) } else { response.starts_with("HTTP/1.1 200") })
    };
    ask().unwrap_or(false)
}
