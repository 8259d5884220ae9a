//! The program under test.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use usher_protocol::{Keys, PublicKey};
use usher_testing::relay::{Quirks, QuirkyRelay};

use super::{Api, LONG, until};
use crate::common;

/// A `usher serve` with a data directory of its own. Dropping it kills the process.
pub(crate) struct TestUsher {
    folder: TempDir,
    variables: BTreeMap<String, String>,
    port: u16,
    child: Option<Child>,
    api: Api,
    keys: Keys,
}

/// Sets a [`TestUsher`] up.
pub(crate) struct Builder {
    variables: BTreeMap<String, String>,
    keys: Keys,
}

impl Builder {
    pub(crate) fn relays(self, urls: &[&str]) -> Self {
        self.set("NOSTR__RELAYS", urls.join(","))
    }

    /// Uses this Lightning wallet.
    pub(crate) fn nwc(self, url: impl ToString) -> Self {
        self.set("WALLET__LN_BACKEND", "nwc").set("WALLET__NETWORK", "regtest").set("WALLET__NWC__URL", url)
    }

    pub(crate) fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.variables.insert(format!("SERVICE__{name}"), value.to_string());
        self
    }

    pub(crate) fn log_level(mut self, filter: &str) -> Self {
        self.variables.insert("RUST_LOG".to_owned(), filter.to_owned());
        self
    }

    pub(crate) fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Starts it at a relay, and waits until it listens there.
    pub(crate) async fn start_at_relay(self) -> (QuirkyRelay, TestUsher) {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let usher = self.relays(&[relay.url()]).start().await;
        relay.wait_for(LONG, |metrics| metrics.reqs >= 1).await.expect("the service subscribes");
        (relay, usher)
    }

    /// Starts it and waits until it answers.
    pub(crate) async fn start(self) -> TestUsher {
        self.start_with_token(&format!("token-{}", Keys::generate().public_key().to_hex())).await
    }

    async fn start_with_token(mut self, token: &str) -> TestUsher {
        self.variables.insert("SERVICE__AUTH__AUTH_TOKEN".to_owned(), token.to_owned());
        self.variables.insert("SERVICE__NOSTR__PRIVATE_KEY".to_owned(), self.keys.secret_key().to_secret_hex());
        let folder = tempfile::Builder::new().prefix("usher-e2e-").tempdir().expect("a folder");
        let mut usher = TestUsher {
            folder,
            variables: self.variables,
            port: 0,
            child: None,
            api: Api::new(0, token),
            keys: self.keys,
        };
        for _ in 0..5 {
            usher.port = usher_loopback_port::free().unwrap();
            usher.api = Api::new(usher.port, token);
            usher.spawn();
            match usher.ready().await {
                Ok(()) => return usher,
                // Somebody was quicker to take the port.
                Err(_) if usher.log().contains("cannot listen on") => {}
                Err(status) => panic!("usher ended with {status} at the start"),
            }
        }
        panic!("no port could be had");
    }
}

impl TestUsher {
    pub(crate) fn builder() -> Builder {
        Builder { variables: BTreeMap::new(), keys: Keys::generate() }
    }

    /// Its interface; cheap to clone, and the same after a restart.
    pub(crate) fn api(&self) -> Api {
        self.api.clone()
    }

    pub(crate) fn public_key(&self) -> PublicKey {
        self.keys.public_key()
    }

    /// The private key that it signs with.
    pub(crate) fn secret_key_hex(&self) -> String {
        self.keys.secret_key().to_secret_hex()
    }

    /// Sets `SERVICE__<name>` for the next start.
    pub(crate) fn set(&mut self, name: &str, value: impl ToString) {
        self.variables.insert(format!("SERVICE__{name}"), value.to_string());
    }

