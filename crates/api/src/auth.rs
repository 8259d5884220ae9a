//! Authentication: which clients may use an endpoint, and the bearer tokens and API keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};
use parking_lot::RwLock;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio_util::sync::CancellationToken;
use usher_engine::access::{AcceptedSecret, KeyError, KeyRing, OperatorClient, SECRET_PREFIX, Scope, Terms};
use usher_engine::ports::KeyId;
use usher_engine::{FieldErrors, Origin, Requester, UnixMillis};

use crate::problem::{ErrorCode, Problem};

/// Which clients may use an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthPolicy {
    Public,
    /// Clients with the token or a key.
    Client,
    /// As [`Client`](Self::Client), and clients of a WebSocket that send credentials in the first message.
    WebSocket,
    /// Operators with a session of the console.
    Console,
    /// Clients with the token or a key, also as the password of a browser; with
    /// [`is_development`](crate::ApiParts::is_development) also browsers on this machine.
    Docs,
}

impl AuthPolicy {
    /// First the one of most endpoints: the router's others are added to its own, one by one.
    pub(crate) const ALL: [Self; 4] = [Self::Client, Self::Public, Self::WebSocket, Self::Docs];
}

/// The accepted bearer tokens and keys; tokens can be replaced while the service runs. Cheap to clone: clones share
/// them. Only SHA-256 digests are kept and compared, so the duration of a comparison reveals nothing about a token.
#[derive(Clone)]
pub struct ApiTokens {
    accepted: Arc<RwLock<Vec<Accepted>>>,
    /// `None` in an instance that only forwards.
    keys: Option<Arc<KeyRing>>,
}

#[derive(Clone)]
struct Accepted {
    digest: [u8; 32],
    /// Cancelled when the token is revoked.
    revoked: CancellationToken,
    /// The last use since the service started, in Unix milliseconds; 0 for none.
    used_at: Arc<AtomicU64>,
}

/// The client has sent a valid key, but not from an accepted network. A request extension.
#[derive(Clone, Debug)]
pub(crate) struct RefusedClient(pub(crate) Authorization);

/// The client has sent a valid token or key. A request extension.
#[derive(Clone, Debug)]
pub(crate) struct Authorization(Credential);

#[derive(Clone, Debug)]
enum Credential {
    Token { revoked: CancellationToken, used_at: Arc<AtomicU64> },
    Key(AcceptedSecret),
}

impl Authorization {
    /// Cancelled when the token or key is revoked. A token of its own: a shared one would make all connections contend
    /// for its lock.
    pub(crate) fn revoked(&self) -> CancellationToken {
        match &self.0 {
            Credential::Token { revoked, .. } => revoked.child_token(),
            Credential::Key(secret) => secret.revoked(),
        }
    }

    pub(crate) fn is_revoked(&self) -> bool {
        match &self.0 {
            Credential::Token { revoked, .. } => revoked.is_cancelled(),
            Credential::Key(secret) => secret.is_revoked(),
        }
    }

    /// The session of an operator.
    pub(crate) fn of_operator(client: OperatorClient) -> Self {
        Self(Credential::Key(AcceptedSecret::of_operator(client)))
    }

    /// The operator, if it is the session of one.
    pub(crate) fn operator(&self) -> Option<&OperatorClient> {
        self.key().and_then(AcceptedSecret::operator)
    }

    /// The client's name in the audit log.
    pub(crate) fn actor(&self) -> String {
        match (self.operator(), self.key_id()) {
            (Some(client), _) => client.user.actor(),
            (None, Some(key)) => key.to_string(),
            (None, None) => "token".to_owned(),
        }
    }

    /// The key; `None` for the token.
    pub(crate) const fn key(&self) -> Option<&AcceptedSecret> {
        match &self.0 {
            Credential::Token { .. } => None,
            Credential::Key(secret) => Some(secret),
        }
    }

    /// What the key may do; `None` for the token, which may do everything.
    pub(crate) fn terms(&self) -> Option<&Terms> {
        self.key().map(AcceptedSecret::terms)
    }

    pub(crate) fn key_id(&self) -> Option<KeyId> {
        self.key().map(AcceptedSecret::key_id)
    }

    /// The key as the origin of the operations that it starts; `None` for the token.
    pub(crate) fn origin(&self) -> Option<Origin> {
        self.key_id().map(|key| key.origin())
    }

    /// The requester, for the engine. A request extension.
    pub(crate) fn requester(&self) -> Requester {
        self.key().map_or(Requester::Service, AcceptedSecret::requester)
    }

