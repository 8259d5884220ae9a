//! Reports the state to the service manager (systemd, `Type=notify`): `sd_notify(3)`.

use std::ffi::OsString;

/// The service handles requests.
pub fn ready() {
    tell(std::env::var_os("NOTIFY_SOCKET"), "READY=1");
}

/// The service is stopping.
pub fn stopping() {
    tell(std::env::var_os("NOTIFY_SOCKET"), "STOPPING=1");
}

fn tell(socket: Option<OsString>, state: &str) {
    let Some(socket) = socket.filter(|socket| !socket.is_empty()) else { return };
    if let Err(error) = send(&socket, state) {
        tracing::warn!(%error, "NOTIFY_SOCKET is set, but the service manager cannot be told");
    }
}

#[cfg(target_os = "linux")]
fn send(socket: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    // A name that begins with @ is in the abstract namespace; others are paths.
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let datagrams = UnixDatagram::unbound()?;
    datagrams.set_nonblocking(true)?;
    datagrams.send_to_addr(state.as_bytes(), &address).map(|_| ())
}

#[cfg(not(target_os = "linux"))]
fn send(_socket: &std::ffi::OsStr, _state: &str) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    use super::send;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }

    #[test]
    fn a_path_and_an_abstract_name_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str(), "READY=1").unwrap();
        assert_eq!(received(&by_path), "READY=1");

        let name = format!("usher-test-{}", std::process::id());
        let by_name = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        send(format!("@{name}").as_ref(), "STOPPING=1").unwrap();
        assert_eq!(received(&by_name), "STOPPING=1");
    }

    #[test]
    fn a_socket_that_is_not_there_is_an_error_and_no_more() {
        assert!(send("/nowhere/at/all".as_ref(), "READY=1").is_err());
    }
}
