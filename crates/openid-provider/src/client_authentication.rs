//! Client authentication at the token endpoint: `client_secret_basic`, `client_secret_post`, or none for public clients
//! (RFC 6749 section 2.3).
//!
//! Attempts are not limited: secrets have at least 32 characters, and a limit would lock the legitimate client out.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::authorization_request::OAuthError;
use crate::client::Client;
use crate::parameters::Parameters;
use crate::provider::Provider;
use crate::token::Failure;

impl Provider {
    pub(crate) fn authenticate(&self, headers: &HeaderMap, parameters: &Parameters) -> Result<Arc<Client>, Failure> {
        let given_id = parameters.get("client_id")?;
        let given_secret = parameters.get("client_secret")?;
        let (id, secret) = match headers.get(AUTHORIZATION) {
            None => (given_id.unwrap_or_default().to_owned(), given_secret.map(str::to_owned)),
            Some(_) if given_secret.is_some() => {
                return Err(OAuthError::invalid_request("the client's secret is given twice").into());
            }
            Some(header) => {
                let (id, secret) = basic(header.as_bytes()).ok_or(Failure::Unauthorized)?;
                if given_id.is_some_and(|given| given != id) {
                    return Err(OAuthError::invalid_request("client_id is not the client that authenticates").into());
                }
                (id, Some(secret))
            }
        };
        let client = self.clients.get(&id).ok_or(Failure::Unauthorized)?;
        let is_genuine = match (&client.secret, secret) {
            (Some(known), Some(given)) => known.is(&given),
            (None, None) => true,
            // Some libraries send an empty secret for a public client.
            (None, Some(given)) => given.is_empty(),
            (Some(_), None) => false,
        };
        if is_genuine {
            return Ok(client);
        }
        tracing::warn!(client = client.id, "a client of the OpenID Connect provider sent no or another secret");
        Err(Failure::Unauthorized)
    }
}

/// The id and the secret of HTTP Basic authentication, each percent-encoded as in a form.
fn basic(header: &[u8]) -> Option<(String, String)> {
    let (scheme, credentials) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = String::from_utf8(BASE64.decode(credentials.trim()).ok()?).ok()?;
    let (id, secret) = credentials.split_once(':')?;
    Some((decoded(id), decoded(secret)))
}

fn decoded(text: &str) -> String {
    // Decoded as the name of a form field.
    form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}
