//! Sends a message to a target: one attempt, within a time limit. No reason of a failure contains a secret.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Request, Uri};
use secrecy::ExposeSecret as _;
use usher_address_guard::AddressSource;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, Posted, SystemClock};
use usher_http_client::{Client, ClientOptions, tls_config};
use usher_instance::LeaseGate;
use usher_protocol::{Keys, PublicKey};
use usher_relays::{RelayAddress, send_direct_message};
use usher_webhooks::{HttpWebhookSender, WebhookOptions};

use super::message::{Message, Urgency};
use crate::config::setting::NoticeAddress;
use crate::failure::{Failure, chain};

/// Time limit of an HTTP request.
const TIMEOUT: Duration = Duration::from_secs(15);

const AGENT: &str = concat!("Usher/", env!("CARGO_PKG_VERSION"));

/// The service as a sender of direct messages.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) keys: Keys,
    pub(super) relays: Arc<dyn Fn() -> Vec<RelayAddress> + Send + Sync>,
    pub(super) gate: LeaseGate,
}

/// A target that messages can be sent to.
pub(super) enum Target {
    Ntfy { client: Client, uri: Uri, authorization: Option<HeaderValue> },
    Nostr { sender: Sender, recipient: PublicKey },
    Webhook(HttpWebhookSender),
}

impl Target {
    /// Neither connects nor resolves a name.
    pub(super) fn new(address: &NoticeAddress, sender: Sender) -> Result<Self, Failure> {
        let unusable = |reason: String| Failure::said(format!("notices cannot be used: {address}: {reason}"));
        Ok(match address {
            NoticeAddress::Ntfy { url, token } => {
                let tls = tls_config(Vec::new()).map_err(|_| unusable("TLS cannot be set up".to_owned()))?;
                // The operator chose it, and redirects are not followed.
                let client = Client::new(ClientOptions::new(tls, AddressSource::Operator, TIMEOUT));
                let uri = url.expose().parse().map_err(|_| unusable("it is no URL".to_owned()))?;
                let bearer = |token: &str| {
                    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
                    value.set_sensitive(true);
                    Some(value)
                };
                let authorization = token.as_ref().and_then(|token| bearer(token.expose_secret()));
                Self::Ntfy { client, uri, authorization }
            }
            NoticeAddress::Nostr(recipient) => Self::Nostr { sender, recipient: *recipient },
            NoticeAddress::Webhook { url, secret } => {
                let url = url.expose().parse().map_err(|_| unusable("it is no URL".to_owned()))?;
                let mut options = WebhookOptions::new(url);
                options.secrets = secret.iter().cloned().collect();
                options.timeout = TIMEOUT;
                Self::Webhook(HttpWebhookSender::new(options).map_err(|error| unusable(error.to_string()))?)
            }
        })
    }

    /// Sends a message; returns once it is accepted.
    ///
    /// # Errors
    /// Why it was not.
    pub(super) async fn send(&self, message: &Message, now: UnixMillis) -> Result<(), String> {
        match self {
            Self::Ntfy { client, uri, authorization } => {
                let request = ntfy(message, uri.clone(), authorization.clone()).map_err(|error| error.to_string())?;
                let response = client.send(request).await.map_err(|error| chain(&error))?;
                let status = response.status();
                if status.is_success() { Ok(()) } else { Err(format!("the server answered {status}")) }
            }
            Self::Nostr { sender: Sender { keys, relays, gate }, recipient } => {
                let text = format!("{}\n{}", message.title, message.text);
                let gate = gate.of_connections();
                let sent = send_direct_message(keys, *recipient, &text, &relays(), now.secs(), gate.as_ref()).await;
                sent.map_err(|error| error.to_string())
            }
            Self::Webhook(webhook) => {
                let (id, body) = message.webhook(now);
                // Receivers check signatures by their own clocks.
                match webhook.post_message(&id, body, SystemClock.now()).await {
                    Posted::Accepted { .. } => Ok(()),
                    Posted::Refused { reason, .. } => Err(reason),
                }
            }
        }
    }
}

fn ntfy(message: &Message, uri: Uri, authorization: Option<HeaderValue>) -> Result<Request<Bytes>, http::Error> {
    let (priority, tag) = match message.urgency {
        Urgency::High => ("4", "warning"),
        Urgency::Normal => ("3", "information_source"),
        Urgency::Low => ("3", "white_check_mark"),
    };
    let mut request = Request::post(uri)
        .header(USER_AGENT, AGENT)
        .header(CONTENT_TYPE, "text/plain; charset=utf-8")
        .header("title", in_header(&message.title))
        .header("priority", priority)
        .header("tags", tag);
    if let Some(console) = &message.console {
        request = request.header("click", console);
    }
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    request.body(message.text.clone().into())
}

/// A line as a header can have it: of visible ASCII, or encoded (RFC 2047), which ntfy reads.
fn in_header(line: &str) -> String {
    if line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return line.to_owned();
    }
    // A word has at most 75 characters, and no part of a letter.
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for letter in line.chars() {
        if word.len() + letter.len_utf8() > 45 {
            words.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    words.push(word);
    words.iter().map(|word| format!("=?UTF-8?B?{}?=", BASE64.encode(word))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_fits_into_a_header() {
        assert_eq!(in_header("Shop: needs attention"), "Shop: needs attention");
        assert_eq!(in_header("Café: test"), "=?UTF-8?B?Q2Fmw6k6IHRlc3Q=?=");
        for hostile in ["a\r\nPriority: 5", "\u{0}", &"€".repeat(200), "\u{202e}evil"] {
            let header = in_header(hostile);
            assert!(HeaderValue::from_str(&header).is_ok(), "{header}");
            assert!(header.split(' ').all(|word| word.len() <= 75));
            let words = header.split(' ').map(|word| word.trim_start_matches("=?UTF-8?B?").trim_end_matches("?="));
            let decoded: Vec<u8> = words.flat_map(|word| BASE64.decode(word).unwrap()).collect();
            assert_eq!(String::from_utf8(decoded).unwrap(), hostile);
        }
    }
}
