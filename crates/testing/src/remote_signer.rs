//! A remote signer (NIP-46) of an independent library: npm `@nostr-dev-kit/ndk`, driven by `remote-signer/signer.mjs`.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::installed;

/// The signer; it ends with this.
pub struct NdkSigner {
    process: Child,
    /// Its key, which is also its user's, in hex.
    pub key: String,
    relays: Vec<String>,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl NdkSigner {
    /// Starts a signer that listens on these relays, with a new key.
    ///
    /// # Panics
    /// When Node.js or the package is missing.
    pub async fn start(relays: &[&str]) -> Self {
        let relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
        // The relays may be on the caller's thread: this waits until they deliver.
        tokio::task::spawn_blocking(|| Self::start_blocking(relays)).await.unwrap()
    }

    fn start_blocking(relays: Vec<String>) -> Self {
        let mut process = Command::new("node")
            .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("remote-signer/signer.mjs"))
            .args(&relays)
            .env("USHER_TEST_REMOTE_SIGNER", installed("remote-signer"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node runs");
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        // Notices of the package for developers are no JSON.
        let mut objects = output.by_ref().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
        let first: Value = objects.find(|line: &Value| line["key"].is_string()).expect("a key");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&lines);
        std::thread::spawn(move || {
            let output = output.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
            output.for_each(|line| read.lock().push(line));
        });
        Self { process, key: first["key"].as_str().unwrap().to_owned(), relays, lines }
    }

    /// Its address, which a user pastes.
    pub fn bunker_url(&self, secret: &str) -> String {
        let relays: String = self.relays.iter().map(|relay| format!("relay={relay}&")).collect();
        format!("bunker://{}?{relays}secret={secret}", self.key)
    }

    /// Its user opens this address (`nostrconnect://`).
    pub fn open(&mut self, address: &str) {
        self.command(&json!({ "open": address }));
    }

    /// From now on it refuses this method.
    pub fn refuse(&mut self, method: &str) {
        self.command(&json!({ "refuse": method }));
    }

    /// From now on its user must confirm each signature on this page first.
    pub fn ask_to_confirm(&mut self, page: &str) {
        self.command(&json!({ "confirm": page }));
    }

    /// Its user confirms.
    pub fn confirm(&mut self) {
        self.command(&json!({ "confirmed": true }));
    }

    /// Waits until its user must confirm, or had to, this many requests.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn until_confirmations_asked(&self, wanted: usize) {
        let asked = || {
            let lines = self.lines.lock();
            lines.iter().filter_map(|line| line["confirming"].as_str()).collect::<HashSet<_>>().len()
        };
        let deadline = Instant::now() + Duration::from_secs(180);
        while asked() < wanted {
            assert!(Instant::now() < deadline, "{} of {wanted} requests", asked());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The methods that it was asked for so far, and that need its user's permission; repetitions count once.
    pub fn asked(&self) -> Vec<String> {
        let mut asked = self.asked_with_repetitions();
        asked.dedup();
        asked
    }

    /// As [`asked`](Self::asked), with repetitions.
    pub fn asked_with_repetitions(&self) -> Vec<String> {
        let lines = self.lines.lock();
        // It is pinged at the start.
        let asked = lines.iter().filter_map(|line| line["method"].as_str()).filter(|method| *method != "ping");
        asked.map(str::to_owned).collect()
    }

    fn command(&mut self, command: &Value) {
        let done = |lines: &[Value]| lines.iter().filter(|line| line["done"].is_string()).count();
        let before = done(&self.lines.lock());
        writeln!(self.process.stdin.as_mut().unwrap(), "{command}").unwrap();
        while done(&self.lines.lock()) == before {
            assert!(self.process.try_wait().unwrap().is_none(), "the signer has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for NdkSigner {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
