//! A provider, a browser without JavaScript, and a client written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;
use url::Url;
use usher_engine::ports::{OpenIdConsent, OpenIdStore as _};
use usher_engine::{ClientNetwork, UnixMillis};
use usher_openid_provider::{
    AddressPseudonymKey, Algorithm, BeginLogin, Client, ClientSecret, LoginError, LoginOutcome, LoginStarted, Logins,
    OpenIdOptions, OpenIdParts, OpenIdProvider, TokenKey,
};
use usher_page_layout::{Site, SiteOptions};
use usher_protocol::{Keys, PublicKey, SecretKey};
use usher_store::{SqliteOptions, SqliteStore};
use usher_testing::ports::{FakeDirectory, ManualClock, SeededRandomness};

pub(crate) const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
pub(crate) const ISSUER: &str = "https://login.example/usher";
pub(crate) const CALLBACK: &str = "https://shop.example/callback";
pub(crate) const SECRET: &str = "shop-secret-shop-secret-shop-secret_";
pub(crate) const VERIFIER: &str = "verifier-verifier-verifier-verifier-verifier";

pub(crate) fn user(number: u8) -> PublicKey {
    Keys::new(SecretKey::from_slice(&[number; 32]).unwrap()).public_key()
}

/// Logins whose outcomes the test sets. A login is of the browser that has its cookie.
#[derive(Default)]
pub(crate) struct TestLogins {
    pub(crate) begun: Mutex<Vec<BeginLogin>>,
    outcomes: Mutex<BTreeMap<String, LoginOutcome>>,
    pub(crate) busy: Mutex<bool>,
    /// The addresses of logins that end for the next one.
    pub(crate) replaced: Mutex<Vec<String>>,
    /// Logins that are not forgotten.
    pub(crate) kept: Mutex<BTreeSet<String>>,
    pub(crate) open_pages: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl Logins for TestLogins {
    async fn begin(&self, login: BeginLogin, _: &HeaderMap) -> Result<LoginStarted, LoginError> {
        if *self.busy.lock() {
            return Err(LoginError::Busy);
        }
        let mut begun = self.begun.lock();
        begun.push(login);
        let login_id = format!("login-{}", begun.len());
        self.kept.lock().insert(login_id.clone());
        Ok(LoginStarted {
            page_url: format!("{ISSUER}/login/{login_id}"),
            set_cookies: vec![format!("of_{login_id}=1; Path=/usher; HttpOnly; SameSite=Lax; Secure")],
            login_id,
            replaced: std::mem::take(&mut self.replaced.lock()),
        })
    }

    fn is_in_use(&self, login_id: &str) -> bool {
        self.open_pages.lock().contains(login_id)
    }

    async fn forget(&self, login_id: &str) -> Result<(), LoginError> {
        self.kept.lock().remove(login_id);
        Ok(())
    }

    async fn outcome(&self, login_id: &str, headers: &HeaderMap) -> Result<LoginOutcome, LoginError> {
        let cookies = headers.get(http::header::COOKIE).map(|value| value.to_str().unwrap()).unwrap_or_default();
        if !cookies.contains(&format!("of_{login_id}=1")) {
            return Ok(LoginOutcome::OtherBrowser);
        }
        Ok(self.outcomes.lock().get(login_id).cloned().unwrap_or(LoginOutcome::Pending))
    }
}

pub(crate) fn client(id: &str, secret: Option<&str>) -> Client {
    Client {
        id: id.to_owned(),
        secret: secret.map(|secret| ClientSecret::new(secret).unwrap()),
        name: format!("The <{id}>"),
        redirect_uris: vec![format!("https://{id}.example/callback"), format!("https://{id}.example/other?tenant=1")],
        post_logout_redirect_uris: vec![format!("https://{id}.example/bye")],
        require_pkce: true,
        algorithm: Algorithm::Rs256,
    }
}

fn clients() -> Vec<Client> {
    let native =
        "http://127.0.0.1/cb http://[::1]:8080/cb?a=1 http://localhost/cb https://native.example/cb".split(' ');
    vec![
        client("shop", Some(SECRET)),
        Client { require_pkce: false, ..client("gitea", Some("gitea-secret-gitea-secret-gitea-sec")) },
        Client { algorithm: Algorithm::Es256, ..client("spa", None) },
        Client { redirect_uris: native.map(str::to_owned).collect(), ..client("native", None) },
        Client {
            redirect_uris: vec!["http://127.0.0.1:80/cb".to_owned()],
            ..client("server", Some("server-secret-server-secret-server-s"))
        },
    ]
}

pub(crate) struct Fixture {
    pub(crate) logins: Arc<TestLogins>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) router: Router,
    pub(crate) provider: OpenIdProvider,
    pub(crate) store: Arc<SqliteStore>,
    tasks: TaskTracker,
    stop: CancellationToken,
    folder: TempDir,
    starts: u64,
    clients: Vec<Client>,
}

