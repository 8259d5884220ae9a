//! Waits until this instance holds the lease.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::Clock;
use usher_store::{Acquired, LeaseHolder, LeaseRequest};

use crate::active_lease::Held;
use crate::lease_store::LeaseStore;

/// Interval between two attempts to acquire the lease. A take-over is delayed by at most this after the lease expires.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// While the database is unavailable, an active instance is still reported for this long after its lease has expired.
const UNKNOWN_AFTER: Duration = Duration::from_secs(1);

/// Why there is no connection to the database.
#[derive(Debug)]
pub enum ConnectFailure<E> {
    /// Permanent: the database cannot be used as configured.
    Refused(E),
    /// Temporary: worth another attempt.
    Passing(String),
}

/// Polls for the lease until this instance holds it. Meanwhile calls `show` with the active instance, if one is known, and
/// `show_failure` with the reason why the database is unavailable, or `None`.
///
/// # Errors
/// The [`ConnectFailure::Refused`] of `connect`.
pub async fn acquire<E, C>(
    connect: impl Fn() -> C,
    request: &LeaseRequest,
    clock: &dyn Clock,
    show: impl Fn(Option<&LeaseHolder>),
    show_failure: impl Fn(Option<&str>),
) -> Result<(Arc<dyn LeaseStore>, Held), E>
where
    C: Future<Output = Result<Arc<dyn LeaseStore>, ConnectFailure<E>>>,
{
    let mut lease: Option<Arc<dyn LeaseStore>> = None;
    let mut known: Option<LeaseHolder> = None;
    let mut holds_until = clock.monotonic();
    let mut is_failing = false;
    loop {
        let attempt = async {
            let connected = match &lease {
                Some(lease) => Arc::clone(lease),
                None => connect().await?,
            };
            let requested_at = clock.monotonic();
            let acquired = connected.acquire(request).await;
            lease = Some(Arc::clone(&connected));
            Ok::<_, ConnectFailure<E>>((connected, requested_at, acquired))
        };
        // After a time-out the next attempt uses a new connection. If the lease was acquired nevertheless, it expires.
        let failed = match tokio::time::timeout(request.lasts, attempt).await {
            Ok(Ok((lease, requested_at, Ok(Acquired::Held(held))))) => {
                let lasts = request.lasts;
                return Ok((lease, Held { epoch: held.epoch, certain_until: requested_at + lasts, lasts }));
            }
            Ok(Ok((_, _, Ok(Acquired::Taken(holder))))) => {
                if known.as_ref().is_none_or(|known| known.epoch != holder.epoch) {
                    tracing::info!(
                        active = %holder.owner,
                        address = %holder.address,
                        epoch = holder.epoch,
                        "this instance is a standby: it forwards to the active one"
                    );
                }
                show(Some(&holder));
                holds_until = clock.monotonic() + holder.remaining + UNKNOWN_AFTER;
                known = Some(holder);
                None
            }
            Ok(Ok((_, _, Err(error)))) => Some(chain(&error)),
            Ok(Err(ConnectFailure::Refused(refused))) => return Err(refused),
            Ok(Err(ConnectFailure::Passing(why))) => Some(why),
            Err(_elapsed) => Some("it does not answer in time".to_owned()),
        };
        if failed.is_some() && holds_until < clock.monotonic() {
            // The formerly active instance has stopped, and its address may have been reassigned.
            show(None);
        }
        match &failed {
            Some(error) if !is_failing => tracing::warn!(%error, "the database cannot be used; trying again"),
            None if is_failing => tracing::info!("the database can be used again"),
            Some(_) | None => {}
        }
        is_failing = failed.is_some();
        show_failure(failed.as_deref());
        clock.sleep(POLL_INTERVAL).await;
    }
}

/// An error followed by its sources.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