    /// Records another use of the token. Keys record their uses themselves.
    pub(crate) fn note_use(&self, now: UnixMillis) {
        if let Credential::Token { used_at, .. } = &self.0 {
            used_at.store(now.0, Ordering::Relaxed);
        }
    }
}

impl ApiTokens {
    /// Accepts `current` (`auth.auth_token`) and, during a rotation, `previous` (`auth.previous_token`).
    pub fn new(current: &SecretString, previous: Option<&SecretString>) -> Self {
        let tokens = Self { accepted: Arc::default(), keys: None };
        tokens.replace(current, previous);
        tokens
    }

    /// Adds these keys.
    #[must_use]
    pub(crate) fn and_keys(self, keys: Arc<KeyRing>) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// The last uses since the service started: of the current token and, during a rotation, of the previous one.
    pub(crate) fn last_uses(&self) -> Vec<Option<UnixMillis>> {
        let used = |token: &Accepted| Some(token.used_at.load(Ordering::Relaxed)).filter(|at| *at > 0).map(UnixMillis);
        self.accepted.read().iter().map(used).collect()
    }

    /// Fails for the previous token, with [`KeyError::Refused`]: a holder may have stolen it, and must not create
    /// access that outlives the rotation.
    pub(crate) fn require_current(&self, authorization: &Authorization) -> Result<(), KeyError> {
        let Credential::Token { used_at, .. } = &authorization.0 else { return Ok(()) };
        if self.accepted.read().first().is_some_and(|current| Arc::ptr_eq(&current.used_at, used_at)) {
            return Ok(());
        }
        let mut errors = FieldErrors::default();
        errors
            .add("", "keys are managed, and payments approved, with auth.auth_token and not with auth.previous_token");
        errors.finish(Some(())).map_err(KeyError::Refused)
    }

    /// As [`ApiTokens::require_current`], for requests that give access to others. Fails also for somebody who approves
    /// payments: they could approve what that access asks for.
    pub(crate) fn require_granter(&self, authorization: &Authorization) -> Result<(), KeyError> {
        self.require_current(authorization)?;
        let approves = |key: &AcceptedSecret| key.terms().scopes.contains(&Scope::Approvals);
        let mut errors = FieldErrors::default();
        if authorization.key().is_some_and(approves) {
            errors.add("", "who approves payments gives nobody access: they could approve what it asks for");
        }
        errors.finish(Some(())).map_err(KeyError::Refused)
    }

    /// Replaces the accepted tokens. WebSockets and event streams that were opened with a token that is no longer
    /// accepted are closed; running requests get their responses.
    pub fn replace(&self, current: &SecretString, previous: Option<&SecretString>) {
        let mut accepted = self.accepted.write();
        let kept = |digest: [u8; 32]| {
            let known = accepted.iter().find(|known| known.digest == digest);
            known.cloned().unwrap_or_else(|| Accepted {
                digest,
                revoked: CancellationToken::new(),
                used_at: Arc::default(),
            })
        };
        let replaced: Vec<_> =
            [Some(current), previous].into_iter().flatten().map(|token| kept(digest(token.expose_secret()))).collect();
        let revoked = accepted.iter().filter(|old| !replaced.iter().any(|kept| kept.digest == old.digest));
        revoked.for_each(|old| old.revoked.cancel());
        *accepted = replaced;
    }

    /// Requires an accepted token in the headers; otherwise `unauthorized`, with the challenge of RFC 6750 section 3.
    pub(crate) fn authorize(&self, headers: &HeaderMap) -> Result<Authorization, Problem> {
        let Some(token) = bearer(headers) else {
            return Err(refusal(
                "send the header `Authorization: Bearer <token>` with the service's auth.auth_token or an API key",
                HeaderValue::from_static("Bearer realm=\"usher\""),
            ));
        };
        self.authorize_token(token)
    }

    /// As [`authorize`](Self::authorize), but accepts the token also as the password of HTTP Basic (RFC 7617), for
    /// browsers. For pages only: a browser sends the password automatically, whichever site links here.
    pub(crate) fn authorize_browser(&self, headers: &HeaderMap) -> Result<Authorization, Problem> {
        let authorization = match basic_password(headers) {
            Some(password) => self.authorize_token(&password),
            None => self.authorize(headers),
        };
        let challenge = "Basic realm=\"usher\", Bearer realm=\"usher\"";
        authorization.map_err(|problem| problem.with_header(WWW_AUTHENTICATE, HeaderValue::from_static(challenge)))
    }

