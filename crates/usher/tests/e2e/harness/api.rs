//! The interface under test, as an app uses it.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::PublicKey;
use usher_protocol::handshake_url::HandshakeUrl;

use super::{LONG, openapi_check, until};

/// The interface of one service.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) base: String,
    pub(crate) token: String,
    pub(crate) http: reqwest::Client,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Event {
    pub(crate) index: u64,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) timestamp: u64,
    pub(crate) data: Value,
}

impl Event {
    /// The status in its data; empty when there is none.
    pub(crate) fn status(&self) -> &str {
        self.data["status"].as_str().unwrap_or("")
    }

    /// The main key in its data; empty when there is none.
    pub(crate) fn main_key(&self) -> &str {
        self.data["main_key"].as_str().unwrap_or("")
    }
}

/// An answer of `GET /events/{stream_id}`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) events: Vec<Event>,
    pub(crate) next: u64,
    pub(crate) done: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) stream: String,
    pub(crate) url: HandshakeUrl,
}

/// Status and problem of a call that is refused.
pub(crate) fn refusal(answer: Result<impl Debug, CallError>) -> (u16, Value) {
    match answer {
        Err(CallError::Status(status, problem)) => (status, problem),
        other => panic!("it was not refused: {other:?}"),
    }
}

pub(crate) fn statuses(events: &[Event]) -> Vec<&str> {
    events.iter().map(Event::status).collect()
}

