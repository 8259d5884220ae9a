//! The network of a page's visitor, for the limits of pages: the connection's peer, or the client named by a trusted
//! proxy.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use ipnet::IpNet;
use usher_engine::{ClientNetwork, PageRequestSource};

use crate::local_request::names_proxy;
use crate::peer_address::Peer;
use crate::request_id::RequestId;

/// The header to which a proxy appends the address of its client.
const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// Proxies whose `X-Forwarded-For` is trusted (`pages.trusted_proxies`, `info.trusted_proxies`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// The proxies in these networks.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> Self {
        Self(networks.into_iter().collect())
    }

    /// The address of the request's sender: the client named by a trusted proxy, or the peer.
    pub(crate) fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if self.trusts(peer) { forwarded_for(self, headers).unwrap_or(peer) } else { peer }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address.to_canonical()))
    }
}

/// Adds the client's network to requests for pages.
pub(crate) async fn identify(State(trusted): State<TrustedProxies>, mut request: Request, next: Next) -> Response {
    if let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() {
        if !trusted.trusts(peer) {
            warn_of_proxy(peer, request.headers());
        }
        let address = trusted.client_address(peer, request.headers());
        let request_id = request.extensions().get::<RequestId>().map(|id| id.as_str().to_owned()).unwrap_or_default();
        let address_text = address.to_canonical().to_string();
        let extensions = request.extensions_mut();
        extensions.insert(PageRequestSource { address: address_text, request_id });
        extensions.insert(ClientNetwork::at(address));
    }
    next.run(request).await
}

/// Logs a warning, once: anybody can send this header, so it is ignored.
fn warn_of_proxy(peer: IpAddr, headers: &HeaderMap) {
    static WARNED: Once = Once::new();
    if names_proxy(headers) {
        WARNED.call_once(|| {
            tracing::warn!(
                %peer,
                "a request for a page says that a proxy has forwarded it, and pages.trusted_proxies does not name the proxy: \
                 all who come through it share the limits of one address"
            );
        });
    }
}

/// The client named by the trusted proxies. Each proxy appends the address of its client; entries before the last
/// untrusted one may be forged.
fn forwarded_for(trusted: &TrustedProxies, headers: &HeaderMap) -> Option<IpAddr> {
    let lines: Vec<&str> =
        headers.get_all(X_FORWARDED_FOR).iter().map(|line| line.to_str().unwrap_or_default()).collect();
    for entry in lines.iter().flat_map(|line| line.split(',')).rev() {
        let entry = entry.trim();
        // Some proxies append the port.
        let address = entry.parse().or_else(|_| entry.parse().map(|address: SocketAddr| address.ip())).ok()?;
        if !trusted.trusts(address) {
            return Some(address);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(trusted: &[&str], peer: &str, headers: &[(&'static str, &str)]) -> ClientNetwork {
        let trusted = TrustedProxies::new(trusted.iter().map(|network| network.parse().unwrap()));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        ClientNetwork::at(trusted.client_address(peer.parse().unwrap(), &map))
    }

    fn network(address: &str) -> ClientNetwork {
        ClientNetwork::Network(address.parse().unwrap())
    }

    const TRUSTED: [&str; 2] = ["127.0.0.1/32", "10.1.0.0/16"];

    #[test]
    fn direct_clients_are_known_by_their_network() {
        for trusted in [&TRUSTED[..], &[]] {
            assert_eq!(seen(trusted, "198.51.100.7", &[]), network("198.51.100.7"));
            assert_eq!(seen(trusted, "::ffff:198.51.100.7", &[]), network("198.51.100.7"));
            assert_eq!(seen(trusted, "2001:db8:1:2:3:4:5:6", &[]), network("2001:db8:1::"));
            assert_eq!(seen(trusted, "::1", &[]), ClientNetwork::Loopback);
        }
    }

    #[test]
    fn trusted_proxy_names_its_client() {
        let forwarded = |value: &'static str| seen(&TRUSTED, "127.0.0.1", &[(X_FORWARDED_FOR, value)]);
        assert_eq!(forwarded("198.51.100.7"), network("198.51.100.7"));
        assert_eq!(forwarded("198.51.100.7:51234"), network("198.51.100.7"));
        assert_eq!(forwarded("[2001:db8::7]:51234"), network("2001:db8::"));
        assert_eq!(forwarded("2001:db8::7"), network("2001:db8::"));
        // The client's own entry is ignored.
        assert_eq!(forwarded("203.0.113.9, 198.51.100.7"), network("198.51.100.7"));
        assert_eq!(forwarded("203.0.113.9, 198.51.100.7, 10.1.2.3"), network("198.51.100.7"), "two proxies");
        for nobody in ["nonsense, 10.1.2.3", "nonsense", "10.1.2.3", "127.0.0.1", ""] {
            assert_eq!(forwarded(nobody), ClientNetwork::Loopback, "{nobody}");
        }
        let lines = [(X_FORWARDED_FOR, "203.0.113.9"), (X_FORWARDED_FOR, "198.51.100.7")];
        assert_eq!(seen(&TRUSTED, "10.1.9.9", &lines), network("198.51.100.7"));
        assert_eq!(seen(&TRUSTED, "10.1.9.9", &[]), network("10.1.9.9"));
    }

    #[test]
    fn nobody_else_names_a_client_or_has_more_room() {
        let forwarded = [(X_FORWARDED_FOR, "203.0.113.9")];
        assert_eq!(seen(&[], "127.0.0.1", &forwarded), ClientNetwork::Loopback);
        for name in [X_FORWARDED_FOR, "forwarded", "via", "x-real-ip"] {
            let peer = network("198.51.100.7");
            assert_eq!(seen(&TRUSTED, "198.51.100.7", &[(name, "203.0.113.9")]), peer, "{name}");
        }
    }
}
