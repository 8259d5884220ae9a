//! The response to a connection beyond `limits.max_connections`.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::problem::{PROBLEM_JSON, Problem, RETRY_SECONDS};

/// The most concurrent refusals; a connection beyond these is closed without a response.
const AT_A_TIME: usize = 64;

/// The bytes of a request read after the refusal: closing a socket with unread bytes may lose the response.
const DISCARDED: u64 = 64 * 1024;

/// The time limit for a client to accept the refusal.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct Refusals {
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    answer: Arc<str>,
}

impl Refusals {
    pub(super) fn new(tasks: TaskTracker) -> Self {
        Self { places: Arc::new(Semaphore::new(AT_A_TIME)), tasks, answer: answer().into() }
    }

    /// Responds that the limit is reached, and closes the connection.
    pub(super) fn refuse(&self, mut stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return };
        let answer = Arc::clone(&self.answer);
        self.tasks.spawn(async move {
            let refused = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await?;
                tokio::io::copy(&mut stream.take(DISCARDED), &mut tokio::io::sink()).await
            };
            let _ = tokio::time::timeout(TIMEOUT, refused).await;
            drop(place);
        });
    }
}

/// The whole response. Its request id is empty: no request was read, and none is logged.
fn answer() -> String {
    let body = Problem::overloaded("limits.max_connections is reached").to_json("");
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: {PROBLEM_JSON}\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nretry-after: {RETRY_SECONDS}\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    )
}
