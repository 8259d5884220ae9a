//! `usher serve`

use std::path::PathBuf;
use std::time::Duration;

use usher_api::DocsAccess;

use super::environment::{load_in_time, source};
use super::reload::Reloader;
use crate::config::setting::LogFilter;
use crate::config::{Config, Source, report};
use crate::failure::Failure;
use crate::logging::{self, Output};
use crate::service::{Service, listen, make_data_dir, open_store};
use crate::signals::{Hangups, Signals};
use crate::{notify, process, version};

/// How long a stop may take in all. Container runtimes kill after ten seconds by default; what was acknowledged is on
/// disk whether or not we get to the end of it.
const STOP_WITHIN: Duration = Duration::from_secs(9);

/// Runs the service until a signal.
///
/// # Errors
/// [`Failure::Configuration`] when the configuration has errors, [`Failure::Refused`] when the stored data cannot be used,
/// otherwise when the service cannot start, or cannot stop in time.
pub fn run(data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (mut loaded, source) = load_in_time(source(data_dir.clone())?)?;
    let Some(config) = loaded.config.take() else {
        let mut lines = report::problems(&loaded);
        lines.extend(report::first_step(&source, &loaded));
        lines.push("run `usher config check` or `usher doctor` to check without starting".to_owned());
        return Err(Failure::Configuration(lines));
    };
    let config = &config;
    let log =
        logging::start(config.log.format, Output::Stdout, "info", config.log.level.as_ref().map(LogFilter::as_str))?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    process::warn_of_root();
    process::raise_file_limit(config.limits.max_connections.get());
    process::log_panics();
    make_data_dir(&source.data_dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve(config, &source, Reloader::new(data_dir, log, loaded)));
    // Does not wait for what a second signal or the bound left behind.
    runtime.shutdown_background();
    outcome
}

async fn serve(config: &Config, source: &Source, mut reloader: Reloader) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    // Before the start, which takes a while: one that comes meanwhile is served after it.
    let mut hangups = Hangups::listen()?;
    let starting = async {
        let listener = listen(config).await?;
        let store = open_store(config, &source.data_dir)?;
        Service::start(config, &source.data_dir, DocsAccess::WithToken, store, listener).await
    };
    let service = tokio::select! {
        started = starting => started.map_err(with_doctor)?,
        signal = signals.next() => {
            tracing::info!(signal, "asked to stop while starting");
            return Ok(());
        }
    };
    tracing::info!(
        version = version::VERSION,
        commit = version::COMMIT,
        address = %service.address(),
        data_dir = %source.data_dir.display(),
        "ready"
    );
    notify::ready();
    let signal = loop {
        tokio::select! {
            signal = signals.next() => break signal,
            () = hangups.next() => reloader.request(),
            loaded = reloader.loaded() => reloader.apply(loaded, &service),
            () = service.failed() => {
                notify::stopping();
                // Whatever comes of it: the next start goes on where this one ends.
                let _ = stop(service, &mut signals).await;
                return Err(Failure::said("a part of the service failed; see the log and restart".to_owned()));
            }
        }
    };
    tracing::info!(signal, "stopping");
    notify::stopping();
    stop(service, &mut signals).await
}

/// Stops a service within a bound; a second signal cuts it short.
///
/// # Errors
/// When it had to be cut short.
pub async fn stop(service: Service, signals: &mut Signals) -> Result<(), Failure> {
    tokio::select! {
        stopped = tokio::time::timeout(STOP_WITHIN, service.stop()) => match stopped {
            Ok(()) => {
                tracing::info!("stopped");
                Ok(())
            }
            Err(_) => Err(Failure::said(format!("not stopped within {} s; aborted", STOP_WITHIN.as_secs()))),
        },
        signal = signals.next() => Err(Failure::said(format!("{signal} while stopping; aborted"))),
    }
}

/// A start that failed, and who can say more.
fn with_doctor(failure: Failure) -> Failure {
    let said = format!("{failure}\nusher: run `usher doctor` to check everything the service depends on");
    match failure {
        Failure::Other(_) => Failure::said(said),
        Failure::Refused(_) => Failure::refused(said),
        failure => failure,
    }
}
