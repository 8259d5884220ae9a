//! Logins with OpenID Connect, end to end: an app, the user's browser with an extension, and the service as provider.
//!
//! Afterwards every code is used again: that must give nothing, and end the access token of its login.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use nostr::{EventBuilder, JsonUtil as _, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use usher_protocol::Keys;

use crate::browser::{Browser, Visited};
use crate::fixture::{Fixture, Tool};
use crate::http::{self, Connection};
use crate::latencies::Latencies;
use crate::report::{Row, grouped, per_second};

/// A login that takes longer than this is lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// The provider lets so many logins begin at once; more would measure its limit.
const MOST: usize = 1_000;

const CLIENT: &str = "load";
const SECRET: &str = "load-load-load-load-load-load-load-load";
const CALLBACK: &str = "https://app.example/callback";

/// The pair of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

const FORM: &str = "application/x-www-form-urlencoded";

/// What the app has after a login.
struct LoggedIn {
    code: String,
    access_token: String,
    id_token: String,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    id_token: String,
}

/// What the users who wait for their turn have in common.
struct Shared {
    /// The users who have not logged in yet, each with the number of the login.
    users: Mutex<Vec<(usize, Keys)>>,
    latencies: Mutex<Latencies>,
    logged_in: Mutex<Vec<LoggedIn>>,
    losses: Mutex<Vec<anyhow::Error>>,
}

/// Logs each user in once.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let count = tool.options.openid_logins.clamp(1, MOST);
    let connections = tool.options.connections.clamp(1, count);
    Tool::say(&format!("OpenID Connect logins: {}, {connections} at once", grouped(count)));
    let client = json!([{ "id": CLIENT, "secret": SECRET, "name": "Load", "redirect_uris": [CALLBACK] }]).to_string();
    let fixture = tool.fixture_with(Duration::ZERO, &[("SERVICE__OIDC__CLIENTS", &client)]).await?;
    let shared = Arc::new(Shared {
        users: Mutex::new((0..count).map(|number| (number, Keys::generate())).collect()),
        latencies: Mutex::default(),
        logged_in: Mutex::default(),
        losses: Mutex::default(),
    });
    let mut browsers = Vec::new();
    for _ in 0..connections {
        browsers.push((Browser::open(fixture.service.address()).await?, app(&fixture).await?));
    }
    let meter = fixture.meter()?;
    let mut running: JoinSet<_> =
        browsers.into_iter().map(|(browser, app)| log_users_in(Arc::clone(&shared), browser, app)).collect();
    while let Some(one) = running.join_next().await {
        one?;
    }
    let usage = meter.stop()?;
    if let Some(reason) = shared.losses.lock().first() {
        Tool::say(&format!("a login was lost: {reason:#}\n{}", fixture.home.log_tail()));
    }
    let logged_in = std::mem::take(&mut *shared.logged_in.lock());
    let different: HashSet<_> = logged_in.iter().map(|login| &login.id_token).collect();
    ensure!(different.len() == logged_in.len(), "an ID token was issued twice");
    use_codes_again(&fixture, &logged_in).await?;

    let succeeded = logged_in.len();
    let (rate, value) = per_second(succeeded, usage.0);
    let mut latencies = std::mem::take(&mut *shared.latencies.lock());
    let row = Row {
        what: "OpenID Connect logins".to_owned(),
        under: format!("{connections} browsers with an extension; consent and tokens included"),
        result: format!("{} of {}, {rate}; no code worked twice", grouped(succeeded), grouped(count)),
        value,
        lost: count - succeeded,
        aim: "none lost, none twice",
        p50_ms: latencies.percentile_ms(50),
        p99_ms: latencies.percentile_ms(99),
        ..Row::default()
    };
    Ok(vec![row.with_usage(succeeded, usage)])
}

/// A connection of the app's server.
async fn app(fixture: &Fixture) -> Result<Connection> {
    Ok(Connection::open(fixture.service.address()).await?)
}

async fn log_users_in(shared: Arc<Shared>, mut browser: Browser, mut app: Connection) {
    loop {
        let Some((number, keys)) = shared.users.lock().pop() else { return };
        let begun = Instant::now();
        browser.clear_cookies();
        let login = timeout(PATIENCE, log_in(&mut browser, &mut app, number, &keys)).await;
        match login.unwrap_or_else(|_| Err(anyhow::anyhow!("no end in time"))) {
            Ok(login) => {
                shared.latencies.lock().add(begun.elapsed());
                shared.logged_in.lock().push(login);
            }
            Err(reason) => {
                // What the connections would answer next belongs to the lost login. Others take over.
                shared.losses.lock().push(reason);
                return;
            }
        }
    }
}

