//! Memory per page that waits in a browser, beside streams that an app reads.
//!
//! Both are responses of server-sent events that are held. Nothing happens on them meanwhile.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::api;
use crate::fixture::{Fixture, Tool};
use crate::http::Connection;
use crate::report::{Row, float, grouped};

/// How long the service may put itself in order before its memory is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Room for the other connections of the tool.
const OTHER_CONNECTIONS: usize = 100;

/// Measures what each idle stream takes, and then what each page takes beside them.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let count = tool.options.pages;
    Tool::say(&format!("memory per open page, beside {} streams", grouped(count)));
    let each = (count + OTHER_CONNECTIONS).to_string();
    // Pages may have half of all connections.
    let all = (4 * (count + OTHER_CONNECTIONS)).to_string();
    let variables = [
        ("SERVICE__LIMITS__MAX_CONNECTIONS", &*all),
        ("SERVICE__LIMITS__MAX_UNAUTHENTICATED_CONNECTIONS", &*each),
        ("SERVICE__LIMITS__MAX_EVENT_STREAMS", &*each),
    ];
    let fixture = tool.fixture_with(Duration::ZERO, &variables).await?;
    let (mut of_streams, mut of_pages) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut app = Connection::open(fixture.service.address()).await?;
    for _ in 0..count {
        let (stream, page) = api::handshake_page(&app.call(&api::key_handshake(fixture.home.token())).await?)?;
        of_streams.push(api::event_stream(fixture.home.token(), &stream));
        of_pages.push(api::page_events(&page));
    }
    let (held, streams) = hold(&fixture, "idle event stream", &of_streams, "nothing else").await?;
    let beside = format!("{} idle event streams", grouped(held.len()));
    let (_pages, pages) = hold(&fixture, "open page", &of_pages, &beside).await?;
    Ok(vec![Row { lost: closed(&held), ..streams }, pages])
}

/// Opens all and holds them. The difference between all and a tenth of them is what they take.
async fn hold(fixture: &Fixture, name: &str, requests: &[Vec<u8>], beside: &str) -> Result<(Vec<TcpStream>, Row)> {
    let few = requests.len() / 10;
    let mut held = Vec::with_capacity(requests.len());
    let mut with_few = 0;
    for (number, request) in requests.iter().enumerate() {
        if number == few {
            tokio::time::sleep(SETTLE).await;
            with_few = fixture.service.resident_bytes()?;
        }
        held.push(open(fixture.service.address(), request).await?);
    }
    tokio::time::sleep(SETTLE).await;
    let with_all = fixture.service.resident_bytes()?;
    let each = float(usize::try_from(with_all.saturating_sub(with_few))?) / float(requests.len() - few);
    let row = Row {
        what: format!("Memory per {name}"),
        under: format!("from {} to {} open, beside {beside}", grouped(few), grouped(requests.len())),
        result: format!("{each:.0} B (from {} to {} MiB in all)", with_few >> 20, with_all >> 20),
        value: each,
        lost: closed(&held),
        ..Row::default()
    };
    Ok((held, row))
}

/// Sends a request, and returns when the head of its response has arrived.
async fn open(address: SocketAddr, request: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await.context("is the limit of open files large enough?")?;
    stream.write_all(request).await?;
    let mut received = Vec::with_capacity(1024);
    while !received.windows(4).any(|four| four == b"\r\n\r\n") {
        ensure!(stream.read_buf(&mut received).await? > 0, "the service closed a connection");
    }
    ensure!(received.starts_with(b"HTTP/1.1 200"), "not a stream: {}", String::from_utf8_lossy(&received));
    Ok(stream)
}

/// How many of these the service has closed.
fn closed(held: &[TcpStream]) -> usize {
    let is_closed = |stream: &&TcpStream| match stream.try_read(&mut [0; 4096]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    held.iter().filter(is_closed).count()
}
