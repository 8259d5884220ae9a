//! The options of the console, and which requests they admit.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use http::HeaderMap;
use http::header::ORIGIN;
use ipnet::IpNet;
use url::Url;

/// The header of requests that the operator has caused. Another site cannot send it.
pub(crate) const USHER_CONSOLE: &str = "usher-console";

/// Reads the secret of a session from the cookies of a request.
type SecretReader = Arc<dyn Fn(&HeaderMap) -> Option<String> + Send + Sync>;

/// The options of the console.
#[derive(Clone)]
pub struct ConsoleOptions {
    /// How a browser reaches the service (`pages.public_url`).
    pub public_url: Url,
    /// The networks from which the console can be used (`console.networks`); all if there are none.
    pub networks: Vec<IpNet>,
    /// Reads the secret of a session from the cookies of a request.
    pub secret: SecretReader,
    /// The service's name.
    pub service: Option<String>,
    /// The currency in which amounts are shown, too (`pages.show_currency`).
    pub currency: Option<String>,
}

impl ConsoleOptions {
    /// The path of the public URL, unless it is the root.
    pub(crate) fn base(&self) -> Option<String> {
        Some(self.public_url.path().trim_end_matches('/').to_owned()).filter(|base| !base.is_empty())
    }

    pub(crate) fn admits(&self, client: Option<IpAddr>) -> bool {
        self.networks.is_empty()
            || client.is_some_and(|client| self.networks.iter().any(|network| network.contains(&client.to_canonical())))
    }

    /// Whether a request comes from a page of the console. A change must say so; a read must not say otherwise.
    pub(crate) fn is_own(&self, request: &Request) -> bool {
        let headers = request.headers();
        let own = self.public_url.origin().ascii_serialization();
        let all = |name: &str, expected: &str| {
            let mut values = headers.get_all(name).iter();
            values.all(|value| value.as_bytes() == expected.as_bytes())
        };
        let is_said = headers.contains_key("sec-fetch-site") || headers.contains_key(ORIGIN);
        let may_change = is_said && headers.get(USHER_CONSOLE).is_some_and(|value| value == "1");
        all("sec-fetch-site", "same-origin") && all(ORIGIN.as_str(), &own) && (request.method().is_safe() || may_change)
    }
}
