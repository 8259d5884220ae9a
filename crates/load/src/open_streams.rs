//! Opens many streams.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use nostr::Timestamp;
use parking_lot::Mutex;

use crate::api;
use crate::closed_loop::{Bounds, Script, run_closed_loop};
use crate::fixture::Fixture;
use crate::http::Answer;

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
}

impl Script for Starts {
    fn request(&self, nth: usize, out: &mut Vec<u8>) {
        if let Some(request) = self.requests.get(nth % self.requests.len().max(1)) {
            out.extend_from_slice(request);
        }
    }

    fn answer(&self, answer: &Answer<'_>) -> Result<()> {
        self.answers.lock().push(api::started(answer)?);
        Ok(())
    }
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
