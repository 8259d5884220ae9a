//! The service's live feed (`GET /events`), read as server-sent events.

use std::collections::VecDeque;
use std::time::Duration;

use http::Method;
use http::header::ACCEPT;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::options::{Place, Service};
use crate::local_instance::{Unreached, request};

/// Silence after which the service is considered gone: it sends a comment every 15 s.
const SILENCE: Duration = Duration::from_secs(45);

/// The requested media type.
const FEED: &str = "text/event-stream";

/// Largest event read, in bytes: many times the largest possible one.
const LARGEST: usize = 4 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// The complete event, as in a webhook's body.
    pub(super) text: String,
    pub(super) stream: String,
    pub(super) index: u64,
    pub(super) kind: String,
    pub(super) timestamp: u64,
    /// JSON text.
    pub(super) data: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FeedMessage {
    Event(Shown),
    /// This many events were not sent.
    Missed(u64),
    /// A message that this version does not understand.
    Unreadable,
}

/// Why there is no feed.
pub(super) enum Refusal {
    /// The service is unreachable or busy.
    NotThere(String),
    /// A retry does not help.
    Final(String),
}

pub(super) struct Connection {
    /// The printable part of its address.
    pub(super) origin: String,
    response: Response,
    blocks: Blocks,
    messages: VecDeque<FeedMessage>,
}

impl Connection {
    /// Connects; receives events from then on.
    pub(super) async fn open(service: &Service) -> Result<Self, Refusal> {
        let (origin, response) = match &service.place {
            Place::Given(events) => {
                let client = Client::builder()
                    .no_proxy()
                    .redirect(Policy::none())
                    .connect_timeout(Duration::from_secs(10))
                    .read_timeout(SILENCE)
                    .build()
                    .map_err(|error| Refusal::Final(format!("the HTTP client cannot be made: {error}")))?;
                let request = client.get(events.clone()).bearer_auth(service.token.expose_secret());
                let origin = events.origin().ascii_serialization();
                let response = request.header(ACCEPT, FEED).send().await;
                let response = response.map_err(|_| Refusal::NotThere(format!("no service answers at {origin}")))?;
                (origin, response)
            }
            Place::Local(instance, path) => {
                let not_there = |why: Unreached| Refusal::NotThere(why.to_string());
                let request = request(Method::GET, path, &service.token).map_err(not_there)?;
                let request = request.header(ACCEPT, FEED).body(String::new());
                let request = request.map_err(|error| Refusal::Final(error.to_string()))?;
                let proved = instance.connect().await.map_err(not_there)?;
                let origin = format!("http://{}", proved.address);
                (origin, proved.send(request).await.map_err(not_there)?)
            }
        };
        match response.status() {
            StatusCode::OK => Ok(Self { origin, response, blocks: Blocks::default(), messages: VecDeque::new() }),
            StatusCode::UNAUTHORIZED => Err(Refusal::Final(format!(
                "{origin} refuses the token: is it another service than that of this data directory?"
            ))),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Refusal::NotThere(format!("{origin} says {status}")))
            }
            status => Err(Refusal::Final(format!("{origin} says {status} to GET /events: is it an Usher?"))),
        }
    }

    /// The next message; `None` at the end of the connection. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<FeedMessage> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            let chunk = timeout(SILENCE, self.response.chunk()).await.ok()?.ok()??;
            self.messages.extend(self.blocks.take(&chunk)?.iter().map(read));
        }
    }
}

/// One block of an event stream.
#[derive(Debug, Default, PartialEq, Eq)]
struct Block {
    event: String,
    data: String,
}

/// Assembles the blocks of an event stream from arbitrary pieces.
#[derive(Default)]
struct Blocks {
    line: Vec<u8>,
    block: Block,
}

impl Blocks {
    /// The blocks completed by these bytes; `None` if one is too large.
    fn take(&mut self, mut bytes: &[u8]) -> Option<Vec<Block>> {
        let mut complete = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            self.line.extend_from_slice(line);
            bytes = rest.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            self.line_ended(String::from_utf8_lossy(&line).trim_end_matches('\r'), &mut complete);
        }
        self.line.extend_from_slice(bytes);
        (self.line.len() + self.block.data.len() <= LARGEST).then_some(complete)
    }

    fn line_ended(&mut self, line: &str, complete: &mut Vec<Block>) {
        if line.is_empty() {
            let block = std::mem::take(&mut self.block);
            complete.extend(Some(block).filter(|block| !block.data.is_empty()));
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.block.event),
            "data" => {
                if !self.block.data.is_empty() {
                    self.block.data.push('\n');
                }
                self.block.data.push_str(value);
            }
            _ => {}
        }
    }
}

/// An event with its stream, as a webhook's body has it.
#[derive(Deserialize)]
struct Body<'a> {
    stream_id: String,
    index: u64,
    r#type: String,
    timestamp: u64,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Missed {
    missed: u64,
}

fn read(block: &Block) -> FeedMessage {
    let text = &block.data;
    if block.event == "missed" {
        return serde_json::from_str(text)
            .map_or(FeedMessage::Unreadable, |Missed { missed }| FeedMessage::Missed(missed));
    }
    serde_json::from_str(text).map_or(FeedMessage::Unreadable, |Body { stream_id, index, r#type, timestamp, data }| {
        let data = data.get().to_owned();
        FeedMessage::Event(Shown { text: text.clone(), stream: stream_id, index, kind: r#type, timestamp, data })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ":\n\nid: s:0\nevent: StatusUpdate\ndata: {\"stream_id\":\"s\",\"index\":0,\"type\":\"StatusUpdate\",\
        \"timestamp\":9,\"data\":{\"ü\":\ndata: 1}}\n\nevent: missed\ndata: {\"missed\":3}\n\nid: s:1\ndata: ?\n\n";

    #[test]
    fn whatever_pieces_it_comes_in_it_says_the_same() {
        let text = STREAM.replacen("{\"ü\":\ndata: 1}", "{\"ü\":\n1}", 1);
        let text = text.lines().skip(4).take(2).collect::<Vec<_>>().join("\n");
        let event = Shown {
            text: text.strip_prefix("data: ").unwrap().to_owned(),
            stream: "s".to_owned(),
            index: 0,
            kind: "StatusUpdate".to_owned(),
            timestamp: 9,
            data: "{\"ü\":\n1}".to_owned(),
        };
        let expected = [FeedMessage::Event(event), FeedMessage::Missed(3), FeedMessage::Unreadable];
        for ends in ["\n", "\r\n"] {
            let stream = STREAM.replace('\n', ends);
            for size in [1, 2, 3, 7, 1000] {
                let mut blocks = Blocks::default();
                let pieces = stream.as_bytes().chunks(size);
                let messages: Vec<_> = pieces.flat_map(|piece| blocks.take(piece).unwrap()).map(|b| read(&b)).collect();
                assert_eq!(messages, expected);
            }
        }
    }

    #[test]
    fn what_never_ends_is_not_gathered_for_ever() {
        let mut blocks = Blocks::default();
        let piece = [b'x'; 1024 * 1024];
        let taken = (0..10).take_while(|_| blocks.take(&piece).is_some()).count();
        assert!(taken < 6, "{taken}");
    }
}
