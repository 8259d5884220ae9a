//! Requests of subcommands to the running service of this configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use http::header::CONTENT_TYPE;
use http::request::Builder;
use secrecy::SecretString;
use serde_json::Value;

use super::environment::{config_of, load_in_time, source};
use crate::config::Loaded;
use crate::failure::Failure;
use crate::local_instance::{LocalInstance, Unreached, request};
use crate::output::write;

/// Time limit of a request: the service responds within 30 s.
const TIMEOUT: Duration = Duration::from_secs(35);

/// Attempts of a request with an idempotency key whose response is lost.
const ATTEMPTS: u32 = 3;

/// Longest part shown of a response that is not the service's, in characters.
const SHOWN: usize = 200;

/// Prints what `work` gets from the running service of the data directory.
pub(super) fn print(
    data_dir: Option<PathBuf>,
    work: impl AsyncFnOnce(&ServiceClient) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let (loaded, source) = load_in_time(source(data_dir)?)?;
    let service = ServiceClient::new(&loaded, &source.data_dir)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(write(&runtime.block_on(work(&service))?)?)
}

pub(super) struct ServiceClient {
    instance: LocalInstance,
    token: SecretString,
}

impl ServiceClient {
    /// The service of this configuration and data directory. Does not connect.
    pub(super) fn new(loaded: &Loaded, data_dir: &Path) -> Result<Self, Failure> {
        let config = config_of(loaded)?;
        let instance = LocalInstance::of(config, data_dir);
        Ok(Self { instance, token: config.auth.auth_token.secret().clone() })
    }

    /// `GET`
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        let request = self.request(Method::GET, path)?;
        self.read(request, None).await.map_err(Lost::into_failure)
    }

    /// `POST`. With `key`, the request is repeated if its response is lost; the service executes it once.
    pub(super) async fn post(&self, path: &str, body: &Value, key: Option<&str>) -> Result<Value, Failure> {
        let mut attempt = 1;
        loop {
            let mut request = self.request(Method::POST, path)?;
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            match self.read(request, Some(body)).await {
                Err(Lost::NoResponse(_)) if key.is_some() && attempt < ATTEMPTS => {
                    attempt += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                outcome => return outcome.map_err(Lost::into_failure),
            }
        }
    }

    /// `DELETE`
    pub(super) async fn delete(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let request = self.request(Method::DELETE, path)?;
        self.read(request, Some(body)).await.map_err(Lost::into_failure)
    }

    fn request(&self, method: Method, path: &str) -> Result<Builder, Failure> {
        request(method, path, &self.token).map_err(|why| Failure::said(why.to_string()))
    }

    async fn read(&self, request: Builder, body: Option<&Value>) -> Result<Value, Lost> {
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request.body(String::new()),
        };
        let request = request.map_err(|error| Lost::Refused(error.to_string()))?;
        let (status, text) = self.instance.call(request, TIMEOUT).await.map_err(|why| match why {
            Unreached::NoneRuns(_) | Unreached::NoResponse(_) => Lost::NoResponse(why.to_string()),
            Unreached::Another(_) | Unreached::Unfit(_) => Lost::Refused(why.to_string()),
        })?;
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() && body.is_object() {
            return Ok(body);
        }
        let problems = body["errors"].as_array().into_iter().flatten().filter_map(|error| error["detail"].as_str());
        let problems: Vec<&str> = problems.collect();
        Err(Lost::Refused(match (body["detail"].as_str(), problems.as_slice()) {
            (Some(detail), []) => detail.to_owned(),
            (Some(_), problems) => problems.join("; "),
            (None, _) => {
                let shown: String = text.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
                format!("the service answers with status {}: {shown}", status.as_u16())
            }
        }))
    }
}

/// Why there is no response.
enum Lost {
    /// The request may have been executed.
    NoResponse(String),
    Refused(String),
}

impl Lost {
    fn into_failure(self) -> Failure {
        match self {
            Self::NoResponse(why) | Self::Refused(why) => Failure::said(why),
        }
    }
}
