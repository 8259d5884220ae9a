//! `usher health`: an exit code for container runtimes, load balancers and scripts.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use secrecy::ExposeSecret as _;

use super::environment::{load_in_time, source};
use crate::cli::HealthCommand;
use crate::config::report;
use crate::failure::Failure;
use crate::output::write;

/// The most of a response that is shown to the operator, in bytes.
const SHOWN: usize = 2000;

/// Asks the running service of this configuration how it is.
///
/// # Errors
/// When it is not healthy or not reached in time, and [`Failure::Configuration`] when it cannot be known how to ask.
pub fn run(options: &HealthCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, _) = load_in_time(source(data_dir)?)?;
    // Errors elsewhere in the configuration say nothing about the service that runs.
    let Some(base) = &loaded.base_url else {
        let unknown = "the address of the service is unknown: info.listen_port is 0, or info.listen_* have errors";
        return Err(Failure::Configuration(vec![unknown.to_owned()]));
    };
    let token = match (&loaded.config, options.ready) {
        (Some(config), true) => Some(config.auth.auth_token.secret()),
        (None, true) => return Err(Failure::Configuration(report::problems(&loaded))),
        (_, false) => None,
    };
    let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(Duration::from_secs(options.timeout));
    let mut request = client.build()?.get(format!("{base}{}", if options.ready { "/health/ready" } else { "/health" }));
    if let Some(token) = token {
        request = request.bearer_auth(token.expose_secret());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(async {
        let response = request.send().await?;
        Ok::<_, reqwest::Error>((response.status(), response.text().await?))
    });
    match outcome {
        Ok((StatusCode::OK, body)) if options.ready || body.trim() == "OK" => {
            write(if options.ready { "ready\n" } else { "healthy\n" })?;
            Ok(())
        }
        Ok((StatusCode::SERVICE_UNAVAILABLE, body)) => {
            let body: String = body.chars().take(SHOWN).collect();
            Err(unhealthy(&format!("the service at {base} is not ready: {body}")))
        }
        Ok((StatusCode::UNAUTHORIZED, _)) => {
            Err(unhealthy(&format!("the service at {base} does not accept the configured auth.auth_token")))
        }
        Ok((status, _)) => Err(unhealthy(&format!("another program responds at {base} (status {})", status.as_u16()))),
        Err(error) if error.is_timeout() => {
            Err(unhealthy(&format!("the service at {base} did not respond within {} s", options.timeout)))
        }
        Err(error) if error.is_connect() => Err(unhealthy(&format!("no service runs at {base}"))),
        Err(_) => Err(unhealthy(&format!("the service at {base} does not respond as it should"))),
    }
}

fn unhealthy(what: &str) -> Failure {
    Failure::said(format!("{what}\nusher: run `usher doctor` to find the cause"))
}
