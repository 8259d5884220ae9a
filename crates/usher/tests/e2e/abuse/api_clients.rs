//! HTTP clients that are slow or come in large numbers, while users log in.

use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::harness::{Api, LONG, TestTasks, TestUsher, User, run_logins};

/// Idle connections that are opened at the same time.
const CONNECTIONS: usize = 3_000;

fn address(api: &Api) -> String {
    api.base.trim_start_matches("http://").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_many_connections() {
    // Our side of the connections needs open files, too: the customary soft limit is 1,024.
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < 8_192) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(8_192), ..limit }).expect("8,192 open files");
    }
    let (_relay, usher) = TestUsher::builder().start_at_relay().await;
    let api = usher.api();
    let before = usher.memory();
    let test_tasks = TestTasks::default();
    // Silent clients.
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        idle.push(TcpStream::connect(address(&api)).await.expect("a connection"));
    }
    // Slow clients: a header per second, a body byte by byte, an unread response.
    for number in 0..200 {
        let (address, token) = (address(&api), api.token.clone());
        test_tasks.spawn(async move {
            let mut socket = TcpStream::connect(address).await.unwrap();
            let head = match number % 3 {
                0 => "POST /key-handshake HTTP/1.1\r\nHost: x\r\n".to_owned(),
                1 => format!(
                    "POST /key-handshake HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
                     Content-Type: application/json\r\nContent-Length: 10000\r\n\r\n"
                ),
                _ => format!("GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n")
                    .repeat(200),
            };
            let mut sent = socket.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                tokio::time::sleep(Duration::from_millis(500)).await;
                sent = socket.write_all(if number % 3 == 0 { b"a: b\r\n" } else { b" " }).await;
            }
        });
    }
    run_logins(&api, 10, User::Once).await;
    assert!(usher.memory() < before + 200, "{before} MiB grew to {} MiB", usher.memory());
    // In the end they are disconnected.
    for socket in &mut idle {
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(LONG, socket.read_to_end(&mut answer)).await;
        assert!(closed.is_ok(), "a connection without a request is kept for ever");
    }
    run_logins(&api, 5, User::Once).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_connections_than_open_files() {
    let (relay, usher) = TestUsher::builder().start_at_relay().await;
    let api = usher.api();
    let few = Rlimit { current: Some(120), maximum: Some(120) };
    let pid = Pid::from_raw(i32::try_from(usher.pid()).unwrap());
    prlimit(pid, Resource::Nofile, few).expect("a limit");
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(TcpStream::connect(address(&api)).await.expect("a connection"));
    }
    // It needs a file for its relay, too, and has none.
    relay.set(|quirks| quirks.drop_every = Some(Duration::from_millis(100)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    relay.set(|quirks| quirks.drop_every = None);
    drop(idle);
    run_logins(&api, 5, User::Stubborn).await;
}
