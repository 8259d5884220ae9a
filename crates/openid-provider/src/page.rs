//! The pages: consent, log-out and errors, in the layout of `crates/page-layout`.

use std::convert::Infallible;

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use usher_engine::ClientNetwork;
use usher_engine::ports::StoreError;
use usher_page_layout::{Frame, short_key};
use usher_protocol::keys::{npub, parse_public_key};

use crate::authorization_request::{AuthorizationRequest, OAuthError, Outcome};
use crate::client::Client;
use crate::logins::LoginError;
use crate::parameters::Parameters;
use crate::provider::{Provider, SharedProvider};
use crate::records::User;
use crate::texts::{self, Message, Texts};

const OVER: OAuthError = OAuthError::new("access_denied", "the login is over");

#[derive(Clone)]
pub(crate) struct Visit {
    pub(crate) frame: Frame,
    texts: &'static Texts,
    pub(crate) network: ClientNetwork,
}

impl FromRequestParts<SharedProvider> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, provider: &SharedProvider) -> Result<Self, Infallible> {
        let frame = provider.options.site.frame(parts);
        let texts = texts::of(frame.language);
        // Without a server in front (tests), every client counts as loopback.
        let network = parts.extensions.get().copied().unwrap_or(ClientNetwork::Loopback);
        Ok(Self { frame, texts, network })
    }
}

#[derive(Debug)]
pub(crate) enum PageError {
    /// The request is invalid, and there is no verified client to which an error could be redirected.
    Request(RequestFault),
    /// The request is over, or never existed. If it is known, the page links to its app.
    Ended(Option<Box<AuthorizationRequest>>),
    /// It was begun in another browser.
    OtherBrowser,
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

/// Why a request is invalid.
#[derive(Clone, Debug)]
pub(crate) enum RequestFault {
    Malformed,
    UnknownClient,
    WrongRedirectUri {
        /// The requesting app's name, if known.
        app: Option<String>,
    },
}

impl From<RequestFault> for PageError {
    fn from(fault: RequestFault) -> Self {
        Self::Request(fault)
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl From<LoginError> for PageError {
    fn from(error: LoginError) -> Self {
        Self::Unavailable(error.into())
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    action: &'a str,
    heading: &'a str,
    /// The app that asks, and the service that is asked.
    asks: &'a str,
    request: &'a str,
    learns: &'a [&'a str],
    account: &'a str,
    goes_to: &'a str,
}

#[derive(Template)]
#[template(path = "logout.html")]
struct LogoutPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    action: &'a str,
    question: &'a str,
    confirmation: &'a str,
    fields: &'a [(&'a str, &'a str)],
}

#[derive(Template)]
#[template(path = "leaving.html")]
struct LeavingPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    target: &'a str,
}

#[derive(Template)]
#[template(path = "form_post.html")]
struct FormPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    target: &'a str,
    fields: &'a [(&'a str, &'a str)],
    script: &'a str,
}

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    heading: &'a str,
    message: &'a str,
    /// The requesting app's name.
    app: Option<&'a str>,
    /// A link: its text and its address.
    link: Option<(&'a str, &'a str)>,
}

impl Provider {
    pub(crate) fn error_page(&self, visit: &Visit, error: PageError) -> Response {
        let texts = visit.texts;
        let (status, message, app) = match &error {
            PageError::Request(RequestFault::Malformed) => (StatusCode::BAD_REQUEST, &texts.bad_request, None),
            PageError::Request(RequestFault::UnknownClient) => (StatusCode::BAD_REQUEST, &texts.unknown_client, None),
            PageError::Request(RequestFault::WrongRedirectUri { app }) => {
                (StatusCode::BAD_REQUEST, &texts.wrong_redirect_uri, app.as_deref())
            }
            PageError::Ended(None) => (StatusCode::NOT_FOUND, &texts.over, None),
            PageError::Ended(Some(request)) => return self.over_page(visit, request),
            PageError::OtherBrowser => (StatusCode::FORBIDDEN, &texts.other_browser, None),
            PageError::Unavailable(error) => {
                tracing::error!(error = &**error as &dyn std::error::Error, "an OpenID Connect login could not go on");
                (StatusCode::SERVICE_UNAVAILABLE, &texts.unavailable, None)
            }
        };
        message_page(visit, status, message, app, None)
    }

