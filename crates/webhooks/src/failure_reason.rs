//! Describes a failure for the operator. The text contains neither the URL nor anything that the receiver sent.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use http::StatusCode;
use usher_address_guard::GuardError;

/// Longest text kept of a TLS error, which may contain the names in a certificate.
const MAX_TLS_TEXT: usize = 200;

pub(crate) fn of_status(status: StatusCode) -> String {
    let name = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    let note = if status.is_redirection() { " (redirects are not followed)" } else { "" };
    format!("the receiver answered {}{name}{note}", status.as_u16())
}

/// The reason of a failed exchange, whose time limit is `within`.
pub(crate) fn of_failure(error: &usher_http_client::Error, timeout: Duration) -> String {
    use usher_http_client::Error;
    let words = match error.guard() {
        Some(GuardError::TooSlow) => return "could not connect in time".to_owned(),
        // The system's error, which does not contain the host.
        Some(GuardError::Unresolved(error)) => Some(format!("the host name could not be looked up ({error})")),
        Some(refused) => Some(refused.to_string()),
        // The innermost cause is the most specific.
        None => error.causes().filter_map(of_cause).last(),
    };
    match (error, words) {
        (Error::TimedOut, _) => format!("no answer within {timeout:?}"),
        (Error::ConnectTimedOut, _) => "could not connect in time".to_owned(),
        (Error::Connect(_), Some(words)) => format!("could not connect: {words}"),
        (_, Some(words)) => words,
        (Error::Exchange(_), None) => "the exchange failed".to_owned(),
        (_, None) => "could not connect".to_owned(),
    }
}

fn of_cause(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error);
    }
    let error = error.downcast_ref::<hyper::Error>()?;
    if error.is_parse_too_large() {
        Some("the answer's headers are too large".to_owned())
    } else if error.is_parse() {
        Some("the answer is not HTTP".to_owned())
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Some("the receiver closed the connection before it answered".to_owned())
    } else {
        None
    }
}

fn of_io(error: &io::Error) -> Option<String> {
    // An I/O error that wraps another does not return it as its source.
    if let Some(wrapped) = error.get_ref() {
        if let Some(inner) = wrapped.downcast_ref::<io::Error>() {
            return of_io(inner);
        }
        if let Some(tls) = wrapped.downcast_ref::<rustls::Error>() {
            let text: String = tls.to_string().chars().filter(|c| !c.is_control()).take(MAX_TLS_TEXT).collect();
            return Some(format!("TLS: {text}"));
        }
    }
    Some(match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "the receiver broke the connection".to_owned()
        }
        ErrorKind::UnexpectedEof => "the receiver closed the connection before it answered".to_owned(),
        ErrorKind::TimedOut => "no connection in time".to_owned(),
        ErrorKind::Other => return None,
        kind => kind.to_string(),
    })
}
