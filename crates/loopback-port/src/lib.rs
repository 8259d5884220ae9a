//! Free ports for what listens on loopback in `usher dev` and in tests.
//!
//! A leaf crate, because relays, mints, Lightning nodes and tests take ports and must not depend on each other.
//!
//! They are below the range from which the system takes ports for outgoing connections (32768–60999 on Linux): a port of
//! that range may be gone when the program that held it starts again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port of 127.0.0.1 that nobody listens on. This process gets each port once, before it has had all of them.
///
/// # Errors
/// When all of them are taken.
pub fn free() -> io::Result<u16> {
    // Its socket ends here, and has accepted nothing that would keep the port.
    listener(Ipv4Addr::LOCALHOST.into())?.local_addr().map(|address| address.port())
}

/// A listener on such a port of another address.
///
/// # Errors
/// When the address cannot be listened on, or all ports are taken.
pub fn listener(address: IpAddr) -> io::Result<TcpListener> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Processes that run at the same time begin at different places.
    let start = u16::try_from(std::process::id().wrapping_mul(61) % u32::from(COUNT)).unwrap_or_default();
    let mut last = io::ErrorKind::AddrInUse.into();
    for _ in 0..COUNT {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
        match TcpListener::bind(SocketAddr::from((address, port))) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            result => return result,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::{COUNT, FIRST, free, listener};

    #[test]
    fn each_port_is_given_once() {
        let ports: std::collections::BTreeSet<u16> = (0..100).map(|_| free().unwrap()).collect();
        assert_eq!(ports.len(), 100);
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)));
    }

    #[test]
    fn listener_listens_and_other_machines_have_none() {
        let listener = listener([127, 0, 0, 1].into()).unwrap();
        std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        super::listener([192, 0, 2, 1].into()).unwrap_err();
    }
}
