//! `POST /oauth/token`: exchanges a code or a refresh token for tokens.
//!
//! A code and a refresh token can be used once. A second use means that it was stolen, so all tokens of its grant are
//! revoked (RFC 9700 sections 2.1.1 and 2.2.2).
//!
//! A refresh token can be used again only within 10 s, because apps send requests in parallel and responses get lost.
//! It yields the same tokens as the first use, so a family has one newest refresh token at any time. A thief and the
//! app cannot both continue: one of them uses a token after its 10 s. The tokens are derived from the refresh token
//! with a key of the service, so they need not be stored to be reproduced, and nobody else can make them.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, PRAGMA, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_engine::ports::{OpenIdKeyError, OpenIdStepResult, StoreError};

use crate::authorization_request::{OAuthError, known_scopes};
use crate::client::Client;
use crate::discovery::CROSS_ORIGIN;
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::records::{ACCESS_TTL, Content, Found, Grant, REFRESH_TTL};
use crate::secret::Secret;

const INVALID_CODE: OAuthError = OAuthError::new(
    "invalid_grant",
    "the code is not valid for this client, redirect_uri and code_verifier, or expired",
);
const INVALID_REFRESH_TOKEN: OAuthError =
    OAuthError::new("invalid_grant", "the refresh token is not valid for this client, revoked or expired");

/// How long after its first use a refresh token can be used again.
const PARALLEL_REFRESH: Duration = Duration::from_secs(10);

/// Most refresh tokens followed to the newest one, each used within these 10 s.
const MAX_PARALLEL: usize = 32;

/// Why there are no tokens.
pub(crate) enum Failure {
    /// 400.
    OAuth(OAuthError),
    /// 401, with a challenge: the client used HTTP authentication.
    Unauthorized,
    /// 503.
    Internal(OpenIdKeyError),
}

