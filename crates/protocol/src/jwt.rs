//! JSON Web Tokens over Nostr keys (docs/api.md, JWTs): ES256K, the BIP-340 key taken with even Y.
//!
//! The library checks the signature and the algorithm. It leaves the times to its caller (a token hours past its `exp`
//! passes unless one asks), so they are checked here, always, and against the time that is passed in.

use std::fmt;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use jwt_compact::alg::Es256k;
use jwt_compact::{AlgorithmExt as _, Claims, Header, UntrustedToken, ValidationError};
use nostr::secp256k1::{self, Parity};
use nostr::{Keys, PublicKey};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::wire;

/// Longest token that is looked at, in bytes.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// By how much the issuer's clock may be ahead of ours, in seconds: a token is often verified in the second it is made.
/// There is no such grace for `exp`.
pub const CLOCK_SKEW_SECS: u64 = 30;

/// The claims of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The key the token is about.
    pub target_key: PublicKey,
    /// Unix seconds at which it was issued.
    pub issued_at: Option<u64>,
    /// Unix seconds from which it counts.
    pub not_before: Option<u64>,
    /// Unix seconds from which it no longer counts.
    pub expires_at: u64,
}

/// Why a token could not be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// The times are beyond the calendar.
    #[error("the token's times are beyond the calendar")]
    Time,
    /// The token could not be written.
    #[error("the token cannot be written")]
    Unwritable,
}

/// Why a token is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Not a JWT, or its claims are not of the expected shape.
    #[error("the token is malformed")]
    Malformed,
    /// Signed by another algorithm than ES256K, or not at all.
    #[error("the token's algorithm is not ES256K")]
    Algorithm,
    /// Not signed by this key, or changed since.
    #[error("the token is not signed by this key")]
    Signature,
    /// It has no expiry.
    #[error("the token has no expiry (exp)")]
    NoExpiry,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The key to verify by is not a point on the curve.
    #[error("the key is not a point on the curve")]
    BadKey,
}

/// The algorithm holds a context of the curve library, which is costly to make.
static ES256K: LazyLock<Es256k<Sha256>> = LazyLock::new(Es256k::default);

/// The header's field that a reader must heed: it names extensions that change what the token means (RFC 7515, 4.1.11).
#[derive(Clone, Debug, Deserialize)]
struct Critical {
    #[serde(default)]
    crit: Option<IgnoredAny>,
}

/// The claim beside the standard ones.
#[derive(Debug, Serialize, Deserialize)]
struct Target {
    #[serde(with = "wire::public_key")]
    target_key: PublicKey,
}

/// Issues tokens in the name of one key.
///
/// It can only sign tokens: the key cannot be read from it, and `Debug` does not show it.
#[derive(Clone)]
pub struct JwtIssuer(Keys);

impl JwtIssuer {
    /// Issues in the name of `keys`.
    pub const fn new(keys: Keys) -> Self {
        Self(keys)
    }

    /// The key that its tokens verify with.
    pub fn public_key(&self) -> PublicKey {
        self.0.public_key()
    }

    /// As [`issue`].
    ///
    /// # Errors
    /// [`IssueError`].
    pub fn issue(&self, target_key: PublicKey, now: u64, duration_secs: u64) -> Result<String, IssueError> {
        issue(&self.0, target_key, now, duration_secs)
    }
}

impl fmt::Debug for JwtIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JwtIssuer").field(&self.public_key().to_hex()).finish()
    }
}

/// A token about `target_key`, signed by `issuer`, that counts from `now` for `duration_secs` (Unix seconds).
///
/// # Errors
/// [`IssueError::Time`] when the end is beyond the year 262,000.
pub fn issue(issuer: &Keys, target_key: PublicKey, now: u64, duration_secs: u64) -> Result<String, IssueError> {
    let issued_at = date(now)?;
    let mut claims = Claims::new(Target { target_key });
    claims.issued_at = Some(issued_at);
    claims.not_before = Some(issued_at);
    claims.expiration = Some(date(now.checked_add(duration_secs).ok_or(IssueError::Time)?)?);
    let header = Header::empty().with_token_type("JWT");
    ES256K.token(&header, &claims, &even_secret(issuer)).map_err(|_| IssueError::Unwritable)
}

/// Checks that `token` is signed by `issuer` and counts at `now` (Unix seconds).
///
/// # Errors
/// [`VerifyError`].
pub fn verify(token: &str, issuer: &PublicKey, now: u64) -> Result<Token, VerifyError> {
    let issuer = issuer.xonly().map_err(|_| VerifyError::BadKey)?;
    let key = secp256k1::PublicKey::from_x_only_public_key(issuer, Parity::Even);
    if token.len() > MAX_TOKEN_BYTES {
        return Err(VerifyError::Malformed);
    }
    let untrusted = UntrustedToken::<Critical>::try_from(token).map_err(|_| VerifyError::Malformed)?;
    if untrusted.header().other_fields.crit.is_some() {
        return Err(VerifyError::Malformed);
    }
    let signed = ES256K.validator::<Target>(&key).validate(&untrusted).map_err(|e| match e {
        ValidationError::AlgorithmMismatch { .. } => VerifyError::Algorithm,
        ValidationError::InvalidSignature
        | ValidationError::InvalidSignatureLen { .. }
        | ValidationError::MalformedSignature(_) => VerifyError::Signature,
        _ => VerifyError::Malformed,
    })?;
    if !has_low_s(untrusted.signature_bytes()) {
        return Err(VerifyError::Signature);
    }
    let claims = signed.claims();
    let expires_at = secs(claims.expiration.ok_or(VerifyError::NoExpiry)?);
    let not_before = claims.not_before.map(secs);
    let issued_at = claims.issued_at.map(secs);
    if expires_at <= now {
        return Err(VerifyError::Expired);
    }
    if not_before.is_some_and(|from| from > now.saturating_add(CLOCK_SKEW_SECS)) {
        return Err(VerifyError::NotYetValid);
    }
    Ok(Token { target_key: claims.custom.target_key, issued_at, not_before, expires_at })
}

/// Whether a signature is the one of the two forms that Bitcoin and Nostr libraries make and take.
///
/// From a signature anybody can make the other one (S negated), without the key: a token would have two texts, and a list
/// of tokens that are used up or revoked would miss one.
fn has_low_s(signature: &[u8]) -> bool {
    secp256k1::ecdsa::Signature::from_compact(signature).is_ok_and(|signature| {
        let mut low = signature;
        low.normalize_s();
        low == signature
    })
}

/// The secret key whose point has even Y: the one that BIP-340 signs with.
fn even_secret(keys: &Keys) -> secp256k1::SecretKey {
    let secret: secp256k1::SecretKey = **keys.secret_key();
    match secret.x_only_public_key(nostr::SECP256K1).1 {
        Parity::Even => secret,
        Parity::Odd => secret.negate(),
    }
}

fn date(unix_secs: u64) -> Result<DateTime<Utc>, IssueError> {
    i64::try_from(unix_secs).ok().and_then(|secs| DateTime::from_timestamp(secs, 0)).ok_or(IssueError::Time)
}

/// Unix seconds; times before 1970 are 0.
fn secs(date: DateTime<Utc>) -> u64 {
    u64::try_from(date.timestamp()).unwrap_or(0)
}