    /// Leaves `SERVICE__<name>` to its default at the next start.
    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.remove(&format!("SERVICE__{name}"));
    }

    /// From the next start on it stands still at this fail point; `None`: at none.
    pub(crate) fn stand_still_at(&mut self, point: Option<&str>) {
        self.fail_at(point, "pause");
    }

    /// From the next start on it dies at this fail point, at once and without a word; `None`: at none.
    pub(crate) fn die_at(&mut self, point: Option<&str>) {
        self.fail_at(point, "return");
    }

    fn fail_at(&mut self, point: Option<&str>, action: &str) {
        match point {
            Some(point) => self.variables.insert("FAILPOINTS".to_owned(), format!("{point}={action}")),
            None => self.variables.remove("FAILPOINTS"),
        };
    }

    /// Starts another one beside it, with the same settings and a data directory and port of its own.
    pub(crate) async fn start_beside(&self) -> Self {
        let builder = Builder { variables: self.variables.clone(), keys: self.keys.clone() };
        builder.start_with_token(&self.variables["SERVICE__AUTH__AUTH_TOKEN"]).await
    }

    /// Whether it was started and not ended by the test.
    pub(crate) const fn runs(&self) -> bool {
        self.child.is_some()
    }

    /// Ends it as a power cut would: SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("killed");
            child.wait().expect("gone");
        }
    }

    /// Starts it again on the same data and port, without waiting for it.
    pub(crate) fn spawn(&mut self) {
        assert!(self.child.is_none(), "it runs already");
        let log = || Stdio::from(self.log_file());
        let mut command = self.command(&["serve"]);
        if !self.variables.contains_key("RUST_LOG") {
            command.env("RUST_LOG", std::env::var("USHER_TEST_LOG").unwrap_or_else(|_| "info".to_owned()));
        }
        self.child = Some(command.stdout(log()).stderr(log()).spawn().expect("the program starts"));
    }

    pub(crate) async fn refuses_to_start(&mut self) -> ExitStatus {
        self.spawn();
        self.ready().await.expect_err("it must not start")
    }

    pub(crate) async fn start_again(&mut self) {
        self.spawn();
        if let Err(status) = self.ready().await {
            panic!("usher ended with {status} at a restart");
        }
    }

    /// Waits until it answers; its exit status when it ends instead.
    pub(crate) async fn ready(&mut self) -> Result<(), ExitStatus> {
        let (api, child) = (&self.api, self.child.as_mut().expect("it was started"));
        let outcome = until("answer of usher", async || {
            if api.is_up().await { Some(Ok(())) } else { child.try_wait().expect("a status").map(Err) }
        })
        .await;
        if outcome.is_err() {
            self.child = None;
        }
        outcome
    }

    /// Kills it if it runs, and starts it again on the same data and port.
    pub(crate) async fn restart(&mut self) {
        self.kill();
        self.start_again().await;
    }

    /// Asks it to stop (SIGTERM) and waits until it has.
    pub(crate) async fn stop(&mut self) -> ExitStatus {
        let child = self.child.as_mut().expect("it runs");
        kill_process(Pid::from_child(child), Signal::TERM).expect("the signal is sent");
        let status = until("end of usher", async || child.try_wait().expect("a status")).await;
        self.child = None;
        status
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Another command of the same program, with the same configuration.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
        command
            .args(arguments)
            .arg("--data-dir")
            .arg(self.data_dir())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("SERVICE__INFO__LISTEN_PORT", self.port.to_string())
            .envs(&self.variables)
            .stdin(Stdio::null());
        command
    }

    /// Runs such a command to its end: exit code, standard output, standard error.
    pub(crate) async fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = self.command(arguments);
        let output = tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("it ends");
        (output.status.code(), common::stdout(&output), common::stderr(&output))
    }

    /// What such a command prints, which must succeed.
    pub(crate) async fn says(&self, arguments: &[&str]) -> String {
        let (code, said, errors) = self.run(arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {errors}");
        said
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// The memory it holds, in MiB (`VmRSS`).
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().expect("a number") / 1024
    }

    /// Everything it logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log_file(&self) -> File {
        OpenOptions::new().create(true).append(true).open(self.log_path()).expect("a log file")
    }
}

/// Names and contents of the files in a folder and below it, the database and the log among them.
pub(crate) fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    let has = |name: &str| files.iter().any(|(file, _)| file.ends_with(name));
    assert!(has("/usher.db") && has("/log"), "{}", folder.display());
    files
}

/// None of these is in the log: as it is, nor as libraries write bytes, in hex or as a list of numbers.
pub(crate) fn is_not_logged(log: &str, secrets: &[(&str, &str)]) {
    for (what, secret) in secrets {
        let numbers = secret.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(", ");
        for form in [(*secret).to_owned(), hex::encode(secret), numbers] {
            let line = log.lines().find(|line| line.contains(&form));
            assert!(line.is_none(), "{what} is in the log: {}", line.unwrap_or_default());
        }
    }
}

impl Drop for TestUsher {
    fn drop(&mut self) {
        self.kill();
        let log = self.log();
        if std::thread::panicking() {
            let lines: Vec<_> = log.lines().collect();
            eprintln!("--- the end of its log ---\n{}\n---", lines[lines.len().saturating_sub(60)..].join("\n"));
        } else {
            // In every test: no secret is logged, and nothing panics.
            for (name, value) in &self.variables {
                let secret = name.contains("TOKEN") || name.contains("PRIVATE_KEY");
                assert!(!secret || !log.contains(value), "{name} is in the log");
            }
            assert!(!log.contains("panicked"), "something panicked:\n{log}");
        }
    }
}
