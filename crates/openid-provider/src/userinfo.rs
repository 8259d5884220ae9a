//! `/oauth/userinfo`: the claims about the user (OpenID Connect Core 1.0 section 5.3).

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::discovery::CROSS_ORIGIN;
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::records::Content;

/// `GET /oauth/userinfo`
pub(crate) async fn by_get(State(provider): State<SharedProvider>, headers: HeaderMap) -> Response {
    provider.userinfo(bearer(&headers)).await
}

/// `POST /oauth/userinfo`, with the token in the header or in the form (RFC 6750 section 2)
pub(crate) async fn by_post(State(provider): State<SharedProvider>, headers: HeaderMap, body: Bytes) -> Response {
    let form = Parameters::form(&headers, &body);
    let in_form = form.as_ref().and_then(|form| form.get("access_token").ok().flatten());
    provider.userinfo(bearer(&headers).or(in_form)).await
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Provider {
    async fn userinfo(&self, token: Option<&str>) -> Response {
        let Some(token) = token else { return unauthorized("Bearer realm=\"usher\"") };
        let found = match self.find(token).await {
            Ok(found) => found.filter(|found| !found.expired),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "an access token could not be read");
                return (StatusCode::SERVICE_UNAVAILABLE, [CROSS_ORIGIN]).into_response();
            }
        };
        let content = found.map(|found| found.content);
        let Some(Content::AccessToken(grant)) = content.filter(|content| self.is_known(content)) else {
            return unauthorized("Bearer realm=\"usher\", error=\"invalid_token\"");
        };
        let headers = [
            CROSS_ORIGIN,
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        (headers, self.claims(&grant).await.to_string()).into_response()
    }

    fn is_known(&self, content: &Content) -> bool {
        matches!(content, Content::AccessToken(grant) if self.clients.get(&grant.client_id).is_some())
    }
}

fn unauthorized(challenge: &'static str) -> Response {
    let headers = [CROSS_ORIGIN, (WWW_AUTHENTICATE, HeaderValue::from_static(challenge))];
    (StatusCode::UNAUTHORIZED, headers).into_response()
}