async fn log_in(browser: &mut Browser, app: &mut Connection, number: usize, keys: &Keys) -> Result<LoggedIn> {
    let (state, nonce) = (format!("state-{number}"), format!("nonce-{number}"));
    let begin = format!(
        "/oauth/authorize?client_id={CLIENT}&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback&response_type=code\
         &scope=openid&state={state}&nonce={nonce}&code_challenge={CHALLENGE}&code_challenge_method=S256"
    );
    let page = browser.get(&begin).await?.leads_to()?.to_owned();
    let proof = browser.get(&page).await?.between_quotes("data-proof=\"")?;
    let proven = browser.post(&format!("{page}/extension"), "application/json", &sign(keys, &proof)?).await?;
    ensure!(proven.status == 204, "status {} of the proof: {}", proven.status, proven.text);
    let back = browser.get(&page).await?.between_quotes("<a class=\"button\" href=\"")?;
    let asked = browser.get(&back).await?.leads_to()?.to_owned();
    let question = browser.get(&asked).await?;
    let (action, request) =
        (question.between_quotes("action=\"")?, question.between_quotes("name=\"request\" value=\"")?);
    let allowed = browser.post(&action, FORM, &format!("request={request}&decision=allow")).await?;
    let code = code(&allowed, &state)?;

    let answer = app.call(&token_request(&code)).await?;
    let tokens: Tokens = serde_json::from_slice(answer.ok()?).context("not the answer to a token request")?;
    let claims = claims(&tokens.id_token)?;
    for (name, expected) in [("sub", keys.public_key().to_hex()), ("aud", CLIENT.to_owned()), ("nonce", nonce)] {
        ensure!(claims[name] == expected.as_str(), "{name} of the ID token is {}, not {expected}", claims[name]);
    }
    Ok(LoggedIn { code, access_token: tokens.access_token, id_token: tokens.id_token })
}

/// What a browser extension makes of the event that the page has.
fn sign(keys: &Keys, proof: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Unsigned {
        kind: u16,
        created_at: u64,
        tags: Vec<Vec<String>>,
        content: String,
    }
    let Unsigned { kind, created_at, tags, content } = serde_json::from_str(proof).context("not an event to sign")?;
    let tags = tags.into_iter().map(Tag::parse).collect::<Result<Vec<_>, _>>()?;
    let event = EventBuilder::new(Kind::from(kind), content).tags(tags);
    Ok(event.custom_created_at(Timestamp::from(created_at)).sign_with_keys(keys)?.as_json())
}

/// The code in the address to which the browser is sent on.
fn code(page: &Visited, state: &str) -> Result<String> {
    let address = page.between_quotes("<a class=\"button\" href=\"")?;
    let query = address.strip_prefix(CALLBACK).and_then(|query| query.strip_prefix('?'));
    let query = query.with_context(|| format!("the browser is sent to {address}"))?;
    ensure!(query.split('&').any(|pair| pair == format!("state={state}")), "another state in {address}");
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code="));
    Ok(code.with_context(|| format!("no code in {address}"))?.to_owned())
}

/// The app's request for the tokens of a code.
fn token_request(code: &str) -> Vec<u8> {
    let body = format!(
        "grant_type=authorization_code&code={code}&redirect_uri=https%3A%2F%2Fapp.example%2Fcallback\
         &code_verifier={VERIFIER}&client_id={CLIENT}&client_secret={SECRET}"
    );
    let length = body.len();
    format!(
        "POST /oauth/token HTTP/1.1\r\nHost: usher\r\nContent-Type: {FORM}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The claims of an ID token, whose signature is not checked.
fn claims(id_token: &str) -> Result<Value> {
    let claims = id_token.split('.').nth(1).context("not a JWT")?;
    Ok(serde_json::from_slice(&BASE64URL.decode(claims)?)?)
}

/// Uses every code a second time. Each must be refused, and end its login's access token.
async fn use_codes_again(fixture: &Fixture, logins: &[LoggedIn]) -> Result<()> {
    let mut app = app(fixture).await?;
    for login in logins {
        let again = app.call(&token_request(&login.code)).await?;
        ensure!(again.status == 400, "a code that was used again is answered with status {}", again.status);
        let user = app.call(&http::get("/oauth/userinfo", &login.access_token)).await?;
        ensure!(user.status == 401, "the token of a code that was used twice is answered with {}", user.status);
    }
    Ok(())
}
