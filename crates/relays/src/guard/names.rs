//! Looking names up.
//!
//! The system's resolver takes a thread of the runtime's for as long as it likes, also when nobody waits for it any more,
//! and the name servers of strangers' names answer when they like. The runtime has 512 such threads: without a bound a
//! stranger with slow names would have them all, and the operator's own relays could not be connected to.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{GuardError, Trust};

/// Most addresses of one name that are looked at: a name server of a stranger may answer thousands.
const MAX_ADDRESSES: usize = 16;

/// Places for strangers' names: as many as there may be relays of users.
static PLACES: Semaphore = Semaphore::const_new(64);

/// The addresses of `name`, whatever they are.
pub(super) async fn look_up(name: &str, trust: Trust, limit: Duration) -> Result<Vec<IpAddr>, GuardError> {
    let name = name.to_owned();
    // The port is not looked up.
    let ask = move || Ok((name.as_str(), 0).to_socket_addrs()?.map(|found| found.ip()).take(MAX_ADDRESSES).collect());
    look_up_by(ask, &PLACES, trust, limit).await
}

async fn look_up_by(
    ask: impl FnOnce() -> io::Result<Vec<IpAddr>> + Send + 'static,
    places: &'static Semaphore,
    trust: Trust,
    limit: Duration,
) -> Result<Vec<IpAddr>, GuardError> {
    let looking = async {
        let place = match trust {
            // Fails only when it is closed, which nobody does.
            Trust::Stranger => places.acquire().await.ok(),
            Trust::Operator => None,
        };
        let asked = spawn_blocking(move || {
            // Given back when the resolver is done, not when we have given up.
            let _place = place;
            ask()
        });
        asked.await.map_err(io::Error::other)?
    };
    timeout(limit, looking).await.map_err(|_| GuardError::TooSlow)?.map_err(GuardError::Unresolved)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn names_of_strangers_that_hang_take_no_place_of_the_operators() {
        static ONE: Semaphore = Semaphore::const_new(1);
        let (answer, hanging) = mpsc::channel();
        let found = || vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
        let hangs = move || hanging.recv().map_err(io::Error::other);
        let given_up = look_up_by(hangs, &ONE, Trust::Stranger, SHORT).await;
        assert!(matches!(given_up, Err(GuardError::TooSlow)), "{given_up:?}");

        let second = look_up_by(move || Ok(found()), &ONE, Trust::Stranger, SHORT).await;
        assert!(matches!(second, Err(GuardError::TooSlow)), "the first is still being looked up: {second:?}");
        let operators = look_up_by(move || Ok(found()), &ONE, Trust::Operator, LONG).await;
        assert_eq!(operators.unwrap(), found());

        answer.send(found()).unwrap();
        let third = look_up_by(move || Ok(found()), &ONE, Trust::Stranger, LONG).await;
        assert_eq!(third.unwrap(), found());
    }
}
