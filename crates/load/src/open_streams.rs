//! Opens many streams in a closed loop: each connection sends its next request when the response has arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nostr::Timestamp;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::api;
use crate::fixture::Fixture;
use crate::http::Connection;

/// Connections that open streams: enough for commits to be shared by many.
const CONNECTIONS: usize = 64;

/// No opening takes longer.
const TIMEOUT: Duration = Duration::from_secs(300);

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

/// The requests that open `count` of these. All handshakes are one request.
fn requests(token: &str, what: Opened, count: usize) -> Vec<Vec<u8>> {
    let key = || api::some_public_key().to_hex();
    let end = Timestamp::now().as_secs() + OPEN_SECS;
    match what {
        Opened::Handshakes => vec![api::key_handshake(token); count.min(1)],
        Opened::Authentications => (0..count).map(|_| api::authenticate_key(token, &key())).collect(),
        Opened::Payments => (0..count).map(|_| api::single_payment(token, &key(), end)).collect(),
    }
}

/// Opens `count` streams; answers their ids, with the URLs of handshakes. A call that fails ends it all with an error.
pub(crate) async fn open(fixture: &Fixture, what: Opened, count: usize) -> Result<Vec<(String, String)>> {
    let requests = Arc::new(requests(fixture.instance.token(), what, count));
    let calls = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open(fixture.service.address()).await?;
        let (calls, requests) = (Arc::clone(&calls), Arc::clone(&requests));
        callers.spawn(async move {
            let mut answers = Vec::new();
            loop {
                let nth = calls.fetch_add(1, Ordering::Relaxed);
                match requests.get(nth % requests.len().max(1)) {
                    Some(request) if nth < count => answers.push(api::started(&connection.call(request).await?)?),
                    _ => return anyhow::Ok(answers),
                }
            }
        });
    }
    let all = async {
        let mut opened = Vec::with_capacity(count);
        while let Some(answers) = callers.join_next().await {
            opened.extend(answers??);
        }
        anyhow::Ok(opened)
    };
    timeout(TIMEOUT, all).await.with_context(|| format!("not all streams were opened in {TIMEOUT:?}"))?
}
