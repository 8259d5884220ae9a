//! Responses that lead the browser elsewhere.

use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use usher_page_layout::HEADERS;

use crate::authorization_request::{AuthorizationRequest, OAuthError};
use crate::provider::Provider;

/// Leads the browser to an address. 303, so that a POST becomes a GET.
pub(crate) fn to(address: &str) -> Response {
    match HeaderValue::try_from(address) {
        Ok(address) => (StatusCode::SEE_OTHER, HEADERS, [(LOCATION, address)]).into_response(),
        Err(error) => {
            // Redirect URIs are checked when they are configured, and everything added to them is percent-encoded.
            tracing::error!(%error, "a browser could not be redirected");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl Provider {
    pub(crate) fn address_with_code(&self, request: &AuthorizationRequest, code: &str) -> String {
        self.address(request, &[("code", code)])
    }

    pub(crate) fn address_with_error(&self, request: &AuthorizationRequest, error: OAuthError) -> String {
        self.address(request, &[("error", error.error), ("error_description", error.description)])
    }

    /// The client's address with a response, its `state`, and who says so (RFC 9207: a client with several providers must
    /// notice when one of them answers in the place of another).
    fn address(&self, request: &AuthorizationRequest, response: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(response);
        if let Some(state) = &request.state {
            query.append_pair("state", state);
        }
        query.append_pair("iss", &self.options.issuer);
        let separator = if request.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{separator}{}", request.redirect_uri, query.finish())
    }
}
