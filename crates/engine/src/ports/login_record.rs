//! The records of logins: a row for each login that has ended with a result.

use usher_protocol::PublicKey;

use crate::{Origin, StreamId, UnixMillis};

/// How a login ended, as known by its operation. It has neither an address nor a browser.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginRecord {
    /// The reusable login at which it was, whose stream has its events.
    pub reusable: Option<StreamId>,
    /// How it ended.
    pub status: LoginRecordStatus,
    /// The method with which the key was proven, or the user was asked.
    pub method: Option<String>,
    /// The other app that the user logged in to.
    pub app: Option<String>,
    /// The user, if a key was named.
    pub main_key: Option<PublicKey>,
    /// Why it failed; possibly in the user's words.
    pub reason: Option<String>,
}

usher_protocol::debug_shows!(LoginRecord { status });

usher_protocol::words! {
    /// How a login ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LoginRecordStatus {
        /// The user has logged in.
        Approved = "approved",
        /// The user refused.
        Declined = "declined",
        /// Nobody answered in time.
        Timeout = "timeout",
        /// It failed.
        Error = "error",
    }
}

/// A stored record of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedLogin {
    /// Its place in the list.
    pub position: LoginPosition,
    /// The stream that has its events.
    pub stream_id: StreamId,
    /// Who started it.
    pub origin: Option<Origin>,
    /// How it ended.
    pub record: LoginRecord,
}

/// When a login ended, and its operation.
pub type LoginPosition = (UnixMillis, StreamId);

/// A filter for records of logins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoginFilter {
    /// Ended at this time or later.
    pub from: Option<UnixMillis>,
    /// Ended before this time.
    pub to: Option<UnixMillis>,
    /// Of this user, or on this stream.
    pub of: Option<LoginSubject>,
}

/// Whose or which logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginSubject {
    /// Those of a user.
    User(PublicKey),
    /// Those whose events are on a stream.
    Stream(StreamId),
}
