//! The options of the service's parts, from the configuration.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_address_guard::AddressSource;
use usher_api::{ApiTokens, ConsoleOptions, ForwardingKey, InstanceKey, Limits, ServeOptions, TrustedProxies};
use usher_engine::audit::AuditOptions;
use usher_engine::ports::{AuditKey, Directory, MintAuthToken};
use usher_engine::{EngineOptions, PageRules, PaymentRules, RelyingParty, SpendingRules, VerificationRules};
use usher_http_client::{Client, ClientOptions};
use usher_page_layout::{Picture, PictureSource, Site, SiteOptions};
use usher_pages::{OperatorOptions, PagesOptions};
use usher_protocol::mint_url;
use usher_rates::RateOptions;
use usher_relays::Identity;

use crate::config::passkey_checks::passkey_host;
use crate::config::setting::BoundedInteger;
use crate::config::{Config, from_this_machine};
use crate::failure::Failure;
use crate::process::stepping_down;
use crate::service_mode::Mode;

/// How long a stop waits for running requests. Container runtimes kill after ten seconds; the rest is for later steps.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// Time limit of one response of an exchange rate source.
const RATE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of fetching the service's picture.
const PICTURE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn tokens(config: &Config) -> ApiTokens {
    ApiTokens::new(config.auth.auth_token.secret(), previous_token(config))
}

pub(crate) fn previous_token(config: &Config) -> Option<&SecretString> {
    config.auth.previous_token.as_ref().map(|token| token.secret())
}

/// The webhook's signing secrets, newest first.
pub(crate) fn webhook_secrets(config: &Config) -> Vec<SecretString> {
    let secrets = [&config.webhook.secret, &config.webhook.previous_secret];
    secrets.into_iter().flatten().map(|secret| secret.secret().clone()).collect()
}

pub(crate) fn engine_options(config: &Config, identity: &Identity, pages_url: &str) -> EngineOptions {
    EngineOptions {
        main_key: identity.main_key,
        subkey: identity.subkey_proof.is_some().then(|| identity.own_key()),
        subkey_proof: identity.subkey_proof.clone(),
        url_scheme: config.nostr.url_scheme.first().to_owned(),
        other_url_schemes: config.nostr.url_scheme.others().to_vec(),
        handshake_ttl: Duration::from_secs(config.handshake.ttl_seconds.get()),
        challenge_ttl: Duration::from_secs(config.auth.challenge_ttl_seconds.get()),
        max_open_streams: count(config.limits.max_open_streams.get()),
        retention: Duration::from_secs(config.streams.retention_days.get() * 24 * 60 * 60),
        ticket_send_ttl: Duration::from_secs(config.cashu.send_ttl_hours.get() * 3600),
        payments: PaymentRules {
            network: config.wallet.network,
            max_amount: config.limits.max_amount_millisats.get(),
            retry_after: hours(config.subscriptions.retry_hours.get()),
            look_ups_per_second: config.wallet.lookups_per_second.get(),
            records_kept: Duration::from_secs(config.payments.records_days.get() * 24 * 60 * 60),
            has_lightning_address: config.payments.lightning_address,
            spending: SpendingRules {
                daily_budget: config.wallet.daily_budget_millisats.map(BoundedInteger::get),
                max_fee_percent: config.wallet.max_fee_percent.get(),
                approval_above: config.wallet.approval_above_millisats.map(BoundedInteger::get),
            },
        },
        verification: verification(config),
        pages: PageRules {
            url: pages_url.to_owned(),
            return_urls: config.pages.return_urls.urls().to_vec(),
            passkeys: relying_party(config, pages_url),
            show_currency: config.pages.show_currency,
            key: derived_key(identity, "usher: secrets of pages"),
        },
        audit: AuditOptions {
            key: audit_key(identity),
            retention: Duration::from_secs(config.audit.retention_days.get() * 24 * 60 * 60),
        },
    }
}

/// The relying party, if browsers support passkeys at this address.
fn relying_party(config: &Config, pages_url: &str) -> Option<RelyingParty> {
    let url = Url::parse(pages_url).ok()?;
    let host = passkey_host(&url)?;
    let rp_id = config.pages.passkey_rp_id.as_ref().map_or(host, |rp_id| rp_id.as_str());
    RelyingParty::new(rp_id, &url.origin().ascii_serialization(), service_name(config).unwrap_or(host)).ok()
}

/// The key that chains the audit log.
pub(crate) fn audit_key(identity: &Identity) -> AuditKey {
    AuditKey::of_service(&identity.keys.secret_key().to_secret_bytes())
}

/// A secret for this purpose; constant while the service keeps its key.
pub(crate) fn derived_key(identity: &Identity, purpose: &str) -> [u8; 32] {
    let key = identity.keys.secret_key().to_secret_bytes();
    Sha256::new().chain_update(purpose).chain_update(key).finalize().into()
}

pub(crate) fn verification(config: &Config) -> VerificationRules {
    let verification = &config.verification;
    let mint_token = verification.mint_token.as_ref().map(|token| token.secret().expose_secret().to_owned());
    VerificationRules {
        session_ttl: Duration::from_secs(verification.session_ttl_seconds.get()),
        minimum_age: verification.minimum_age.get(),
        // Validated when it was read.
        mint_url: verification.mint_url.as_ref().and_then(|mint| mint_url::normalize(mint.url().as_str())),
        mint_auth: mint_token.map(MintAuthToken),
        unit: verification.unit.as_str().to_ascii_lowercase(),
        amount: verification.amount.get(),
    }
}

