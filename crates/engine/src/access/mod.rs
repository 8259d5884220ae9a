//! API keys: secrets that may do less than `auth.auth_token`. What a key may do is its [`Terms`]; [`KeyRing`] has all keys in
//! memory, so that no request waits for the store.

mod ring;
mod scope;
mod secret;
mod terms;
mod validity;

pub use ring::{AcceptedSecret, KeyError, KeyRing, KeyView, MAX_KEYS, MAX_OVERLAP, NewSecret};
pub use scope::Scope;
pub use secret::{KeySecret, SECRET_PREFIX};
pub use terms::{NewKeyRequest, ScopeWord, Terms};
