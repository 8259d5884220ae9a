//! The `Host` header (RFC 9112 section 3.2).

use std::net::Ipv6Addr;

use http::header::HOST;
use http::{HeaderMap, Version};

use crate::problem::{ErrorCode, Problem};

/// Passes if a request has exactly one `Host` header (optional in HTTP/1.0) of valid form. Otherwise a proxy in front
/// may have used a different host.
///
/// # Errors
/// `malformed_request`.
pub(crate) fn check(version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let detail = "the request must name its host in one `Host` header (RFC 9112 section 3.2)";
    is_valid(version, headers).then_some(()).ok_or_else(|| Problem::new(ErrorCode::MalformedRequest, detail))
}

fn is_valid(version: Version, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => is_host(host.as_bytes()),
        (Some(_), Some(_)) => false,
    }
}

/// `uri-host [ ":" port ]` (RFC 3986 section 3.2). Empty counts as missing.
fn is_host(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let (is_name, rest) = match host.strip_prefix('[') {
        Some(literal) => match literal.split_once(']') {
            Some((address, rest)) => (address.parse::<Ipv6Addr>().is_ok(), rest),
            None => return false,
        },
        None => {
            let (name, rest) = host.split_at(host.find(':').unwrap_or(host.len()));
            (!name.is_empty() && name.bytes().all(is_of_name), rest)
        }
    };
    is_name && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// Whether a registered name may contain this byte: unreserved, sub-delims, or part of `%xx`.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(&byte)
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && (port.is_empty() || port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn valid(version: Version, hosts: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_str(host).unwrap());
        }
        is_valid(version, &headers)
    }

    #[test]
    fn exactly_one_valid_host_is_accepted() {
        for host in
            ["a", "localhost:3000", "10.0.0.1", "usher_1.lan:80", "[::1]", "[::1]:3000", "a:", "x%41", "A.Example."]
        {
            assert!(valid(Version::HTTP_11, &[host]) && valid(Version::HTTP_10, &[host]), "{host}");
        }
        for host in
            ["", ":80", "a b", "a/b", "user@a", "a:b", "a:80:80", "a:99999", "[::1", "::1", "[x]", "[::1]80", "a?", "é"]
        {
            assert!(!valid(Version::HTTP_11, &[host]) && !valid(Version::HTTP_10, &[host]), "{host}");
        }
        assert!(!valid(Version::HTTP_11, &[]));
        assert!(valid(Version::HTTP_10, &[]));
        assert!(!valid(Version::HTTP_11, &["a", "a"]));
        assert!(!valid(Version::HTTP_10, &["a", "b"]));
    }
}
