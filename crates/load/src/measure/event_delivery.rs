//! Latency and rate of events at the app: by webhook and live feed.
//!
//! Each event is a handshake that a wallet completes. What is timed begins when the wallet's message goes to the relay; the live
//! feed says an event as soon as it is committed, so that what the webhook takes longer is its own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use nostr::Event;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use usher_protocol::handshake_url::HandshakeUrl;

use crate::fixture::{Fixture, Tool};
use crate::http::get;
use crate::latencies::Latencies;
use crate::open_streams::{Opened, open};
use crate::receiver::{FirstEvents, Receiver};
use crate::report::{Row, grouped, per_second};
use crate::wallet::Wallet;

/// Longest wait for the last event.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Streams on which the receiver hangs: fewer than the service's posts at a time.
const HANGING: usize = 100;

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
    let result = per_second(events.len(), last.saturating_duration_since(*first));
    let (p50_ms, p99_ms) = (delays.percentile_ms(50), delays.percentile_ms(99));
    Ok(Row { what: what.to_owned(), under: under.to_owned(), result, p50_ms, p99_ms, ..Row::default() })
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
