//! A request to a user's remote signer, and what is reported of it (`kernel/remote_signer_queue.rs`).

use crate::ports::{RemoteSignerError, SignedEvent, SignerProgress, SignerSession, WantedEvent};
use crate::{ClientNetwork, UnixMillis};

/// A request for the remote signer's adapter.
#[derive(Clone, PartialEq, Eq)]
pub struct SignerCall {
    pub(crate) number: u32,
    pub(crate) session: SignerSession,
    pub(crate) wanted: WantedEvent,
    pub(crate) until: UnixMillis,
    pub(crate) is_kept: bool,
    /// The network of the user who named the signer, if known; not stored.
    pub(crate) network: Option<ClientNetwork>,
}

/// A report about a request.
#[derive(Clone, Debug)]
pub struct SignerReport {
    pub(crate) number: u32,
    pub(crate) update: SignerUpdate,
}

/// The reported update.
#[derive(Clone, Debug)]
pub enum SignerUpdate {
    /// Progress.
    Progress(SignerProgress),
    /// The end.
    Ended(Result<Box<SignedEvent>, RemoteSignerError>),
}

usher_protocol::debug_shows!(SignerCall { number });
