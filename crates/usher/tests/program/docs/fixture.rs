//! The folder and the environment in which a document's examples run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::docs::{GIVEN, repository};

/// A key of no worth, for examples of commands that need one.
const PRIVATE_KEY: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";

/// A token of no worth.
const TOKEN: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// A folder for one document.
pub(super) struct Fixture {
    folder: TempDir,
    /// The service's port.
    pub(super) port: u16,
    /// The embedded relay's port.
    pub(super) relay_port: u16,
}

impl Fixture {
    pub(super) fn set() -> Self {
        let folder = tempfile::Builder::new().prefix("usher-docs-").tempdir().expect("a folder");
        let fixture = Self {
            folder,
            port: usher_loopback_port::free().unwrap(),
            relay_port: usher_loopback_port::free().unwrap(),
        };
        let here = fixture.repository();
        std::fs::create_dir_all(here.join("target/debug")).unwrap();
        std::fs::create_dir_all(fixture.home()).unwrap();
        symlink(env!("CARGO_BIN_EXE_usher"), here.join("target/debug/usher")).unwrap();
        for name in ["README.md", "docs", "scripts"] {
            symlink(repository().join(name), here.join(name)).unwrap();
        }
        for (name, content, _) in GIVEN {
            std::fs::write(here.join(name), content).unwrap();
        }
        fixture
    }

    /// What looks like the repository; the examples run here.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder.path().join("usher")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where the output goes, which belongs to no example's folder.
    pub(super) fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    /// Where what is left running writes.
    pub(super) fn background_output(&self) -> PathBuf {
        self.folder.path().join("background")
    }

    /// Sets a command's environment.
    pub(super) fn environment(&self, command: &mut Command) {
        let bin = Path::new(env!("CARGO_BIN_EXE_usher")).parent().unwrap().display();
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.repository())
            .env_clear()
            .env("PATH", format!("{bin}:{path}"))
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("SERVICE__AUTH__AUTH_TOKEN", TOKEN)
            .env("SERVICE__NOSTR__PRIVATE_KEY", PRIVATE_KEY)
            .env("SERVICE__NOSTR__RELAYS", format!("ws://127.0.0.1:{}", self.relay_port))
            .env("SERVICE__INFO__LISTEN_PORT", self.port.to_string());
    }

    /// The commands with this fixture's ports, and `usher dev` in the place of the script that builds it.
    pub(super) fn adapt(&self, commands: &str) -> String {
        let mut adapted = commands.to_owned();
        for host in ["127.0.0.1", "localhost", "0.0.0.0"] {
            adapted = adapted.replace(&format!("{host}:3000"), &format!("127.0.0.1:{}", self.port));
            adapted = adapted.replace(&format!("{host}:7777"), &format!("127.0.0.1:{}", self.relay_port));
        }
        let dev = format!("dev --port {} --relay-port {}", self.port, self.relay_port);
        adapted
            .replace("scripts/dev --embedded", "usher dev --embedded")
            .replace("scripts/dev", "usher --data-dir target/dev dev")
            .replace("usher dev", &format!("usher {dev}"))
            .replace("target/dev dev", &format!("target/dev {dev}"))
    }
}
