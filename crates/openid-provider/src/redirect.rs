//! Redirects of the browser, and responses to authorization requests.

use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use usher_page_layout::HEADERS;

use crate::authorization_request::{AuthorizationRequest, Outcome};
use crate::page::{self, Visit};
use crate::provider::Provider;

/// Redirects the browser. 303, so that a POST becomes a GET.
pub(crate) fn to(address: &str) -> Response {
    match HeaderValue::try_from(address) {
        Ok(address) => (StatusCode::SEE_OTHER, HEADERS, [(LOCATION, address)]).into_response(),
        Err(error) => {
            // Redirect URIs are validated in the configuration, and added parameters are percent-encoded.
            tracing::error!(%error, "a browser could not be redirected");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

impl Provider {
    /// Sends the browser back to the client.
    pub(crate) fn respond(&self, visit: &Visit, request: &AuthorizationRequest, outcome: &Outcome<'_>) -> Response {
        if request.form_post {
            page::form_page(visit, &request.redirect_uri, &self.parameters(request, outcome))
        } else {
            to(&self.address(request, outcome))
        }
    }

    /// The same in response to a form of ours: `form-action` applies to redirects of a form, also to further redirects
    /// by the client, but not to links or other forms.
    pub(crate) fn respond_to_form(
        &self,
        visit: &Visit,
        request: &AuthorizationRequest,
        outcome: &Outcome<'_>,
    ) -> Response {
        if request.form_post {
            self.respond(visit, request, outcome)
        } else {
            page::leaving_page(visit, &self.address(request, outcome))
        }
    }

    pub(crate) fn address(&self, request: &AuthorizationRequest, outcome: &Outcome<'_>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.parameters(request, outcome));
        let separator = if request.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{separator}{}", request.redirect_uri, query.finish())
    }

    /// The response with the request's `state` and `iss` (RFC 9207: lets a client with several providers detect a
    /// mix-up).
    fn parameters<'a>(
        &'a self,
        request: &'a AuthorizationRequest,
        outcome: &Outcome<'a>,
    ) -> Vec<(&'static str, &'a str)> {
        let mut parameters = match *outcome {
            Outcome::Code(code) => vec![("code", code)],
            Outcome::Error(error) => vec![("error", error.error), ("error_description", error.description)],
        };
        parameters.extend(request.state.as_deref().map(|state| ("state", state)));
        parameters.push(("iss", &self.options.issuer));
        parameters
    }
}
