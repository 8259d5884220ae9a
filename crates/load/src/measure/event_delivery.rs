//! Latency and rate of events at the app: by webhook, live feed, long poll and WebSocket.
//!
//! Each event is a handshake that a wallet completes. What is timed begins when the wallet's message goes to the relay; the live
//! feed says an event as soon as it is committed, so that what the webhook takes longer is its own.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::{SinkExt as _, StreamExt as _};
use nostr::Event;
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use usher_protocol::handshake_url::HandshakeUrl;

use crate::api;
use crate::fixture::{Fixture, Tool};
use crate::http::{Connection, get};
use crate::latencies::Latencies;
use crate::open_streams::{Opened, open};
use crate::receiver::{FirstEvents, Receiver};
use crate::report::{Row, grouped, per_second};
use crate::wallet::Wallet;

/// Longest wait for the last event.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Streams on which the receiver hangs: fewer than the service's posts at a time.
const HANGING: usize = 100;

/// Streams that are waited on by long poll, a connection each, and on one WebSocket.
const WAITING: usize = 900;

#[derive(Clone, Copy)]
enum Pace {
    /// So many a second.
    PerSecond(u32),
    /// As fast as the relay takes them.
    Rush,
}

impl Pace {
    fn words(self) -> String {
        match self {
            Self::PerSecond(rate) => format!("{} events/s", grouped(usize::try_from(rate).unwrap_or(usize::MAX))),
            Self::Rush => "events as fast as they are made".to_owned(),
        }
    }
}

/// Streams that are open, each with the message that completes it.
type Messages = Vec<(String, Event)>;

/// Measures every way, each on a new service.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let paced = Pace::PerSecond(tool.options.event_rate);
    let count = tool.options.events;
    for (pace, hanging) in [(paced, 0), (paced, HANGING), (Pace::Rush, 0)] {
        rows.extend(webhook(tool, pace, count, hanging).await?);
    }
    rows.push(waiting(tool, paced, "Long polls", Way::LongPoll).await?);
    rows.push(waiting(tool, paced, "WebSocket", Way::Socket).await?);
    Ok(rows)
}

async fn webhook(tool: &Tool, pace: Pace, count: usize, hanging: usize) -> Result<Vec<Row>> {
    let mut under = pace.words();
    if hanging > 0 {
        under = format!("{under}, the receiver hangs on {hanging} other streams");
    }
    Tool::say(&format!("webhook: {under}"));
    let receiver = Receiver::start().await;
    let fixture = tool.fixture_with(Duration::ZERO, &[("SERVICE__WEBHOOK__URL", &receiver.url())]).await?;
    receiver.first_events().wait_for(1, TIMEOUT).await.context("the first handshake's")?;
    let mut wallet = Wallet::connect(fixture.relay.address()?, &[]).await?;
    let dead = messages(&fixture, hanging).await?;
    receiver.hang_on(dead.iter().map(|(stream, _)| stream.clone()));
    for (_, message) in &dead {
        wallet.publish(message).await?;
    }
    let events = messages(&fixture, count).await?;
    let seen = FirstEvents::default();
    let mut watching = JoinSet::new();
    let feed = look_on(&fixture).await?;
    watching.spawn(feed.read(seen.clone()));

    let meter = fixture.meter()?;
    let sent = publish(&mut wallet, pace, &events).await?;
    // The first handshake's is there already.
    receiver.first_events().wait_for(count + 1, TIMEOUT).await?;
    let usage = meter.stop()?;
    seen.wait_for(count, TIMEOUT).await.context("on the live feed")?;
    let live = row("Events to the live feed", &under, &events, &sent, &seen)?;
    let row = row("Events to the webhook", &under, &events, &sent, receiver.first_events())?;
    Ok(vec![live, Row { aim: "1,000/s", ..row }.with_usage(count, usage)])
}

/// A way to wait for events of many streams.
#[derive(Clone, Copy)]
enum Way {
    LongPoll,
    Socket,
}

async fn waiting(tool: &Tool, pace: Pace, what: &str, way: Way) -> Result<Row> {
    let under = format!("{}, {} streams waited for", pace.words(), grouped(WAITING));
    Tool::say(&format!("{what}: {under}"));
    let fixture = tool.fixture(Duration::ZERO).await?;
    let events = messages(&fixture, WAITING).await?;
    let first_events = FirstEvents::default();
    let mut readers = JoinSet::new();
    match way {
        Way::LongPoll => {
            for (stream, _) in &events {
                let mut app = Connection::open(fixture.service.address()).await?;
                app.send(&api::wait_events(fixture.instance.token(), stream)).await?;
                let (stream, first_events) = (stream.clone(), first_events.clone());
                readers.spawn(async move {
                    let page = api::page(&app.receive().await?)?;
                    first_events.record(stream, Instant::now());
                    ensure!(page.events.len() == 1, "a long poll ended without an event");
                    Ok(())
                });
            }
        }
        Way::Socket => {
            let address = fixture.service.address();
            readers.spawn(socket(address, fixture.instance.token().to_owned(), streams(&events), first_events.clone()));
        }
    }
    let mut wallet = Wallet::connect(fixture.relay.address()?, &[]).await?;
    // What was sent last is being waited for by then.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let meter = fixture.meter()?;
    let sent = publish(&mut wallet, pace, &events).await?;
    let arrived = first_events.wait_for(events.len(), TIMEOUT).await;
    let usage = meter.stop()?;
    while let Some(ended) = readers.try_join_next() {
        ended??;
    }
    arrived?;
    Ok(row(&format!("Events by {what}"), &under, &events, &sent, &first_events)?.with_usage(events.len(), usage))
}