impl From<OAuthError> for Failure {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

impl From<crate::parameters::Repeated> for Failure {
    fn from(repeated: crate::parameters::Repeated) -> Self {
        Self::OAuth(repeated.into())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<OpenIdKeyError> for Failure {
    fn from(error: OpenIdKeyError) -> Self {
        Self::Internal(error)
    }
}

/// `POST /oauth/token`
pub(crate) async fn exchange(State(provider): State<SharedProvider>, headers: HeaderMap, body: Bytes) -> Response {
    match provider.exchange(&headers, &body).await {
        Ok(tokens) => response(StatusCode::OK, &tokens),
        Err(Failure::OAuth(error)) => response(StatusCode::BAD_REQUEST, &body_of(error)),
        Err(Failure::Unauthorized) => {
            let error = OAuthError::new("invalid_client", "unknown client, or not its secret");
            let mut response = response(StatusCode::UNAUTHORIZED, &body_of(error));
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"usher\""));
            response
        }
        Err(Failure::Internal(error)) => {
            tracing::error!(error = &error as &dyn std::error::Error, "tokens could not be issued");
            let error = OAuthError::new("temporarily_unavailable", "the service cannot store tokens now; retry later");
            response(StatusCode::SERVICE_UNAVAILABLE, &body_of(error))
        }
    }
}

impl Provider {
    async fn exchange(&self, headers: &HeaderMap, body: &[u8]) -> Result<Value, Failure> {
        let Some(parameters) = Parameters::form(headers, body) else {
            return Err(OAuthError::invalid_request("the body must be application/x-www-form-urlencoded").into());
        };
        let client = &*self.authenticate(headers, &parameters)?;
        match parameters.get("grant_type")? {
            Some("authorization_code") => self.use_code(client, &parameters).await,
            Some("refresh_token") => self.use_refresh_token(client, &parameters).await,
            Some(_) => {
                Err(OAuthError::new("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
                    .into())
            }
            None => Err(OAuthError::invalid_request("grant_type is missing").into()),
        }
    }

    async fn use_code(&self, client: &Client, parameters: &Parameters) -> Result<Value, Failure> {
        let Some(code) = parameters.get("code")? else {
            return Err(OAuthError::invalid_request("code is missing").into());
        };
        let found = self.find(code).await?.ok_or(INVALID_CODE)?;
        let Content::Code { grant, request } = &found.content else { return Err(INVALID_CODE.into()) };
        let is_for = grant.client_id == client.id && parameters.get("redirect_uri")? == Some(&request.redirect_uri);
        if !is_for || !is_verifier(request.code_challenge.as_deref(), parameters.get("code_verifier")?) {
            return Err(INVALID_CODE.into());
        }
        let scopes = grant.scopes.clone();
        self.issue(client, code, &found, grant, scopes, request.nonce.as_deref()).await
    }

    async fn use_refresh_token(&self, client: &Client, parameters: &Parameters) -> Result<Value, Failure> {
        let Some(token) = parameters.get("refresh_token")? else {
            return Err(OAuthError::invalid_request("refresh_token is missing").into());
        };
        let found = self.find(token).await?.ok_or(INVALID_REFRESH_TOKEN)?;
        let Content::RefreshToken(grant) = &found.content else { return Err(INVALID_REFRESH_TOKEN.into()) };
        if grant.client_id != client.id {
            return Err(INVALID_REFRESH_TOKEN.into());
        }
        // Unknown scopes are ignored, as at the login.
        let asked = known_scopes(parameters.get("scope")?.unwrap_or_default());
        let scopes = if asked.is_empty() { grant.scopes.clone() } else { asked };
        if !scopes.split(' ').all(|scope| grant.has(scope)) {
            return Err(OAuthError::new("invalid_scope", "scope has more than was granted").into());
        }
        self.issue(client, token, &found, grant, scopes, None).await
    }

    /// Uses the record found by `secret` and issues tokens, in one transaction.
    async fn issue(
        &self,
        client: &Client,
        secret: &str,
        found: &Found,
        grant: &Grant,
        scopes: String,
        nonce: Option<&str>,
    ) -> Result<Value, Failure> {
        let (invalid, grace) = match found.content {
            Content::RefreshToken(_) => (INVALID_REFRESH_TOKEN, PARALLEL_REFRESH),
            _ => (INVALID_CODE, Duration::ZERO),
        };
        // An expired record that was used before still goes through, so that its grant is revoked.
        if found.expired && !found.used {
            return Err(invalid.into());
        }
        let (access, refresh) = self.successors(secret);
        let accessible = Grant { scopes, ..grant.clone() };
        let refresh = grant.has("offline_access").then_some(refresh);
        let response = self.token_response(client, &accessible, &access, refresh.as_ref(), ACCESS_TTL, nonce)?;
        let mut add = vec![self.record(&access, &Content::AccessToken(accessible), ACCESS_TTL, &found.visitor)];
        if let Some(refresh) = &refresh {
            add.push(self.record(refresh, &Content::RefreshToken(grant.clone()), REFRESH_TTL, &found.visitor));
        }
        for record in &mut add {
            record.grant = found.grant_id;
        }
        match self.use_once(found.id, grace, add, None).await? {
            OpenIdStepResult::Done => Ok(response),
            OpenIdStepResult::UsedJustNow => self.issue_again(client, secret).await,
            OpenIdStepResult::Replayed => {
                tracing::warn!(client = client.id, "a code or refresh token was used twice: its tokens are revoked");
                Err(invalid.into())
            }
            OpenIdStepResult::Unknown => Err(invalid.into()),
        }
    }

    /// The newest tokens of the family of a refresh token used a moment ago: its successors, or theirs, and so on.
    async fn issue_again(&self, client: &Client, used: &str) -> Result<Value, Failure> {
        let (mut access, mut refresh) = self.successors(used);
        for _ in 0..MAX_PARALLEL {
            // Gone if the user or the operator revoked them.
            let next = self.find(refresh.expose()).await?.ok_or(INVALID_REFRESH_TOKEN)?;
            if !next.used {
                let found = self.find(access.expose()).await?.ok_or(INVALID_REFRESH_TOKEN)?;
                let Content::AccessToken(grant) = &found.content else { return Err(INVALID_REFRESH_TOKEN.into()) };
                let left = found.expires_at.since(self.clock.now());
                return self.token_response(client, grant, &access, Some(&refresh), left, None);
            }
            (access, refresh) = self.successors(refresh.expose());
        }
        Err(INVALID_REFRESH_TOKEN.into())
    }

    /// The access token and the refresh token derived from this code or refresh token.
    fn successors(&self, secret: &str) -> (Secret, Secret) {
        let key = &self.options.token_key;
        (key.derive("access token", secret), key.derive("refresh token", secret))
    }

    fn token_response(
        &self,
        client: &Client,
        grant: &Grant,
        access: &Secret,
        refresh: Option<&Secret>,
        ttl: Duration,
        nonce: Option<&str>,
    ) -> Result<Value, Failure> {
        let mut response = json!({ "token_type": "Bearer", "expires_in": ttl.as_secs(), "scope": grant.scopes });
        response["access_token"] = access.expose().into();
        if grant.has("openid") {
            response["id_token"] = self.id_token(grant, nonce, access.expose(), client.algorithm)?.into();
        }
        if let Some(refresh) = refresh {
            response["refresh_token"] = refresh.expose().into();
        }
        Ok(response)
    }
}

/// Whether the client proves that it began the request. A verifier without a challenge is refused: an attacker may have
/// removed the challenge from the request (RFC 9700 section 4.8.2).
fn is_verifier(challenge: Option<&str>, verifier: Option<&str>) -> bool {
    match (challenge, verifier) {
        (None, None) => true,
        (Some(challenge), Some(verifier)) => {
            (43..=128).contains(&verifier.len()) && BASE64URL.encode(Sha256::digest(verifier)) == challenge
        }
        _ => false,
    }
}

fn body_of(error: OAuthError) -> Value {
    json!({ "error": error.error, "error_description": error.description })
}

/// A response that must not be cached (RFC 6749 section 5.1).
fn response(status: StatusCode, body: &Value) -> Response {
    let headers = [
        CROSS_ORIGIN,
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (PRAGMA, HeaderValue::from_static("no-cache")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (status, headers, body.to_string()).into_response()
}
