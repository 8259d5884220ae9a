//! The log line of a request, which contains no text of the client.

use std::net::IpAddr;
use std::time::Duration;

use http::{Method, StatusCode};

/// A request whose response has begun.
pub(crate) struct CompletedRequest<'a> {
    /// One of HTTP's standard methods, or `other`.
    pub(crate) method: &'static str,
    pub(crate) route: &'a str,
    pub(crate) status: StatusCode,
    /// The time until the response began.
    pub(crate) latency: Duration,
}

impl CompletedRequest<'_> {
    /// Logs a request with a valid token: at `debug` if it succeeded, otherwise at `info`. Logging thousands of
    /// requests per second would take a tenth to a quarter of their processor time (docs/performance.md).
    pub(crate) fn log(&self) {
        self.log_unauthenticated(None, true);
    }

    /// Logs a request without a valid token, with its peer address; at `info` only if `allowed`.
    pub(crate) fn log_unauthenticated(&self, peer: Option<IpAddr>, allowed: bool) {
        let (method, path, status) = (self.method, self.route, self.status.as_u16());
        let latency_ms = self.latency.as_secs_f64() * 1000.0;
        let peer = peer.map(tracing::field::display);
        if allowed && (self.status.is_client_error() || self.status.is_server_error()) {
            tracing::info!(method, path, status, latency_ms, peer, "answered");
        } else {
            tracing::debug!(method, path, status, latency_ms, peer, "answered");
        }
    }
}

/// The name of a method. A non-standard method is a client's text, which stays out of the log.
pub(crate) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::PATCH => "PATCH",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

pub(crate) fn record_stream_id(stream: &impl std::fmt::Display) {
    tracing::Span::current().record("stream_id", tracing::field::display(stream));
}
