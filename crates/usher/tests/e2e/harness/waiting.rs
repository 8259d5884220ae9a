//! Waiting for conditions without a notification.

use std::time::Duration;

use super::LONG;

/// Looks again and again until there is a value.
pub(crate) async fn until<T>(what: &str, mut value: impl AsyncFnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            if let Some(value) = value().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("no {what} within {LONG:?}"))
}
