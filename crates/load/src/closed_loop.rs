//! A closed-loop load generator: each connection sends its next request when the response has arrived.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::http::{Answer, Connection};
use crate::latencies::Latencies;

/// What to call.
pub(crate) trait Script: Send + Sync + 'static {
    /// Writes the `nth` request into `out`, which is empty.
    fn request(&self, nth: usize, out: &mut Vec<u8>);

    /// Takes an answer.
    fn answer(&self, answer: &Answer<'_>) -> Result<()>;
}

/// When to end: whatever comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    pub(crate) calls: usize,
    pub(crate) time: Duration,
}

/// Calls until a bound is reached; says how long each took. A call that fails ends it all with an error.
pub(crate) async fn run_closed_loop(
    address: SocketAddr,
    bounds: Bounds,
    script: Arc<impl Script>,
) -> Result<Latencies> {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut connections = Vec::new();
    for _ in 0..bounds.connections {
        connections.push(Connection::open(address).await?);
    }
    let end = Instant::now() + bounds.time;
    let mut callers = JoinSet::new();
    for mut connection in connections {
        let (calls, script) = (Arc::clone(&calls), Arc::clone(&script));
        callers.spawn(async move {
            let mut latencies = Latencies::default();
            let mut request = Vec::new();
            let mut begun = Instant::now();
            while begun < end {
                let nth = calls.fetch_add(1, Ordering::Relaxed);
                if nth >= bounds.calls {
                    break;
                }
                request.clear();
                script.request(nth, &mut request);
                script.answer(&connection.call(&request).await?)?;
                let answered = Instant::now();
                latencies.add(answered - begun);
                begun = answered;
            }
            anyhow::Ok(latencies)
        });
    }
    let mut all = Latencies::default();
    while let Some(latencies) = callers.join_next().await {
        all.append(latencies??);
    }
    Ok(all)
}
