//! Free ports for listeners of `usher dev` and tests, below the range of outgoing connections (32768–60999 on Linux). A bound
//! socket that does not listen reserves the port; servers that set `SO_REUSEADDR` can still listen on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

use socket2::{Domain, Socket, Type};

const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Pending connections; the value of the standard library.
const BACKLOG: i32 = 128;

/// Reserves a free port of 127.0.0.1 until this process ends.
///
/// # Errors
/// When all ports are in use.
pub fn free() -> io::Result<u16> {
    static RESERVED: Mutex<Vec<Socket>> = Mutex::new(Vec::new());
    let (socket, port) = reserve(Ipv4Addr::LOCALHOST.into())?;
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    Ok(port)
}

/// Listens on a free port of `address`.
///
/// # Errors
/// When the address is not one of this machine, or all ports are in use.
pub fn listener(address: IpAddr) -> io::Result<TcpListener> {
    let (socket, _) = reserve(address)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// A socket bound to a port that no other socket is bound to, listening or not.
fn reserve(address: IpAddr) -> io::Result<(Socket, u16)> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Concurrent processes start at different ports.
    let start = u16::try_from(std::process::id().wrapping_mul(61) % u32::from(COUNT)).unwrap_or_default();
    let mut last = io::ErrorKind::AddrInUse.into();
    for _ in 0..COUNT {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
        let socket = Socket::new(Domain::for_address((address, port).into()), Type::STREAM, None)?;
        match socket.bind(&SocketAddr::from((address, port)).into()) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
            Err(error) => return Err(error),
            Ok(()) => {
                // Set after binding: otherwise a port reserved by another process could be bound.
                socket.set_reuse_address(true)?;
                return Ok((socket, port));
            }
        }
    }
    Err(last)
}
