//! The requests of the HTTP interface that the load uses.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use usher_protocol::PublicKey;

use crate::http;

/// Longest a poll is held, in seconds.
const WAIT: u64 = 30;

/// The answer to a start call; `url` is empty but for handshakes.
#[derive(Deserialize)]
pub(crate) struct Started<'a> {
    pub(crate) stream_id: &'a str,
    #[serde(default)]
    pub(crate) url: &'a str,
}

#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) events: Vec<Event>,
}

#[derive(Deserialize)]
pub(crate) struct Event {
    pub(crate) data: Data,
}

/// What happened, as far as logins and payments are concerned.
#[derive(Deserialize)]
pub(crate) struct Data {
    pub(crate) main_key: Option<String>,
    pub(crate) status: Option<String>,
}

pub(crate) fn key_handshake(token: &str) -> Vec<u8> {
    http::post("/key-handshake", token, "{}")
}

pub(crate) fn authenticate_key(token: &str, main_key: &str) -> Vec<u8> {
    http::post("/authenticate-key", token, &format!(r#"{{"main_key":"{main_key}","subkeys":[]}}"#))
}

/// Starts a payment that can be made until `expires_at`.
pub(crate) fn single_payment(token: &str, main_key: &str, expires_at: u64) -> Vec<u8> {
    let body = format!(
        r#"{{"main_key":"{main_key}","subkeys":[],"description":"load","amount":1000,"currency":"millisats","expires_at":{expires_at}}}"#
    );
    http::post("/payments/single", token, &body)
}

/// Asks for a stream's events and waits for the first.
pub(crate) fn wait_events(token: &str, stream: &str) -> Vec<u8> {
    wait_events_after(token, stream, 0)
}

/// Asks for a stream's events from this index on and waits for the first.
pub(crate) fn wait_events_after(token: &str, stream: &str, after: usize) -> Vec<u8> {
    http::get(&format!("/events/{stream}?after={after}&wait={WAIT}"), token)
}

/// Asks for the service's numbers.
pub(crate) fn metrics(token: &str) -> Vec<u8> {
    http::get("/metrics", token)
}

/// Reads from the service's numbers how many invoices it watches.
pub(crate) fn watched_invoices(answer: &http::Answer<'_>) -> Result<usize> {
    let text = std::str::from_utf8(answer.ok()?)?;
    let value = text.lines().find_map(|line| line.strip_prefix("usher_lightning_watched_invoices "));
    Ok(value.context("no number of watched invoices")?.trim().parse()?)
}

pub(crate) fn started(answer: &http::Answer<'_>) -> Result<(String, String)> {
    let started: Started<'_> = serde_json::from_slice(answer.ok()?).context("not the answer to a start call")?;
    Ok((started.stream_id.to_owned(), started.url.to_owned()))
}

/// Reads the answer to a poll.
pub(crate) fn page(answer: &http::Answer<'_>) -> Result<Page> {
    serde_json::from_slice(answer.ok()?).context("not the answer to a poll")
}

/// A public key that nobody has the secret of: x coordinates are as good as random.
pub(crate) fn some_public_key() -> PublicKey {
    loop {
        let key = PublicKey::from_byte_array(rand::random());
        // Every second number is the x coordinate of a point.
        if key.xonly().is_ok() {
            return key;
        }
    }
}
