//! Users' relays that try to cause as much work as possible.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::tungstenite::Message;
use usher_protocol::Keys;
use usher_testing::TcpServer;

use crate::fixture::{Service, now};

/// A relay that serves the subscription, and then sends bytes as fast as possible.
struct Hostile {
    url: String,
    sent: Arc<AtomicU64>,
    server: TcpServer,
}

impl Hostile {
    /// First `head`, then `tail` endlessly.
    async fn start(head: Vec<u8>, tail: Vec<u8>) -> Self {
        let sent = Arc::new(AtomicU64::new(0));
        let counting = Arc::clone(&sent);
        let chunk = tail.repeat((64 * 1024 / tail.len()).max(1));
        let server = TcpServer::start(move |stream| {
            let (head, chunk, sent) = (head.clone(), chunk.clone(), Arc::clone(&counting));
            async move {
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                let _ = socket.next().await;
                let _ = socket.send(Message::text(r#"["EOSE","usher"]"#)).await;
                let mut stream = socket.into_inner();
                let _ = stream.write_all(&head).await;
                while stream.write_all(&chunk).await.is_ok() {
                    sent.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                }
            }
        })
        .await;
        Self { url: format!("ws://{}", server.address()), sent, server }
    }
}

/// A frame of a server: its first byte and its payload.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(short as u8),
        long => {
            frame.push(126);
            frame.extend((long as u16).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

fn text(payload: &str) -> Vec<u8> {
    frame(0x81, payload.as_bytes())
}

/// What a relay can send endlessly, by name.
fn floods() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let zeros = "0".repeat(64);
    let event = |content: &str| {
        let now = now().secs();
        text(&format!(
            r#"["EVENT","usher",{{"id":"{zeros}","pubkey":"{zeros}","created_at":{now},"kind":27001,"tags":[],"content":"{content}","sig":""}}]"#
        ))
    };
    vec![
        ("empty continuations", frame(0x01, b""), frame(0x00, b"")),
        ("continuations of a byte", frame(0x01, b""), frame(0x00, b" ")),
        ("empty messages in fragments", Vec::new(), [frame(0x01, b""), frame(0x80, b"")].concat()),
        ("pings", Vec::new(), frame(0x89, b"")),
        ("long pings", Vec::new(), frame(0x89, &[b'x'; 125])),
        ("pongs", Vec::new(), frame(0x8a, b"")),
        ("pings between fragments", frame(0x01, b"["), frame(0x89, b"")),
        ("empty texts", Vec::new(), text("")),
        ("empty binaries", Vec::new(), frame(0x82, b"")),
        ("notices", Vec::new(), text(r#"["NOTICE","x"]"#)),
        ("long notices", Vec::new(), text(&format!(r#"["NOTICE","{}"]"#, "rate ".repeat(10_000)))),
        ("challenges", Vec::new(), text(r#"["AUTH","challenge"]"#)),
        ("closed", Vec::new(), text(r#"["CLOSED","usher","error: again"]"#)),
        ("end of stored events", Vec::new(), text(r#"["EOSE","usher"]"#)),
        ("acceptances of nothing", Vec::new(), text(&format!(r#"["OK","{zeros}",true,""]"#))),
        ("malformed events", Vec::new(), event("AgAA")),
        ("long events", Vec::new(), event(&"AgAA".repeat(15_000))),
        ("deep nesting", Vec::new(), text(&format!(r#"["EVENT","usher",{}"#, "[".repeat(60_000)))),
        ("escapes", Vec::new(), text(&format!(r#"["NOTICE","{}"]"#, r"A".repeat(10_000)))),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flooding_user_relay_is_disconnected() {
    for (name, head, tail) in floods() {
        let hostile = Hostile::start(head, tail).await;
        let service = Service::start_with(&[], |options| {
            options.connection.reconnect_longest = Duration::from_secs(3600);
            // However slow this machine is at the moment.
            options.limits.user_relay_useless = 200;
            options.limits.user_relay_useless_per_second = 1;
        })
        .await;
        service.ask_at(&Keys::generate().public_key(), "x", &[&hostile.url]);
        service.until(name, &hostile.url, "floods us").await;
        // This includes the system's buffers on both sides.
        let sent = hostile.sent.load(Ordering::Relaxed);
        assert!(sent < 128 * 1024 * 1024, "{name}: {sent} bytes were taken");
        // And it is not connected to for a long time.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(hostile.server.connections(), 1, "{name}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn service_relay_that_sends_only_frames_is_disconnected() {
    let of_frames = |name: &str| name.contains("continuations") || name == "pings";
    for (name, head, tail) in floods().into_iter().filter(|(name, ..)| of_frames(name)) {
        let hostile = Hostile::start(head, tail).await;
        let service = Service::start_with(&[&hostile.url], |options| {
            options.connection.reconnect_longest = Duration::from_secs(3600);
            options.limits.frame_bytes = 512 * 1024;
        })
        .await;
        service.until(name, &hostile.url, "floods us").await;
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_message_ends_the_connection() {
    let server = TcpServer::start(|stream| async move {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
        let _ = socket.next().await;
        let mut stream = socket.into_inner();
        let _ = stream.write_all(&frame(0x01, b"[")).await;
        // Always new bytes, and a response to each of our pings.
        while stream.write_all(&[frame(0x00, b" "), frame(0x8a, b"")].concat()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let url = format!("ws://{}", server.address());
    let within = Duration::from_secs(1);
    let service = Service::start_with(&[], |options| options.connection.message_within = within).await;
    service.ask_at(&Keys::generate().public_key(), "x", &[&url]);
    service.until("left", &url, "took too long to arrive").await;
    service.stop().await;
}
