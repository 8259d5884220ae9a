//! The session of a browser whose user has logged in: further apps need no new login.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use sha2::{Digest as _, Sha256};
use usher_engine::ports::{OpenIdRecord, OpenIdRecordId, StoreError};
use usher_page_layout::{cookie, cookie_name, set_cookie};

use crate::provider::Provider;
use crate::records::{Content, User};
use crate::secret::Secret;

const COOKIE: &str = "usher_session";

pub(crate) struct Session {
    pub(crate) id: OpenIdRecordId,
    /// Sent back by the log-out page; no other site can know it.
    pub(crate) confirmation: String,
    pub(crate) user: User,
}

impl Provider {
    pub(crate) async fn session(&self, headers: &HeaderMap) -> Result<Option<Session>, StoreError> {
        let Some(secret) = cookie(headers, &cookie_name(&self.options.issuer, COOKIE)) else { return Ok(None) };
        let found = self.find(secret).await?.filter(|found| !found.expired);
        Ok(found.and_then(|found| match found.content {
            Content::Session(user) => Some(Session { id: found.id, confirmation: confirmation(secret), user }),
            _ => None,
        }))
    }

    /// The record of a new session. Each login makes a new one, so a planted session is worthless.
    pub(crate) fn new_session(&self, secret: &Secret, user: &User, visitor: &str) -> OpenIdRecord {
        self.record(secret, &Content::Session(user.clone()), self.options.session_ttl, visitor)
    }

    pub(crate) fn set_session(&self, response: &mut Response, secret: &Secret) {
        self.set_cookie(response, secret.expose(), self.options.session_ttl.as_secs());
    }

    pub(crate) fn clear_session(&self, response: &mut Response) {
        self.set_cookie(response, "", 0);
    }

    fn set_cookie(&self, response: &mut Response, value: &str, max_age: u64) {
        let issuer = &self.options.issuer;
        let cookie = set_cookie(issuer, &cookie_name(issuer, COOKIE), value, max_age);
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
}

/// A hash, which does not reveal the secret.
fn confirmation(secret: &str) -> String {
    BASE64URL.encode(Sha256::digest(format!("log out {secret}")))
}
