//! A lean HTTP/1.1 client: the load shares its processor with what it measures.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Largest answer that is taken.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The status of an answer that has no body, and therefore no length.
const NO_CONTENT: u16 = 204;

/// Most headers of an answer.
const MAX_HEADERS: usize = 32;

/// A connection that is kept open; one call at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    /// What was received has been given to the caller.
    given: bool,
}

pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: &'a [u8],
}

impl Answer<'_> {
    /// The body, unless the status is another than 200.
    pub(crate) fn ok(&self) -> Result<&[u8]> {
        ensure!(self.status == 200, "status {}: {}", self.status, String::from_utf8_lossy(self.body));
        Ok(self.body)
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(4096), given: false })
    }

    pub(crate) async fn call(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.send(request).await?;
        self.receive().await
    }

    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(request).await?)
    }

    /// Takes the answer to what was sent. Nothing is lost when it is cancelled and called again.
    pub(crate) async fn receive(&mut self) -> Result<Answer<'_>> {
        if std::mem::take(&mut self.given) {
            self.received.clear();
        }
        let (status, body, end) = loop {
            if let Some(frame) = frame(&self.received)? {
                break frame;
            }
            self.received.reserve(2048);
            ensure!(self.stream.read_buf(&mut self.received).await? > 0, "the service closed the connection");
            ensure!(self.received.len() <= MAX_ANSWER_BYTES, "an answer is too large");
        };
        ensure!(self.received.len() == end, "more was answered than asked for");
        self.given = true;
        Ok(Answer { status, body: self.received.get(body..).unwrap_or_default() })
    }
}

/// The status of an answer, and where its body begins and ends; `None` when not all of it is there.
fn frame(received: &[u8]) -> Result<Option<(u16, usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body) = head.parse(received).context("not an HTTP answer")? else {
        return Ok(None);
    };
    let status = head.code.context("an answer without status")?;
    if status == NO_CONTENT {
        return Ok(Some((status, body, body)));
    }
    let Some(length) = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length")) else {
        bail!("an answer without content-length (status {status})");
    };
    let end = body + std::str::from_utf8(length.value)?.parse::<usize>()?;
    Ok((received.len() >= end).then_some((status, body, end)))
}

pub(crate) fn get(path: &str, token: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: usher\r\nAuthorization: Bearer {token}\r\n\r\n").into_bytes()
}

pub(crate) fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: usher\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
