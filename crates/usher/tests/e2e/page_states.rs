//! Every page in every state, in a real browser: everybody can use it, it is small, and one request after it is all.
//!
//! `scripts/page-shots` runs the same walk and takes pictures instead (`USHER_PAGE_SHOTS` names the folder).

mod look;
mod test_mode;

use serde_json::{Value, json};
use usher_mint::{Mint, MintOptions};
use usher_protocol::Keys;
use usher_sandbox::lightning::{ErrorCode, LightningNetwork, Method};
use usher_sandbox::wallet::{Policy, Wallet};
use usher_testing::lightning::{CallBehaviour, FaultyNwcService};
use usher_testing::relay::{Quirks, QuirkyRelay};
use usher_testing::{Browser, WebResponse, WebServer};

use self::look::Look;
use crate::harness::{Api, EXTENSION_BUTTON, LONG, TestUsher, has, is_for_everybody, until, wallet_for};

/// What a page may weigh with its script, in bytes.
const MAX_BYTES: u64 = 60_000;

/// A browser extension whose user never replies.
const EXTENSION: &str = "window.nostr = { signEvent: () => new Promise(() => {}) };";

/// The service and what is around it.
struct Fixture {
    usher: TestUsher,
    api: Api,
    network: LightningNetwork,
    /// An app without pages: the page that leads to it stays.
    app: WebServer,
    _relay: QuirkyRelay,
    wallet: FaultyNwcService,
    _prices: WebServer,
}

impl Fixture {
    async fn start() -> Self {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let network = LightningNetwork::new();
        let shop = network.open_account("shop", 1_000_000);
        let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
        wallet.ready(LONG).await.expect("the wallet listens");
        let app = WebServer::saying(WebResponse::Bytes(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())).await;
        let client = json!([{
            "id": "shop", "name": "Corner Shop", "redirect_uris": [app.url("/callback")],
            "public": true,
        }]);
        let prices = WebServer::saying(WebResponse::json("{\"EUR\":62500}")).await;
        let usher = TestUsher::builder()
            .relays(&[relay.url()])
            .nwc(wallet.url())
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
            .set("PAGES__HELP_URL", "https://bar-seven.example/help")
            .set("RATES__SOURCES", json!([{"url": prices.url("/"), "pointer": "/EUR"}]).to_string())
            .set("RATES__CURRENCIES", "EUR")
            .set("PAGES__SHOW_CURRENCY", "EUR")
            .set("PAGES__RETURN_URLS", app.url("/app"))
            .set("OIDC__CLIENTS", client)
            .start()
            .await;
        relay.wait_for(LONG, |metrics| metrics.reqs >= 2).await.expect("the service subscribes");
        let api = usher.api();
        Self { usher, api, network, app, _relay: relay, wallet, _prices: prices }
    }

    async fn post(&self, path: &str, body: &Value) -> Started {
        let started = self.api.post(path, body).await.unwrap();
        let text = |name: &str| started[name].as_str().unwrap_or_default().to_owned();
        let page = [text("page_url"), text("session_url")].concat();
        Started { stream: text("stream_id"), url: text("url"), page }
    }

    /// An address of the app.
    fn return_url(&self) -> String {
        self.app.url("/app")
    }

    async fn pay(&self, browser: &mut Browser) {
        let invoice = browser.evaluate("document.getElementById('invoice').value").await;
        self.network.open_account("somebody", 100_000_000).pay(invoice.as_str().unwrap(), None).unwrap();
    }

    async fn payment(&self, description: &str, seconds: u64) -> Started {
        let return_url = self.return_url();
        let body = json!({
            "main_key": Keys::generate().public_key().to_hex(), "subkeys": [], "description": description,
            "amount": 12_345_000, "currency": "millisats", "expires_at": crate::harness::now() + seconds,
            "return_url": return_url,
        });
        self.post("/payments/single", &body).await
    }
}

struct Started {
    stream: String,
    url: String,
    page: String,
}

fn state_is(state: &str) -> String {
    format!("document.readyState === 'complete' && document.body?.dataset.state === '{state}'")
}

async fn open(browser: &mut Browser, page: &str, state: &str) {
    browser.open(page).await;
    browser.until(&state_is(state)).await;
}

