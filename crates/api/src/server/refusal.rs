//! What a connection is told for which there is no place.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::guarded::Guarded;

/// Most refusals that are being said at a time; a connection beyond these is closed without a word.
const AT_A_TIME: usize = 64;

/// How long a client may take to accept the refusal.
const PATIENCE: Duration = Duration::from_secs(1);

/// The whole answer. It has no request id: there is no request yet, and nothing was done that one could look up.
const REFUSAL: &str = "HTTP/1.1 503 Service Unavailable\r\n\
    content-type: application/problem+json\r\n\
    content-length: 190\r\n\
    cache-control: no-store\r\n\
    retry-after: 5\r\n\
    connection: close\r\n\
    \r\n\
    {\"type\":\"urn:usher:error:overloaded\",\"title\":\"The service is full\",\"status\":503,\
    \"detail\":\"as many connections are open as limits.max_connections allows\",\
    \"code\":\"overloaded\",\"request_id\":\"\"}";

/// Refuses connections.
pub(super) struct Refusals {
    places: Arc<Semaphore>,
    tasks: TaskTracker,
}

impl Refusals {
    pub(super) fn new(tasks: TaskTracker) -> Self {
        Self { places: Arc::new(Semaphore::new(AT_A_TIME)), tasks }
    }

    /// Says that there is no place, and closes the connection.
    pub(super) fn refuse(&self, stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        self.tasks.spawn(async move {
            let mut stream = Guarded::new(stream, PATIENCE);
            if stream.write_all(REFUSAL.as_bytes()).await.is_ok() {
                let _ = stream.shutdown().await;
            }
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::REFUSAL;
    use crate::ErrorCode;

    #[test]
    fn the_refusal_is_a_well_formed_problem() {
        let (head, body) = REFUSAL.split_once("\r\n\r\n").unwrap();
        let length: usize =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        assert_eq!(body.len(), length);
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let code = ErrorCode::Overloaded;
        assert_eq!(body["code"], code.as_str());
        assert_eq!(body["title"], code.title());
        assert_eq!(body["type"], code.type_uri());
        assert_eq!(body["status"], code.status().as_u16());
    }
}