pub(crate) fn stream_of(started: &Value) -> String {
    started["stream_id"].as_str().unwrap_or_else(|| panic!("no stream: {started}")).to_owned()
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    /// No answer: the service may be down.
    Network(#[expect(dead_code, reason = "`Debug` shows it when a test fails")] String),
    Status(u16, Value),
}

impl Api {
    pub(crate) fn new(port: u16, token: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().timeout(LONG + LONG).build().expect("a client");
        Self { base: format!("http://127.0.0.1:{port}"), token: token.to_owned(), http }
    }

    /// Whether the service answers.
    pub(crate) async fn is_up(&self) -> bool {
        let call = self.http.get(format!("{}/health", self.base)).timeout(Duration::from_secs(5)).send().await;
        call.is_ok_and(|answer| answer.status().is_success())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, CallError> {
        self.call(self.http.post(format!("{}{path}", self.base)).json(body)).await
    }

    /// Calls with an `Idempotency-Key`; also returns whether the response is a repeated one.
    pub(crate) async fn post_once(&self, path: &str, key: &str, body: &Value) -> Result<(Value, bool), CallError> {
        let request = self.http.post(format!("{}{path}", self.base)).bearer_auth(&self.token);
        let answer = request.header("idempotency-key", key).json(body).send().await.map_err(network)?;
        let status = answer.status();
        let replayed = answer.headers().get("idempotency-replayed").is_some_and(|value| value == "true");
        let body = answer.json().await.map_err(network)?;
        if status.is_success() { Ok((body, replayed)) } else { Err(CallError::Status(status.as_u16(), body)) }
    }

    /// The value of this counter or gauge (a name with its labels) in `GET /metrics`; 0 if it is missing.
    pub(crate) async fn metric(&self, sample: &str) -> u64 {
        let text = self.get("/metrics").await.expect("metrics");
        let text = text.as_str().expect("text");
        let mut families: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE ")).collect();
        let count = families.len();
        families.sort_unstable();
        families.dedup();
        assert_eq!(families.len(), count, "a metric is there twice: {text}");
        let mut samples = text.lines().filter_map(|line| line.rsplit_once(' '));
        samples.find(|(name, _)| *name == sample).map_or(0, |(_, value)| value.parse().expect("a whole number"))
    }

    /// Waits until a counter or gauge has this value.
    pub(crate) async fn until_metric(&self, sample: &str, expected: u64) {
        until(sample, async || self.metric(sample).await == expected).await;
    }

    /// Starts an operation; its stream.
    pub(crate) async fn start(&self, path: &str, body: &Value) -> String {
        stream_of(&self.post(path, body).await.expect("it starts"))
    }

    /// The interface with another token or key.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, CallError> {
        self.call(self.http.get(format!("{}{path}", self.base))).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Value, CallError> {
        self.call(self.http.delete(format!("{}{path}", self.base))).await
    }

    async fn call(&self, request: reqwest::RequestBuilder) -> Result<Value, CallError> {
        let answer = request.bearer_auth(&self.token).send().await.map_err(network)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(network)?;
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
        if status.is_success() { Ok(body) } else { Err(CallError::Status(status.as_u16(), body)) }
    }

    /// Starts a handshake; the service may be down.
    pub(crate) async fn try_handshake(&self, body: &Value) -> Result<Handshake, CallError> {
        let answer = self.post("/key-handshake", body).await?;
        let url = answer["url"].as_str().expect("a url").parse().expect("a handshake URL");
        Ok(Handshake { stream: stream_of(&answer), url })
    }

    pub(crate) async fn handshake(&self, body: Value) -> Handshake {
        self.try_handshake(&body).await.expect("a handshake")
    }

    /// Starts an authentication; the service may be down.
    pub(crate) async fn try_authenticate(&self, main: &str, subkeys: &[PublicKey]) -> Result<String, CallError> {
        let subkeys: Vec<_> = subkeys.iter().map(PublicKey::to_hex).collect();
        Ok(stream_of(&self.post("/authenticate-key", &json!({"main_key": main, "subkeys": subkeys})).await?))
    }

    /// Starts an authentication; answers its stream.
    pub(crate) async fn authenticate(&self, main: &PublicKey, subkeys: &[PublicKey]) -> String {
        self.try_authenticate(&main.to_hex(), subkeys).await.expect("an authentication")
    }

    /// Reads a stream; the service may be down.
    pub(crate) async fn try_events(&self, stream: &str, after: u64, wait: u64) -> Result<Page, CallError> {
        let page = self.get(&format!("/events/{stream}?after={after}&wait={wait}")).await?;
        let page: Page = serde_json::from_value(page).expect("a page of events");
        for (event, index) in page.events.iter().zip(after..) {
            assert_eq!(event.index, index, "events come in order, without gaps");
            openapi_check::check(event);
        }
        assert_eq!(page.next, after + page.events.len() as u64, "next");
        Ok(page)
    }

    /// All events of a stream so far, and whether it is done.
    pub(crate) async fn events(&self, stream: &str) -> (Vec<Event>, bool) {
        let page = self.try_events(stream, 0, 0).await.expect("events");
        (page.events, page.done)
    }

    /// Waits until a stream is done, and answers all its events.
    pub(crate) async fn finished(&self, stream: &str) -> Vec<Event> {
        self.wait(stream, |_, done| done).await
    }

    /// Waits for the `count`th event of a stream, and answers all so far.
    pub(crate) async fn at_least(&self, stream: &str, count: usize) -> Vec<Event> {
        self.wait(stream, |events, _| events.len() >= count).await
    }

    async fn wait(&self, stream: &str, enough: impl Fn(&[Event], bool) -> bool) -> Vec<Event> {
        let deadline = Instant::now() + LONG;
        let mut events = Vec::new();
        loop {
            let page = self.try_events(stream, events.len() as u64, 2).await.expect("events");
            events.extend(page.events);
            if enough(&events, page.done) {
                return events;
            }
            assert!(!page.done, "the stream ended early: {events:?}");
            assert!(Instant::now() < deadline, "what was waited for did not come: {events:?}");
        }
    }

    /// The one event of a stream that ends with one.
    pub(crate) async fn outcome(&self, stream: &str) -> Event {
        let events = self.finished(stream).await;
        assert_eq!(events.len(), 1, "{events:?}");
        events.into_iter().next().unwrap()
    }
}

fn network(error: reqwest::Error) -> CallError {
    CallError::Network(error.to_string())
}
