//! Tests of the configuration as a whole: what a file and an environment come to.

mod errors;
mod secrecy;
mod subkey;
mod table;
mod values;

use std::path::Path;

use usher_engine::UnixMillis;

use super::{Loaded, Source, load};

/// A token that nothing is wrong with.
const TOKEN: &str = "6d1f3bfa0fd44b0b8c8cf2f2e64fbd57";
/// A private key that nothing is wrong with.
const KEY: &str = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";

/// The time, in Unix seconds.
const NOW: u64 = 1_800_000_000;

/// A data directory with a configuration file, and an environment.
struct Fixture {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Fixture {
    fn nothing() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    /// Only what is required, in the environment.
    fn required() -> Self {
        Self::nothing().variable("AUTH__AUTH_TOKEN", TOKEN).variable("NOSTR__PRIVATE_KEY", KEY)
    }

    /// The private key, in the environment.
    fn with_key() -> Self {
        Self::nothing().variable("NOSTR__PRIVATE_KEY", KEY)
    }

    /// With this in the place of what the variable was.
    fn replaced(mut self, suffix: &str, value: &str) -> Self {
        self.variables.retain(|(name, _)| *name != format!("SERVICE__{suffix}"));
        self.variable(suffix, value)
    }

    fn variable(mut self, suffix: &str, value: &str) -> Self {
        self.variables.push((format!("SERVICE__{suffix}"), value.to_owned()));
        self
    }

    fn file(self, text: &str) -> Self {
        self.other_file("config.toml", text.as_bytes())
    }

    fn other_file(self, name: &str, content: &[u8]) -> Self {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn source(&self) -> Source {
        Source {
            data_dir: self.folder.path().to_owned(),
            variables: self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            now: UnixMillis::from_secs(NOW),
        }
    }

    fn load(&self) -> Loaded {
        load(&self.source())
    }

    /// The configuration, which must have no errors.
    fn config(&self) -> super::Config {
        let loaded = self.load();
        assert_eq!(loaded.errors, []);
        loaded.config.expect("no errors, so a configuration")
    }

    /// Mistakes, one per line, with the folder's name made constant.
    fn errors(&self) -> String {
        let loaded = self.load();
        assert_eq!(loaded.config.is_none(), !loaded.errors.is_empty(), "errors and only they withhold it");
        self.lines(loaded.errors.iter().map(ToString::to_string))
    }

    /// Warnings, one per line, with the folder's name made constant.
    fn warnings(&self) -> String {
        self.lines(self.load().warnings.into_iter())
    }

    fn lines(&self, lines: impl Iterator<Item = String>) -> String {
        let lines: Vec<String> = lines.collect();
        lines.join("\n").replace(&self.folder.path().display().to_string(), "<data>")
    }
}
