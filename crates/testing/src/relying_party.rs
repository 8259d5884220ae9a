//! Apps that log users in with OpenID Connect, of other implementations: npm `openid-client` and PyPI `Authlib`.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::program::{Program, node, python};

/// An app; it ends with this.
pub struct RelyingParty {
    program: Program,
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
    pub fn start(library: Library, client_id: &str, secret: Option<&str>, scopes: &str) -> Self {
        let mut command = match library {
            Library::OpenidClient => {
                node("openid-client/relying-party.mjs", "USHER_TEST_OPENID_CLIENT", "openid-client")
            }
            Library::Authlib => {
                let mut python = Command::new(python());
                python.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("authlib/relying_party.py"));
                // Without TLS, on loopback.
                python.env("AUTHLIB_INSECURE_TRANSPORT", "1");
                python
            }
        };
        let mut program = Program::start(command.args([client_id, secret.unwrap_or("-"), scopes]));
        let port: u16 = program.line().parse().expect("a port");
        Self { program, address: format!("http://127.0.0.1:{port}") }
    }

    /// Gives a command and waits for its result.
    pub fn ask(&mut self, command: &Value) -> Value {
        self.program.say(command);
        self.result()
    }

    /// The result of the next login.
    pub fn result(&mut self) -> Value {
        let line = self.program.line();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"))
    }
}
