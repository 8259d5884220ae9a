//! `/oauth/end-session`: logs the browser out of this service (OpenID Connect RP-Initiated Logout 1.0).
//!
//! With an ID token of the logged-in user, at once; otherwise the user is asked, because any site can send a browser
//! here. The confirmation is derived from the session's secret, so no other site can forge it. A cross-site form
//! arrives without the session's cookie (`SameSite=Lax`), but the browser would obey a response that deletes the
//! cookie: only a session that was found is ended.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use subtle::ConstantTimeEq as _;

use crate::browser_session::Session;
use crate::client::Client;
use crate::page::{self, PageError, RequestFault, Visit};
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::redirect;

struct LogoutRequest {
    client: Option<Arc<Client>>,
    /// The main key in hex of the user to log out, from an ID token.
    subject: Option<String>,
    target: Option<String>,
}

/// `GET /oauth/end-session`
pub(crate) async fn by_get(
    State(provider): State<SharedProvider>,
    RawQuery(query): RawQuery,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    let parameters = Parameters::parse(query.unwrap_or_default().as_bytes());
    provider.end_session(&parameters, &visit, &headers).await.unwrap_or_else(|error| provider.error_page(&visit, error))
}

/// `POST /oauth/end-session`, also for the confirmation form. Without the confirmation, it is redirected to a GET.
pub(crate) async fn by_post(
    State(provider): State<SharedProvider>,
    visit: Visit,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(parameters) = Parameters::form(&headers, &body) else {
        return provider.error_page(&visit, RequestFault::Malformed.into());
    };
    provider.confirmed(&parameters, &visit, &headers).await.unwrap_or_else(|error| provider.error_page(&visit, error))
}

impl Provider {
    async fn confirmed(
        &self,
        parameters: &Parameters,
        visit: &Visit,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let given = parameters.get("confirmation").ok().flatten().unwrap_or_default();
        let session = self.session(headers).await?;
        let session = session.filter(|session| session.confirmation.as_bytes().ct_eq(given.as_bytes()).into());
        let Some(session) = session else {
            return Ok(redirect::to(&format!("{}?{}", self.path("/oauth/end-session"), parameters.to_query())));
        };
        let LogoutRequest { target, .. } = self.logout_request(parameters)?;
        // A response to our own form: `form-action` applies to a redirect to the client, but not to a link.
        let response = match &target {
            Some(target) => page::leaving_page(visit, target),
            None => page::logged_out_page(visit),
        };
        self.ended(session, response).await
    }

    async fn end_session(
        &self,
        parameters: &Parameters,
        visit: &Visit,
        headers: &HeaderMap,
    ) -> Result<Response, PageError> {
        let LogoutRequest { client, subject, target } = self.logout_request(parameters)?;
        let response = match &target {
            Some(target) => redirect::to(target),
            None => page::logged_out_page(visit),
        };
        match self.session(headers).await? {
            None => Ok(response),
            Some(session) if subject.as_ref() == Some(&session.user.subject) => self.ended(session, response).await,
            Some(session) => Ok(self.logout_page(visit, client.as_deref(), parameters, &session.confirmation)),
        }
    }

    async fn ended(&self, session: Session, mut response: Response) -> Result<Response, PageError> {
        self.store.drop_openid_records(vec![session.id]).await?;
        self.clear_session(&mut response);
        Ok(response)
    }

    fn logout_request(&self, parameters: &Parameters) -> Result<LogoutRequest, RequestFault> {
        let get = |name| parameters.get(name).map_err(|_| RequestFault::Malformed);
        let hint = get("id_token_hint")?.and_then(|hint| self.read_hint(hint));
        let hinted = hint.as_ref().map(|hint| hint.client_id.as_str());
        let client_id = match (get("client_id")?, hinted) {
            (Some(given), Some(hinted)) if given != hinted => return Err(RequestFault::Malformed),
            (given, hinted) => given.or(hinted),
        };
        let client = client_id.and_then(|id| self.clients.get(id));
        let target = match get("post_logout_redirect_uri")? {
            None => None,
            Some(uri) => {
                let known = client.as_ref().map(|client| &client.post_logout_redirect_uris);
                let is_known = known.is_some_and(|known| known.iter().any(|known| known == uri));
                let is_known = is_known || client.is_some() && self.is_free_to_lead_to(uri);
                if !is_known {
                    return Err(RequestFault::WrongRedirectUri {
                        app: client.as_ref().map(|client| client.name.clone()),
                    });
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
        Ok(LogoutRequest { client, subject: hint.map(|hint| hint.subject), target })
    }
}
