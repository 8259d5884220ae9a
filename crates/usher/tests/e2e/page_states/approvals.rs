//! The page on which operators approve payments.

use serde_json::json;
use usher_protocol::Keys;

use super::look::Look;
use crate::harness::Api;
use crate::operators_page::{Fixture, at};

pub(super) async fn walk(look: &Look) {
    let operator = Keys::generate();
    let mut fixture = Fixture::start(&operator).await;
    let mut browser = look.browser().await;
    let page = format!("{}/approve", fixture.url);
    browser.open(&page).await;
    browser.until(&at("/approve", "logged-out")).await;
    look.at(&mut browser, "approvals-logged-out", true).await;
    browser.install_extension(&Keys::generate().secret_key().to_secret_hex()).await;
    fixture.log_in(&mut browser).await;
    browser.until("document.querySelector('code.notice') !== null").await;
    look.at(&mut browser, "approvals-other-key", false).await;

    let mut browser = look.browser().await;
    browser.install_extension(&operator.secret_key().to_secret_hex()).await;
    fixture.log_in(&mut browser).await;
    browser.until(&at("/approve", "none")).await;
    look.at(&mut browser, "approvals-none", true).await;
    let long = "Rent of the rooms at the corner of Market Street, with heating, for the first half of the year";
    let (rent, lamps) = (fixture.ask(21_000_000, long).await, fixture.ask(1_234_567_000, "Lamps").await);
    let body = json!({"name": "payroll", "scopes": ["payments:send"]});
    let secret = fixture.usher.api().post("/keys", &body).await.unwrap()["secret"].as_str().unwrap().to_owned();
    fixture.ask_with(&Api { token: secret, ..fixture.usher.api() }, 5_000_500, "").await;
    browser.open(&page).await;
    browser.until(&at("/approve", "waiting")).await;
    look.at(&mut browser, "approvals", true).await;
    for (decision, stream) in [("decline", &lamps), ("approve", &rent)] {
        browser.open(&format!("{page}/{stream}/{decision}")).await;
        browser.until(&at(&format!("/approve/{stream}/{decision}"), "asking")).await;
        look.at(&mut browser, &format!("approval-{decision}"), true).await;
        browser.click("form .button").await;
        browser.until(&at("/approve", "waiting")).await;
    }
    look.at(&mut browser, "approvals-decided", true).await;
    browser.open(&format!("{page}/{rent}/approve")).await;
    browser.until("document.querySelector('.mark.failed') !== null").await;
    look.at(&mut browser, "approval-gone", true).await;
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
