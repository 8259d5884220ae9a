//! Checks that involve several keys, and warnings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use url::Url;
use usher_engine::UnixMillis;
use usher_engine::ports::{CurrencyCode, ProfileChange};
use usher_protocol::mint_url;
use usher_protocol::subkey::{Permission, ProofError, SubkeyProof};
use usher_relays::check_profile;

use super::embedded_lightning_checks;
use super::error::{ConfigError, Origin};
use super::given_values::Layer;
use super::keys::{self, Config};
use super::notice_checks;
use super::passkey_checks;
use super::reader::Reader;
use super::setting::{
    ApiToken, BoundedInteger, Currencies, DatabaseUrl, HostPort, LnBackend, Nip05, NwcUrl, PrivateKey, ProfileName,
    PublicKeys, RateSources, Text, VerificationProvider, WebUrl, crosses_network_in_clear, is_on_this_machine,
};

/// Seconds in a day.
const DAY: u64 = 24 * 60 * 60;

/// Days before the expiry of a proof at which an operator is warned, so that the holder of the main key can renew it.
const PROOF_DAYS: u64 = 30;

/// Records errors in keys that are valid alone but not together, or not in this version, independent of errors in other
/// keys.
pub fn together(reader: &Reader<'_>, now: UnixMillis, errors: &mut Vec<ConfigError>) {
    let mut note = |name: &str, what: String| {
        let origin = reader.origin(name).cloned();
        errors.push(ConfigError { origin, what: format!("{name} {what}") });
    };
    if reader.peek_set::<DatabaseUrl>("database.url").is_some() {
        if reader.peek("wallet.ln_backend") == Some(LnBackend::Embedded) {
            let what = "cannot be embedded together with database.url: an old copy of a channel's state loses money, and the \
                        node's library cannot yet write under the lease of the active instance; use nwc";
            note("wallet.ln_backend", what.to_owned());
        }
        if reader.unset::<WebUrl>("pages.public_url").is_some() {
            let what = "is required together with database.url: pages have one address, whichever instance serves them";
            note("pages.public_url", what.to_owned());
        }
        let address = reader.peek::<IpAddr>("info.listen_address");
        let is_unset = reader.unset::<HostPort>("database.instance_address").is_some();
        if is_unset && address.is_some_and(|address| address.is_unspecified()) {
            let what = "is required together with database.url while info.listen_address is every address of the machine: \
                        other instances must know where to reach this one";
            note("database.instance_address", what.to_owned());
        }
    }
    let tokens = [
        ("auth.auth_token", reader.peek::<ApiToken>("auth.auth_token")),
        ("auth.previous_token", reader.peek_set::<ApiToken>("auth.previous_token")),
    ];
    for (name, token) in tokens {
        if let (Some(address), Some(weakness)) = (exposed(reader), token.and_then(|token| token.weakness())) {
            note(
                name,
                format!(
                    "{weakness}; this is not allowed while info.listen_address is {address}, which other machines can \
                     reach: generate a token with `openssl rand -hex 32`"
                ),
            );
        }
    }
    let proof = reader.peek_set::<SubkeyProof>("nostr.subkey_proof");
    if let Some(proof) = proof
        && let Some(key) = reader.peek::<PrivateKey>("nostr.private_key")
    {
        match proof.verify(&key.public(), Permission::Auth, now.secs()) {
            Ok(()) => {}
            Err(ProofError::NotDerived) => {
                note("nostr.subkey_proof", "is not a proof for the key of nostr.private_key".to_owned());
            }
            Err(problem) => note("nostr.subkey_proof", format!("is invalid: {problem}")),
        }
    }
    for error in check_profile(&profile(reader)).err().into_iter().flatten() {
        note(&format!("profile.{}", error.name()), error.detail.clone());
    }
    if let Some(url) = reader.peek_set::<WebUrl>("pages.public_url") {
        if url.url().query().is_some() || url.url().fragment().is_some() {
            note("pages.public_url", "must have neither a query nor a fragment".to_owned());
        }
        if !is_plain_path(url.url().path()) {
            let what = "must have a path of letters, digits, `-`, `_`, `.`, `~` and single slashes, or none: proxies change \
                        others";
            note("pages.public_url", what.to_owned());
        }
    }
    passkey_checks::check(reader, &mut note);
    notice_checks::check(reader, &mut note);
    let api_port = reader.peek::<BoundedInteger<0, 65535>>("info.listen_port").map(BoundedInteger::get);
    let pages_port = reader.peek_set::<BoundedInteger<0, 65535>>("pages.listen_port").map(BoundedInteger::get);
    if pages_port.is_some_and(|port| port != 0 && Some(port) == api_port) {
        note("pages.listen_port", "must differ from info.listen_port".to_owned());
    }
    if let Some(url) = reader.peek_set::<WebUrl>("verification.mint_url")
        && mint_url::normalize(url.url().as_str()).is_none()
    {
        note("verification.mint_url", "must have neither a query nor a fragment, and at most 512 bytes".to_owned());
    }
    let missing = match reader.peek("verification.provider") {
        Some(VerificationProvider::Oidc) => reader
            .unset::<WebUrl>("verification.oidc.issuer")
            .or_else(|| reader.unset::<Text>("verification.oidc.client_id")),
        Some(VerificationProvider::Remote) => reader.unset::<WebUrl>("verification.remote.url"),
        Some(VerificationProvider::Manual) | None => None,
    };
    if let Some(missing) = missing {
        note("verification.provider", format!("needs {missing}, which is not set"));
    }
    if reader.peek("wallet.ln_backend") == Some(LnBackend::Nwc) && reader.unset::<NwcUrl>("wallet.nwc.url").is_some() {
        note("wallet.ln_backend", "needs wallet.nwc.url, which is not set".to_owned());
    }
    let sources = reader.peek::<Option<RateSources>>("rates.sources").map(|sources| sources.is_some());
    let currencies = reader.peek::<Currencies>("rates.currencies").map(|currencies| !currencies.codes().is_empty());
    if (sources, currencies) == (Some(true), Some(false)) {
        note("rates.currencies", "is required together with rates.sources: it lists the currencies to read".to_owned());
    }
    let shown = reader.peek_set::<CurrencyCode>("pages.show_currency");
    if let Some((shown, currencies)) = shown.zip(reader.peek::<Currencies>("rates.currencies"))
        && (sources == Some(false) || !currencies.codes().contains(&shown))
    {
        note("pages.show_currency", "must be one of rates.currencies, and needs rates.sources".to_owned());
    }
    let approvers = reader.peek::<PublicKeys>("wallet.approvers");
    if approvers.is_some_and(|approvers| !approvers.keys().is_empty()) && reader.peek("console.enabled") == Some(false)
    {
        let what = "needs console.enabled: people approve payments in the console, and programs with API keys";
        note("wallet.approvers", what.to_owned());
    }
    lightning_address(reader, &mut note);
    embedded_lightning_checks::check(reader, &mut note);
}

