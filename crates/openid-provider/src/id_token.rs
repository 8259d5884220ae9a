//! ID tokens (OpenID Connect Core 1.0 section 2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_engine::ports::OpenIdKeyError;

use crate::keys::Algorithm;
use crate::provider::Provider;
use crate::records::{ACCESS_TTL, Grant};

impl Provider {
    pub(crate) fn id_token(
        &self,
        grant: &Grant,
        nonce: Option<&str>,
        access_token: &str,
        algorithm: Algorithm,
    ) -> Result<String, OpenIdKeyError> {
        let now = self.now_secs();
        let mut claims = json!({
            "iss": self.options.issuer,
            "sub": grant.user.subject,
            "aud": grant.client_id,
            "iat": now,
            "exp": now + ACCESS_TTL.as_secs(),
            "auth_time": grant.user.auth_time,
            "amr": [grant.user.method],
            "at_hash": at_hash(access_token),
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        if let Some(email) = self.email(grant) {
            claims["email"] = email.into();
        }
        self.keys.sign(algorithm, &claims)
    }

    /// The user and the client of an ID token issued by this service, expired or not.
    pub(crate) fn read_hint(&self, id_token: &str) -> Option<Hint> {
        let claims = self.keys.verify(id_token)?;
        let text = |name: &str| claims[name].as_str().map(str::to_owned);
        (claims["iss"] == self.options.issuer.as_str()).then_some(())?;
        Some(Hint { subject: text("sub")?, client_id: text("aud")? })
    }
}

pub(crate) struct Hint {
    pub(crate) subject: String,
    pub(crate) client_id: String,
}

/// `at_hash`: the left half of the hash, which binds an access token to its ID token (section 3.1.3.6).
fn at_hash(access_token: &str) -> Value {
    let digest = Sha256::digest(access_token);
    let (left, _) = digest.split_at(digest.len() / 2);
    BASE64URL.encode(left).into()
}
