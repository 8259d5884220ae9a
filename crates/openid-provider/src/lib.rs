//! The OpenID Connect provider: other apps log users in through this service.
//!
//! Authorization code flow only (OpenID Connect Core 1.0, RFC 6749), with PKCE (RFC 7636), `iss` in every authorization
//! response (RFC 9207), and the rules of RFC 9700. [`Logins`] hides how a user logs in: this crate sees who the user
//! is, and when and how they logged in.
//!
//! | path | file |
//! | --- | --- |
//! | `/.well-known/openid-configuration`, `/oauth/jwks` | `discovery` |
//! | `/oauth/authorize` | `authorize`: checks a request, then login, consent or code |
//! | `/oauth/login-return` | `login_return`: where the login page redirects at its end |
//! | `/oauth/consent` | `consent`: the user consents once per client |
//! | `/oauth/token` | `token` |
//! | `/oauth/userinfo` | `userinfo` |
//! | `/oauth/end-session` | `end_session` |
//!
//! `storage_bounds` limits what anonymous requests can make the provider store.
//!
//! Everything that a browser or a client holds is a random secret, of which only the hash is stored (`records`): an
//! authorization request waiting for the login or for consent, a session, a code, tokens. A step that consumes one and
//! creates the next is one transaction, so nothing can be used twice, even after a crash. The records:
//!
//! ```text
//! authorize ─▶ login ─▶ session + code          (consented before)
//!                    └▶ session + consent ─▶ code ─▶ access token, refresh token ─▶ access token, refresh token ─▶ …
//! ```
//!
//! A crash between two steps loses nothing: the next step finds what the previous one stored. A response lost after its
//! step cannot be repeated, so the user or the client starts again; only a refresh can be repeated, for 10 s (`token`).

mod address_pseudonym_key;
mod authorization_request;
mod authorize;
mod browser_session;
mod claims;
mod cleanup;
mod client;
mod client_authentication;
mod client_changes;
mod clients;
mod consent;
mod control;
mod discovery;
mod end_session;
mod id_token;
mod keys;
mod login_return;
mod logins;
mod page;
mod parameters;
mod prefetch_guard;
mod provider;
mod records;
mod redirect;
mod routes;
mod secret;
mod storage_bounds;
mod texts;
mod token;
mod userinfo;

pub use address_pseudonym_key::AddressPseudonymKey;
pub use client::{Client, ClientError, ClientSecret, check_redirect_uri};
pub use keys::{Algorithm, SigningKeys};
pub use logins::{BeginLogin, LoginError, LoginOutcome, LoginStarted, Logins};
pub use provider::{OpenIdOptions, OpenIdParts};
pub use routes::OpenIdProvider;
pub use secret::TokenKey;