/// A Lightning address needs a name and domain, a public address and a wallet.
fn lightning_address(reader: &Reader<'_>, note: &mut impl FnMut(&str, String)) {
    if reader.peek::<bool>("payments.lightning_address") != Some(true) {
        return;
    }
    let missing = [
        reader.unset::<Nip05>("profile.nip05"),
        reader.unset::<WebUrl>("pages.public_url"),
        (reader.peek("wallet.ln_backend") == Some(LnBackend::None)).then_some("wallet.ln_backend"),
    ];
    for name in missing.into_iter().flatten() {
        note("payments.lightning_address", format!("needs {name}, which is not set"));
    }
}

/// Whether the path has no special characters.
fn is_plain_path(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let path = path.strip_prefix('/').unwrap_or(path).trim_end_matches('/');
    path.is_empty() || path.split('/').all(|segment| !segment.is_empty() && segment.bytes().all(is_plain))
}

fn profile(reader: &Reader<'_>) -> ProfileChange {
    ProfileChange {
        name: reader.peek_set::<ProfileName>("profile.name").map(|name| name.as_str().to_owned()),
        display_name: reader.peek_set::<Text>("profile.display_name").map(|name| name.as_str().to_owned()),
        picture: reader.peek_set::<WebUrl>("profile.picture").map(|url| url.url().to_string()),
        about: None,
        nip05: reader.peek_set::<Nip05>("profile.nip05").map(|text| text.as_str().to_owned()),
    }
}