async fn scan(browser: &mut Browser, login: &Started) -> (Wallet, usher_sandbox::wallet::Request) {
    open(browser, &login.page, "waiting").await;
    let wallet = wallet_for(Policy::silent()).await;
    wallet.open(&login.url.parse().unwrap(), LONG).await.unwrap();
    let request = wallet.next_request(LONG).await.expect("the challenge");
    browser.until(&state_is("asking")).await;
    (wallet, request)
}

async fn logins(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    let login = fixture.post("/login", &json!({})).await;
    look.open(&mut browser, &login.page, "waiting", "login").await;
    browser.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })").await;
    look.at(&mut browser, "login-all-ways", false).await;
    assert_eq!(browser.evaluate("document.body.innerText.includes('://')").await, json!(false), "a scheme is shown");
    look.plain(&mut browser, &format!("{}/signer", login.page), "signer").await;
    browser.click("form button").await;
    look.when(&mut browser, &has("#with-signer a[href^=nostrconnect]"), "login-signer").await;

    let (wallet, request) = scan(&mut browser, &fixture.post("/login", &json!({})).await).await;
    look.at(&mut browser, "login-asking", true).await;
    wallet.approve(&request).unwrap();
    look.when(&mut browser, &state_is("approved"), "login-approved").await;

    let declined = fixture.post("/login", &json!({})).await;
    open(&mut browser, &declined.page, "waiting").await;
    browser.click("form[action$=decline] button").await;
    look.when(&mut browser, &state_is("declined"), "login-declined").await;

    let mut other = look.browser().await;
    look.plain(&mut other, &declined.page, "login-elsewhere").await;
    look.plain(&mut other, &format!("{}/login/nothing/here", fixture.api.base), "login-not-found").await;

    other.run_on_every_page(EXTENSION).await;
    let login = fixture.post("/login", &json!({})).await;
    look.open(&mut other, &login.page, "waiting", "login-extension").await;

    let handshake = fixture.post("/key-handshake", &json!({})).await;
    look.open(&mut browser, &handshake.page, "waiting", "handshake").await;
    for (width, is_open) in [(1200, true), (390, false)] {
        browser.show_as(width, 800, false).await;
        open(&mut browser, &handshake.page, "waiting").await;
        assert_eq!(browser.evaluate("document.getElementById('code').open").await, json!(is_open), "{width}");
    }
    wallet.open(&handshake.url.parse().unwrap(), LONG).await.unwrap();
    look.when(&mut browser, &state_is("completed"), "handshake-completed").await;
}

/// At `localhost`: browsers have no passkeys for an IP address.
async fn passkeys(look: &Look) {
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let port = usher_loopback_port::free().unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", "Bar Seven");
    let builder = builder.set("PAGES__LISTEN_PORT", port);
    let usher = builder.set("PAGES__PUBLIC_URL", format!("http://localhost:{port}")).start().await;
    let login = async || {
        let started = usher.api().post("/login", &json!({})).await.unwrap();
        started["page_url"].as_str().unwrap().to_owned()
    };
    let mut browser = look.browser().await;
    browser.add_authenticator(true).await;
    let (offered, with_key) = (has("#with-passkey:not([hidden])"), has("[data-with-key]:not([hidden])"));

    let page = login().await;
    open(&mut browser, &page, "waiting").await;
    browser.until(&offered).await;
    look.at(&mut browser, "login-passkey", true).await;
    browser.until(&offered).await;
    browser.click("#other-ways summary").await;
    look.at(&mut browser, "login-passkey-other-ways", false).await;
    browser.click("#passkey-begin").await;
    browser.until(&has("#recovery:not([hidden])")).await;
    look.at(&mut browser, "login-passkey-made", false).await;

    // A browser that offers passkeys in a field; one that has none.
    let mut other = look.browser().await;
    let field = "PublicKeyCredential.getClientCapabilities = async () => ({ conditionalGet: true });
        navigator.credentials.get = () => new Promise(() => {});";
    other.run_on_every_page(field).await;
    open(&mut other, &login().await, "waiting").await;
    look.when(&mut other, &has("#passkey-choice:not([hidden])"), "login-passkey-field").await;
    other.run_on_every_page("delete window.PublicKeyCredential").await;
    open(&mut other, &login().await, "waiting").await;
    look.when(&mut other, &has("#other-ways[open]"), "login-no-passkeys").await;

    let page = login().await;
    open(&mut browser, &page, "waiting").await;
    browser.until(&offered).await;
    look.at(&mut browser, "login-passkey-again", true).await;
    browser.open(&format!("{page}/passkey")).await;
    look.when(&mut browser, &has("#passkey-page:not([hidden])"), "passkey").await;
    browser.until(&has("#passkey-page:not([hidden])")).await;
    browser.click("[data-passkey=open]").await;
    browser.until(&with_key).await;
    look.at(&mut browser, "passkey-key", false).await;
    assert_eq!(browser.complaints(), [] as [&Value; 0]);
}

