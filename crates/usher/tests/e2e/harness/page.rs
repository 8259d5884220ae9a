//! Pages in a browser.

use serde_json::json;
use usher_testing::Browser;

/// Offers to log in with the browser's extension.
pub(crate) const EXTENSION_BUTTON: &str = "#extension:not([hidden]) button";

pub(crate) fn state_is(state: &str) -> String {
    format!("document.body?.dataset.state === '{state}'")
}

/// Holds while the page has such an element.
pub(crate) fn has(selector: &str) -> String {
    format!("document.querySelector({selector:?}) !== null")
}

/// An accessible page: axe-core finds no violation, and it does not scroll sideways.
pub(crate) async fn is_for_everybody(browser: &mut Browser) {
    browser.until("document.readyState === 'complete'").await;
    assert_eq!(browser.accessibility_faults().await, [] as [&str; 0]);
    assert_eq!(browser.overflow().await, json!(0));
}

pub(crate) async fn text(browser: &mut Browser, script: &str) -> String {
    let value = browser.evaluate(script).await;
    value.as_str().unwrap_or_else(|| panic!("{script} is {value}")).to_owned()
}

pub(crate) async fn shows(browser: &mut Browser, parts: &[&str]) {
    let text = text(browser, "document.body.innerText").await;
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