/// Records what is allowed but unwise, and reserved settings.
pub fn warnings(config: &Config, reader: &Reader<'_>, now: UnixMillis, warnings: &mut Vec<String>) {
    if let Some(weakness) = config.auth.auth_token.weakness() {
        warnings.push(format!("auth.auth_token {weakness}; generate one with `openssl rand -hex 32`"));
    }
    if let Some(weakness) = config.auth.previous_token.as_ref().and_then(|token| token.weakness()) {
        warnings.push(format!("auth.previous_token {weakness}; remove it as soon as nobody uses it"));
    }
    if let Some(proof) = &config.nostr.subkey_proof {
        let days = proof.metadata.expires_at.saturating_sub(now.secs()) / DAY;
        if days < PROOF_DAYS {
            let left = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
            warnings.push(format!(
                "nostr.subkey_proof expires in {left}; from then on wallets ignore this key and the service does not start: \
                 have a new one made with the main key"
            ));
        }
        if !proof.metadata.permissions.contains(Permission::Payment) {
            warnings.push(
                "nostr.subkey_proof does not permit payments: wallets may ignore all requests of this key except logins"
                    .to_owned(),
            );
        }
    }
    if config.nostr.relays.addresses().len() < 2 {
        warnings.push(
            "nostr.relays has only one relay: wallets send once, and what they send during a reconnection can be lost; \
             list at least two, of different operators"
                .to_owned(),
        );
    }
    if config.nostr.allow_private_relays {
        warnings.push(
            "nostr.allow_private_relays is on: anybody can make this machine connect to its own network".to_owned(),
        );
    }
    pages(config, warnings);
    rates(config, warnings);
    if config.nwc.url.is_some() && config.wallet.ln_backend != LnBackend::Nwc {
        warnings.push("wallet.nwc.url is set but unused; wallet.ln_backend is not nwc".to_owned());
    }
    passkey_checks::warnings(config, warnings);
    notice_checks::warnings(config, warnings);
    embedded_lightning_checks::warnings(config, reader, warnings);
}

/// Warnings about pages that browsers cannot reach, or that cannot redirect back.
fn pages(config: &Config, warnings: &mut Vec<String>) {
    let pages = &config.pages;
    let is_exposed = !config.info.listen_address.to_canonical().is_loopback();
    let url = pages.public_url.as_ref().map(WebUrl::url);
    let is_public = url.map_or(is_exposed, |url| !is_on_this_machine(url));
    if !is_public {
        return;
    }
    match url {
        None => warnings.push(
            "pages.public_url is not set, and other machines can reach info.listen_address: links to pages name a loopback \
             address, which only browsers on this machine reach; set it to the https address at which users reach the pages"
                .to_owned(),
        ),
        Some(url) if crosses_network_in_clear(url) => warnings.push(
            "pages.public_url is http: others on the way can read and change logins, and browsers have no passkeys there; \
             use https"
                .to_owned(),
        ),
        Some(_) => {}
    }
    if pages.return_urls.urls().is_empty() {
        warnings.push(
            "pages.return_urls is empty: every return_url is refused, so no page leads a browser back to your app; list \
             your app's addresses"
                .to_owned(),
        );
    }
    if config.profile.name.is_none() && config.profile.display_name.is_none() {
        warnings.push(
            "the service has no name: users do not see whom they log in to or pay; set profile.display_name, unless you \
             publish a profile with a name otherwise"
                .to_owned(),
        );
    }
    // The service speaks plain HTTP, so a proxy has the certificate.
    let is_behind_proxy = url.is_some_and(|url| url.scheme() == "https");
    let trusted = pages.trusted_proxies.networks();
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
    let is_local = loopback.iter().any(|ip| trusted.iter().any(|network| network.contains(ip)));
    if is_behind_proxy && trusted.is_empty() {
        warnings.push(
            "pages.trusted_proxies is empty: all users who come through your proxy share the limits of one address; name the \
             proxy's address"
                .to_owned(),
        );
    } else if is_behind_proxy && !is_exposed && !is_local {
        warnings.push(
            "pages.trusted_proxies names no address of this machine, and only a proxy on this machine reaches \
             info.listen_address; name the address from which it comes, such as 127.0.0.1"
                .to_owned(),
        );
    }
}

