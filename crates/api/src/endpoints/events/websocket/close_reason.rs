//! Why a session is closed.

use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The client closed the session.
    Client,
    /// The connection broke: no close frame can be sent.
    Broken,
    /// The service stops.
    Stopping,
    /// The client breaks the WebSocket protocol.
    Protocol,
    /// A binary message.
    Binary,
    /// A text message that is not UTF-8.
    NotText,
    /// A message that is too large.
    TooLarge,
    /// The client did not authenticate.
    Unauthenticated,
    /// The limit of authenticated WebSockets is reached.
    Full,
    /// The client does not read its messages.
    SlowReader,
    /// The client does not respond to pings.
    Silent,
}

impl CloseReason {
    /// The close code: RFC 6455 section 7.4.1, and our own from 4000 on.
    pub(super) const fn code(self) -> Option<u16> {
        Some(match self {
            Self::Client | Self::Broken => return None,
            Self::Stopping => 1001,
            Self::Protocol => 1002,
            Self::Binary => 1003,
            Self::NotText => 1007,
            Self::TooLarge => 1009,
            Self::Full => 1013,
            Self::Unauthenticated => 4001,
            Self::SlowReader => 4008,
            Self::Silent => 4009,
        })
    }

    /// The close frame for the client; `None` when it closed the connection itself, or is gone. At most 123 bytes (RFC 6455 section 5.5).
    pub(super) fn frame(self) -> Option<CloseFrame> {
        let reason = match self {
            Self::Client | Self::Broken => "",
            Self::Stopping => "the service is stopping; connect again and resume with `after`",
            Self::Protocol => "not the WebSocket protocol",
            Self::Binary => "messages must be text",
            Self::NotText => "not UTF-8",
            Self::TooLarge => "the message is too large",
            Self::Full => "limits.max_websockets is reached; try again later",
            Self::Unauthenticated => "not authenticated",
            Self::SlowReader => "reads too slowly; connect again and resume with `after`",
            Self::Silent => "a ping was not answered",
        };
        self.code().map(|code| CloseFrame { code: CloseCode::from(code), reason: reason.into() })
    }
}
