//! Whether a request comes from this machine, and from which page.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONNECTION, FORWARDED, HOST, ORIGIN, VIA};
use http::{HeaderMap, HeaderName, Version};

use crate::peer_address::Peer;
use crate::problem::{ErrorCode, Problem};

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
    peer && is_addressed_locally(request)
}

/// As [`is_local`], whatever the peer: a container's port may be published at loopback.
fn is_addressed_locally(request: &Request) -> bool {
    let headers = request.headers();
    names_loopback(headers) && !is_by_way_of_proxy(request.version(), headers)
}

/// Passes a request under a loopback name that no other site's page makes: any page that this machine's browser shows
/// can send requests here. It can open a page, but neither read nor frame it.
pub(crate) async fn require_own_page(request: Request, next: Next) -> Response {
    let refused = |detail: &'static str| Problem::new(ErrorCode::RouteNotFound, detail).into_response();
    if !is_addressed_locally(&request) {
        return refused("this page is for browsers on this machine, at `localhost`");
    }
    if !is_of_own_page(&request) {
        return refused("only a page of this service can send this request");
    }
    next.run(request).await
}

/// Whether the request opens a page, or comes from a page of the same origin, as far as the browser reports it (Fetch
/// Metadata Request Headers, section 2). A request that may change something must say so.
fn is_of_own_page(request: &Request) -> bool {
    let named = |name: &str| request.headers().get(name).map(http::HeaderValue::as_bytes);
    let is_read = request.method().is_safe();
    match named("sec-fetch-site") {
        Some(b"same-origin") => true,
        Some(_) => is_read && named("sec-fetch-dest").is_none_or(|destination| destination == b"document"),
        None => match (named(ORIGIN.as_str()), named(HOST.as_str())) {
            (None, _) => is_read,
            (Some(origin), host) => origin.strip_prefix(b"http://") == host,
        },
    }
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
    fn changes_come_from_a_page_of_the_same_origin_only() {
        let own = |method: &str, headers: &[(&'static str, &'static str)]| {
            let mut request = Request::builder().method(method).header("host", "localhost:3000");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            is_of_own_page(&request.body(Body::empty()).unwrap())
        };
        let document = ("sec-fetch-dest", "document");
        for (headers, read, change) in [
            (&[("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "iframe")][..], true, true),
            (&[("sec-fetch-site", "none"), document], true, false),
            (&[("sec-fetch-site", "cross-site"), document], true, false),
            (&[("sec-fetch-site", "same-site"), document], true, false),
            (&[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "iframe")], false, false),
            (&[("sec-fetch-site", "cross-site"), ("sec-fetch-dest", "empty")], false, false),
            (&[("origin", "http://localhost:3000")], true, true),
            (&[("origin", "http://localhost:8080")], false, false),
            (&[("origin", "https://localhost:3000")], false, false),
            (&[("origin", "null")], false, false),
            (&[], true, false),
        ] {
            assert_eq!((own("GET", headers), own("POST", headers)), (read, change), "{headers:?}");
        }
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
