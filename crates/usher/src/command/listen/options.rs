//! Options: the service, the target, and signing.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use secrecy::SecretString;
use url::Url;
use usher_engine::ports::{OsRandomness, Randomness as _};
use usher_webhooks::{HttpWebhookSender, WebhookOptions};

use crate::cli::ListenCommand;
use crate::config::text_file::read_file;
use crate::config::{Config, Source, load, report};
use crate::failure::Failure;
use crate::local_instance::LocalInstance;

pub(super) struct ListenOptions {
    pub(super) service: Service,
    pub(super) forwarding: Option<Forwarding>,
    streams: Vec<String>,
}

pub(super) struct Service {
    pub(super) place: Place,
    pub(super) token: SecretString,
}

/// The location of the service.
pub(super) enum Place {
    /// As given in the options, with the token: the URL of the live feed.
    Given(Url),
    /// On this machine: the instance gets the token of the data directory after it proves that it belongs to it. With
    /// the path of the live feed.
    Local(LocalInstance, String),
}

/// Where events are posted.
pub(super) struct Forwarding {
    pub(super) receiver: HttpWebhookSender,
    /// The printable part of the address.
    pub(super) origin: String,
    /// The secret, if it was generated here.
    pub(super) generated_secret: Option<String>,
}

impl ListenOptions {
    /// The options, completed from the configuration.
    pub(super) fn of(command: &ListenCommand, source: &Source) -> Result<Self, Failure> {
        let token = match &command.token_file {
            Some(path) => Some(secret(path)?),
            None => None,
        };
        let config = match (&command.base, &token) {
            (Some(_), Some(_)) => None,
            _ => Some(configuration(source)?),
        };
        let events = |base: &String| endpoint(base).ok_or_else(|| Failure::usage("--base must be an http(s) URL"));
        let place = match (command.base.as_ref().map(events).transpose()?, &config) {
            (Some(events), None) => Place::Given(events),
            (Some(events), Some(config)) => {
                Place::Local(LocalInstance::named(&events, config)?, events.path().to_owned())
            }
            (None, Some(config)) => Place::Local(LocalInstance::of(config, &source.data_dir), "/events".to_owned()),
            (None, None) => return Err(Failure::usage("--base names the service")),
        };
        let configured = || config.as_ref().map(|config| config.auth.auth_token.secret().clone());
        let token = token.or_else(configured).unwrap_or_default();
        let forwarding =
            command.forward_to.as_ref().map(|url| forwarding(command, url, config.as_ref())).transpose()?;
        let streams = command.stream.iter().map(|stream| stream.to_ascii_lowercase()).collect();
        Ok(Self { service: Service { place, token }, forwarding, streams })
    }

    /// Whether events of this stream are shown.
    pub(super) fn wants(&self, stream: &str) -> bool {
        self.streams.is_empty() || self.streams.iter().any(|wanted| wanted == stream)
    }
}

fn configuration(source: &Source) -> Result<Config, Failure> {
    let loaded = load(source);
    let problems = || {
        let mut lines = report::problems(&loaded);
        lines.push("without a configuration, --base and --token-file name the service".to_owned());
        Failure::Configuration(lines)
    };
    if loaded.config.is_none() {
        return Err(problems());
    }
    loaded.config.ok_or_else(|| Failure::said("the configuration cannot be used"))
}

fn endpoint(base: &str) -> Option<Url> {
    let mut url: Url = base.parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return None;
    }
    url.path_segments_mut().ok()?.pop_if_empty().push("events");
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

fn forwarding(command: &ListenCommand, url: &str, config: Option<&Config>) -> Result<Forwarding, Failure> {
    let unusable = |reason: String| Failure::usage(format!("--forward-to cannot be used: {reason}"));
    let url: Url = url.parse().map_err(|_| unusable("it must be an http(s) URL".to_owned()))?;
    let origin = url.origin().ascii_serialization();
    let mut options = WebhookOptions::new(url);
    let given = match (&command.secret, &command.secret_file) {
        (Some(secret), _) => Some(SecretString::from(secret.clone())),
        (None, Some(path)) => Some(secret(path)?),
        (None, None) => None,
    };
    options.secrets = match (given, config) {
        (Some(secret), _) => vec![secret],
        (None, Some(config)) => {
            let secrets = [&config.webhook.secret, &config.webhook.previous_secret];
            secrets.into_iter().flatten().map(|secret| secret.secret().clone()).collect()
        }
        (None, None) => Vec::new(),
    };
    let generated_secret = options.secrets.is_empty().then(make_up_secret);
    options.secrets.extend(generated_secret.clone().map(SecretString::from));
    let receiver = HttpWebhookSender::new(options).map_err(|error| unusable(error.to_string()))?;
    Ok(Forwarding { receiver, origin, generated_secret })
}

/// Generates a secret in the form of Standard Webhooks. It only signs local posts, so it may be shown.
fn make_up_secret() -> String {
    let mut key = [0; 24];
    OsRandomness.fill(&mut key);
    format!("whsec_{}", BASE64.encode(key))
}

fn secret(path: &Path) -> Result<SecretString, Failure> {
    let unusable = |why: &str| Failure::said(format!("{} cannot be used: {why}", path.display()));
    let text = read_file(path).map_err(|error| unusable(&error.to_string()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(unusable("it is empty")),
        text => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_is_below_the_base() {
        for (base, expected) in [
            ("http://localhost:3000", Some("http://localhost:3000/events")),
            ("http://localhost:3000/", Some("http://localhost:3000/events")),
            ("https://example.com/usher/?x#y", Some("https://example.com/usher/events")),
            ("localhost:3000", None),
            ("ftp://localhost", None),
            ("", None),
        ] {
            assert_eq!(endpoint(base).as_ref().map(Url::as_str), expected);
        }
    }

    #[test]
    fn a_secret_that_is_generated_is_one_of_standard_webhooks() {
        let secret = make_up_secret();
        assert_ne!(secret, make_up_secret());
        let mut options = WebhookOptions::new("http://localhost/".parse().unwrap());
        options.secrets = vec![secret.into()];
        assert!(HttpWebhookSender::new(options).is_ok());
    }
}
