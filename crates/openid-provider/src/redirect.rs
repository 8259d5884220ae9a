//! Responses that lead the browser elsewhere, and those to authorization requests.

use axum::response::{IntoResponse as _, Response};
use http::header::LOCATION;
use http::{HeaderValue, StatusCode};
use usher_page_layout::HEADERS;

use crate::authorization_request::{AuthorizationRequest, OAuthError};
use crate::page::{self, Visit};
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

/// What an authorization request led to.
pub(crate) enum Outcome<'a> {
    Code(&'a str),
    Error(OAuthError),
}

impl Provider {
    /// Leads the browser back to the client.
    pub(crate) fn respond(&self, visit: &Visit, request: &AuthorizationRequest, outcome: &Outcome<'_>) -> Response {
        if request.form_post {
            page::form_page(visit, &request.redirect_uri, &self.parameters(request, outcome))
        } else {
            to(&self.address(request, outcome))
        }
    }

    /// The same in response to a form of ours: browsers bind a redirect of a form by the page's `form-action`, also where the client
    /// redirects again, but neither a link nor another form.
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

    /// A response, the request's `state`, and who says so (RFC 9207: a client with several providers must notice when one of them
    /// answers in the place of another).
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
