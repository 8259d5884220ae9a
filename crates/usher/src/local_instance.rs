//! Finds and authenticates the running service of a data directory, for commands.
//!
//! While the service does not run, any program may use its port. So each request begins with a challenge that only an
//! instance with the same private key can answer; only then is the token sent, over the same connection.

use std::fmt;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::{AUTHORIZATION, HOST};
use http::request::Builder;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::{Body, Response};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use url::{Position, Url};
use usher_api::{InstanceKey, USHER_CHALLENGE, USHER_PROOF};
use usher_engine::ports::{OsRandomness, Randomness as _};

use crate::config::text_file::read_file;
use crate::config::{Config, from_this_machine};
use crate::failure::Failure;
use crate::identity::identity;
use crate::service_options::instance_key;

const FILE: &str = "instance.address";

/// Time limit for connecting and answering the challenge.
const PROVES_WITHIN: Duration = Duration::from_secs(10);

/// The file with the address of a service; dropping this removes it.
pub struct AddressFile {
    path: PathBuf,
    text: String,
}

impl AddressFile {
    /// Writes the file. If that fails, commands use the configured address.
    pub fn write(data_dir: &Path, address: SocketAddr) -> Option<Self> {
        let (path, text) = (data_dir.join(FILE), format!("{address}\n"));
        let written = tempfile::Builder::new().prefix(".instance-").tempfile_in(data_dir).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.persist(&path).map_err(|refused| refused.error)
        });
        match written {
            Ok(_) => Some(Self { path, text }),
            Err(error) => {
                tracing::debug!(path = %path.display(), %error, "the address of this instance is not written");
                None
            }
        }
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        // Keeps the file of another instance on the same folder. A leftover does no harm, because nobody there can
        // answer the challenge.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Why there is no response.
#[derive(Clone, Debug)]
pub enum Unreached {
    /// Nothing listens there.
    NoneRuns(String),
    /// Another program listens there; it got no token.
    Another(SocketAddr),
    /// It does not respond, and may have executed the request.
    NoResponse(SocketAddr),
    /// The request is invalid.
    Unfit(String),
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneRuns(whose) => write!(f, "no service runs {whose}"),
            Self::Another(address) => write!(
                f,
                "another program responds at http://{address}, or a service with another nostr.private_key: it got no token"
            ),
            Self::NoResponse(address) => write!(f, "the service does not respond at http://{address}"),
            Self::Unfit(why) => f.write_str(why),
        }
    }
}

/// Where to look for the service.
#[derive(Debug)]
enum Place {
    /// At the address in its folder, else at this one.
    Folder(PathBuf, Option<SocketAddr>),
    /// At this host and port.
    Named(String, u16),
}

/// The running service of a data directory.
#[derive(Debug)]
pub struct LocalInstance {
    place: Place,
    key: InstanceKey,
    tasks: TaskTracker,
}

/// A connection to an authenticated instance.
pub struct Proved {
    /// Its address.
    pub address: SocketAddr,
    connection: SendRequest<Body>,
}

impl LocalInstance {
    /// The instance of this folder and configuration. Does not connect.
    pub fn of(config: &Config, data_dir: &Path) -> Self {
        let configured = SocketAddr::new(config.info.listen_address, config.info.port());
        let configured = (configured.port() != 0).then(|| from_this_machine(configured));
        Self::at(Place::Folder(data_dir.to_owned(), configured), config)
    }

    /// The same at an `http` URL.
    ///
    /// # Errors
    /// If the URL is not `http`.
    pub fn named(url: &Url, config: &Config) -> Result<Self, Failure> {
        let host = url.host_str().filter(|_| url.scheme() == "http").map(|host| host.trim_matches(['[', ']']));
        match (host, url.port_or_known_default()) {
            (Some(host), Some(port)) => Ok(Self::at(Place::Named(host.to_owned(), port), config)),
            _ => Err(Failure::usage("name the file of the token with --token-file")),
        }
    }

    fn at(place: Place, config: &Config) -> Self {
        Self { place, key: instance_key(&identity(config)), tasks: TaskTracker::new() }
    }

    /// Sends a request and reads the response, within `within`.
    ///
    /// # Errors
    /// See [`Unreached`].
    pub async fn call(&self, request: Request<String>, within: Duration) -> Result<(StatusCode, String), Unreached> {
        let at = parking_lot::Mutex::new(None);
        let call = async {
            let proved = self.connect().await?;
            let address = proved.address;
            *at.lock() = Some(address);
            let response = proved.send(request).await?;
            let status = response.status();
            Ok((status, response.text().await.map_err(|_| Unreached::NoResponse(address))?))
        };
        match timeout(within, call).await {
            Ok(outcome) => outcome,
            Err(_) => Err(at.into_inner().map_or_else(|| self.none(), Unreached::NoResponse)),
        }
    }

