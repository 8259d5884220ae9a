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
//! Each session has a key of its own, so that nobody who watches relays sees which sessions belong together. A relay holds
//! one relay subscription for the keys of all pairings that wait.
//!
//! Kind 24133 is ephemeral: a signer that is away never sees a request. So a request is repeated, always with the same id,
//! until there is a reply.
//!
//! Relays, and the signer itself, are untrusted input. Nobody can pretend to be the signer: before it is known, only a reply
//! that contains the secret of our address counts, and after that only its own events do. And the signer can pretend
//! nothing: the result is a signed event, which is compared with what was asked for.

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
