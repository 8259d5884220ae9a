//! Ports that stay reserved when the program is killed and started again.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which the system takes ports for outgoing connections (32768–60999): a port of that range may
/// be gone when the program that held it comes back.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port that nobody listens on.
pub(crate) fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test binaries that run at the same time begin at different places.
    let start = u16::try_from(std::process::id().wrapping_mul(61) % u32::from(COUNT)).unwrap();
    for _ in 0..COUNT {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port");
}
