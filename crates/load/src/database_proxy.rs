//! Makes a PostgreSQL server distant, and counts the round trips to it.
//!
//! With threads rather than tasks: the runtime's timers have a resolution of a millisecond, which is as much as the distance.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are carried at a time.
const CHUNK: usize = 64 * 1024;

/// Forwards connections to one server with a delay in each direction.
#[derive(Debug)]
pub(crate) struct DatabaseProxy {
    port: u16,
    round_trips: Arc<AtomicU64>,
}

impl DatabaseProxy {
    /// Listens on a free port, until this process ends.
    pub(crate) fn start(host: String, port: u16, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let own_port = listener.local_addr()?.port();
        let round_trips = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&round_trips);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A client that cannot be connected finds its connection closed.
                if let Ok(server) = TcpStream::connect((host.as_str(), port)) {
                    let _ = carry(&client, &server, delay, &count);
                }
            }
        });
        Ok(Self { port: own_port, round_trips })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How often a client has sent something since the server last spoke to it.
    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }
}

/// Carries both directions, in threads of their own.
fn carry(client: &TcpStream, server: &TcpStream, delay: Duration, round_trips: &Arc<AtomicU64>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let server_spoke = Arc::new(AtomicBool::new(true));
    let (count, spoke) = (Arc::clone(round_trips), Arc::clone(&server_spoke));
    let asked = move || {
        if spoke.swap(false, Ordering::Relaxed) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    let answered = move || server_spoke.store(true, Ordering::Relaxed);
    pump(client.try_clone()?, server.try_clone()?, delay, asked);
    pump(server.try_clone()?, client.try_clone()?, delay, answered);
    Ok(())
}

/// Carries one direction until it ends.
fn pump(mut from: TcpStream, mut to: TcpStream, delay: Duration, mut note: impl FnMut() + Send + 'static) {
    let (queue, chunks) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; CHUNK];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            note();
            let chunk = buffer.get(..count).unwrap_or_default().to_vec();
            if queue.send((Instant::now() + delay, chunk)).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, chunk) in chunks {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&chunk).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
