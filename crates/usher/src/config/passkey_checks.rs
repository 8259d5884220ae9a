//! Checks of several keys for passkeys: they are bound to a domain, and every page there can request them.

use url::Url;
use usher_engine::operations::LoginMethod;

use super::keys::Config;
use super::reader::Reader;
use super::setting::{RpId, WebUrl};

/// The host of pages for which browsers support passkeys: a domain name over https, or localhost.
pub fn passkey_host(url: &Url) -> Option<&str> {
    let host = url.domain()?;
    (url.scheme() == "https" || host == "localhost").then_some(host)
}

/// Whether a host is this domain or a subdomain.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Records a passkey domain that does not cover the pages. Browsers also refuse public suffixes such as `co.uk`.
pub(super) fn check(reader: &Reader<'_>, note: &mut impl FnMut(&str, String)) {
    let Some(rp_id) = reader.peek_set::<RpId>("pages.passkey_rp_id") else { return };
    let url = reader.peek_set::<WebUrl>("pages.public_url");
    match url.as_ref().and_then(|url| passkey_host(url.url())) {
        None => {
            let what = "needs pages.public_url with https and a domain name, or http://localhost: browsers offer passkeys \
                        nowhere else";
            note("pages.passkey_rp_id", what.to_owned());
        }
        Some(host) if rp_id.as_str() != host && !(is_below(host, rp_id.as_str()) && rp_id.as_str().contains('.')) => {
            note("pages.passkey_rp_id", format!("must be the host of pages.public_url, {host}, or a domain above it"));
        }
        Some(_) => {}
    }
}

/// The passkeys' domain, whose scripts can request users' keys. On localhost that is acceptable.
pub fn shared_domain(config: &Config) -> Option<&str> {
    let is_offered =
        config.pages.login_methods.as_ref().is_none_or(|chosen| chosen.methods().contains(&LoginMethod::Passkey));
    let url = config.pages.public_url.as_ref().map(WebUrl::url).filter(|_| is_offered)?;
    let host = passkey_host(url).filter(|host| *host != "localhost")?;
    Some(config.pages.passkey_rp_id.as_ref().map_or(host, RpId::as_str))
}

/// Warns of apps on the passkeys' domain.
pub(super) fn warnings(config: &Config, warnings: &mut Vec<String>) {
    let Some((url, domain)) = config.pages.public_url.as_ref().map(WebUrl::url).zip(shared_domain(config)) else {
        return;
    };
    let is_there = |url: &Url| url.domain().is_some_and(|host| is_below(host, domain));
    let clients = config.openid_provider.clients.iter().flat_map(|clients| clients.clients());
    let mut redirects = clients.flat_map(|client| &client.redirect_uris).filter_map(|uri| Url::parse(uri).ok());
    let shared = if url.path() != "/" {
        "pages.public_url has a path: other pages of its host"
    } else if config.pages.return_urls.urls().iter().any(is_there) {
        "pages.return_urls has an address on the domain of the passkeys: its pages"
    } else if redirects.any(|uri| is_there(&uri)) {
        "oidc.clients has a redirect_uri on the domain of the passkeys: its pages"
    } else {
        return;
    };
    warnings.push(format!(
        "{shared} can ask users for the secret keys that their browsers make of passkeys; give the pages a host of their own, \
         or leave passkey out of pages.login_methods"
    ));
}
