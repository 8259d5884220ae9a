//! How connections end.

use std::fmt;

use tokio_tungstenite::tungstenite;

use crate::meter::Abuse;

/// How good a connection was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quality {
    /// It held for long.
    Good,
    /// It held for a moment, and the relay said something.
    Fair,
    /// The relay said something before it ended, but soon.
    Short,
    /// Nothing was heard.
    Useless,
    /// The relay was too much of a burden.
    Abusive,
}

/// Why a session ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The relay is no longer wanted, or the service stops.
    ByUs,
    /// The relay closed the connection.
    ByRelay(String),
    /// The connection broke.
    Broken(tungstenite::Error),
    /// Nothing came, not even the answer to a ping.
    Silent,
    /// The socket took nothing any more.
    Stuck,
    /// A user's relay sent too much that is of no use.
    Nuisance,
    /// The connection cost more than it brought.
    Abuse(Abuse),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByUs => f.write_str("closed by us"),
            Self::ByRelay(reason) if reason.is_empty() => f.write_str("closed by the relay"),
            Self::ByRelay(reason) => write!(f, "closed by the relay: {reason}"),
            Self::Broken(error) => write!(f, "the connection broke: {error}"),
            Self::Silent => f.write_str("nobody answers any more"),
            Self::Stuck => f.write_str("the relay does not read what we send"),
            Self::Nuisance => f.write_str("the relay floods us"),
            Self::Abuse(abuse) => write!(f, "the relay floods us: {abuse}"),
        }
    }
}

impl From<tungstenite::Error> for Ended {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => Self::ByRelay(String::new()),
            tungstenite::Error::Io(error) => match Abuse::of(&error) {
                Some(abuse) => Self::Abuse(abuse),
                None => Self::Broken(error.into()),
            },
            error => Self::Broken(error),
        }
    }
}