async fn payment_links(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    let coffee = json!({ "amount": 12_345_000, "description": "Two flat whites and a slice of carrot cake" });
    let link = fixture.post("/payment-links", &coffee).await;
    look.open(&mut browser, &link.page, "open", "link").await;
    let donation = json!({ "min": 1_000, "max": 100_000_000, "description": "For the animal shelter ".repeat(20) });
    let chosen = fixture.post("/payment-links", &donation).await;
    look.open(&mut browser, &chosen.page, "open", "link-chosen").await;
    browser.evaluate("document.getElementById('amount').value = '0,5'; document.querySelector('form').submit()").await;
    browser.until("!!document.getElementById('refused')").await;
    look.at(&mut browser, "link-refused", false).await;
    fixture.api.delete(&format!("/payment-links/{}", link.stream)).await.unwrap();
    look.plain(&mut browser, &link.page, "link-closed").await;
    look.plain(&mut browser, &format!("{}x", link.page), "link-not-found").await;
}

async fn payments(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    let payment = fixture.payment("Two flat whites and a slice of carrot cake", 600).await;
    look.open(&mut browser, &payment.page, "waiting", "payment").await;
    fixture.pay(&mut browser).await;
    look.when(&mut browser, &state_is("paid"), "payment-paid").await;

    let long = fixture.payment(&"A table for four at half past seven, ".repeat(17), 600).await;
    open(&mut browser, &long.page, "waiting").await;
    look.when(&mut browser, &has(".qr"), "payment-long").await;

    let late = fixture.payment("Tea", 6).await;
    browser.open(&late.page).await;
    look.when(&mut browser, &state_is("expired"), "payment-expired").await;
    let renew = "form button[type=submit]";
    let refuse = CallBehaviour::Refuse(ErrorCode::Unauthorized);
    fixture.wallet.set(|wallet| wallet.on(Method::MakeInvoice, refuse));
    browser.evaluate("window.isOld = true").await;
    browser.click(renew).await;
    let is_refused = format!("!window.isOld && {}", state_is("expired"));
    look.when(&mut browser, &is_refused, "payment-not-renewed").await;
    fixture.wallet.set(|wallet| wallet.by_method.clear());
    browser.click(renew).await;
    browser.until(&state_is("waiting")).await;
    look.when(&mut browser, &has(".qr"), "payment-renewed").await;
    fixture.pay(&mut browser).await;
    look.when(&mut browser, &state_is("paid"), "payment-renewed-paid").await;
    look.plain(&mut browser, &format!("{}/pay/nothing/here", fixture.api.base), "payment-not-found").await;
}

async fn age_checks(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    for (decision, state) in [("reject", "rejected"), ("approve", "not-issued")] {
        let session = fixture.post("/verification/sessions", &json!({ "return_url": fixture.return_url() })).await;
        open(&mut browser, &session.page, "open").await;
        if decision == "reject" {
            look.at(&mut browser, "age-check", true).await;
        }
        let path = format!("/verification/sessions/{}/decision", session.stream);
        fixture.api.post(&path, &json!({ "decision": decision })).await.unwrap();
        browser.until(&state_is(state)).await;
        let back = format!("{}?stream_id={}", fixture.return_url(), session.stream);
        assert_eq!(browser.evaluate("document.querySelector('a.button').href").await, json!(back));
        look.at(&mut browser, &format!("age-check-{state}"), true).await;
    }
}

