//! A real OpenID Connect provider: npm `oidc-provider`, whose users and their claims are in `oidc-provider/provider.mjs`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::installed;

/// The provider; it ends with this.
pub struct OidcProvider {
    process: Child,
    /// Its issuer, without a trailing slash.
    pub issuer: String,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl OidcProvider {
    /// Starts the provider on a free port, with one client.
    ///
    /// # Panics
    /// When Node.js or the package is missing.
    pub fn start(client_id: &str, client_secret: &str) -> Self {
        let mut process = Command::new("node")
            .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("oidc-provider/provider.mjs"))
            .args([client_id, client_secret])
            .env("USHER_TEST_OIDC_PROVIDER", installed("oidc-provider"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node runs");
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let port: u16 = output.next().unwrap().unwrap().parse().expect("a port");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = Arc::clone(&lines);
        std::thread::spawn(move || {
            // Notices of the package for developers are no JSON.
            let output = output.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok());
            output.for_each(|line| read.lock().push(line));
        });
        Self { process, issuer: format!("http://127.0.0.1:{port}"), lines }
    }

    /// Lets users come back to this address. Before, the provider responds to nothing.
    pub fn register(&mut self, redirect_uri: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{redirect_uri}").unwrap();
    }

    /// What it has sent to its client: for each response of the token and the userinfo endpoint an object with all claims in
    /// it, and with the tokens; for each redirect to the client the code.
    pub fn sent(&self) -> Vec<Value> {
        self.lines.lock().iter().filter(|line| line["referer"].is_null()).cloned().collect()
    }

    /// The addresses of other sites' pages that browsers told it they came from.
    pub fn referrers(&self) -> Vec<String> {
        self.lines.lock().iter().filter_map(|line| line["referer"].as_str().map(str::to_owned)).collect()
    }
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
