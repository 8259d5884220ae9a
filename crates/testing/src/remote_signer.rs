//! A remote signer (NIP-46) of an independent library: npm `@nostr-dev-kit/ndk`, driven by `remote-signer/signer.mjs`.

use std::collections::HashSet;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::program::{Program, node};

pub struct NdkSigner {
    program: Program,
    /// Its key, which is also its user's, in hex.
    pub key: String,
    relays: Vec<String>,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl NdkSigner {
    pub async fn start(relays: &[&str]) -> Self {
        let relays = relays.iter().map(|relay| (*relay).to_owned()).collect();
        // The relays may be on the caller's thread: this waits until they deliver.
        tokio::task::spawn_blocking(|| Self::start_blocking(relays)).await.unwrap()
    }

    fn start_blocking(relays: Vec<String>) -> Self {
        let mut command = node("remote-signer/signer.mjs", "USHER_TEST_REMOTE_SIGNER", "remote-signer");
        let mut program = Program::start(command.args(&relays).stderr(Stdio::null()));
        // Notices of the package for developers are no JSON.
        let key = loop {
            let line: Value = serde_json::from_str(&program.line()).unwrap_or_default();
            if let Some(key) = line["key"].as_str() {
                break key.to_owned();
            }
        };
        let lines = program.objects();
        Self { program, key, relays, lines }
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

    pub fn refuse(&mut self, method: &str) {
        self.command(&json!({ "refuse": method }));
    }

    /// From now on its user must confirm each signature on this page first.
    pub fn ask_to_confirm(&mut self, page: &str) {
        self.command(&json!({ "confirm": page }));
    }

    pub fn confirm(&mut self) {
        self.command(&json!({ "confirmed": true }));
    }

    /// Waits until its user must confirm, or had to, this many requests.
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

    pub fn asked_with_repetitions(&self) -> Vec<String> {
        let lines = self.lines.lock();
        // It is pinged at the start.
        let asked = lines.iter().filter_map(|line| line["method"].as_str()).filter(|method| *method != "ping");
        asked.map(str::to_owned).collect()
    }

    fn command(&mut self, command: &Value) {
        let done = |lines: &[Value]| lines.iter().filter(|line| line["done"].is_string()).count();
        let before = done(&self.lines.lock());
        self.program.say(command);
        while done(&self.lines.lock()) == before {
            assert!(!self.program.has_ended(), "the signer has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
