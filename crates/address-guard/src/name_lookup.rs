//! Resolves a bounded number of names at a time: the system's resolver blocks one of the runtime's 512 threads per look-up.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::GuardError;

/// Most addresses used per name: a name server may return thousands.
const MAX_ADDRESSES: usize = 16;

/// Concurrent look-ups of the relays that users name; the same limit as for their connections.
pub(super) static OF_USERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(64)));

/// The addresses of `name`, public or not. `permits` limits concurrent look-ups.
pub(super) async fn look_up(
    name: &str,
    permits: Option<Arc<Semaphore>>,
    limit: Duration,
) -> Result<Vec<IpAddr>, GuardError> {
    let name = name.to_owned();
    let resolve =
        move || Ok((name.as_str(), 0).to_socket_addrs()?.map(|found| found.ip()).take(MAX_ADDRESSES).collect());
    look_up_by(resolve, permits, limit).await
}

async fn look_up_by(
    resolve: impl FnOnce() -> io::Result<Vec<IpAddr>> + Send + 'static,
    permits: Option<Arc<Semaphore>>,
    limit: Duration,
) -> Result<Vec<IpAddr>, GuardError> {
    let look_up = async {
        let permit = match permits {
            // The semaphore is never closed.
            Some(permits) => permits.acquire_owned().await.ok(),
            None => None,
        };
        let resolved = spawn_blocking(move || {
            // Released when the resolver returns, not at the time-out.
            let _permit = permit;
            resolve()
        });
        resolved.await.map_err(io::Error::other)?
    };
    timeout(limit, look_up).await.map_err(|_| GuardError::TooSlow)?.map_err(GuardError::Unresolved)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn slow_user_lookups_do_not_delay_operator_lookups() {
        let one = Arc::new(Semaphore::new(1));
        let of_users = || Some(Arc::clone(&one));
        let (answer, hanging) = mpsc::channel();
        let found = || vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let hangs = move || hanging.recv().map_err(io::Error::other);
        let given_up = look_up_by(hangs, of_users(), SHORT).await;
        assert!(matches!(given_up, Err(GuardError::TooSlow)), "{given_up:?}");

        let second = look_up_by(move || Ok(found()), of_users(), SHORT).await;
        assert!(matches!(second, Err(GuardError::TooSlow)), "the first is still being looked up: {second:?}");
        let operators = look_up_by(move || Ok(found()), None, LONG).await;
        assert_eq!(operators.unwrap(), found());

        answer.send(found()).unwrap();
        let third = look_up_by(move || Ok(found()), of_users(), LONG).await;
        assert_eq!(third.unwrap(), found());
    }
}
