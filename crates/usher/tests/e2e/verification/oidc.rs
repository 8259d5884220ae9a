//! `verification.provider = "oidc"`: a real provider (npm `oidc-provider`) in a real browser (Debian's chromium), from
//! `session_url` to the proof and its redemption.

use serde_json::{Value, json};
use usher_testing::{Browser, OidcProvider};

use super::fixture::Fixture;
use super::open;
use crate::harness::{shows, state_is, until};

const CLIENT_SECRET: &str = "s3cret-of-the-client-which-is-long-enough";

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adult_passes_in_a_browser_and_the_app_redeems_the_proof() {
    let mut provider = OidcProvider::start("usher", CLIENT_SECRET);
    let mut fixture = Fixture::open(|builder| {
        builder
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
            .set("VERIFICATION__PROVIDER", "oidc")
            .set("VERIFICATION__OIDC__ISSUER", &provider.issuer)
            .set("VERIFICATION__OIDC__CLIENT_ID", "usher")
            .set("VERIFICATION__OIDC__CLIENT_SECRET", CLIENT_SECRET)
    })
    .await;
    let api = fixture.usher.api();
    provider.register(&format!("{}/verify/return", api.base));
    let session = open(&api).await;
    let mut browser = Browser::start().await;
    browser.open(&session.url).await;
    browser.until(&state_is("open")).await;
    let asks = "Bar Seven asks for a proof that you are at least 18 years old.";
    shows(&mut browser, &[asks, "are not stored", "127.0.0.1"]).await;

    // With the keyboard alone: the button is the first thing that it reaches.
    browser.press("Tab").await;
    assert_eq!(browser.evaluate("document.activeElement.type").await, json!("submit"));
    browser.press("Enter").await;
    // Through the provider's forms, as its users do: login, then consent.
    for (field, text) in [("login", "adult"), ("password", "any")] {
        browser.click(&format!("input[name={field}]")).await;
        browser.type_text(text).await;
    }
    browser.press("Enter").await;
    browser.until("document.querySelector('input[name=login]') === null").await;
    browser.click("form [type=submit]").await;
    // The page follows by itself while the proof is minted.
    browser.until(&state_is("passed")).await;
    assert_eq!(browser.evaluate("location.href").await, json!(session.url));
    shows(&mut browser, &["You passed the check"]).await;
    fixture.redeem(&session.id).await;

    assert_eq!(provider.referrers(), [] as [&str; 0], "the page's address is a secret");
    let foreign = api.http.get(format!("{}/jwks", provider.issuer)).header("referer", "https://other.example/");
    assert_eq!(foreign.send().await.unwrap().status(), 200);
    until("referrer", async || provider.referrers() == ["https://other.example/"]).await;
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
