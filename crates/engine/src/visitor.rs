//! Who opens a page, as far as the limits of pages tell people apart.

use std::net::IpAddr;

/// Who opens a page. A request extension: the server in front of the pages sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visitor {
    /// Those at this address; of IPv6, those in this network of 64 bits.
    Network(IpAddr),
    /// All who come through the program at this address: it says that it is a proxy, but not one that is trusted to name their
    /// addresses.
    Proxy(IpAddr),
    /// All who come over loopback: through a proxy on this machine, or from it.
    Loopback,
}
