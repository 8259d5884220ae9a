use std::error::Error as StdError;

use usher_address_guard::GuardError;

/// Why a request failed. Neither an error nor its sources contain the URL or text of the server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options of the client are invalid.
    #[error("the HTTP client cannot be set up")]
    Setup,
    /// The URL is not `http` or `https` (or not `https`, where only that is allowed), or has no host.
    #[error("the URL cannot be connected to")]
    Url,
    /// The URL has an IP address that may not be connected to.
    #[error("the address is not allowed")]
    Address(#[source] GuardError),
    /// The connection failed.
    #[error("there is no connection")]
    Connect(#[source] reqwest::Error),
    /// Connecting timed out.
    #[error("the connection took too long")]
    ConnectTimedOut,
    /// The exchange timed out.
    #[error("the exchange took too long")]
    TimedOut,
    /// No valid response head was received.
    #[error("the exchange failed")]
    Exchange(#[source] reqwest::Error),
    /// The body of the response is incomplete.
    #[error("the response broke off")]
    Body(#[source] reqwest::Error),
    /// The body of the response exceeds the limit of the caller.
    #[error("the response is too large")]
    TooLarge,
}

impl Error {
    pub(crate) fn of_request(error: reqwest::Error) -> Self {
        let error = error.without_url();
        match (error.is_connect(), error.is_timeout()) {
            (true, true) => Self::ConnectTimedOut,
            (true, false) => Self::Connect(error),
            (false, true) => Self::TimedOut,
            (false, false) if error.is_builder() => Self::Url,
            (false, false) => Self::Exchange(error),
        }
    }

    pub(crate) fn of_body(error: reqwest::Error) -> Self {
        if error.is_timeout() { Self::TimedOut } else { Self::Body(error.without_url()) }
    }

    /// Whether the server may have received part of the request.
    pub fn may_be_sent(&self) -> bool {
        !matches!(self, Self::Setup | Self::Url | Self::Address(_) | Self::Connect(_) | Self::ConnectTimedOut)
    }

    /// This error followed by its sources.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        std::iter::successors(Some(self as &(dyn StdError + 'static)), |error| (*error).source())
    }

    /// The refusal of the address guard, if that is the cause.
    pub fn guard(&self) -> Option<&GuardError> {
        self.causes().find_map(|cause| cause.downcast_ref())
    }

    /// The innermost cause.
    pub fn root_cause(&self) -> &(dyn StdError + 'static) {
        self.causes().last().unwrap_or(self)
    }
}
