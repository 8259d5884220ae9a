//! JSON Web Tokens signed with Nostr keys (docs/api.md, JWTs): ES256K, with the BIP-340 key of even Y. Validity is
//! decided here and not by a library, so that the clients decide the same (clients/test-vectors/jwts.json).

use std::fmt;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use jwt_compact::alg::Es256k;
use jwt_compact::{AlgorithmExt as _, Claims, Header};
use nostr::secp256k1::ecdsa::Signature;
use nostr::secp256k1::{self, Message, Parity};
use nostr::{Keys, PublicKey};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::{keys, serde_helpers};

/// Longest token parsed, in bytes.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// How far the issuer's clock may be ahead, in seconds: tokens are verified right after they are issued. `exp` has no
/// tolerance.
pub const CLOCK_SKEW_SECS: u64 = 30;

/// The largest time, and the negative of the smallest: 2^53 - 1, which every JSON library reads exactly (RFC 8259
/// section 6).
const MAX_TIME: f64 = 9_007_199_254_740_991.0;

/// The claims of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The key the token is about.
    pub target_key: PublicKey,
    /// Unix seconds at which it was issued.
    pub issued_at: Option<u64>,
    /// Unix seconds from which it is valid.
    pub not_before: Option<u64>,
    /// Unix seconds from which it is no longer valid.
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
    /// Another algorithm than ES256K, or none.
    #[error("the token's algorithm is not ES256K")]
    Algorithm,
    /// Not signed by this key, or altered.
    #[error("the token is not signed by this key")]
    Signature,
    /// It has no expiry.
    #[error("the token has no expiry (exp)")]
    NoExpiry,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The verification key is not a point on the curve.
    #[error("the key is not a point on the curve")]
    BadKey,
}

/// Static because the algorithm's curve context is expensive to create.
static ES256K: LazyLock<Es256k<Sha256>> = LazyLock::new(Es256k::default);

/// The members of a header or of claims: an object without duplicate members (RFC 7515 section 4, RFC 7519 section 4).
struct Members(Map<String, Value>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Members, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = entries.next_entry()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a repeated member"));
            }
        }
        Ok(Members(members))
    }
}

#[derive(Debug, Serialize)]
struct Target {
    #[serde(with = "serde_helpers::public_key")]
    target_key: PublicKey,
}

/// Issues tokens signed with one key, which it does not expose, also not in `Debug`.
#[derive(Clone)]
pub struct JwtIssuer(Keys);

impl JwtIssuer {
    /// Issues tokens signed with `keys`.
    pub const fn new(keys: Keys) -> Self {
        Self(keys)
    }

    /// The key that verifies its tokens.
    pub fn public_key(&self) -> PublicKey {
        self.0.public_key()
    }

    /// As [`issue`].
    pub fn issue(&self, target_key: PublicKey, now: u64, duration_secs: u64) -> Result<String, IssueError> {
        issue(&self.0, target_key, now, duration_secs)
    }
}

impl fmt::Debug for JwtIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JwtIssuer").field(&self.public_key().to_hex()).finish()
    }
}

/// A token about `target_key`, signed by `issuer`, valid from `now` (Unix seconds) for `duration_secs`.
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

/// Checks that `token` is signed by `issuer` and valid at `now` (Unix seconds).
pub fn verify(token: &str, issuer: &PublicKey, now: u64) -> Result<Token, VerifyError> {
    let issuer = issuer.xonly().map_err(|_| VerifyError::BadKey)?;
    let key = secp256k1::PublicKey::from_x_only_public_key(issuer, Parity::Even);
    if token.len() > MAX_TOKEN_BYTES {
        return Err(VerifyError::Malformed);
    }
    let (text, signature) = token.rsplit_once('.').ok_or(VerifyError::Malformed)?;
    let (header, claims) = text.split_once('.').ok_or(VerifyError::Malformed)?;
    if claims.contains('.') {
        return Err(VerifyError::Malformed);
    }
    let header = members(header)?;
    match header.get("alg").and_then(Value::as_str) {
        Some("ES256K") => {}
        Some(_) => return Err(VerifyError::Algorithm),
        None => return Err(VerifyError::Malformed),
    }
    // Extensions that a verifier must support (RFC 7515, 4.1.11): none are supported. An empty list is invalid, too.
    if header.contains_key("crit") {
        return Err(VerifyError::Malformed);
    }
    check_signature(text, &decode(signature)?, &key)?;
    read_claims(&members(claims)?, now)
}

/// Checks a signature over `text`. RFC 8812 allows both values of S; the curve library requires the low one.
fn check_signature(text: &str, signature: &[u8], key: &secp256k1::PublicKey) -> Result<(), VerifyError> {
    let mut signature = Signature::from_compact(signature).map_err(|_| VerifyError::Signature)?;
    signature.normalize_s();
    let digest = Message::from_digest(Sha256::digest(text).into());
    nostr::SECP256K1.verify_ecdsa(&digest, &signature, key).map_err(|_| VerifyError::Signature)
}

fn read_claims(claims: &Map<String, Value>, now: u64) -> Result<Token, VerifyError> {
    let target_key = claims.get("target_key").and_then(Value::as_str).ok_or(VerifyError::Malformed)?;
    let target_key = keys::parse_public_key(target_key).map_err(|_| VerifyError::Malformed)?;
    let (expires_at, not_before) = (time(claims, "exp")?, time(claims, "nbf")?);
    let issued_at = time(claims, "iat")?;
    let expires_at = expires_at.ok_or(VerifyError::NoExpiry)?;
    if expires_at <= now {
        return Err(VerifyError::Expired);
    }
    if not_before.is_some_and(|from| from > now.saturating_add(CLOCK_SKEW_SECS)) {
        return Err(VerifyError::NotYetValid);
    }
    Ok(Token { target_key, issued_at, not_before, expires_at })
}

/// Decodes base64url without padding, and only its canonical form.
fn decode(part: &str) -> Result<Vec<u8>, VerifyError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| VerifyError::Malformed)
}

fn members(part: &str) -> Result<Map<String, Value>, VerifyError> {
    serde_json::from_slice(&decode(part)?).map(|Members(members)| members).map_err(|_| VerifyError::Malformed)
}

/// Unix seconds of a claim, rounded down (RFC 7519, NumericDate); times before 1970 are 0.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<u64>, VerifyError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let secs = value.as_f64().map(f64::floor).filter(|secs| secs.abs() <= MAX_TIME).ok_or(VerifyError::Malformed)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number from 0 to 2^53 - 1")]
    let secs = secs.max(0.0) as u64;
    Ok(Some(secs))
}

/// The secret key with even Y, with which BIP-340 signs.
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
