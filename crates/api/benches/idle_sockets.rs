//! What an open connection costs that nothing happens on: prints a table.
//!
//! `cargo bench -p usher-api --bench idle_sockets`; `CONNECTIONS=10000` sets how many. Resident memory of this process,
//! which is the service only: its clients are another one. What the kernel holds for a socket is not in it.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a tool for developers
#![allow(missing_docs, unreachable_pub, dead_code)]

#[path = "../tests/http/app.rs"]
mod app;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::app::{TOKEN, TestApp};

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "clients") {
        return clients(&arguments[at + 1..]);
    }
    let count = std::env::var("CONNECTIONS").map_or(10_000, |count| count.parse().unwrap());
    if let Some(at) = arguments.iter().position(|argument| argument == "row") {
        return measure(count, &arguments[at + 1], arguments[at + 2].parse().unwrap());
    }
    println!("| {count} connections | resident, per connection |\n| --- | --- |");
    // One process per row: memory that one row has freed would be reused by the next.
    for (kind, subscriptions) in [("http", "0"), ("ws", "0"), ("ws", "1"), ("ws", "10")] {
        let row = Command::new(std::env::current_exe().unwrap()).args(["row", kind, subscriptions]).status();
        assert!(row.unwrap().success());
    }
}

/// Opens connections in another process and prints what they cost in this one.
fn measure(count: usize, kind: &str, subscriptions: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut builder = TestApp::builder();
    builder.limits.ping_interval = Duration::from_secs(3_600);
    builder.limits.max_websockets = usize::MAX;
    builder.serve.idle_timeout = Duration::from_secs(3_600);
    let (app, streams) = runtime.block_on(async {
        let app = builder.start().await;
        let mut streams = Vec::new();
        for number in 0..subscriptions {
            streams.push(app.handshake(json!({ "static_token": format!("poster-{number}") })).await.0);
        }
        (app, streams)
    });
    // What the first connections make the process allocate for good.
    drop(Clients::open(app.address, 100, kind, &streams));
    std::thread::sleep(Duration::from_secs(1));
    let before = resident();
    let clients = Clients::open(app.address, count, kind, &streams);
    std::thread::sleep(Duration::from_secs(1));
    let bytes = (resident() - before) / count;
    println!("| {kind}, {subscriptions} subscriptions | {bytes} bytes |");
    drop(clients);
    runtime.block_on(app.stop());
}

/// A process full of clients.
struct Clients(std::process::Child);

impl Clients {
    /// Returns when all of them are connected and have subscribed.
    fn open(address: SocketAddr, count: usize, kind: &str, streams: &[String]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["clients", &address.to_string(), &count.to_string(), kind])
            .args(streams)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self(child)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// The other process: opens connections, and holds them until its input ends.
fn clients(arguments: &[String]) {
    let address: SocketAddr = arguments[0].parse().unwrap();
    let count: usize = arguments[1].parse().unwrap();
    let (kind, streams) = (&arguments[2], &arguments[3..]);
    let connections: Vec<_> = (0..count).map(|_| connect(address, kind, streams)).collect();
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    drop(connections);
}

fn connect(address: SocketAddr, kind: &str, streams: &[String]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("Host: test\r\nAuthorization: Bearer {TOKEN}\r\n");
    if kind == "http" {
        write!(stream, "GET /version HTTP/1.1\r\n{head}\r\n").unwrap();
        until(&mut stream, b"}");
        return stream;
    }
    write!(
        stream,
        "GET /ws HTTP/1.1\r\n{head}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    until(&mut stream, b"\r\n\r\n");
    for stream_id in streams {
        let message = json!({ "id": "1", "cmd": "subscribe", "params": { "stream_id": stream_id } }).to_string();
        // A text frame, masked with zeros.
        let mut frame = vec![0x81, 0x80 | u8::try_from(message.len()).unwrap(), 0, 0, 0, 0];
        frame.extend_from_slice(message.as_bytes());
        stream.write_all(&frame).unwrap();
        until(&mut stream, b"}}");
    }
    stream
}

/// Reads up to `end`.
fn until(stream: &mut TcpStream, end: &[u8]) {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
}

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