fn rates(config: &Config, warnings: &mut Vec<String>) {
    let Some(sources) = &config.rates.sources else {
        if !config.rates.currencies.codes().is_empty() {
            warnings.push("rates.currencies is set but unused; rates.sources is not set".to_owned());
        }
        return;
    };
    for currency in config.rates.currencies.codes() {
        let offering = sources.sources().iter().filter(|source| source.offers(*currency)).count();
        match offering {
            0 => warnings.push(format!("none of rates.sources has {currency}: there will be no rate")),
            1 => warnings.push(format!(
                "only one of rates.sources has {currency}: nothing notices when it is wrong; list at least three"
            )),
            _ => {}
        }
        let in_clear = sources
            .sources()
            .iter()
            .filter(|source| Url::parse(&source.url(*currency)).is_ok_and(|url| crosses_network_in_clear(&url)));
        warnings.extend(in_clear.map(|source| {
            format!(
                "rates.sources reads {currency} from {} without TLS: others on the way can change it",
                source.name()
            )
        }));
    }
}

/// Warns of files with secrets that other users of this machine can read. `config_file` is the configuration itself.
#[cfg(unix)]
pub fn permissions(config_file: &Path, given: &Layer, warnings: &mut Vec<String>) {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    let origins = given.iter().filter(|(name, _)| keys::find(name).is_some_and(|key| key.secret));
    let files = origins.filter_map(|(name, (_, origin))| match origin {
        // Usher's own file, which nobody else needs.
        Origin::Line(file, _) if file == config_file => Some((file, (0o077, "secrets"))),
        // The service may get access through a group (root:usher 0640).
        Origin::SecretFile(file, _) => Some((file, (0o027, *name))),
        _ => None,
    });
    for (file, (forbidden, what)) in files.collect::<BTreeMap<_, _>>() {
        // Anything but a regular file is reported elsewhere, and its mode must not be changed.
        let readable =
            |metadata: std::fs::Metadata| metadata.is_file() && metadata.permissions().mode() & forbidden != 0;
        if std::fs::metadata(file).is_ok_and(readable) {
            let file = file.display();
            let holds = if what == "secrets" { "holds secrets".to_owned() } else { format!("holds {what}") };
            warnings.push(format!(
                "{file} {holds}, and other users of this machine can read or change it; run `chmod 600 {file}`"
            ));
        }
    }
}

/// Warns of files with secrets that other users of this machine can read: unknown on this system.
#[cfg(not(unix))]
pub fn permissions(_config_file: &Path, _given: &Layer, _warnings: &mut Vec<String>) {}

/// Warns of a data directory in which every user of this machine can replace files.
#[cfg(unix)]
pub fn folder(data_dir: &Path, warnings: &mut Vec<String>) {
    use std::os::unix::fs::PermissionsExt as _;

    if std::fs::metadata(data_dir).is_ok_and(|folder| folder.permissions().mode() & 0o002 != 0) {
        let folder = data_dir.display();
        warnings.push(format!(
            "other users of this machine can replace the files in the data directory {folder}; run `chmod o-w {folder}`"
        ));
    }
}

/// Warns of a data directory in which every user of this machine can replace files: unknown on this system.
#[cfg(not(unix))]
pub fn folder(_data_dir: &Path, _warnings: &mut Vec<String>) {}

/// The listener's address, if other machines can reach it.
fn exposed(reader: &Reader<'_>) -> Option<IpAddr> {
    reader.peek::<IpAddr>("info.listen_address").filter(|address| !address.to_canonical().is_loopback())
}