/// At a service that gives users little time, and has a mint for its proofs of age.
async fn other_ends(look: &Look) {
    let mint = Mint::start(MintOptions::new().auth_token("token-of-the-mint")).await.unwrap();
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let usher = TestUsher::builder()
        .relays(&[relay.url()])
        .set("PROFILE__DISPLAY_NAME", "Bar Seven")
        .set("HANDSHAKE__TTL_SECONDS", 5)
        .set("CASHU__ALLOW_PRIVATE_MINTS", true)
        .set("VERIFICATION__MINT_URL", mint.url())
        .set("VERIFICATION__MINT_TOKEN", "token-of-the-mint")
        .start()
        .await;
    let api = usher.api();
    let mut browser = look.browser().await;
    let login = api.post("/login", &json!({})).await.unwrap();
    browser.open(login["page_url"].as_str().unwrap()).await;
    look.when(&mut browser, &state_is("expired"), "login-expired").await;

    let session = api.post("/verification/sessions", &json!({})).await.unwrap();
    open(&mut browser, session["session_url"].as_str().unwrap(), "open").await;
    let path = format!("/verification/sessions/{}/decision", session["stream_id"].as_str().unwrap());
    api.post(&path, &json!({ "decision": "approve" })).await.unwrap();
    look.when(&mut browser, &state_is("passed"), "age-check-passed").await;
}

async fn openid(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    browser.run_on_every_page("window.hasExtension = true").await;
    let authorize = format!(
        "{}/oauth/authorize?client_id=shop&response_type=code&scope=openid%20profile&state=s&code_challenge_method=S256&\
         code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&redirect_uri=",
        fixture.api.base
    );
    let to_app = format!("{authorize}http%3A%2F%2F127.0.0.1%3A{}%2Fcallback", fixture.app.port());
    browser.open(&to_app).await;
    browser.click("#extension:not([hidden]) button").await;
    look.when(&mut browser, &has("button[value=allow]"), "consent").await;
    // Back to a login of another account: the session is over.
    browser.click("button[value=other]").await;
    browser.until(&state_is("waiting")).await;
    assert!(browser.cookies().await.iter().all(|cookie| cookie != "usher_session"));
    look.at(&mut browser, "login-app", true).await;
    look.plain(&mut browser, &format!("{authorize}https%3A%2F%2Felsewhere.example%2F"), "openid-error").await;
    look.plain(&mut browser, &format!("{}/oauth/end-session", fixture.api.base), "logged-out").await;

    // Without JavaScript, too.
    browser.open(&to_app).await;
    browser.click("#extension:not([hidden]) button").await;
    browser.until(&has("button[value=deny]")).await;
    browser.allow_javascript(false).await;
    browser.reload().await;
    browser.click("button[value=deny]").await;
    browser.until(&has("meta[http-equiv=refresh]")).await;
    look.at(&mut browser, "consent-denied", false).await;
    browser.until_requested(&fixture.app.url("/callback?error=access_denied")).await;
}

/// Around the console's own program.
async fn console(look: &Look, fixture: &Fixture) {
    let mut browser = look.browser().await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    let page = format!("{}/console", fixture.api.base);
    look.open(&mut browser, &page, "logged-out", "console-logged-out").await;
    browser.open(&page).await;
    browser.click("form button").await;
    browser.until(&has(EXTENSION_BUTTON)).await;
    browser.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })").await;
    browser.click(EXTENSION_BUTTON).await;
    browser.until(&has("code.notice")).await;
    look.at(&mut browser, "console-other-key", false).await;
    look.plain(&mut browser, &format!("{page}/invite/nothing"), "console-invitation-over").await;
}

async fn pages_of_logins(look: &Look) {
    let fixture = Fixture::start().await;
    logins(look, &fixture).await;
    openid(look, &fixture).await;
    passkeys(look).await;
    assert!(fixture.usher.runs());
}

