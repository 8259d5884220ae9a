//! The address by which a phone in the same network reaches this machine.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use usher::failure::Failure;

/// The address for `--lan`: the given one, else the one of the default route.
///
/// # Errors
/// If there is none, it is not this machine's, or it is public: `usher dev` is only for people nearby.
pub(super) fn address(given: Option<Ipv4Addr>) -> Result<Ipv4Addr, Failure> {
    let address = given.or_else(of_default_route).ok_or_else(|| {
        Failure::said("this machine has no address in a network; connect it, or name its address with --lan=<address>")
    })?;
    if !is_local(address) {
        return Err(Failure::said(format!(
            "{address} is not an address of a local network, and `usher dev` is not for the internet; name another \
             address of this machine with --lan=<address>"
        )));
    }
    UdpSocket::bind((address, 0))
        .map_err(|error| Failure::said(format!("{address} is not an address of this machine: {error}")))?;
    Ok(address)
}

/// The address from which this machine sends into other networks.
fn of_default_route() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // Only selects a route: nothing is sent, and this range is not in use (RFC 5737).
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) if !address.is_unspecified() && !address.is_loopback() => Some(address),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

/// Whether only machines nearby reach the address: private, link-local, shared (RFC 6598, some VPNs) or loopback.
const fn is_local(address: Ipv4Addr) -> bool {
    let is_shared = matches!(address.octets(), [100, 64..=127, ..]);
    address.is_private() || address.is_link_local() || address.is_loopback() || is_shared
}
