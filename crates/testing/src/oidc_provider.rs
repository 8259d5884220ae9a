//! A real OpenID Connect provider: npm `oidc-provider`, whose users and their claims are in `oidc-provider/provider.mjs`.

use std::process::Stdio;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::program::{Program, node};

pub struct OidcProvider {
    program: Program,
    /// Its issuer, without a trailing slash.
    pub issuer: String,
    lines: Arc<Mutex<Vec<Value>>>,
}

impl OidcProvider {
    pub fn start(client_id: &str, client_secret: &str) -> Self {
        let mut command = node("oidc-provider/provider.mjs", "USHER_TEST_OIDC_PROVIDER", "oidc-provider");
        let mut program = Program::start(command.args([client_id, client_secret]).stderr(Stdio::null()));
        let port: u16 = program.line().parse().expect("a port");
        let lines = program.objects();
        Self { program, issuer: format!("http://127.0.0.1:{port}"), lines }
    }

    /// Lets users come back to this address. Before, the provider responds to nothing.
    pub fn register(&mut self, redirect_uri: &str) {
        self.program.say(redirect_uri);
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
