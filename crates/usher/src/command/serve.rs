//! `usher serve`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use usher_api::{Limits, StandbyParts};
use usher_engine::ports::OsRandomness;
use usher_instance::{ActiveLease, LeaseGate};
use usher_pages::not_available;
use usher_store::PostgresStore;

use super::environment::{Loading, source};
use super::reload::Reloader;
use crate::config::setting::LogFilter;
use crate::config::{Config, Source, report};
use crate::database::{SharedDatabase, open_sqlite, refusal};
use crate::failure::{Failure, chain};
use crate::identity::identity;
use crate::logging::{self, Output};
use crate::service_lifecycle::{Listeners, Mode, Service, make_data_dir};
use crate::service_options::{forwarding_key, pages_url, serve_options, standby_site, tokens};
use crate::signals::{Hangups, Signals};
use crate::standby::{BecameActive, Forwarding, stand_by};
use crate::{notify, process, unusable_data, version};

/// Time limit of a stop. Container runtimes kill after ten seconds by default; acknowledged work is on disk in any
/// case.
const STOP_WITHIN: Duration = Duration::from_secs(9);

/// Time limit for stopping a standby.
const STANDBY_STOPS_WITHIN: Duration = Duration::from_secs(3);

/// The pause before an instance that could not use the database as the active one becomes a standby again.
const START_OVER_PAUSE: Duration = Duration::from_secs(1);

/// Runs the service until a signal.
///
/// # Errors
/// [`Failure::Configuration`] if the configuration has errors, [`Failure::Refused`] if the stored data cannot be used,
/// otherwise if the service cannot start, or stop in time.
pub fn run(data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let source = source(data_dir.clone())?;
    // The configuration may not be restored yet.
    unusable_data::refuse_unfinished_restore(&source.data_dir)?;
    unusable_data::refuse_moved_clock(&source.data_dir)?;
    let loading = Loading::begin(source)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut loaded, source) = loading.wait()?;
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
    process::log_start_over();
    make_data_dir(&source.data_dir)?;
    let outcome = runtime.block_on(serve(config, &source, Reloader::new(data_dir, log, loaded)));
    // Does not wait for work cut off by a second signal or the time limit.
    runtime.shutdown_background();
    outcome
}

async fn serve(config: &Config, source: &Source, mut reloader: Reloader) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    // Before the start, which takes a while: a signal that arrives meanwhile is handled after it.
    let mut hangups = Hangups::listen()?;
    let stop_waiting = CancellationToken::new();
    // Outside the start, which may be cancelled.
    let lease = Mutex::new(None);
    let mut starting = std::pin::pin!(start(config, source, &stop_waiting, &lease));
    let started = tokio::select! {
        started = &mut starting => started.map_err(with_doctor)?,
        signal = signals.next() => {
            tracing::info!(signal, "asked to stop while starting");
            // A standby finishes forwarded requests; the rest is dropped.
            stop_waiting.cancel();
            exit_on_loss(&lease);
            let started = tokio::time::timeout(STANDBY_STOPS_WITHIN, &mut starting).await;
            if let Ok(Ok(Some(service))) = started {
                let _ = stop(service, &mut signals).await;
            }
            hand_over(&lease).await;
            return Ok(());
        }
    };
    let Some(service) = started else { return Ok(()) };
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
                // Whatever the result, the next start continues from here.
                exit_on_loss(&lease);
                let _ = stop(service, &mut signals).await;
                hand_over(&lease).await;
                return Err(Failure::said("a part of the service failed; see the log and restart".to_owned()));
            }
        }
    };
    tracing::info!(signal, "stopping");
    notify::stopping();
    exit_on_loss(&lease);
    let stopped = stop(service, &mut signals).await;
    hand_over(&lease).await;
    stopped
}

type LeaseSlot = Mutex<Option<ActiveLease>>;

/// Starts the service; with a shared database only once this instance is active. `None` if it was stopped before.
async fn start(
    config: &Config,
    source: &Source,
    stop_waiting: &CancellationToken,
    slot: &LeaseSlot,
) -> Result<Option<Service>, Failure> {
    let listeners = Listeners::bind(config).await?;
    let data_dir = &source.data_dir;
    let Some(database) = SharedDatabase::configured(config, listeners.api.local_addr()?)? else {
        let store = open_sqlite(config, data_dir)?;
        let service = Service::start(config, data_dir, Mode::Live, store, listeners, LeaseGate::default()).await?;
        return Ok(Some(service));
    };
    process::keep(&listeners.api);
    listeners.pages.iter().for_each(process::keep);
    let identity = identity(config);
    let port_of_pages = listeners.pages.as_ref().map(TcpListener::local_addr).transpose()?;
    let site = standby_site(config, pages_url(config, port_of_pages.unwrap_or(listeners.api.local_addr()?)));
    let forwarding = Forwarding {
        listener: &listeners.api,
        pages: listeners.pages.as_ref().zip(port_of_pages.map(|address| address.port())),
        parts: StandbyParts {
            tokens: tokens(config),
            key: forwarding_key(&identity),
            body_bytes: Limits::default().body_bytes,
            active: watch::channel(None).1,
            database_failure: watch::channel(None).1,
            page: Arc::new(move |request| not_available(&site, request)),
            randomness: Arc::new(OsRandomness),
        },
        options: serve_options(config, &identity),
    };
    // A standby is ready: a supervisor need not wait for it to become active.
    notify::ready();
    let lease = match stand_by(&database, forwarding, stop_waiting).await? {
        BecameActive::Active(lease) => lease,
        BecameActive::Stopped => return Ok(None),
    };
    let (epoch, gate) = (lease.epoch(), lease.gate());
    *slot.lock() = Some(lease);
    let store = match PostgresStore::open(&database.options, epoch).await {
        Ok(store) => Arc::new(store),
        Err(error) => {
            hand_over(slot).await;
            let Some(refused) = refusal(&error) else {
                tracing::error!(error = %chain(&error), "the database cannot be used");
                tokio::time::sleep(START_OVER_PAUSE).await;
                process::start_over("the database could not be used");
            };
            return Err(refused);
        }
    };
    let started = Service::start(config, data_dir, Mode::Live, store, listeners, gate).await;
    if started.is_err() {
        hand_over(slot).await;
    }
    started.map(Some)
}

/// From now on, losing the lease ends the process.
fn exit_on_loss(slot: &LeaseSlot) {
    process::keep_none();
    slot.lock().iter().for_each(ActiveLease::exit_on_loss);
}

async fn hand_over(slot: &LeaseSlot) {
    let lease = slot.lock().take();
    if let Some(lease) = lease {
        lease.hand_over().await;
    }
}

/// Stops a service within a time limit; a second signal aborts it.
///
/// # Errors
/// If it was aborted.
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

/// Adds a hint at `usher doctor` to a failed start.
fn with_doctor(failure: Failure) -> Failure {
    let said = format!("{failure}\nusher: run `usher doctor` to check everything the service depends on");
    match failure {
        Failure::Other(_) => Failure::said(said),
        Failure::Refused(_) => Failure::refused(said),
        failure => failure,
    }
}