/// The URL of the pages, without a trailing slash.
pub(crate) fn pages_url(config: &Config, listens_on: SocketAddr) -> String {
    let public = config.pages.public_url.as_ref().map(|url| url.url().as_str().trim_end_matches('/').to_owned());
    public.unwrap_or_else(|| format!("http://{}", from_this_machine(listens_on)))
}

/// The web's certificate authorities.
pub(crate) fn tls() -> Result<ClientConfig, Failure> {
    usher_http_client::tls_config(Vec::new()).map_err(|_| Failure::said("TLS cannot be set up"))
}

/// The options of exchange rates, if configured.
pub(crate) fn rate_options(config: &Config) -> Result<Option<RateOptions>, Failure> {
    let Some(sources) = &config.rates.sources else { return Ok(None) };
    Ok(Some(RateOptions {
        sources: sources.sources().to_vec(),
        currencies: config.rates.currencies.codes().to_vec(),
        refresh: Duration::from_secs(config.rates.refresh_seconds.get()),
        timeout: RATE_TIMEOUT,
        tls: tls()?,
    }))
}

/// The site of all pages. The picture is that of the last published profile.
pub(crate) fn site(
    config: &Config,
    mode: &Mode,
    url: String,
    directory: Arc<dyn Directory>,
    tasks: TaskTracker,
) -> Result<Site, Failure> {
    // The profile can be changed over the API, by clients that must not access this machine's network.
    let source = if config.nostr.allow_private_relays { AddressSource::Operator } else { AddressSource::User };
    let client = Client::new(ClientOptions::new(tls()?, source, PICTURE_TIMEOUT));
    let address = Arc::new(move || directory.own_profile()?.picture);
    let picture = Some(PictureSource::new(address, mode.picture().and_then(Picture::of), client, tasks));
    Ok(Site::new(SiteOptions { picture, is_test_mode: mode.is_test(), ..site_options(config, url) }))
}

/// As [`site`], without the picture, which a standby does not know.
pub(crate) fn standby_site(config: &Config, url: String) -> Site {
    Site::new(site_options(config, url))
}

fn site_options(config: &Config, url: String) -> SiteOptions {
    SiteOptions {
        url,
        service_name: service_name(config).map(str::to_owned),
        accent: config.pages.accent_color.clone(),
        help_url: config.pages.help_url.as_ref().map(|url| url.url().to_string()),
        ..SiteOptions::default()
    }
}

pub(crate) fn pages(
    config: &Config,
    site: Site,
    directory: Arc<dyn Directory>,
    operators: OperatorOptions,
    (tasks, stop): (TaskTracker, CancellationToken),
) -> PagesOptions {
    PagesOptions {
        site,
        directory: Some(directory),
        login_methods: config.pages.login_methods.as_ref().map(|chosen| chosen.methods().to_vec()),
        has_lightning_address: config.payments.lightning_address,
        app: config.pages.return_urls.urls().first().and_then(|url| url.join("/").ok()),
        operators,
        tasks,
        stop,
    }
}

/// The options of the console, if there is one.
pub(crate) fn console_options(config: &Config, pages_url: &str) -> Option<ConsoleOptions> {
    let public_url = Url::parse(pages_url).ok().filter(|_| config.console.enabled)?;
    let url = pages_url.to_owned();
    Some(ConsoleOptions {
        public_url,
        networks: config.console.networks.networks().to_vec(),
        secret: Arc::new(move |headers| usher_pages::session_secret(&url, headers)),
        service: service_name(config).map(str::to_owned),
        currency: config.pages.show_currency.map(|currency| currency.to_string()),
    })
}

/// The service's name for users.
pub(crate) fn service_name(config: &Config) -> Option<&str> {
    let profile = &config.profile;
    let name = profile.display_name.as_ref().map(|name| name.as_str());
    name.or(profile.name.as_ref().map(|name| name.as_str()))
}

pub(crate) fn hours(hours: &[u64]) -> Vec<Duration> {
    hours.iter().map(|hours| Duration::from_secs(hours * 3600)).collect()
}

pub(crate) fn limits(config: &Config) -> Limits {
    let per_second = u32::try_from(config.limits.requests_per_second.get()).unwrap_or(u32::MAX);
    Limits {
        requests_per_second: NonZeroU32::new(per_second),
        max_long_polls: count(config.limits.max_long_polls.get()),
        max_event_streams: count(config.limits.max_event_streams.get()),
        max_websockets: count(config.limits.max_websockets.get()),
        ..Limits::default()
    }
}

pub(crate) fn serve_options(config: &Config, identity: &Identity) -> ServeOptions {
    let connections = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let limits = &config.limits;
    ServeOptions {
        grace: GRACE,
        max_connections: connections(limits.max_connections.get()),
        max_unauthenticated: connections(limits.max_unauthenticated_connections.get()),
        max_unauthenticated_per_address: connections(limits.max_unauthenticated_per_address.get()),
        trusted_proxies: TrustedProxies::new(config.pages.trusted_proxies.networks().iter().copied()),
        trusted_api_proxies: TrustedProxies::new(config.info.trusted_proxies.networks().iter().copied()),
        forwarding: config.database.url.is_some().then(|| forwarding_key(identity)),
        instance: Some(instance_key(identity)),
        stepping_down: config.database.url.is_some().then(stepping_down),
        ..ServeOptions::default()
    }
}

/// The key by which instances of a service authenticate each other.
pub(crate) fn forwarding_key(identity: &Identity) -> ForwardingKey {
    ForwardingKey::new(derived_key(identity, "usher: requests that a standby forwards"))
}

/// The key by which commands authenticate the instance of their data directory.
pub(crate) fn instance_key(identity: &Identity) -> InstanceKey {
    InstanceKey::new(derived_key(identity, "usher: proof of the instance to commands"))
}

pub(crate) fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
