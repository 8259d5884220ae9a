//! Opens many streams in a closed loop: each connection sends its next request when the response has arrived.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nostr::Timestamp;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::api;
use crate::fixture::Fixture;
use crate::http::Connection;
use crate::latencies::Latencies;

/// Connections that open streams: enough for commits to be shared by many.
const CONNECTIONS: usize = 64;

/// No opening takes longer.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Which operation is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Handshakes,
    /// Each of another user, as it is in life; none of them answers.
    Authentications,
    /// Payments, each of another user; none of them pays.
    Payments,
}

/// How long payments stay open, in seconds: longer than anything is measured, and less than the day that is allowed.
const OPEN_SECS: u64 = 12 * 60 * 60;

/// Starts operations and keeps what was answered.
pub(crate) struct Starts {
    requests: Vec<Vec<u8>>,
    answers: Mutex<Vec<(String, String)>>,
}

impl Starts {
    pub(crate) fn new(fixture: &Fixture, what: Opened, count: usize) -> Self {
        let token = fixture.instance.token();
        let requests = match what {
            Opened::Handshakes => vec![api::key_handshake(token)],
            Opened::Authentications => {
                (0..count).map(|_| api::authenticate_key(token, &api::some_public_key().to_hex())).collect()
            }
            Opened::Payments => {
                let end = Timestamp::now().as_secs() + OPEN_SECS;
                let payment = |_| api::single_payment(token, &api::some_public_key().to_hex(), end);
                (0..count).map(payment).collect()
            }
        };
        Self { requests, answers: Mutex::new(Vec::with_capacity(count)) }
    }

    fn request(&self, nth: usize) -> &[u8] {
        self.requests.get(nth % self.requests.len().max(1)).map_or(&[], Vec::as_slice)
    }
}

/// When to end: whatever comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) connections: usize,
    pub(crate) calls: usize,
    pub(crate) time: Duration,
}

/// Calls until a bound is reached; says how long each took. A call that fails ends it all with an error.
pub(crate) async fn run_closed_loop(address: SocketAddr, bounds: Bounds, script: Arc<Starts>) -> Result<Latencies> {
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
            let mut begun = Instant::now();
            while begun < end {
                let nth = calls.fetch_add(1, Ordering::Relaxed);
                if nth >= bounds.calls {
                    break;
                }
                let answer = connection.call(script.request(nth)).await?;
                let started = api::started(&answer)?;
                script.answers.lock().push(started);
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

/// Opens `count` streams; answers their ids, with the URLs of handshakes.
pub(crate) async fn open(fixture: &Fixture, what: Opened, count: usize) -> Result<Vec<(String, String)>> {
    let script = Arc::new(Starts::new(fixture, what, count));
    let bounds = Bounds { connections: CONNECTIONS, calls: count, time: TIMEOUT };
    run_closed_loop(fixture.service.address(), bounds, Arc::clone(&script)).await?;
    let opened = std::mem::take(&mut *script.answers.lock());
    ensure!(opened.len() == count, "{} of {count} streams were opened in {TIMEOUT:?}", opened.len());
    Ok(opened)
}
