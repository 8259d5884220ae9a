//! `/docs` and `/openapi.json`: who may read them, and the page in a real browser.

use serde_json::Value;
use usher_testing::Browser;

use crate::app::{TOKEN, TestApp};

fn document() -> Value {
    serde_json::to_value(usher_api::openapi()).unwrap()
}

#[tokio::test]
async fn docs_require_the_token_through_a_proxy_or_another_host() {
    let app = TestApp::start().await;
    for path in ["/docs", "/openapi.json", "/docs/swagger-ui.js"] {
        for (name, value) in [("x-forwarded-for", "203.0.113.7"), ("via", "1.1 proxy"), ("host", "usher.example")] {
            let asked = app.http.get(app.url(path)).header(name, value);
            assert_eq!(asked.send().await.unwrap().status(), 401, "{path} {name}");
            assert_eq!(app.get(path).header(name, value).send().await.unwrap().status(), 200, "{path} {name}");
        }
        assert_eq!(app.http.get(app.url(path)).send().await.unwrap().status(), 200, "{path}");
    }
    assert_eq!(app.read("/openapi.json").await, document());
    let page = app.get("/docs").send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
}

/// A proxy on this machine may add no header and rewrite `Host`: only the token identifies the operator.
#[tokio::test]
async fn docs_require_the_token_on_loopback_in_production() {
    let app = TestApp::with(|of| of.is_development = false).await;
    for path in ["/docs", "/openapi.json"] {
        let refused = app.http.get(app.url(path)).send().await.unwrap();
        assert_eq!(refused.status(), 401, "{path}");
        let challenge = refused.headers()["www-authenticate"].to_str().unwrap().to_owned();
        assert!(challenge.starts_with("Basic ") && challenge.contains("Bearer "), "a browser asks: {challenge}");
        for (password, status) in [(TOKEN, 200), ("guess", 401)] {
            let request = app.http.get(app.url(path)).basic_auth("anybody", Some(password));
            assert_eq!(request.send().await.unwrap().status(), status, "{path}");
        }
        assert_eq!(app.get(path).send().await.unwrap().status(), 200, "{path}");
    }
    // What a browser sends by itself, whichever page makes it, starts nothing.
    let call = app.http.post(app.url("/key-handshake")).basic_auth("anybody", Some(TOKEN)).body("");
    assert_eq!(call.send().await.unwrap().status(), 401);
}

/// In a browser, which has its own idea of what a policy forbids: every operation is on the page, and a request that is
/// sent from the page with the token does its work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_shows_the_docs_and_sends_requests() {
    let app = TestApp::start().await;
    let mut browser = Browser::start().await;
    browser.open(&app.url("/docs")).await;
    let document = document();
    let operations = document["paths"].as_object().unwrap().values().map(|item| item.as_object().unwrap().len());
    let hooks = document["webhooks"].as_object().unwrap().len();
    let all = operations.sum::<usize>() + hooks;
    browser.until(&format!("document.querySelectorAll('.opblock').length === {all}")).await;
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    let shown = browser.evaluate("[...document.querySelectorAll('.opblock-tag')].map(tag => tag.dataset.tag)").await;
    assert_eq!(shown, Value::from(tags), "the tags are in the document's order");

    browser.evaluate(HELPERS).await;
    browser.evaluate("click('.auth-wrapper .authorize')").await;
    browser.until("!!document.querySelector('.auth-container input')").await;
    browser.evaluate(&format!("type('.auth-container input', '{TOKEN}')")).await;
    browser.evaluate("click('.auth-btn-wrapper .authorize'); click('.auth-btn-wrapper .btn-done')").await;
    browser.evaluate("click('.opblock-post .opblock-summary-control')").await;
    // The button is there before the page has read the operation, and would do nothing. Then it shows an example.
    browser.until("document.querySelector('.opblock-post textarea')?.value === '{}'").await;
    browser.evaluate("click('.opblock-post .execute')").await;
    browser.until("!!document.querySelector('.live-responses-table .response-col_status')").await;
    let text = browser.evaluate("document.querySelector('.live-responses-table .response').innerText").await;
    let text = text.as_str().unwrap();
    assert!(text.starts_with("200") && text.contains("stream_id"), "{text}");

    let stored = browser.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])").await;
    assert!(!stored.as_str().unwrap().contains(TOKEN), "the token is stored: {stored}");
    let own = app.url("/");
    let foreign: Vec<_> = browser.requested().into_iter().filter(|url| !url.starts_with(&own)).collect();
    assert!(foreign.iter().all(|url| url.starts_with("data:")), "{foreign:?}");
    assert!(browser.complaints().is_empty(), "the browser complains: {:?}", browser.complaints());
}

const HELPERS: &str = r"
    globalThis.click = selector => document.querySelector(selector).click();
    globalThis.type = (selector, text) => {
        const input = document.querySelector(selector);
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text);
        input.dispatchEvent(new Event('input', { bubbles: true }));
    };
    undefined
";
