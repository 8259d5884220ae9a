//! An authorization request, read from its parameters (OpenID Connect Core 1.0 section 3.1.2.1).

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::parameters::{Parameters, Repeated};

/// Supported scopes; others are ignored (section 3.1.2.1).
pub(crate) const SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];

/// Longest `state`, in bytes: some frameworks keep the whole login context in it. It is stored.
const MAX_STATE_BYTES: usize = 8192;
/// Longest `nonce`, in bytes: it is stored, and part of the ID token.
const MAX_NONCE_BYTES: usize = 1024;

/// Whether a `state` or `nonce` is printable ASCII (RFC 6749 appendix A.5). In stored JSON, a control character takes
/// six bytes.
fn is_printable(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// An authorization request: what determines the response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuthorizationRequest {
    pub(crate) client_id: String,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    /// Known scopes, separated by spaces.
    pub(crate) scopes: String,
    pub(crate) nonce: Option<String>,
    /// PKCE (RFC 7636); the method is always `S256`.
    pub(crate) code_challenge: Option<String>,
    /// `response_mode=form_post`: the response is a form that the browser posts to the client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) form_post: bool,
    /// `prompt=consent`: the user is asked again, also after a login.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) ask_consent: bool,
}

/// OAuth 2.0 Form Post Response Mode.
const FORM_POST: &str = "form_post";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interaction {
    /// `prompt=none`: no page may be shown.
    pub(crate) silent: bool,
    /// `prompt=login` or `select_account`: the user logs in again.
    pub(crate) login: bool,
    /// Most seconds since the user logged in.
    pub(crate) max_age: Option<u64>,
    /// An ID token of the expected user.
    pub(crate) id_token_hint: Option<String>,
}

/// An error of an authorization or token request, for the client (RFC 6749 sections 4.1.2.1 and 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OAuthError {
    pub(crate) error: &'static str,
    pub(crate) description: &'static str,
}

impl OAuthError {
    pub(crate) const fn new(error: &'static str, description: &'static str) -> Self {
        Self { error, description }
    }

    pub(crate) const fn invalid_request(description: &'static str) -> Self {
        Self::new("invalid_request", description)
    }
}

impl From<Repeated> for OAuthError {
    fn from(Repeated(name): Repeated) -> Self {
        Self::invalid_request(match name {
            "state" => "state is given more than once",
            "code_challenge" => "code_challenge is given more than once",
            _ => "a parameter is given more than once",
        })
    }
}

/// The outcome of an authorization request.
pub(crate) enum Outcome<'a> {
    Code(&'a str),
    Error(OAuthError),
}

impl AuthorizationRequest {
    pub(crate) fn empty(client: &Client, redirect_uri: &str, parameters: &Parameters) -> Self {
        let asks_form_post = parameters.get("response_mode").is_ok_and(|mode| mode == Some(FORM_POST));
        Self {
            client_id: client.id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            state: parameters.first("state").map(str::to_owned),
            scopes: String::new(),
            nonce: None,
            code_challenge: None,
            form_post: asks_form_post && can_be_posted_to(redirect_uri),
            ask_consent: false,
        }
    }

