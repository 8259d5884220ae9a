//! API keys: secrets that may do less than `auth.auth_token`. What a key may do is its [`Terms`]; [`KeyRing`] has all keys in
//! memory, so that no request waits for the store. [`Operators`] are people, whose sessions are used like keys.

mod key;
mod key_error;
mod operator_sessions;
mod operators;
mod ring;
mod role;
mod scope;
mod secret;
mod terms;
mod validity;

pub use key::{AcceptedSecret, KeyView, OperatorClient};
pub use key_error::KeyError;
pub use operator_sessions::{LONGEST_SESSION, OpenSession, OperatorSessions, SessionView};
pub use operators::{AcceptError, ConsoleUser, Invitation, MAX_OPERATOR_NAME, Operator, Operators};
pub use operators::{is_operator_name, operator_id};
pub use ring::{KeyRing, MAX_KEYS, MAX_OVERLAP, NewSecret};
pub use role::Role;
pub use scope::Scope;
pub use secret::{KeySecret, SECRET_PREFIX};
pub use terms::{NewKeyRequest, ScopeWord, Terms};
