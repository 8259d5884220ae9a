//! SIGHUP: what a running service takes of its configuration anew.

use std::path::PathBuf;

use super::environment::source;
use crate::config::{Config, Loaded, load};
use crate::failure::Failure;
use crate::logging::{LogControl, Precedence};
use crate::service::Service;

/// What is taken without a restart.
const RELOADED: [&str; 5] =
    ["auth.auth_token", "auth.previous_token", "webhook.secret", "webhook.previous_secret", "log.level"];

/// Re-reads the configuration of a running service.
pub(super) struct Reloader {
    data_dir: Option<PathBuf>,
    log: LogControl,
    /// What is in force: what was loaded last, and used.
    loaded: Loaded,
}

impl Reloader {
    /// For a service that runs on what was `loaded` from this data directory.
    pub(super) fn new(data_dir: Option<PathBuf>, log: LogControl, loaded: Loaded) -> Self {
        Self { data_dir, log, loaded }
    }

    /// Reads the configuration and the files of secrets anew and takes tokens, webhook secrets and what is logged. With
    /// any mistake in it everything stays as it is, and the log says why.
    pub(super) fn reload(&mut self, service: &Service) {
        let loaded = match source(self.data_dir.clone()) {
            Ok(source) => load(&source),
            Err(failure) => return tracing::error!(reason = %failure, "the configuration is not reloaded"),
        };
        let Some(config) = &loaded.config else {
            for mistake in &loaded.mistakes {
                tracing::error!(%mistake, "the configuration is not reloaded; nothing has changed");
            }
            return;
        };
        if let Err(failure) = self.take(config, service) {
            return tracing::error!(reason = %failure, "the configuration is not reloaded; nothing has changed");
        }
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let (taken, waiting): (Vec<_>, Vec<_>) =
            loaded.changed_since(&self.loaded).into_iter().partition(|name| RELOADED.contains(name));
        let changed = if taken.is_empty() { "nothing".to_owned() } else { taken.join(", ") };
        tracing::info!(changed, "the configuration is reloaded");
        if !waiting.is_empty() {
            tracing::warn!(
                settings = waiting.join(", "),
                "these settings have changed and take effect at the next start"
            );
        }
        // What waits for the next start is still not in force.
        self.loaded = loaded.keeping(&self.loaded, &waiting);
    }

    fn take(&self, config: &Config, service: &Service) -> Result<(), Failure> {
        // The address that is listened on stays, whatever the configuration says of it now.
        let exposed = !service.address().ip().to_canonical().is_loopback();
        let tokens = [
            ("auth.auth_token", Some(&config.auth.auth_token)),
            ("auth.previous_token", config.auth.previous_token.as_ref()),
        ];
        for (name, token) in tokens {
            if let (true, Some(weakness)) = (exposed, token.and_then(|token| token.weakness())) {
                let address = service.address();
                return Err(Failure::said(format!("{name} {weakness}, and other machines can reach {address}")));
            }
        }
        service.reload(config)?;
        let level = config.log.level.as_ref().map(|level| level.as_str());
        if self.log.change(level)? == Precedence::RustLog && level.is_some() {
            tracing::warn!("RUST_LOG is set and overrides log.level: it cannot change without a restart");
        }
        Ok(())
    }
}
