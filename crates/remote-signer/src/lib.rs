//! Remote signers (NIP-46): asks a program that holds a user's key for a signature, over Nostr relays.
//!
//! ```text
//! NostrRemoteSigner (port RemoteSigner)
//!   └─ pairing: connect ─▶ switch_relays ─▶ get_public_key ─▶ sign_event ─▶ signed_event: is it what was asked for?
//!        │ requests, sealed with NIP-44            ▲ replies of this signer alone
//!        ▼                                         │
//!      relay: one connection per relay, shared by all pairings ─▶ relay ─▶ … ─▶ the user's signer
//! ```
//!
//! Each session has its own key, so that observers of relays cannot link sessions. Each relay connection has one relay
//! subscription for the keys of all waiting pairings.
//!
//! Kind 24133 is ephemeral: a signer that is offline never receives a request. So a request is repeated with the same
//! id until there is a reply.
//!
//! Relays and the signer itself are untrusted input. Nobody can impersonate the signer: before it is known, only a
//! reply with the secret of our address is accepted, and afterwards only its own events. The signer cannot falsify the
//! result: it is a signed event, which is compared with the request.

mod bunker_url;
mod invitation;
mod message;
mod options;
mod pairing;
mod relay;
mod relay_url;
mod remote_signer;
mod signed_event;
mod storage_cipher;
mod stored_session;

pub use options::RemoteSignerOptions;
pub use remote_signer::{NostrRemoteSigner, StartError};
