//! `/oauth/end-session`: logs the browser out of this service (OpenID Connect RP-Initiated Logout 1.0).
//!
//! With an ID token of the user who is logged in, at once; otherwise the user is asked, because any site can lead a browser
//! here.

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;

use crate::page::PageError;
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::redirect;

/// `GET /oauth/end-session`
pub(crate) async fn by_get(
    State(provider): State<SharedProvider>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    provider
        .end_session(&parameters, &headers, false)
        .await
        .unwrap_or_else(|error| provider.error_page(&headers, error))
}

/// `POST /oauth/end-session`, also of the page that asks.
///
/// The form of another site comes without the session's cookie (`SameSite=Lax`) and can end nothing: it becomes a GET.
pub(crate) async fn by_post(State(provider): State<SharedProvider>, headers: HeaderMap, body: Bytes) -> Response {
    let Some(parameters) = Parameters::form(&headers, &body) else {
        return provider.error_page(&headers, PageError::Request);
    };
    let confirmed = parameters.get("confirmed").ok().flatten() == Some("yes");
    if !confirmed {
        return redirect::to(&format!("{}?{}", provider.path("/oauth/end-session"), parameters.to_query()));
    }
    provider.end_session(&parameters, &headers, true).await.unwrap_or_else(|error| provider.error_page(&headers, error))
}

impl Provider {
    async fn end_session(
        &self,
        parameters: &Parameters,
        headers: &HeaderMap,
        confirmed: bool,
    ) -> Result<Response, PageError> {
        let get = |name| parameters.get(name).map_err(|_| PageError::Request);
        let hint = get("id_token_hint")?.and_then(|hint| self.read_hint(hint));
        let hinted = hint.as_ref().map(|hint| hint.client_id.as_str());
        let client_id = match (get("client_id")?, hinted) {
            (Some(given), Some(hinted)) if given != hinted => return Err(PageError::Request),
            (given, hinted) => given.or(hinted),
        };
        let client = client_id.and_then(|id| self.clients.get(id));
        let target = match get("post_logout_redirect_uri")? {
            None => None,
            Some(uri) => {
                let known = client.map(|client| &client.post_logout_redirect_uris);
                let is_known = known.is_some_and(|known| known.iter().any(|known| known == uri));
                if !is_known {
                    return Err(PageError::RedirectUri);
                }
                Some(match get("state")? {
                    None => uri.to_owned(),
                    Some(state) => {
                        let separator = if uri.contains('?') { '&' } else { '?' };
                        let state: String = form_urlencoded::byte_serialize(state.as_bytes()).collect();
                        format!("{uri}{separator}state={state}")
                    }
                })
            }
        };
        if let Some(session) = self.session(headers).await? {
            let is_expected = hint.is_some_and(|hint| hint.subject == session.user.subject);
            if !confirmed && !is_expected {
                return Ok(self.logout_page(headers, client, parameters));
            }
            self.store.remove_openid_record(session.id).await?;
        }
        let mut response = match &target {
            // The form of our own page: a redirect of it to the client is bound by the page's policy, a link is not.
            Some(target) if confirmed => self.leaving_page(headers, target),
            Some(target) => redirect::to(target),
            None => self.logged_out_page(headers),
        };
        self.clear_session(&mut response);
        Ok(response)
    }
}
