//! Waits until this instance may be the active one.

use std::sync::Arc;
use std::time::Duration;

use usher_engine::ports::Clock;
use usher_store::{Acquired, LeaseHolder, LeaseRequest};

use crate::active_lease::Held;
use crate::lease_store::LeaseStore;

/// The interval between two looks at the lease: the delay of a take-over beyond the lease itself.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How much longer than its lease an active instance is believed to be there while the database cannot be asked.
const UNKNOWN_AFTER: Duration = Duration::from_secs(1);

/// Why there is no connection to the database.
#[derive(Debug)]
pub enum ConnectFailure<E> {
    /// It can never be used as it is.
    Refused(E),
    /// It may pass by itself.
    Passing(String),
}

/// Asks for the lease until this instance has it. Tells `show` who is the active instance meanwhile, if anybody is known to be, and
/// `show_failure` why the database cannot be asked.
///
/// # Errors
/// What `connect` is refused.
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
        let asked = async {
            let connected = match &lease {
                Some(lease) => Arc::clone(lease),
                None => connect().await?,
            };
            let asked_at = clock.monotonic();
            let acquired = connected.acquire(request).await;
            lease = Some(Arc::clone(&connected));
            Ok::<_, ConnectFailure<E>>((connected, asked_at, acquired))
        };
        // Without an answer in time it is asked over another connection. A lease that was taken all the same expires.
        let failed = match tokio::time::timeout(request.lasts, asked).await {
            Ok(Ok((lease, asked_at, Ok(Acquired::Held(held))))) => {
                let lasts = request.lasts;
                return Ok((lease, Held { epoch: held.epoch, certain_until: asked_at + lasts, lasts }));
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
            // Whoever was active has given up, and its address may be somebody else's.
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

/// An error and all that caused it.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
