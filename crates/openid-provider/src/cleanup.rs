//! Periodic work: removes expired records and rotates old signing keys.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::provider::SharedProvider;
use crate::storage_bounds::login_of;

const EVERY: Duration = Duration::from_secs(600);
/// How long records stay after they expire: a code reused within this time still revokes its tokens.
const KEPT: Duration = Duration::from_secs(3600);
const BATCH: usize = 1000;

pub(crate) async fn run(provider: SharedProvider, stop: CancellationToken) {
    let clock = Arc::clone(&provider.clock);
    loop {
        if let Err(error) = provider.keys.rotate_old().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "the signing keys of the OpenID Connect provider could not be rotated; retrying in 10 min"
            );
        }
        match provider.store.remove_openid_records(clock.now().minus(KEPT), BATCH).await {
            Ok(removed) => {
                let logins: Vec<_> = removed.iter().filter_map(|data| login_of(data)).collect();
                provider.forget_logins(logins).await;
                if removed.len() == BATCH {
                    // There may be more expired records.
                    continue;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "expired records of the OpenID Connect provider could not be removed; retrying in 10 min");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = clock.sleep(EVERY) => {}
        }
    }
}
