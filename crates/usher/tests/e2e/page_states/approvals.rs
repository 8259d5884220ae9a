//! The page on which operators approve payments, with real money on a sandbox network.

use serde_json::{Value, json};
use usher_protocol::Keys;
use usher_protocol::keys::npub;
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork};
use usher_testing::Browser;
use usher_testing::lightning::FaultyNwcService;
use usher_testing::relay::{Quirks, QuirkyRelay};

use super::look::Look;
use crate::harness::{Api, EXTENSION_BUTTON, LONG, TestUsher, has, statuses};

/// A service whose payments wait, and what is around it.
struct Fixture {
    usher: TestUsher,
    payee: Account,
    /// Where browsers find the pages.
    url: String,
    _wallet: FaultyNwcService,
    _relay: QuirkyRelay,
}

impl Fixture {
    /// At `localhost`: browsers have no passkeys for an IP address.
    async fn start(approver: &Keys) -> Self {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let network = LightningNetwork::new();
        let (shop, payee) = (network.open_account("shop", 100_000_000), network.open_account("payee", 0));
        let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
        wallet.ready(LONG).await.expect("the wallet listens");
        let port = usher_loopback_port::free().unwrap();
        let url = format!("http://localhost:{port}");
        let usher = TestUsher::builder()
            .relays(&[relay.url()])
            .nwc(wallet.url())
            .set("WALLET__APPROVAL_ABOVE_MILLISATS", 1_000_000)
            .set("WALLET__APPROVERS", npub(&approver.public_key()))
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
            .set("PAGES__LISTEN_PORT", port)
            .set("PAGES__PUBLIC_URL", &url)
            .start()
            .await;
        Self { usher, payee, url, _wallet: wallet, _relay: relay }
    }

    /// Asks for a payment; the stream.
    async fn ask(&self, amount: u64, description: &str) -> String {
        self.ask_with(&self.usher.api(), amount, description).await
    }

    /// The same over this interface.
    async fn ask_with(&self, api: &Api, amount: u64, description: &str) -> String {
        let terms = InvoiceTerms { description: description.to_owned(), ..InvoiceTerms::of(amount) };
        api.start("/invoices/pay", &json!({"invoice": self.payee.make_invoice(&terms).unwrap().as_str()})).await
    }

    /// Opens the page and logs in with the browser's extension.
    async fn log_in(&self, browser: &mut Browser) {
        browser.open(&format!("{}/approve", self.url)).await;
        browser.until(&at("/approve", "logged-out")).await;
        browser.click("form button").await;
        browser.until(&has(EXTENSION_BUTTON)).await;
        browser.click("#other-ways > summary").await;
        browser.click(EXTENSION_BUTTON).await;
    }
}

fn at(path: &str, state: &str) -> String {
    format!(
        "document.readyState === 'complete' && location.pathname === '{path}' && document.body.dataset.state === '{state}'"
    )
}

pub(super) async fn walk(look: &Look) {
    let operator = Keys::generate();
    let mut fixture = Fixture::start(&operator).await;
    let mut browser = look.browser().await;
    let page = format!("{}/approve", fixture.url);
    browser.open(&page).await;
    look.when(&mut browser, &at("/approve", "logged-out"), "approvals-logged-out").await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    fixture.log_in(&mut browser).await;
    browser.until(&has("code.notice")).await;
    look.at(&mut browser, "approvals-other-key", false).await;

    let mut browser = look.browser().await;
    browser.install_extension(&operator.secret_key().to_secret_hex()).await;
    fixture.log_in(&mut browser).await;
    look.when(&mut browser, &at("/approve", "none"), "approvals-none").await;
    let long = "Rent of the rooms at the corner of Market Street, with heating, for the first half of the year";
    let (rent, lamps) = (fixture.ask(21_000_000, long).await, fixture.ask(1_234_567_000, "Lamps").await);
    let body = json!({"name": "payroll", "scopes": ["payments:send"]});
    let secret = fixture.usher.api().post("/keys", &body).await.unwrap()["secret"].as_str().unwrap().to_owned();
    fixture.ask_with(&fixture.usher.api().with_token(&secret), 5_000_500, "").await;
    browser.open(&page).await;
    look.when(&mut browser, &at("/approve", "waiting"), "approvals").await;
    for (decision, stream) in [("decline", &lamps), ("approve", &rent)] {
        browser.open(&format!("{page}/{stream}/{decision}")).await;
        browser.until(&at(&format!("/approve/{stream}/{decision}"), "asking")).await;
        look.at(&mut browser, &format!("approval-{decision}"), true).await;
        browser.click("form .button").await;
        browser.until(&at("/approve", "waiting")).await;
    }
    look.at(&mut browser, "approvals-decided", true).await;
    are_done(&fixture, &operator, &rent, &lamps).await;
    browser.open(&format!("{page}/{rent}/approve")).await;
    look.when(&mut browser, &has(".mark.failed"), "approval-gone").await;
    browser.open(&page).await;
    browser.click("form[action$=logout] button").await;
    browser.until(&at("/approve/logout", "logged-out")).await;
    look.at(&mut browser, "approvals-log-out", false).await;

    fixture.log_in(&mut browser).await;
    browser.until(&at("/approve", "waiting")).await;
    browser.click(".approval a").await;
    browser.until("document.body.dataset.state === 'asking'").await;
    fixture.usher.restart().await;
    browser.click("form .button").await;
    browser.until("document.body.dataset.state === 'logged-out'").await;
    look.at(&mut browser, "approval-session-over", false).await;
}

/// What was approved is paid, what was declined is not, and the audit log says by whom.
async fn are_done(fixture: &Fixture, operator: &Keys, approved: &str, declined: &str) {
    let api = fixture.usher.api();
    assert_eq!(statuses(&api.finished(approved).await), ["approval_required", "paid"]);
    assert_eq!(statuses(&api.finished(declined).await), ["approval_required", "error"]);
    assert_eq!(fixture.payee.balance(), 21_000_000);
    let entries = api.get("/audit?limit=1000").await.unwrap();
    let name = format!("operator:{}", &operator.public_key().to_hex()[..16]);
    let is_theirs =
        |entry: &&Value| entry["actor"] == *name && (entry["address"] == "127.0.0.1" || entry["address"] == "::1");
    let by_operator = entries["entries"].as_array().unwrap().iter().filter(is_theirs);
    let of = |entry: &Value| ["decision", "stream_id"].map(|name| entry["details"][name].as_str().unwrap().to_owned());
    let decided: Vec<_> = by_operator.filter(|entry| entry["action"] == "decideApproval").map(of).collect();
    assert_eq!(decided, [["decline", declined], ["approve", approved]], "{entries}");
    fixture.usher.says(&["audit", "verify"]).await;
}
