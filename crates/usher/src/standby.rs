//! Serves as a standby until this instance becomes the active one of those that share its PostgreSQL database.
//! Acquiring and losing the lease is in `crates/instance`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_api::{ServeOptions, StandbyParts, serve_standby};
use usher_engine::ports::SystemClock;
use usher_instance::{ActiveLease, ConnectFailure, LeaseStore, OnLoss, acquire};
use usher_store::{Lease, LeaseHolder};

use crate::database::{SharedDatabase, refusal};
use crate::failure::{Failure, chain};
use crate::output::tell;
use crate::process::ThisProcess;

/// How long forwarded requests may take to finish when this instance stops.
const GRACE: Duration = Duration::from_secs(2);

/// The same when it becomes active: they have been answered by then, and idle connections must not delay it.
const HAND_OVER_GRACE: Duration = Duration::from_millis(100);

/// The end of the wait.
pub enum BecameActive {
    /// This instance is the active one.
    Active(ActiveLease),
    /// It was stopped before.
    Stopped,
}

/// What is served while this instance waits.
pub struct Forwarding<'a> {
    /// The listener of the API.
    pub listener: &'a TcpListener,
    /// The pages' own listener, and the active instance's port for them.
    pub pages: Option<(&'a TcpListener, u16)>,
    /// Dependencies of the forwarding; its `active` and `database_failure` are replaced.
    pub parts: StandbyParts,
    /// Options of connections.
    pub options: ServeOptions,
}

/// Serves as a standby until this instance is the active one or `stop` is cancelled.
///
/// # Errors
/// If the database cannot be used without a change by the operator.
pub async fn stand_by(
    database: &SharedDatabase,
    forwarding: Forwarding<'_>,
    stop: &CancellationToken,
) -> Result<BecameActive, Failure> {
    let (active, receiver) = watch::channel(None);
    let (pages_active, pages_receiver) = watch::channel(None);
    let (database_failure, failure_receiver) = watch::channel(None);
    let (tasks, stop_serving) = (TaskTracker::new(), CancellationToken::new());
    let Forwarding { listener, pages, parts, options } = forwarding;
    let options = ServeOptions { grace: GRACE, ..options };
    let serve = |listener, active| {
        let parts = StandbyParts { active, database_failure: failure_receiver.clone(), ..parts.clone() };
        serve_standby(listener, parts, options.clone(), tasks.clone(), stop_serving.clone())
    };
    let serving = async {
        match pages {
            Some((pages, _)) => drop(tokio::join!(serve(listener, receiver), serve(pages, pages_receiver))),
            None => serve(listener, receiver).await,
        }
    };
    let port_of_pages = pages.map(|(_, port)| port);
    let show = |holder: Option<&LeaseHolder>| {
        set(&active, holder.map(|holder| holder.address.clone()));
        set(&pages_active, holder.and_then(|holder| on_port(&holder.address, port_of_pages?)));
    };
    let mut serving = std::pin::pin!(serving);
    let became = tokio::select! {
        became = wait(database, &show, |failure| set(&database_failure, failure.map(str::to_owned)), stop) => became,
        () = &mut serving => Ok(BecameActive::Stopped),
    };
    stop_serving.cancel();
    if matches!(became, Ok(BecameActive::Active(_))) {
        show(None);
        // Remaining connections end by themselves; they are not served any more.
        let _ = tokio::time::timeout(HAND_OVER_GRACE, serving).await;
    } else {
        serving.await;
    }
    became
}

async fn wait(
    database: &SharedDatabase,
    show: impl Fn(Option<&LeaseHolder>),
    show_failure: impl Fn(Option<&str>),
    stop: &CancellationToken,
) -> Result<BecameActive, Failure> {
    // Reported once, also if the log does not go to the terminal: the configuration may be wrong.
    let told = Cell::new(false);
    let show_failure = |failure: Option<&str>| {
        if let Some(why) = failure
            && !told.replace(true)
        {
            tell(&format!("usher: {why}; trying again"));
        }
        told.set(true);
        show_failure(failure);
    };
    let connect = || async {
        match Lease::connect(&database.options).await {
            Ok(lease) => Ok(Arc::new(lease) as Arc<dyn LeaseStore>),
            Err(error) => Err(match refusal(&error) {
                Some(refused) => ConnectFailure::Refused(refused),
                None => ConnectFailure::Passing(chain(&error)),
            }),
        }
    };
    let (lease, held) = tokio::select! {
        acquired = acquire(connect, &database.request, &SystemClock, show, show_failure) => acquired?,
        () = stop.cancelled() => return Ok(BecameActive::Stopped),
    };
    let active = ActiveLease::keep(lease, held, OnLoss::StartOver, Arc::new(SystemClock), Arc::new(ThisProcess))?;
    tracing::info!(epoch = held.epoch, "this instance is the active one");
    Ok(BecameActive::Active(active))
}

fn set(sender: &watch::Sender<Option<Arc<str>>>, value: Option<String>) {
    sender.send_if_modified(|known| {
        let is_new = known.as_deref() != value.as_deref();
        if is_new {
            *known = value.map(Into::into);
        }
        is_new
    });
}

fn on_port(address: &str, port: u16) -> Option<String> {
    address.rsplit_once(':').map(|(host, _)| format!("{host}:{port}"))
}
