//! Waits until this instance may be the active one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_api::{ServeOptions, StandbyParts, serve_standby};
use usher_store::{Acquired, Lease, LeaseHolder, PostgresOpenError};

use super::active_lease::{ActiveLease, OnLoss};
use crate::database::{SharedDatabase, refusal};
use crate::failure::{Failure, chain};

/// The interval between two looks at the lease: the delay of a take-over beyond the lease itself.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How long requests that are being forwarded may take to end when this instance stops.
const GRACE: Duration = Duration::from_secs(2);

/// The same when it becomes active: they have been answered by then. Connections that send nothing must not delay it.
const HAND_OVER_GRACE: Duration = Duration::from_millis(100);

/// How much longer than its lease an active instance is believed to be there while the database cannot be asked.
const UNKNOWN_AFTER: Duration = Duration::from_secs(1);

/// What came of waiting.
pub enum BecameActive {
    /// This instance is the active one.
    Active(ActiveLease),
    /// It was asked to stop before.
    Stopped,
}

/// What is served while this instance waits.
pub struct Forwarding<'a> {
    /// Where the API is asked for.
    pub listener: &'a TcpListener,
    /// Where the pages are asked for, if apart, and at which port of the active instance they are.
    pub pages: Option<(&'a TcpListener, u16)>,
    /// What the forwarding needs; its `active` and `database_failure` are replaced.
    pub parts: StandbyParts,
    /// How connections are treated.
    pub options: ServeOptions,
}

/// Serves as a standby until this instance is the active one or `stop` is cancelled.
///
/// # Errors
/// When the database can never be used as it is.
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
        became = wait(database, &show, &database_failure, stop) => became,
        () = &mut serving => Ok(BecameActive::Stopped),
    };
    stop_serving.cancel();
    if matches!(became, Ok(BecameActive::Active(_))) {
        show(None);
        // Connections that are left end by themselves: they serve nothing any more.
        let _ = tokio::time::timeout(HAND_OVER_GRACE, serving).await;
    } else {
        serving.await;
    }
    became
}

/// Asks for the lease until this instance has it.
async fn wait(
    database: &SharedDatabase,
    show: impl Fn(Option<&LeaseHolder>),
    database_failure: &watch::Sender<Option<Arc<str>>>,
    stop: &CancellationToken,
) -> Result<BecameActive, Failure> {
    let mut lease: Option<Arc<Lease>> = None;
    let mut known: Option<LeaseHolder> = None;
    let mut holds_until = Instant::now();
    let mut is_failing = false;
    loop {
        let asked = async {
            let connected = match &lease {
                Some(lease) => Arc::clone(lease),
                None => Arc::new(Lease::connect(&database.options).await?),
            };
            let acquired = connected.acquire(&database.request).await;
            lease = Some(Arc::clone(&connected));
            Ok::<_, PostgresOpenError>((connected, acquired))
        };
        // Without an answer in time it is asked over another connection. A lease that was taken all the same expires.
        let asked = tokio::select! {
            asked = tokio::time::timeout(database.request.lasts, asked) => asked,
            () = stop.cancelled() => return Ok(BecameActive::Stopped),
        };
        let failed = match asked {
            Ok(Ok((lease, Ok(Acquired::Held(held))))) => {
                let active = ActiveLease::keep(lease, held, database.request.lasts, OnLoss::StartOver)?;
                tracing::info!(epoch = held.epoch, "this instance is the active one");
                return Ok(BecameActive::Active(active));
            }
            Ok(Ok((_, Ok(Acquired::Taken(holder))))) => {
                if known.as_ref().is_none_or(|known| known.epoch != holder.epoch) {
                    tracing::info!(
                        active = %holder.owner,
                        address = %holder.address,
                        epoch = holder.epoch,
                        "this instance is a standby: it forwards to the active one"
                    );
                }
                show(Some(&holder));
                holds_until = Instant::now() + holder.remaining + UNKNOWN_AFTER;
                known = Some(holder);
                None
            }
            Ok(Ok((_, Err(error)))) => Some(chain(&error)),
            Ok(Err(error)) => match refusal(&error) {
                Some(refused) => return Err(refused),
                None => Some(chain(&error)),
            },
            Err(_elapsed) => Some("it does not answer in time".to_owned()),
        };
        if failed.is_some() && holds_until < Instant::now() {
            // Whoever was active has given up, and its address may be somebody else's.
            show(None);
        }
        match &failed {
            Some(error) if !is_failing => tracing::warn!(%error, "the database cannot be used; trying again"),
            None if is_failing => tracing::info!("the database can be used again"),
            Some(_) | None => {}
        }
        is_failing = failed.is_some();
        set(database_failure, failed);
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = stop.cancelled() => return Ok(BecameActive::Stopped),
        }
    }
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

/// The same host with this port.
fn on_port(address: &str, port: u16) -> Option<String> {
    address.rsplit_once(':').map(|(host, _)| format!("{host}:{port}"))
}