    /// Connects to the instance and authenticates it.
    ///
    /// # Errors
    /// See [`Unreached`].
    pub async fn connect(&self) -> Result<Proved, Unreached> {
        let mut unreached = self.none();
        for address in self.addresses().await {
            match timeout(PROVES_WITHIN, self.prove(address)).await {
                Ok(Ok(connection)) => return Ok(Proved { address, connection }),
                Ok(Err(Unreached::NoneRuns(_))) => {}
                Ok(Err(why)) => unreached = why,
                Err(_) => unreached = Unreached::NoResponse(address),
            }
        }
        Err(unreached)
    }

    /// Whether this instance answered the challenge, possibly through proxies.
    pub fn is_trace(&self, proof: &str, challenge: &str, address: Option<SocketAddr>) -> bool {
        self.key.is_trace(proof, challenge, address)
    }

    fn none(&self) -> Unreached {
        Unreached::NoneRuns(match &self.place {
            Place::Folder(folder, Some(address)) => format!("on {} (nor at http://{address})", folder.display()),
            Place::Folder(folder, None) => format!("on {}", folder.display()),
            Place::Named(host, port) => format!("at http://{host}:{port}"),
        })
    }

    async fn addresses(&self) -> Vec<SocketAddr> {
        match &self.place {
            Place::Folder(folder, configured) => {
                let written = written(folder);
                written.into_iter().chain(configured.filter(|configured| written != Some(*configured))).collect()
            }
            Place::Named(host, port) => {
                lookup_host((host.as_str(), *port)).await.map(Iterator::collect).unwrap_or_default()
            }
        }
    }

    async fn prove(&self, address: SocketAddr) -> Result<SendRequest<Body>, Unreached> {
        let broken = |error: hyper::Error| match error.is_parse() {
            true => Unreached::Another(address),
            false => Unreached::NoResponse(address),
        };
        let stream = TcpStream::connect(address).await.map_err(|_| self.none())?;
        let (mut connection, driver) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        self.tasks.spawn(driver);
        let challenge = challenge();
        let ask = Request::get("/health").header(HOST, address.to_string()).header(USHER_CHALLENGE, &challenge);
        let ask = ask.body(Body::default()).map_err(|_| Unreached::Another(address))?;
        let answer = connection.send_request(ask).await.map_err(broken)?;
        let proof = answer.headers().get(USHER_PROOF).and_then(|proof| proof.to_str().ok()).unwrap_or_default();
        if !self.key.is_proof(proof, &challenge, address) {
            // When it has too many connections, it refuses them without reading.
            let is_busy = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
            return Err(if is_busy { Unreached::NoResponse(address) } else { Unreached::Another(address) });
        }
        let answer = Response::from(answer.map(Body::wrap));
        answer.bytes().await.map_err(|_| Unreached::NoResponse(address))?;
        connection.ready().await.map_err(|_| Unreached::NoResponse(address))?;
        Ok(connection)
    }
}

impl Proved {
    /// Sends a request, and returns once the response's head has arrived.
    ///
    /// # Errors
    /// See [`Unreached`].
    pub async fn send(mut self, request: Request<String>) -> Result<Response, Unreached> {
        let mut request = request.map(Body::from);
        let host = HeaderValue::from_str(&self.address.to_string());
        request.headers_mut().extend(host.ok().map(|host| (HOST, host)));
        let response = self.connection.send_request(request).await;
        response.map(|response| response.map(Body::wrap).into()).map_err(|_| Unreached::NoResponse(self.address))
    }
}

/// A request with the token.
///
/// # Errors
/// If the path is invalid.
pub fn request(method: Method, path: &str, token: &SecretString) -> Result<Builder, Unreached> {
    let unfit = || Unreached::Unfit(format!("{path:?} is no path"));
    // Normalised as by any HTTP client.
    let url: Url = format!("http://localhost{path}").parse().map_err(|_| unfit())?;
    let path: Uri = url[Position::BeforePath..Position::AfterQuery].parse().map_err(|_| unfit())?;
    let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut bearer = bearer.map_err(|_| Unreached::Unfit("the token cannot be sent in a header".to_owned()))?;
    bearer.set_sensitive(true);
    Ok(Request::builder().method(method).uri(path).header(AUTHORIZATION, bearer))
}

/// A random challenge.
pub fn challenge() -> String {
    let mut random = [0; 32];
    OsRandomness.fill(&mut random);
    hex::encode(random)
}

/// The address in this folder's file, of a running or an ended service.
pub fn written(data_dir: &Path) -> Option<SocketAddr> {
    read_file(&data_dir.join(FILE)).ok()?.trim().parse().ok().map(from_this_machine)
}