    pub(crate) fn read(mut self, client: &Client, parameters: &Parameters) -> Result<(Self, Interaction), OAuthError> {
        for (name, error) in [
            ("request", OAuthError::new("request_not_supported", "request objects are not supported")),
            ("request_uri", OAuthError::new("request_uri_not_supported", "request objects are not supported")),
            ("registration", OAuthError::new("registration_not_supported", "clients are registered by the operator")),
        ] {
            if parameters.get(name)?.is_some() {
                return Err(error);
            }
        }
        if parameters.get("state")?.is_some_and(|state| state.len() > MAX_STATE_BYTES || !is_printable(state)) {
            return Err(OAuthError::invalid_request("state must be at most 8192 printable ASCII characters"));
        }
        match parameters.get("response_type")? {
            Some("code") => {}
            Some(_) => return Err(OAuthError::new("unsupported_response_type", "response_type must be code")),
            None => return Err(OAuthError::invalid_request("response_type is missing; it must be code")),
        }
        match parameters.get("response_mode")? {
            None | Some("query") => {}
            Some(FORM_POST) if self.form_post => {}
            Some(FORM_POST) => {
                return Err(OAuthError::invalid_request("response_mode form_post needs an http(s) redirect_uri"));
            }
            Some(_) => return Err(OAuthError::invalid_request("response_mode must be query or form_post")),
        }
        self.scopes = known_scopes(parameters.get("scope")?.unwrap_or_default());
        if !self.scopes.split(' ').any(|scope| scope == "openid") {
            return Err(OAuthError::new("invalid_scope", "scope must contain openid"));
        }
        self.nonce = parameters.get("nonce")?.map(str::to_owned);
        if self.nonce.as_ref().is_some_and(|nonce| nonce.len() > MAX_NONCE_BYTES || !is_printable(nonce)) {
            return Err(OAuthError::invalid_request("nonce must be at most 1024 printable ASCII characters"));
        }
        self.code_challenge = code_challenge(client, parameters)?;
        let interaction = interaction(parameters, &mut self.ask_consent)?;
        Ok((self, interaction))
    }
}

/// Whether a browser can post a form there: custom schemes of apps accept none.
fn can_be_posted_to(redirect_uri: &str) -> bool {
    url::Url::parse(redirect_uri).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// The supported scopes of a list, without duplicates, in the order of [`SCOPES`].
pub(crate) fn known_scopes(list: &str) -> String {
    SCOPES.into_iter().filter(|scope| list.split(' ').any(|asked| asked == *scope)).collect::<Vec<_>>().join(" ")
}

fn code_challenge(client: &Client, parameters: &Parameters) -> Result<Option<String>, OAuthError> {
    let method = parameters.get("code_challenge_method")?;
    let Some(challenge) = parameters.get("code_challenge")? else {
        return match (client.needs_pkce(), method) {
            (true, _) => Err(OAuthError::invalid_request("code_challenge is missing (PKCE, RFC 7636)")),
            (false, Some(_)) => Err(OAuthError::invalid_request("code_challenge_method without code_challenge")),
            (false, None) => Ok(None),
        };
    };
    // The default method is `plain`, which does not protect against anybody who can read the request.
    if method != Some("S256") {
        return Err(OAuthError::invalid_request("code_challenge_method must be S256"));
    }
    let is_hash =
        challenge.len() == 43 && challenge.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'));
    if !is_hash {
        return Err(OAuthError::invalid_request("code_challenge must be 43 characters of Base64 without padding"));
    }
    Ok(Some(challenge.to_owned()))
}

fn interaction(parameters: &Parameters, ask_consent: &mut bool) -> Result<Interaction, OAuthError> {
    let mut interaction = Interaction::default();
    let prompts = parameters.get("prompt")?.unwrap_or_default();
    for prompt in prompts.split(' ').filter(|prompt| !prompt.is_empty()) {
        match prompt {
            "none" => interaction.silent = true,
            "login" | "select_account" => interaction.login = true,
            "consent" => *ask_consent = true,
            _ => return Err(OAuthError::invalid_request("prompt must be none, login, select_account or consent")),
        }
    }
    if interaction.silent && (interaction.login || *ask_consent) {
        return Err(OAuthError::invalid_request("prompt=none cannot be combined with another"));
    }
    if let Some(max_age) = parameters.get("max_age")? {
        let seconds =
            max_age.parse().map_err(|_| OAuthError::invalid_request("max_age must be a number of seconds"))?;
        interaction.max_age = Some(seconds);
    }
    interaction.id_token_hint = parameters.get("id_token_hint")?.map(str::to_owned);
    Ok(interaction)
}