    /// Passes if this token or key is accepted.
    pub(crate) fn authorize_token(&self, token: &[u8]) -> Result<Authorization, Problem> {
        if let Some(secret) = self.keys.as_ref().and_then(|keys| keys.authenticate(token)) {
            return Ok(Authorization(Credential::Key(secret)));
        }
        let digest = digest(token);
        let accepted = self.accepted.read();
        // All digests are compared, whichever matches: constant time.
        let mut found = None;
        for accepted in accepted.iter().filter(|accepted| bool::from(digest.ct_eq(&accepted.digest))) {
            let (revoked, used_at) = (accepted.revoked.clone(), Arc::clone(&accepted.used_at));
            found = Some(Authorization(Credential::Token { revoked, used_at }));
        }
        found.ok_or_else(|| {
            let is_key = token.starts_with(SECRET_PREFIX.as_bytes());
            refusal(
                if is_key {
                    "the API key is wrong, has expired or was revoked"
                } else {
                    "the token is not the service's auth.auth_token"
                },
                HeaderValue::from_static("Bearer realm=\"usher\", error=\"invalid_token\""),
            )
        })
    }
}

impl std::fmt::Debug for ApiTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiTokens").field("accepted", &self.accepted.read().len()).finish()
    }
}

fn digest(token: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn refusal(detail: &'static str, challenge: HeaderValue) -> Problem {
    Problem::new(ErrorCode::Unauthorized, detail).with_header(WWW_AUTHENTICATE, challenge)
}

/// The error for a token or key that is no longer accepted.
pub(crate) fn revoked() -> Problem {
    let challenge = HeaderValue::from_static("Bearer realm=\"usher\", error=\"invalid_token\"");
    refusal("the token or API key is no longer accepted", challenge)
}

/// Whether the request contains credentials of any form.
pub(crate) fn has_token(headers: &HeaderMap) -> bool {
    headers.contains_key(AUTHORIZATION)
}

/// The token in the `Authorization` header, which must occur exactly once.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    credentials(headers, b"bearer ")
}

/// The password of `Authorization: Basic <Base64 of user:password>`.
fn basic_password(headers: &HeaderMap) -> Option<Vec<u8>> {
    let decoded = STANDARD.decode(credentials(headers, b"basic ")?).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    decoded.get(colon + 1..).map(<[u8]>::to_vec)
}

/// The text after the scheme (and its space) in the `Authorization` header, which must occur exactly once.
fn credentials<'a>(headers: &'a HeaderMap, scheme: &[u8]) -> Option<&'a [u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (found, credentials) = value.as_bytes().split_at_checked(scheme.len())?;
    let credentials = credentials.trim_ascii();
    (found.eq_ignore_ascii_case(scheme) && !credentials.is_empty()).then_some(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn admits(values: &[&str]) -> bool {
        ApiTokens::new(&SecretString::from("s3cret token"), None).authorize(&headers(values)).is_ok()
    }

    #[test]
    fn only_the_configured_token_is_accepted() {
        assert!(admits(&["Bearer s3cret token"]));
        assert!(admits(&["bearer s3cret token"]), "scheme names are case-insensitive (RFC 9110 section 11.1)");
        assert!(admits(&["BEARER   s3cret token "]));
        for wrong in [
            &[][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &["Bearer s3cret"],
            &["Bearer s3cret token2"],
            &["Bearer S3CRET TOKEN"],
            &["s3cret token"],
            &["Basic s3cret token"],
            &["Bearers3cret token"],
            &["Bearer s3cret token", "Bearer s3cret token"],
        ] {
            assert!(!admits(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn browsers_may_send_the_token_as_basic_password() {
        let tokens = ApiTokens::new(&SecretString::from("s3cret: token"), None);
        let admits = |user_and_password: &str| {
            let value = format!("Basic {}", STANDARD.encode(user_and_password));
            assert!(tokens.authorize(&headers(&[&value])).is_err(), "for pages only");
            tokens.authorize_browser(&headers(&[&value])).is_ok()
        };
        assert!(admits("admin:s3cret: token") && admits(":s3cret: token"));
        for wrong in ["", ":", "s3cret: token", "s3cret: token:", "admin:s3cret", "admin: s3cret: token"] {
            assert!(!admits(wrong), "{wrong:?}");
        }
        assert!(tokens.authorize_browser(&headers(&["Bearer s3cret: token"])).is_ok());
        for wrong in ["Basic", "Basic ???", "Bearer s3cret"] {
            assert!(tokens.authorize_browser(&headers(&[wrong])).is_err(), "{wrong:?}");
        }
        assert!(tokens.authorize_browser(&HeaderMap::new()).is_err());
    }
}
