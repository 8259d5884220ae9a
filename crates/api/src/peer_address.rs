//! The peer of a connection.

use std::net::IpAddr;

/// The address of the peer of the request's connection. A request extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// The address of the request's sender: the peer, or the client named by a trusted proxy. A request extension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);
