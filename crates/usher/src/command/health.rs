//! `usher health`: an exit code for container runtimes, load balancers and scripts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};

use super::environment::{load_in_time, source};
use crate::cli::HealthCommand;
use crate::config::{Config, Loaded, report};
use crate::failure::Failure;
use crate::local_instance::{LocalInstance, request, written};
use crate::output::write;

/// Longest part of a response that is shown, in bytes.
const SHOWN: usize = 2000;

/// Queries the health of the running service of this configuration.
///
/// # Errors
/// If it is unhealthy or unreachable; [`Failure::Configuration`] if its address is unknown.
pub fn run(options: &HealthCommand, data_dir: Option<PathBuf>) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let within = Duration::from_secs(options.timeout);
    match (&loaded.config, options.ready) {
        (Some(config), true) => runtime.block_on(ask_whether_ready(config, &source.data_dir, within))?,
        (None, true) => return Err(Failure::Configuration(report::problems(&loaded))),
        (_, false) => runtime.block_on(ask_whether_alive(&loaded, &source.data_dir, within))?,
    }
    Ok(write(if options.ready { "ready\n" } else { "healthy\n" })?)
}

async fn ask_whether_ready(config: &Config, data_dir: &Path, within: Duration) -> Result<(), Failure> {
    let instance = LocalInstance::of(config, data_dir);
    let request = request(Method::GET, "/health/ready", config.auth.auth_token.secret());
    let request = request.map_err(|why| unhealthy(&why.to_string()))?.body(String::new());
    let request = request.map_err(|error| unhealthy(&error.to_string()))?;
    match instance.call(request, within).await {
        Ok((StatusCode::OK, _)) => Ok(()),
        Ok((StatusCode::SERVICE_UNAVAILABLE, body)) => {
            let body: String = body.chars().take(SHOWN).collect();
            Err(unhealthy(&format!("the service is not ready: {body}")))
        }
        Ok((StatusCode::UNAUTHORIZED, _)) => {
            Err(unhealthy("the running service does not accept the configured auth.auth_token"))
        }
        Ok((status, _)) => Err(unhealthy(&format!("the service answers with status {}", status.as_u16()))),
        Err(why) => Err(unhealthy(&why.to_string())),
    }
}

/// Works without the token: other errors in the configuration do not affect the running service.
async fn ask_whether_alive(loaded: &Loaded, data_dir: &Path, within: Duration) -> Result<(), Failure> {
    let written = written(data_dir).map(|address| format!("http://{address}"));
    let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(within).build()?;
    let mut unreached = unhealthy(&format!("no service runs on {}", data_dir.display()));
    for base in written.iter().chain(&loaded.base_url) {
        let outcome = async {
            let response = client.get(format!("{base}/health")).send().await?;
            Ok::<_, reqwest::Error>((response.status(), response.text().await?))
        };
        unreached = unhealthy(&match outcome.await {
            Ok((StatusCode::OK, body)) if body.trim() == "OK" => return Ok(()),
            Ok((status, _)) => format!("another program responds at {base} (status {})", status.as_u16()),
            Err(error) if error.is_timeout() => {
                format!("the service at {base} did not respond within {} s", within.as_secs())
            }
            Err(error) if error.is_connect() => format!("no service runs at {base}"),
            Err(_) => format!("the service at {base} does not respond as it should"),
        });
    }
    Err(unreached)
}

fn unhealthy(what: &str) -> Failure {
    Failure::said(format!("{what}\nusher: run `usher doctor` to find the cause"))
}