fn open(folder: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(&folder.join("test.sqlite"), SqliteOptions::default()).unwrap())
}

fn pseudonym_key() -> AddressPseudonymKey {
    AddressPseudonymKey::new(&[7; 32])
}

/// What the records of this visitor are listed under.
pub(crate) fn listed(network: ClientNetwork) -> String {
    pseudonym_key().pseudonym(network)
}

async fn start(
    store: &Arc<SqliteStore>,
    logins: &Arc<TestLogins>,
    clock: &Arc<ManualClock>,
    tasks: &TaskTracker,
    stop: &CancellationToken,
    (seed, clients): (u64, &[Client]),
) -> OpenIdProvider {
    let options = OpenIdOptions {
        site: Site::new(SiteOptions { url: ISSUER.to_owned(), ..SiteOptions::default() }),
        issuer: ISSUER.to_owned(),
        clients: clients.to_vec(),
        email_domain: Some("users.example".to_owned()),
        session_ttl: Duration::from_secs(8 * 3600),
        pseudonym_key: pseudonym_key(),
        token_key: TokenKey::new(&[8; 32]),
    };
    let directory =
        FakeDirectory::of(user(9)).with_user(user(1), "alice", "alice@shop.example").with_unreachable(user(2));
    let parts = OpenIdParts {
        store: store.clone(),
        logins: logins.clone(),
        directory: Arc::new(directory),
        clock: clock.clone(),
        randomness: Arc::new(SeededRandomness::new(seed)),
    };
    OpenIdProvider::start(options, parts, tasks, stop.clone()).await.unwrap()
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        Self::start_with(clients()).await
    }

    pub(crate) async fn start_with(clients: Vec<Client>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let logins = Arc::new(TestLogins::default());
        let clock = Arc::new(ManualClock::at(NOW));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let provider = start(&store, &logins, &clock, &tasks, &stop, (1, &clients)).await;
        Self { logins, clock, router: provider.router(), provider, store, tasks, stop, folder, starts: 1, clients }
    }

    /// Ends the process and starts another on the same database.
    pub(crate) async fn restart(&mut self) {
        self.restart_after(async |_| {}).await;
    }

    /// The same, while another connection holds the database in between.
    pub(crate) async fn restart_after(&mut self, between: impl AsyncFnOnce(Arc<SqliteStore>)) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
        self.store = open(self.folder.path());
        between(self.store.clone()).await;
        self.starts += 1;
        (self.tasks, self.stop) = (TaskTracker::new(), CancellationToken::new());
        let (seed, clients) = (self.starts, &*self.clients);
        self.provider = start(&self.store, &self.logins, &self.clock, &self.tasks, &self.stop, (seed, clients)).await;
        self.router = self.provider.router();
    }

    pub(crate) async fn consents(&self) -> Vec<OpenIdConsent> {
        self.store.openid_consents(None, 10).await.unwrap()
    }

    /// The bytes of the database and its log.
    pub(crate) fn database(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser { cookies: BTreeMap::new() }
    }

    /// Ends the newest login.
    pub(crate) fn decide(&self, outcome: LoginOutcome) {
        self.decide_nth(self.logins.begun.lock().len(), outcome);
    }

    pub(crate) fn decide_nth(&self, number: usize, outcome: LoginOutcome) {
        self.logins.outcomes.lock().insert(format!("login-{number}"), outcome);
    }

    pub(crate) fn approve(&self, number: u8) {
        let at = usher_engine::ports::Clock::now(&*self.clock);
        self.decide(LoginOutcome::Approved { main_key: user(number), method: "extension".to_owned(), at });
    }

    /// Where the newest login's page leads at its end.
    pub(crate) fn login_return(&self) -> String {
        self.logins.begun.lock().last().unwrap().continue_url.clone()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: head.status.as_u16(), headers: head.headers, body: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub(crate) async fn token(&self, client: &str, secret: Option<&str>, form: &[(&str, &str)]) -> Reply {
        let mut request = Request::post("/oauth/token").header("content-type", "application/x-www-form-urlencoded");
        let mut form = form.to_vec();
        match secret {
            Some(secret) => {
                let credentials = BASE64.encode(format!("{client}:{secret}"));
                request = request.header("authorization", format!("Basic {credentials}"));
            }
            None => form.push(("client_id", client)),
        }
        self.send(request.body(Body::from(encode(&form))).unwrap()).await
    }

    pub(crate) async fn redeem(&self, code: &str) -> Reply {
        self.redeem_as("shop", Some(SECRET), code, CALLBACK, VERIFIER).await
    }

    /// Logs this user in to the shop; where the login's end leads.
    pub(crate) async fn log_in(&self, browser: &mut Browser, user: u8, more: &[(&str, &str)]) -> Reply {
        browser.get(self, &authorize_with(more)).await;
        self.approve(user);
        browser.get(self, &self.login_return()).await
    }

    /// Redeems a code. What is empty is left out.
    pub(crate) async fn redeem_as(
        &self,
        client: &str,
        secret: Option<&str>,
        code: &str,
        uri: &str,
        verifier: &str,
    ) -> Reply {
        let mut form = vec![("grant_type", "authorization_code"), ("code", code)];
        form.extend([("redirect_uri", uri), ("code_verifier", verifier)]);
        form.retain(|(_, value)| !value.is_empty());
        self.token(client, secret, &form).await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Reply {
        self.token("shop", Some(SECRET), &[("grant_type", "refresh_token"), ("refresh_token", token)]).await
    }

    pub(crate) async fn userinfo(&self, token: &str) -> Reply {
        let request = Request::get("/oauth/userinfo").header("authorization", format!("Bearer {token}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Logs user 1 in to the shop and agrees; the code.
    pub(crate) async fn code(&self, browser: &mut Browser) -> String {
        self.code_for(browser, &[]).await
    }

    pub(crate) async fn code_for(&self, browser: &mut Browser, more: &[(&str, &str)]) -> String {
        let asked = self.log_in(browser, 1, more).await;
        browser.allow(self, &asked).await
    }

    /// Logs user 1 in to the shop and agrees; the tokens.
    pub(crate) async fn tokens(&self, browser: &mut Browser) -> Reply {
        let more = [("scope", "openid profile email offline_access")];
        let code = self.code_for(browser, &more).await;
        let reply = self.redeem(&code).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply
    }

    /// The ID token of user 1 in the shop.
    pub(crate) async fn id_token(&self, browser: &mut Browser) -> String {
        let code = self.code(browser).await;
        self.redeem(&code).await.token("id_token")
    }

    /// The code of a browser that has agreed before.
    pub(crate) async fn next_code(&self, browser: &mut Browser, more: &[(&str, &str)]) -> String {
        let reply = browser.get(self, &authorize_with(more)).await;
        reply.parameter("code").unwrap_or_else(|| panic!("{reply:?}"))
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn location(&self) -> &str {
        self.headers.get("location").map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// A parameter of the address to which it leads.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let url = Url::parse(ISSUER).unwrap().join(self.location()).unwrap();
        url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
    }

    /// Asserts that it is a page with an error and leads nowhere.
    pub(crate) fn is_page(&self, status: u16) {
        assert_eq!((self.status, self.location()), (status, ""), "{self:?}");
        assert!(self.headers["content-security-policy"].to_str().unwrap().contains("frame-ancestors 'none'"));
        let guards = ["x-frame-options", "cache-control", "referrer-policy"].map(|name| &self.headers[name]);
        assert_eq!(guards, ["DENY", "no-store", "no-referrer"]);
    }

    /// Asserts that the app gets this error.
    pub(crate) fn is_error(&self, error: &str) {
        assert!(self.location().starts_with("https://shop.example/"), "{self:?}");
        assert_eq!(self.parameter("error").as_deref(), Some(error), "{self:?}");
    }

    pub(crate) fn refuses(&self, error: &str) {
        assert_eq!(self.json()["error"], error, "{self:?}");
    }

    pub(crate) fn token(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// Cookies, as a browser that the provider is same-site to keeps them.
pub(crate) struct Browser {
    pub(crate) cookies: BTreeMap<String, String>,
}

impl Browser {
    /// As the proxy in front sends it.
    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let path = path.strip_prefix(ISSUER).or(path.strip_prefix("/usher")).unwrap_or(path);
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = Request::builder().uri(path).header("cookie", cookies.join("; "));
        match method {
            Method::POST => request.header("content-type", "application/x-www-form-urlencoded").method(Method::POST),
            method => request.method(method),
        }
    }

    /// A request from this address; its cookies are not kept.
    pub(crate) async fn get_from(&mut self, fixture: &Fixture, network: ClientNetwork, path: &str) -> Reply {
        fixture.send(self.request(Method::GET, path).extension(network).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get(&mut self, fixture: &Fixture, path: &str) -> Reply {
        self.send(fixture, Method::GET, path, String::new()).await
    }

    pub(crate) async fn post(&mut self, fixture: &Fixture, path: &str, form: &[(&str, &str)]) -> Reply {
        self.send(fixture, Method::POST, path, encode(form)).await
    }

    async fn send(&mut self, fixture: &Fixture, method: Method, path: &str, body: String) -> Reply {
        let reply = fixture.send(self.request(method, path).body(Body::from(body)).unwrap()).await;
        for cookie in reply.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            if cookie.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        reply
    }

    /// Agrees on the page that `reply` leads to; the code.
    pub(crate) async fn allow(&mut self, fixture: &Fixture, reply: &Reply) -> String {
        let request = reply.parameter("request").unwrap_or_else(|| panic!("no question: {reply:?}"));
        let page = self.get(fixture, reply.location()).await;
        page.is_page(200);
        assert!(page.body.contains(&format!("value=\"{request}\"")), "{}", page.body);
        let agreed = self.post(fixture, "/usher/oauth/consent", &[("request", &request), ("decision", "allow")]).await;
        agreed.is_page(200);
        leads_to(&agreed.body, "code").unwrap_or_else(|| panic!("no code: {}", agreed.body))
    }
}

pub(crate) fn leads_to(page: &str, name: &str) -> Option<String> {
    let address = page.split("<a class=\"button\" href=\"").nth(1)?.split('"').next()?;
    let url = Url::parse(&address.replace("&#38;", "&").replace("&amp;", "&")).unwrap();
    url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

pub(crate) fn encode(form: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

pub(crate) fn challenge() -> String {
    BASE64URL.encode(Sha256::digest(VERIFIER))
}

/// The path of a request of the shop, with these parameters replaced, or left out when empty.
pub(crate) fn authorize_with(more: &[(&str, &str)]) -> String {
    let challenge = challenge();
    let mut parameters = BTreeMap::from([
        ("client_id", "shop"),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid"),
        ("state", "the state"),
        ("nonce", "the nonce"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ]);
    parameters.extend(more.iter().copied());
    parameters.retain(|_, value| !value.is_empty());
    let parameters: Vec<_> = parameters.into_iter().collect();
    format!("/usher/oauth/authorize?{}", encode(&parameters))
}

pub(crate) fn claims(jwt: &str) -> Value {
    let claims = jwt.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64URL.decode(claims).unwrap()).unwrap()
}
