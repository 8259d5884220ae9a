//! Apps that log users in with OpenID Connect, of other implementations: npm `openid-client` and PyPI `Authlib`.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::installed;

/// An app; it ends with this.
pub struct RelyingParty {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    /// Its address, without a trailing slash: `/login` begins a login, `/callback` is its redirect URI.
    pub address: String,
}

/// Which library the app uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// npm `openid-client`.
    OpenidClient,
    /// PyPI `Authlib`.
    Authlib,
}

impl RelyingParty {
    /// Starts an app on a free port. No secret: it is a public client.
    ///
    /// # Panics
    /// When the library is missing.
    pub fn start(library: Library, client_id: &str, secret: Option<&str>, scopes: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut command = match library {
            Library::OpenidClient => {
                let mut node = Command::new("node");
                node.arg(folder.join("openid-client/relying-party.mjs"));
                node.env("USHER_TEST_OPENID_CLIENT", installed("openid-client"));
                node
            }
            Library::Authlib => {
                let python = std::env::var_os("USHER_TEST_PYTHON").map(PathBuf::from);
                let mut python = Command::new(python.unwrap_or_else(|| installed("py").join("bin/python")));
                python.arg(folder.join("authlib/relying_party.py"));
                // Without TLS, on loopback.
                python.env("AUTHLIB_INSECURE_TRANSPORT", "1");
                python
            }
        };
        let mut process = command
            .args([client_id, secret.unwrap_or("-"), scopes])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the app runs");
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let port: u16 = output.next().unwrap().unwrap().parse().expect("a port");
        Self { process, output, address: format!("http://127.0.0.1:{port}") }
    }

    /// Gives a command and waits for its result.
    pub fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.process.stdin.as_mut().unwrap(), "{command}").unwrap();
        self.result()
    }

    /// The result of the next login.
    pub fn result(&mut self) -> Value {
        let line = self.output.next().expect("the app has ended").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }
}

impl Drop for RelyingParty {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
