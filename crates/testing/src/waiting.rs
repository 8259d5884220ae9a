//! Waiting for what nothing notifies of.

use std::time::Duration;

/// Longer than anything takes that a test waits for, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// What a look gives: a value or nothing yet, or whether something is so.
pub trait Look {
    type Found;

    fn found(self) -> Option<Self::Found>;
}

impl<T> Look for Option<T> {
    type Found = T;

    fn found(self) -> Self {
        self
    }
}

impl Look for bool {
    type Found = ();

    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

/// Looks again and again, in real time, until it is there.
pub async fn until<L: Look>(what: &str, mut look: impl AsyncFnMut() -> L) -> L::Found {
    let looking = async {
        loop {
            if let Some(found) = look().await.found() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, looking).await.unwrap_or_else(|_| panic!("never: {what}"))
}
