//! Describes a failure for the operator. The text contains neither the URL nor anything that the receiver sent.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use http::StatusCode;
use usher_http_client::{ConnectError, TooMuchInterim};

use crate::bounded_resolver::LookupFailed;

/// What TLS has to say may name what a certificate is for; no more than this is kept of it.
const LONGEST_TLS_TEXT: usize = 200;

/// The receiver responded, but not with 2xx.
pub(crate) fn of_status(status: StatusCode) -> String {
    let name = status.canonical_reason().map(|name| format!(" {name}")).unwrap_or_default();
    let note = if status.is_redirection() { " (redirects are not followed)" } else { "" };
    format!("the receiver answered {}{name}{note}", status.as_u16())
}

/// The deadline passed before the head of a response arrived.
pub(crate) fn of_silence(timeout: Duration) -> String {
    format!("no answer within {timeout:?}")
}

/// There was no response, or none that could be read.
pub(crate) fn of_failure(error: &usher_http_client::Error) -> String {
    // The innermost cause knows best.
    let causes = std::iter::successors(Some(error as &(dyn Error + 'static)), |error| Error::source(*error));
    let words = causes.filter_map(of_cause).last();
    match words {
        Some(words) if error.is_connect() => format!("could not connect: {words}"),
        Some(words) => words,
        None if is_late(error) => "could not connect in time".to_owned(),
        None if error.is_connect() => "could not connect".to_owned(),
        None => "the exchange failed".to_owned(),
    }
}

/// Whether the connection took too long.
fn is_late(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| Error::source(*error));
    causes.any(|error| matches!(error.downcast_ref(), Some(ConnectError::Timeout)))
}

fn of_cause(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error);
    }
    if error.is::<LookupFailed>() {
        return Some(error.to_string());
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
    // An I/O error that wraps another does not name it as its source.
    if let Some(wrapped) = error.get_ref() {
        if let Some(inner) = wrapped.downcast_ref::<io::Error>() {
            return of_io(inner);
        }
        if wrapped.is::<TooMuchInterim>() {
            return Some("the receiver sent interim responses without end".to_owned());
        }
        if let Some(tls) = wrapped.downcast_ref::<rustls::Error>() {
            let text: String = tls.to_string().chars().filter(|c| !c.is_control()).take(LONGEST_TLS_TEXT).collect();
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
