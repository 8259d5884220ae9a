//! Whether a request comes from this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use http::header::{CONNECTION, FORWARDED, HOST, VIA};
use http::{HeaderMap, HeaderName, Version};

use crate::peer_address::Peer;

/// Headers of proxies, beside `X-Forwarded-…`. Behind a proxy on this machine, every client has a local address.
const BY_WAY_OF: [HeaderName; 5] = [
    FORWARDED,
    VIA,
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-client-ip"),
    HeaderName::from_static("cf-connecting-ip"),
];

/// Whether a request arrived over loopback, under a loopback name, and not through a proxy. The name is checked because
/// a hostile web page may have its own name resolve to 127.0.0.1 (DNS rebinding).
pub(crate) fn is_local(request: &Request) -> bool {
    let peer = request.extensions().get::<Peer>().is_some_and(|Peer(address)| address.to_canonical().is_loopback());
    let headers = request.headers();
    peer && names_loopback(headers) && !is_by_way_of_proxy(request.version(), headers)
}

/// Whether there is a sign of a proxy. Some add no header: nginx by default speaks HTTP/1.0 or sends `Connection:
/// close`, and browsers do neither.
fn is_by_way_of_proxy(version: Version, headers: &HeaderMap) -> bool {
    let closes = headers.get_all(CONNECTION).iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"keep-alive"));
    version < Version::HTTP_11 || closes || names_proxy(headers)
}

pub(crate) fn names_proxy(headers: &HeaderMap) -> bool {
    BY_WAY_OF.iter().any(|name| headers.contains_key(name))
        || headers.keys().any(|name| name.as_str().starts_with("x-forwarded-"))
}

fn names_loopback(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else { return false };
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_loopback = address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback());
        return is_loopback && (port.is_empty() || port.starts_with(':'));
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn local(peer: Option<&str>, headers: &[(&'static str, &'static str)]) -> bool {
        let mut request = Request::new(Body::empty());
        if let Some(peer) = peer {
            request.extensions_mut().insert(Peer(peer.parse().unwrap()));
        }
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        is_local(&request)
    }

    #[test]
    fn request_is_local_only_with_loopback_peer_and_host() {
        for peer in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            for host in ["localhost", "LocalHost:3000", "127.0.0.1", "127.0.0.1:3000", "[::1]", "[::1]:3000"] {
                assert!(local(Some(peer), &[("host", host)]), "{peer} {host}");
            }
        }
        for host in ["", "example.com", "example.com:3000", "localhost.example", "10.0.0.1", "[::2]", "[::1]x", "127.1"]
        {
            assert!(!local(Some("127.0.0.1"), &[("host", host)]), "{host}");
        }
        assert!(!local(Some("127.0.0.1"), &[]));
        assert!(!local(Some("127.0.0.1"), &[("host", "localhost"), ("host", "localhost")]));
        for peer in ["10.0.0.1", "192.168.1.1", "::2", "::ffff:10.0.0.1"] {
            assert!(!local(Some(peer), &[("host", "localhost")]), "{peer}");
        }
        assert!(!local(None, &[("host", "localhost")]));
        for name in ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"] {
            assert!(!local(Some("127.0.0.1"), &[("host", "localhost"), (name, "x")]), "{name}");
        }
        assert!(!local(Some("127.0.0.1"), &[("host", "localhost"), ("connection", "close")]), "as nginx has it");
        assert!(local(Some("127.0.0.1"), &[("host", "localhost"), ("connection", "keep-alive")]));
    }
}
