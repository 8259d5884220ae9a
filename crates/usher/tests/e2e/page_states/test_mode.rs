//! What `usher dev` shows in a browser: its start page, the phone with the test wallet, and hosted pages in test mode.

use std::process::Stdio;

use serde_json::{Value, json};
use usher_testing::Browser;

use super::look::Look;
use super::state_is;
use crate::common::{Running, usher};
use crate::harness::{Api, has};

/// A running `usher dev`.
struct Dev {
    running: Running,
    api: Api,
    start_page: String,
    user: String,
}

impl Dev {
    fn start(folder: &tempfile::TempDir) -> Self {
        let mut command = usher();
        command.args(["dev", "--port", "0", "--relay-port", "0", "--data-dir"]).arg(folder.path());
        let mut running = Running::start({
            command.stdin(Stdio::piped());
            command
        });
        running.wait_for("Open the start page");
        let field = |name: &str| {
            let line = running.said.lines().find_map(|line| line.trim_start().strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name}: {}", running.said)).trim().to_owned()
        };
        let port = field("base URL").rsplit(':').next().unwrap().parse().unwrap();
        let api = Api::new(port, &field("token"));
        Self { api, start_page: field("start page"), user: field("user"), running }
    }

    async fn page(&self, path: &str, body: &Value) -> String {
        let started = self.api.post(path, body).await.unwrap();
        started["page_url"].as_str().or(started["session_url"].as_str()).unwrap().to_owned()
    }

    async fn payment(&self, description: &str) -> String {
        let body = json!({ "main_key": self.user, "subkeys": [], "description": description, "amount": 12_345, "currency": "sats" });
        self.page("/payments/single", &body).await
    }
}

pub(super) async fn walk(look: &Look) {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(&folder);
    let mut browser = look.browser().await;
    start_page(look, &dev, &mut browser).await;
    phone(look, &dev, &mut browser).await;
    hosted_pages(look, &dev, &mut browser).await;
    if matches!(look, Look::Shoot(..)) {
        browser.open(&format!("{}docs", dev.start_page)).await;
        browser.until(&has(".opblock")).await;
        look.at(&mut browser, "docs", false).await;
        browser.click(".opblock-post .opblock-summary-control").await;
        browser.until(&has(".opblock-post textarea")).await;
        look.at(&mut browser, "docs-open", false).await;
    }
    dev.running.stop();
}

async fn start_page(look: &Look, dev: &Dev, browser: &mut Browser) {
    browser.open(&dev.start_page).await;
    browser.until("document.getElementById('connection')?.textContent === 'live'").await;
    look.at(browser, "start", false).await;
    let phone = "document.querySelector('iframe').contentDocument.querySelector";
    browser.show_as(1200, 800, false).await;
    browser.click("#try-payment").await;
    browser.until(&format!("!!{phone}('#asks [value=approve]')")).await;
    look.at(browser, "start-payment", false).await;
    browser.evaluate(&format!("{phone}('#asks [value=approve]').click()")).await;
    browser.until("document.querySelector('#events .passed') !== null").await;
    look.at(browser, "start-paid", false).await;
    browser.click("#guides summary").await;
    look.at(browser, "start-guides", false).await;
    look.plain(browser, &format!("{}guides/payments", dev.start_page), "guide").await;
}

async fn phone(look: &Look, dev: &Dev, browser: &mut Browser) {
    let phone = format!("{}phone", dev.start_page);
    look.plain(browser, &phone, "phone").await;
    dev.payment("Two flat whites and a slice of carrot cake").await;
    let membership = json!({
        "main_key": dev.user, "subkeys": [], "description": "Membership", "amount": 5_000, "currency": "sats",
        "recurrence": { "calendar": "monthly", "first_payment_due": 4_102_444_800_u64 },
        "expires_at": crate::harness::now() + 600,
    });
    dev.api.post("/payments/recurring", &membership).await.unwrap();
    browser.until("document.querySelectorAll('.ask').length === 2").await;
    browser.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })").await;
    look.at(browser, "phone-asks", false).await;
    browser.click("[name=reply][value=approve]").await;
    browser.until("document.querySelectorAll('.ask').length === 1").await;
    browser.click("[name=reply][value=decline]").await;
    browser.until("document.querySelectorAll('.ask').length === 0").await;
    look.at(browser, "phone-done", true).await;
}

async fn hosted_pages(look: &Look, dev: &Dev, browser: &mut Browser) {
    let open_all = "document.querySelectorAll('#test-wallet details').forEach(details => { details.open = true; })";
    let login = dev.page("/login", &json!({})).await;
    browser.open(&login).await;
    browser.until(&state_is("waiting")).await;
    look.at(browser, "test-login", true).await;
    let payment = dev.payment("Two flat whites and a slice of carrot cake").await;
    browser.open(&payment).await;
    browser.until(&has("#test-wallet")).await;
    look.at(browser, "test-payment", true).await;
    browser.evaluate(open_all).await;
    look.at(browser, "test-payment-outcomes", false).await;
    browser.click("#test-wallet [value=approve]").await;
    browser.until(&state_is("paid")).await;

    let link = json!({ "min": 1, "max": 10_000, "currency": "sats", "description": "For the animal shelter" });
    look.open(browser, &dev.page("/payment-links", &link).await, "open", "test-link").await;
    browser.evaluate("document.getElementById('amount').value = '21'").await;
    browser.click("[formaction]").await;
    browser.until(&state_is("paid")).await;
    let paid = browser.evaluate("location.href").await;
    let payment = paid.as_str().unwrap().split('/').nth_back(1).unwrap().to_owned();

    let refund = dev.page(&format!("/payments/{payment}/refund"), &json!({})).await;
    browser.open(&refund).await;
    browser.until(&has("#test-wallet")).await;
    look.at(browser, "test-refund", true).await;
    look.open(browser, &dev.page("/key-handshake", &json!({})).await, "waiting", "test-handshake").await;
    look.open(browser, &dev.page("/verification/sessions", &json!({})).await, "open", "test-age-check").await;
}
