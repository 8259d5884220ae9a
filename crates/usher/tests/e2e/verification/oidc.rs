//! `verification.provider = "oidc"`: a real provider (npm `oidc-provider`) in a real browser (Debian's chromium), from
//! `session_url` to the proof and its redemption.

use std::time::Duration;

use serde_json::{Value, json};
use usher_test_tools::{Browser, OidcProvider};

use super::fixture::Fixture;
use super::open;
use crate::harness::LONG;

const CLIENT_SECRET: &str = "s3cret-of-the-client-which-is-long-enough";

async fn service() -> (OidcProvider, Fixture) {
    let mut provider = OidcProvider::start("usher", CLIENT_SECRET);
    let fixture = Fixture::open(|builder| {
        builder
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
            .set("VERIFICATION__PROVIDER", "oidc")
            .set("VERIFICATION__OIDC__ISSUER", &provider.issuer)
            .set("VERIFICATION__OIDC__CLIENT_ID", "usher")
            .set("VERIFICATION__OIDC__CLIENT_SECRET", CLIENT_SECRET)
    })
    .await;
    provider.register(&format!("{}/verify/return", fixture.usher.api().base));
    (provider, fixture)
}

/// What only the provider and its user may know: every claim that it has sent, and what opens them.
fn personal(provider: &OidcProvider) -> Vec<String> {
    fn texts(value: &Value, to: &mut Vec<String>) {
        match value {
            Value::Object(members) => members.values().for_each(|value| texts(value, to)),
            Value::String(text) => to.push(text.clone()),
            _ => {}
        }
    }
    let mut words = Vec::new();
    for mut sent in provider.sent() {
        if let Some(claims) = sent["claims"].as_object_mut() {
            // These are of the protocol, and not about the user.
            claims.retain(|name, _| !["iss", "aud", "nonce"].contains(&name.as_str()));
        }
        texts(&sent, &mut words);
    }
    words.sort_unstable();
    words.dedup();
    words
}

/// Through the provider's forms, as its users do: login, then consent.
async fn check_age_there(browser: &mut Browser, user: &str) {
    for (field, text) in [("login", user), ("password", "any")] {
        browser.click(&format!("input[name={field}]")).await;
        browser.type_text(text).await;
    }
    browser.press("Enter").await;
    browser.until("document.querySelector('input[name=login]') === null").await;
    browser.click("form [type=submit]").await;
}

fn state_is(state: &str) -> String {
    format!("document.body?.dataset.state === '{state}'")
}

/// A page for everybody: axe-core finds nothing wrong with it, and nobody scrolls sideways.
async fn is_for_everybody(browser: &mut Browser) {
    browser.until("document.readyState === 'complete'").await;
    let mut faults = browser.accessibility_faults().await;
    // Without JavaScript, a page with nothing to do but wait reloads; one on which the user acts never does.
    let waits =
        browser.evaluate("document.querySelector('noscript meta') !== null && !document.querySelector('button')");
    if waits.await == true {
        faults.retain(|fault| !fault.starts_with("meta-refresh"));
    }
    assert_eq!(faults, [] as [&str; 0]);
    assert_eq!(browser.overflow().await, json!(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adult_passes_in_a_browser_and_the_app_redeems_the_proof() {
    let (provider, mut fixture) = service().await;
    let api = fixture.usher.api();
    let session = open(&api).await;
    let mut browser = Browser::start().await;
    browser.open(&session.url).await;
    browser.until(&state_is("open")).await;
    let text = browser.evaluate("document.body.innerText").await;
    for said in ["Bar Seven asks for a proof that you are at least 18 years old.", "are not stored", "127.0.0.1"] {
        assert!(text.as_str().unwrap().contains(said), "{said}: {text}");
    }
    is_for_everybody(&mut browser).await;

    // With the keyboard alone: the button is the first thing that it reaches.
    browser.press("Tab").await;
    assert_eq!(browser.evaluate("document.activeElement.type").await, json!("submit"));
    browser.press("Enter").await;
    check_age_there(&mut browser, "adult").await;
    // The page follows by itself while the proof is minted.
    browser.until(&state_is("passed")).await;
    assert_eq!(browser.evaluate("location.href").await, json!(session.url));
    let status = browser.evaluate("document.querySelector('[role=status]').textContent").await;
    assert!(status.as_str().unwrap().contains("You passed the check"), "{status}");
    is_for_everybody(&mut browser).await;
    fixture.redeem(&session.id).await;

    assert_eq!(provider.referrers(), [] as [&str; 0], "the page's address is a secret");
    let foreign = api.http.get(format!("{}/jwks", provider.issuer)).header("referer", "https://other.example/");
    assert_eq!(foreign.send().await.unwrap().status(), 200);
    let told = async {
        while provider.referrers() != ["https://other.example/"] {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, told).await.expect("the provider tells what browsers tell it");
    // The provider's own pages have faults of their own.
    let ours = browser.complaints().into_iter().filter(|complaint| complaint.to_string().contains(&api.base));
    assert_eq!(ours.collect::<Vec<_>>(), [] as [&Value; 0]);
    let cookies = browser.cookies().await;
    assert!(!cookies.iter().any(|name| name.starts_with("usher")), "the check is over: {cookies:?}");

    let personal = personal(&provider);
    for word in ["1970-01-02", "Zacharias Q. Nobodyknows", "zacharias@nobodyknows.example", "subject-adult-52c1"] {
        assert!(personal.iter().any(|sent| sent == word), "the provider has sent {word}: {personal:?}");
    }
    fixture.keeps_nothing_of(&personal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_minor_does_not_pass_and_nothing_of_them_is_kept() {
    let (provider, mut fixture) = service().await;
    let session = open(&fixture.usher.api()).await;
    let mut browser = Browser::start().await;
    browser.prefer_dark().await;
    browser.open(&session.url).await;
    is_for_everybody(&mut browser).await;
    browser.click("button").await;
    check_age_there(&mut browser, "minor").await;
    browser.until(&state_is("rejected")).await;
    is_for_everybody(&mut browser).await;
    let event = fixture.usher.api().outcome(&session.id).await;
    assert_eq!((event.status(), &event.data["reason"]), ("rejected", &json!("the minimum age is not reached")));
    let personal = personal(&provider);
    assert!(personal.iter().any(|sent| sent == "2020-03-04"), "{personal:?}");
    fixture.keeps_nothing_of(&personal).await;
}
