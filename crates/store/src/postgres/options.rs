//! Options of a [`PostgresStore`](super::PostgresStore).

use std::time::Duration;

use rustls::pki_types::CertificateDer;
use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::open_error::PostgresOpenError;
use super::tls::Tls;

/// Time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An idle connection is probed after this time, and given up after three probes: 11 s in total.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;

/// Options of the store and its database.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database`. Of several hosts, separated by commas, the writable one is used.
    /// The connection is encrypted, and the server's certificate verified, unless the URL ends with `?sslmode=disable`
    /// or names a Unix socket.
    pub url: SecretString,
    /// The password, if not in the URL.
    pub password: Option<SecretString>,
    /// Certificates trusted in addition to the public authorities'.
    pub trusted: Vec<CertificateDer<'static>>,
    /// Reading connections, at least 1; one more writes.
    pub readers: usize,
    /// Most queued commits, and most queued queries; callers wait for room.
    pub queue: usize,
    /// Most commits that share a transaction, 1 to `queue`.
    pub max_batch: usize,
    /// Time limit of a statement. A connection without a response for 50 % longer is given up.
    pub timeout: Duration,
    /// How long the store tries to determine the outcome of a commit whose response was lost, while its callers wait.
    pub outcome_timeout: Duration,
}

impl PostgresOptions {
    /// Validates a URL without connecting.
    ///
    /// # Errors
    /// What is wrong with it, without any part of it.
    pub fn check_url(url: &str) -> Result<(), &'static str> {
        match parse(url) {
            Err(PostgresOpenError::Url(reason)) => Err(reason),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The defaults, for a database nearby.
    pub fn new(url: SecretString) -> Self {
        Self {
            url,
            password: None,
            trusted: Vec::new(),
            readers: 4,
            queue: 1024,
            max_batch: 512,
            timeout: Duration::from_secs(10),
            outcome_timeout: Duration::from_secs(10),
        }
    }
}

/// Connection parameters.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
    /// Time limit of a statement.
    pub(super) timeout: Duration,
}

impl Address {
    /// # Errors
    /// [`PostgresOpenError::Url`] and [`PostgresOpenError::Certificate`].
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, PostgresOpenError> {
        let mut config = parse(options.url.expose_secret())?;
        if let Some(password) = &options.password {
            config.password(password.expose_secret());
        }
        if config.get_application_name().is_none() {
            config.application_name("usher");
        }
        config
            .connect_timeout(CONNECT_TIMEOUT)
            .keepalives(true)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(options.timeout)
            // For reading too: a replica may lag.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let tls = Tls::new(&options.trusted).map_err(PostgresOpenError::Certificate)?;
        Ok(Self { config, tls, timeout: options.timeout })
    }
}

fn parse(url: &str) -> Result<Config, PostgresOpenError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(PostgresOpenError::Url("it must begin with postgres://"));
    }
    // The library supports fewer modes than libpq, whose names operators know.
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let is_mode = |parameter: &&str| parameter.starts_with("sslmode=");
    let mode = match query.split('&').rfind(is_mode) {
        None | Some("sslmode=require" | "sslmode=verify-ca" | "sslmode=verify-full" | "sslmode=prefer") => {
            SslMode::Require
        }
        Some("sslmode=disable") => SslMode::Disable,
        Some(_) => return Err(PostgresOpenError::Url("unknown sslmode: use verify-full or disable")),
    };
    let others: Vec<_> = query.split('&').filter(|parameter| !is_mode(parameter) && !parameter.is_empty()).collect();
    // As in libpq, a host in the query replaces the one before it.
    let address = match (others.iter().any(|parameter| parameter.starts_with("host=")), address.split_once("://")) {
        (true, Some((scheme, address))) => {
            let (server, database) = address.split_once('/').unwrap_or((address, ""));
            let user = server.rsplit_once('@').map(|(user, _)| format!("{user}@")).unwrap_or_default();
            format!("{scheme}://{user}/{database}")
        }
        _ => address.to_owned(),
    };
    let mut config: Config = format!("{address}?{}", others.join("&"))
        .parse()
        // The library's message could contain part of the URL.
        .map_err(|_| PostgresOpenError::Url("check for typos; special characters in a password are written as %XX"))?;
    let is_unix = |host: &Host| match host {
        Host::Tcp(_) => false,
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    if config.get_hosts().is_empty() {
        return Err(PostgresOpenError::Url("it names no host"));
    }
    config.ssl_mode(if config.get_hosts().iter().all(is_unix) { SslMode::Disable } else { mode });
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_encrypted_unless_it_is_refused() {
        let mode = |url| parse(url).unwrap().get_ssl_mode();
        for url in [
            "postgres://db.example/usher",
            "postgresql://u:p@a,b/usher?sslmode=prefer",
            "postgres://db.example/usher?sslmode=verify-full&application_name=x",
        ] {
            assert_eq!(mode(url), SslMode::Require, "{url}");
        }
        assert_eq!(mode("postgres://127.0.0.1/usher?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres:///usher?host=/run/postgresql"), SslMode::Disable);
        let config = parse("postgres://u:p@localhost:5433/usher?host=/run/postgresql&port=5432").unwrap();
        assert_eq!((config.get_hosts().len(), config.get_ssl_mode()), (1, SslMode::Disable));
        assert_eq!(
            (config.get_user(), config.get_dbname(), config.get_ports()),
            (Some("u"), Some("usher"), &[5432][..])
        );
        assert_eq!(mode("postgres://%2Frun%2Fpostgresql/usher"), SslMode::Disable);
    }

    #[test]
    fn neither_errors_nor_debug_output_contain_the_password() {
        for url in [
            "mysql://u:geheim@h/d",
            "postgres://u:geheim@h:geheim/d",
            "postgres://u:geheim@h/d?sslmode=geheim",
            "postgres://u:geheim@h/d?geheim=geheim",
            "geheim",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
        }
        let mut options = PostgresOptions::new("postgres://u:geheim@h/d".to_owned().into());
        options.password = Some("geheim".to_owned().into());
        assert!(!format!("{options:?}").contains("geheim"));
        let address = Address::new(&options).unwrap();
        assert!(!format!("{:?}", address.config).contains("geheim"));
    }
}