fn streams(events: &Messages) -> Vec<String> {
    events.iter().map(|(stream, _)| stream.clone()).collect()
}

/// Opens handshakes and seals the messages that complete them, so that nothing of it is done while it is measured.
async fn messages(fixture: &Fixture, count: usize) -> Result<Messages> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let identity = fixture.identity()?;
    let opened = open(fixture, Opened::Handshakes, count).await?;
    let sealed = opened.into_iter().map(|(stream, url)| {
        let token = url.parse::<HandshakeUrl>()?.token;
        Ok((stream, identity.handshake(token, fixture.relay.url())?))
    });
    sealed.collect()
}

/// Publishes all messages; says when each was.
async fn publish(wallet: &mut Wallet, pace: Pace, events: &Messages) -> Result<Vec<Instant>> {
    let mut sent = Vec::with_capacity(events.len());
    let begun = Instant::now();
    for (number, (_, message)) in (0_u32..).zip(events) {
        if let Pace::PerSecond(rate) = pace {
            let due = begun + Duration::from_secs(1) * number / rate.max(1);
            tokio::time::sleep_until(due.into()).await;
        }
        sent.push(Instant::now());
        wallet.publish(message).await?;
    }
    Ok(sent)
}

/// A row of how long events took to arrive.
fn row(what: &str, under: &str, events: &Messages, sent: &[Instant], first_events: &FirstEvents) -> Result<Row> {
    let mut delays = Latencies::default();
    let mut last = None;
    for ((stream, _), sent) in events.iter().zip(sent) {
        let at = first_events.of(stream).with_context(|| format!("{what}: an event was lost"))?;
        delays.add(at.saturating_duration_since(*sent));
        last = last.max(Some(at));
    }
    let (Some(first), Some(last)) = (sent.first(), last) else { bail!("nothing was measured") };
    let (result, value) = per_second(events.len(), last.saturating_duration_since(*first));
    let (p50_ms, p99_ms) = (delays.percentile_ms(50), delays.percentile_ms(99));
    Ok(Row { what: what.to_owned(), under: under.to_owned(), result, value, p50_ms, p99_ms, ..Row::default() })
}

/// The live feed, read for the streams it names.
struct Feed {
    stream: TcpStream,
    received: Vec<u8>,
}

/// Opens the live feed and waits until it has begun.
async fn look_on(fixture: &Fixture) -> Result<Feed> {
    let mut stream = TcpStream::connect(fixture.service.address()).await?;
    stream.write_all(&get("/events", fixture.instance.token())).await?;
    let mut received = Vec::new();
    // The head of the answer and the comment that follows it.
    while !received.windows(3).any(|three| three == b":\n\n") {
        ensure!(
            stream.read_buf(&mut received).await? > 0,
            "the live feed ended: {}",
            String::from_utf8_lossy(&received)
        );
    }
    ensure!(received.starts_with(b"HTTP/1.1 200"), "no live feed: {}", String::from_utf8_lossy(&received));
    received.clear();
    Ok(Feed { stream, received })
}

impl Feed {
    /// Notes events as they come, until the service ends it.
    async fn read(mut self, first_events: FirstEvents) -> Result<()> {
        while self.stream.read_buf(&mut self.received).await? > 0 {
            let at = Instant::now();
            let Some(end) = self.received.iter().rposition(|byte| *byte == b'\n') else { continue };
            // Chunks of the answer hold whole blocks, so that a line is never cut by one.
            for line in self.received.get(..end).unwrap_or_default().split(|byte| *byte == b'\n') {
                let id = std::str::from_utf8(line).ok().and_then(|line| line.strip_prefix("id: "));
                if let Some((stream, _)) = id.and_then(|id| id.rsplit_once(':')) {
                    first_events.record(stream.to_owned(), at);
                }
            }
            self.received.drain(..=end);
        }
        Ok(())
    }
}

/// Subscribes to streams over one WebSocket, and notes events as they come.
async fn socket(address: SocketAddr, token: String, streams: Vec<String>, first_events: FirstEvents) -> Result<()> {
    #[derive(Deserialize)]
    struct Pushed<'a> {
        r#type: &'a str,
        stream_id: Option<&'a str>,
    }

    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut request = format!("ws://{address}/ws").into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
    let (socket, _) = client_async(request, stream).await?;
    let (mut say, mut hear) = socket.split();
    let mut unsaid = streams.into_iter();
    let mut open = 0_usize;
    loop {
        // A few at a time, so that neither side waits for the other.
        while open < 50 {
            let Some(stream_id) = unsaid.next() else { break };
            let params = json!({ "stream_id": stream_id, "after": 0 });
            let command = json!({ "id": stream_id, "cmd": "subscribe", "params": params });
            say.send(Message::text(command.to_string())).await?;
            open += 1;
        }
        let Message::Text(text) = hear.next().await.context("the WebSocket was closed")?? else { continue };
        let pushed: Pushed<'_> = serde_json::from_str(&text)?;
        match (pushed.r#type, pushed.stream_id) {
            ("event", Some(stream)) => first_events.record(stream.to_owned(), Instant::now()),
            ("success", _) => open = open.saturating_sub(1),
            ("error", _) => bail!("the WebSocket says {text}"),
            _ => {}
        }
    }
}