    /// Reports that the request is over and links to the app: users who go back in the browser see this.
    fn over_page(&self, visit: &Visit, request: &AuthorizationRequest) -> Response {
        // A custom scheme has no pages: such an app gets an OAuth error response to its request.
        let address = match url::Url::parse(&request.redirect_uri) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => format!("{}/", url.origin().ascii_serialization()),
            _ => self.address(request, &Outcome::Error(OVER)),
        };
        let link = visit.texts.go_to(self.client_name(request));
        message_page(visit, StatusCode::NOT_FOUND, &visit.texts.over, None, Some((&link, &address)))
    }

    /// The requesting app's name. A client that is no longer configured receives no usable code.
    fn client_name(&self, request: &AuthorizationRequest) -> String {
        self.clients.get(&request.client_id).map_or_else(|| request.client_id.clone(), |client| client.name.clone())
    }

    pub(crate) fn consent_page(
        &self,
        visit: &Visit,
        secret: &str,
        request: &AuthorizationRequest,
        user: &User,
    ) -> Response {
        let Visit { frame, texts, .. } = visit;
        let client = &*self.client_name(request);
        let mut learns = vec![texts.learns_key];
        for (scope, text) in [
            ("profile", texts.learns_profile),
            ("email", texts.learns_email),
            ("offline_access", texts.stays_logged_in),
        ] {
            let is_asked = request.scopes.split(' ').any(|asked| asked == scope);
            learns.extend((is_asked && (scope != "email" || self.options.email_domain.is_some())).then_some(text));
        }
        let goes_to = url::Url::parse(&request.redirect_uri).map(|url| match url.host_str() {
            Some(host) if matches!(url.scheme(), "http" | "https") => host.to_owned(),
            _ => url.scheme().to_owned(),
        });
        let account = parse_public_key(&user.subject).map_or_else(|_| user.subject.clone(), |key| npub(&key));
        let service = frame.service_name().map_or_else(|| host(frame.site().url()), str::to_owned);
        frame.render_without_script(
            StatusCode::OK,
            &ConsentPage {
                frame,
                texts,
                action: &self.path("/oauth/consent"),
                heading: &texts.wants(client),
                asks: &texts.asks(client, service),
                request: secret,
                learns: &learns,
                account: &short_key(&account),
                goes_to: &texts.goes_to(goes_to.unwrap_or_default()),
            },
        )
    }

    pub(crate) fn logout_page(
        &self,
        visit: &Visit,
        client: Option<&Client>,
        parameters: &Parameters,
        confirmation: &str,
    ) -> Response {
        let Visit { frame, texts, .. } = visit;
        let kept = ["client_id", "post_logout_redirect_uri", "state"];
        let fields: Vec<_> =
            kept.into_iter().filter_map(|name| Some((name, parameters.get(name).ok().flatten()?))).collect();
        let question = match client {
            Some(client) => texts.logout_question_by(&client.name),
            None => texts.logout_question.to_owned(),
        };
        let action = self.path("/oauth/end-session");
        frame.render_without_script(
            StatusCode::OK,
            &LogoutPage { frame, texts, action: &action, question: &question, confirmation, fields: &fields },
        )
    }
}

pub(crate) fn logged_out_page(visit: &Visit) -> Response {
    message_page(visit, StatusCode::OK, &visit.texts.logged_out, None, None)
}

/// Links to a client after a form: `form-action` applies to redirects of a form, also to further redirects by the
/// client, but not to links.
pub(crate) fn leaving_page(visit: &Visit, target: &str) -> Response {
    let Visit { frame, texts, .. } = visit;
    frame.render_without_script(StatusCode::OK, &LeavingPage { frame, texts, target })
}

/// Posts a response to a client (OAuth 2.0 Form Post Response Mode).
pub(crate) fn form_page(visit: &Visit, target: &str, fields: &[(&str, &str)]) -> Response {
    const SCRIPT: &str = "document.forms[0].submit()";
    let Visit { frame, texts, .. } = visit;
    frame.render_leaving_form(StatusCode::OK, &FormPage { frame, texts, target, fields, script: SCRIPT }, SCRIPT)
}

fn message_page(
    visit: &Visit,
    status: StatusCode,
    message: &Message,
    app: Option<&str>,
    link: Option<(&str, &str)>,
) -> Response {
    let Visit { frame, texts, .. } = visit;
    let Message { heading, message } = *message;
    frame.render_without_script(status, &MessagePage { frame, texts, heading, message, app, link })
}

/// The host of an address, for a service without a name.
fn host(address: &str) -> String {
    url::Url::parse(address).ok().and_then(|url| Some(url.host_str()?.to_owned())).unwrap_or_default()
}
