//! SIGHUP: reloads parts of a running service's configuration.

use std::path::PathBuf;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::environment::{READ_WITHIN, source, too_slow};
use crate::config::reader::InForce;
use crate::config::{Config, Loaded, load};
use crate::failure::Failure;
use crate::logging::{LogControl, Precedence};
use crate::service_lifecycle::Service;

/// The settings that are reloaded without a restart.
const RELOADED: [&str; 5] =
    ["auth.auth_token", "auth.previous_token", "webhook.secret", "webhook.previous_secret", "log.level"];

/// Reloads the configuration of a running service.
///
/// Files are read on a separate thread, one request at a time, so that an unresponsive file system blocks neither the
/// service nor its signals.
pub(super) struct Reloader {
    data_dir: Option<PathBuf>,
    log: LogControl,
    /// The configuration in force.
    loaded: Loaded,
    reading: Option<Reading>,
    /// Whether another reload was requested during the current one.
    again: bool,
}

/// A configuration being read.
struct Reading {
    task: JoinHandle<Result<Loaded, Failure>>,
    deadline: Instant,
    /// Whether it was given up while its thread is still running.
    late: bool,
}

impl Reloader {
    /// For a service started with `loaded` from this data directory.
    pub(super) fn new(data_dir: Option<PathBuf>, log: LogControl, loaded: Loaded) -> Self {
        Self { data_dir, log, loaded, reading: None, again: false }
    }

    /// Starts to read the configuration and the files of secrets; [`loaded`](Self::loaded) returns the result.
    pub(super) fn request(&mut self) {
        if self.reading.is_some() {
            tracing::warn!("the configuration is still being read; it is read again after that");
            self.again = true;
            return;
        }
        let data_dir = self.data_dir.clone();
        let task = tokio::task::spawn_blocking(|| source(data_dir).map(|source| load(&source)));
        self.reading = Some(Reading { task, deadline: Instant::now() + READ_WITHIN, late: false });
    }

    /// The requested configuration, once read. Cancel-safe.
    pub(super) async fn loaded(&mut self) -> Result<Loaded, Failure> {
        loop {
            let Some(reading) = &mut self.reading else { std::future::pending().await };
            let ended = tokio::select! {
                ended = &mut reading.task => ended,
                () = tokio::time::sleep_until(reading.deadline), if !reading.late => {
                    reading.late = true;
                    return Err(Failure::said(too_slow()));
                }
            };
            let late = reading.late;
            self.reading = None;
            if std::mem::take(&mut self.again) {
                self.request();
            } else if late {
                tracing::info!("the configuration can be read again; send SIGHUP once more to reload it");
            }
            if !late {
                return ended.unwrap_or_else(|error| Err(error.into()));
            }
        }
    }

    /// Applies tokens, webhook secrets and log levels of a configuration. With any error in it, nothing changes and the
    /// errors are logged.
    pub(super) fn apply(&mut self, loaded: Result<Loaded, Failure>, service: &Service) {
        let loaded = match loaded {
            Ok(loaded) => loaded,
            Err(failure) => return tracing::error!(reason = %failure, "the configuration is not reloaded"),
        };
        let Some(config) = &loaded.config else {
            for error in &loaded.errors {
                tracing::error!(%error, "the configuration is not reloaded; nothing has changed");
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
        // Settings that need a restart are still not in force.
        self.loaded = loaded.keeping(&self.loaded, &waiting);
        service.show_settings(self.loaded.in_force.iter().map(InForce::setting).collect());
        let changed = if taken.is_empty() { "nothing".to_owned() } else { taken.join(", ") };
        tracing::info!(changed, "the configuration is reloaded");
        if !waiting.is_empty() {
            tracing::warn!(
                settings = waiting.join(", "),
                "these settings have changed and take effect at the next start"
            );
        }
    }

    fn take(&self, config: &Config, service: &Service) -> Result<(), Failure> {
        // The listening address stays, whatever the configuration says.
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
