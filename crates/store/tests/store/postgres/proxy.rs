//! A TCP proxy between a store and its database that breaks at a COMMIT.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// As the client sends it, and as the server confirms it.
const COMMIT: &[u8] = b"COMMIT\0";

/// The type and the length before it in the client's message.
const HEADER: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is cut off, after what comes before it was forwarded.
    CutBefore,
    /// It is forwarded and done; the connection is cut before the answer.
    CutAfter,
    /// The client is cut off; the server gets the whole transaction on [release](Proxy::release).
    Delay,
}

/// What becomes of the server's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    Forwarded,
    Hidden,
    /// And the client's connection with them.
    Cut,
}

#[derive(Default)]
struct State {
    fault: Mutex<Option<Fault>>,
    /// While it is set, connections are accepted and cut.
    refuses: Mutex<bool>,
    /// While it is set, nothing is forwarded and nothing is cut.
    is_silent: watch::Sender<bool>,
    release: Notify,
    /// The server's response to a delayed transaction.
    said: Mutex<Vec<u8>>,
    done: Notify,
}

pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[allow(clippy::disallowed_methods)] // they end with the test's runtime
impl Proxy {
    pub(crate) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !*shared.refuses.lock() {
                    tokio::spawn(connection(client, to, Arc::clone(&shared)));
                }
            }
        });
        Self { port, state }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn fault(&self, fault: Fault) {
        *self.state.fault.lock() = Some(fault);
    }

    pub(crate) fn refuse(&self, refuses: bool) {
        *self.state.refuses.lock() = refuses;
    }

    /// Whether everything is held back, as by a network that loses all packets.
    pub(crate) fn silence(&self, is_silent: bool) {
        self.state.is_silent.send_replace(is_silent);
    }

    /// Forwards the delayed transaction, and returns the server's response.
    pub(crate) async fn release(&self) -> Vec<u8> {
        self.state.release.notify_one();
        self.state.done.notified().await;
        self.state.said.lock().clone()
    }
}

#[allow(clippy::disallowed_methods)] // they end with the test's runtime
async fn connection(client: TcpStream, to: u16, state: Arc<State>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    let (mute, is_mute) = watch::channel(Answers::Forwarded);
    let answers = tokio::spawn(forward_answers(server_reads, client_writes, is_mute, Arc::clone(&state)));
    forward_requests(client_reads, server_writes, &mute, &state).await;
    answers.abort();
}

/// Returns when the connection is to be cut.
async fn forward_requests(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    mute: &watch::Sender<Answers>,
    state: &State,
) {
    let mut transaction = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match client.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(read) => &buffer[..read],
        };
        drop(state.is_silent.subscribe().wait_for(|is_silent| !is_silent).await);
        // Held back while it may be a part of the transaction with the fault.
        transaction.extend_from_slice(read);
        let commit = transaction.windows(COMMIT.len()).position(|window| window == COMMIT);
        let fault = match commit {
            Some(_) => state.fault.lock().take(),
            None => None,
        };
        match (fault, commit) {
            (Some(Fault::CutBefore), Some(at)) => {
                drop(server.write_all(&transaction[..at - HEADER]).await);
                return;
            }
            (Some(Fault::CutAfter), _) => {
                mute.send_replace(Answers::Hidden);
                server.write_all(&transaction).await.unwrap();
                // The other side ends when the server has confirmed it.
                state.done.notified().await;
                return;
            }
            (Some(Fault::Delay), _) => {
                drop(client);
                mute.send_replace(Answers::Cut);
                state.release.notified().await;
                server.write_all(&transaction).await.unwrap();
                return std::future::pending().await;
            }
            _ if is_complete(&transaction) => {
                if server.write_all(&transaction).await.is_err() {
                    return;
                }
                transaction.clear();
            }
            _ => {}
        }
    }
}

/// Whether these bytes are no beginning of a transaction whose end is still to come.
fn is_complete(bytes: &[u8]) -> bool {
    let begins = bytes.windows(6).any(|window| window == b"BEGIN\0");
    !begins || bytes.windows(COMMIT.len()).any(|window| window == COMMIT)
}

async fn forward_answers(
    mut server: OwnedReadHalf,
    client: OwnedWriteHalf,
    mut answers: watch::Receiver<Answers>,
    state: Arc<State>,
) {
    let mut client = Some(client);
    let mut buffer = vec![0; 1 << 16];
    let mut hidden = Vec::new();
    loop {
        let read = tokio::select! {
            _ = answers.changed() => {
                if *answers.borrow() == Answers::Cut {
                    client = None;
                }
                continue;
            }
            read = server.read(&mut buffer) => read,
        };
        let read = match read {
            Ok(0) | Err(_) => return,
            Ok(read) => &buffer[..read],
        };
        drop(state.is_silent.subscribe().wait_for(|is_silent| !is_silent).await);
        if *answers.borrow() != Answers::Forwarded {
            hidden.extend_from_slice(read);
            // What ends a transaction: COMMIT, or ROLLBACK in its place.
            if [COMMIT, b"ROLLBACK\0"].iter().any(|end| hidden.windows(end.len()).any(|window| window == *end)) {
                state.said.lock().clone_from(&hidden);
                state.done.notify_one();
            }
        } else if let Some(client) = &mut client
            && client.write_all(read).await.is_err()
        {
            return;
        }
    }
}