async fn other_pages(look: &Look) {
    let fixture = Fixture::start().await;
    payments(look, &fixture).await;
    payment_links(look, &fixture).await;
    age_checks(look, &fixture).await;
    other_ends(look).await;
    console(look, &fixture).await;
    assert!(fixture.usher.runs());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_every_page_of_logins() {
    pages_of_logins(&Look::Check).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_every_other_page() {
    other_pages(&Look::Check).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_can_use_the_pages_of_test_mode() {
    test_mode::walk(&Look::Check).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "scripts/page-shots runs it"]
async fn page_shots() {
    let look = Look::shoot().await;
    pages_of_logins(&look).await;
    other_pages(&look).await;
    test_mode::walk(&look).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_is_small_and_needs_one_more_request() {
    let fixture = Fixture::start().await;
    let login = fixture.post("/login", &json!({})).await;
    let payment = fixture.payment(&"A table for four at half past seven, ".repeat(17), 600).await;
    let session = fixture.post("/verification/sessions", &json!({})).await;
    for (page, state) in [(&login.page, "waiting"), (&payment.page, "waiting"), (&session.page, "open")] {
        let mut browser = Browser::start().await;
        open(&mut browser, page, state).await;
        browser.until("document.getElementById('countdown')?.textContent.startsWith('Time left: ')").await;
        // Beside the connection on which the page learns the state.
        let requested: Vec<_> = browser.requested().into_iter().filter(|url| !url.starts_with("data:")).collect();
        let requested: Vec<_> = requested.into_iter().filter(|url| !url.ends_with("/events") && *url != page).collect();
        assert_eq!(requested, [format!("{}/pages/assets/page.js", fixture.api.base)], "{page}");
        let bytes = browser.received_bytes();
        assert!(bytes > 10_000 && bytes <= MAX_BYTES, "{page}: {bytes} bytes");
        assert_eq!(browser.complaints(), [] as [&Value; 0]);
    }
}

/// Without JavaScript, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_chooses_the_language() {
    let fixture = Fixture::start().await;
    let login = fixture.post("/login", &json!({})).await;
    let mut browser = Browser::start().await;
    browser.disable_javascript().await;
    open(&mut browser, &login.page, "waiting").await;
    browser.click("footer a[lang=de]").await;
    browser.until("document.documentElement.lang === 'de'").await;
    let session = fixture.post("/verification/sessions", &json!({})).await;
    open(&mut browser, &session.page, "open").await;
    let heading = browser.evaluate("document.querySelector('h1').textContent").await;
    assert_eq!(heading, json!("Altersprüfung"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn picture_of_the_profile_is_inside_the_page() {
    let mut browser = Browser::start().await;
    browser.show_as(300, 200, false).await;
    browser.open("data:text/html,<body style='background: linear-gradient(teal, gold)'>").await;
    browser.until("document.readyState === 'complete'").await;
    let picture = browser.screenshot().await;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", picture.len());
    let server = WebServer::saying(WebResponse::Bytes([head.as_bytes(), &picture].concat())).await;
    let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = async |allow_private: bool| {
        let builder = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", "Bar Seven");
        let builder = builder.set("PROFILE__PICTURE", server.url("/logo.png"));
        builder.set("NOSTR__ALLOW_PRIVATE_RELAYS", allow_private).start().await
    };

    let usher = service(true).await;
    let login = usher.api().post("/login", &json!({})).await.unwrap();
    let page = login["page_url"].as_str().unwrap();
    open(&mut browser, page, "waiting").await;
    // Pages do not wait for it.
    until("picture", async || {
        browser.reload().await;
        let width = browser.evaluate("document.querySelector('img.picture')?.naturalWidth ?? 0").await;
        (width == json!(112)).then_some(())
    })
    .await;
    let sources = "[...document.querySelectorAll('img, link[rel=icon]')].map(element => element.src ?? element.href)
        .every(source => source.startsWith('data:image/'))";
    assert_eq!(browser.evaluate(sources).await, json!(true));
    assert_eq!(server.connections(), 1, "it is fetched once, by the service");
    is_for_everybody(&mut browser).await;

    // Whoever may change the profile cannot look into the service's network.
    let guarded = service(false).await;
    let login = guarded.api().post("/login", &json!({})).await.unwrap();
    open(&mut browser, login["page_url"].as_str().unwrap(), "waiting").await;
    let refused = "the picture of the service's profile cannot be shown on pages";
    until("refusal", async || guarded.log().contains(refused)).await;
    browser.reload().await;
    assert_eq!(browser.evaluate("document.querySelector('span.picture').textContent").await, json!("B"));
    assert_eq!(server.connections(), 1);
}
