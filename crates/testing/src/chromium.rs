//! A real browser: Debian's chromium, driven by its own protocol (Chrome DevTools Protocol).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::browser_context::BrowserContext;
use crate::devtools::{Connection, TIMEOUT};

/// A tab of a browser with cookies of its own.
pub struct Browser {
    context: Arc<BrowserContext>,
    page: Connection,
    has_javascript: bool,
}

impl Browser {
    /// Opens a window with an empty page in the Chromium that all tests of a run share, which has no part of any other
    /// `Browser`; without a shared one, starts `chromium`, or the program that `USHER_TEST_CHROMIUM` names.
    pub async fn start() -> Self {
        let context = BrowserContext::create().await;
        let page = context.open_window().await;
        Self::drive(Arc::new(context), page).await
    }

    /// Another tab of the same browser, in front of this one, which is hidden then.
    pub async fn another_tab(&self) -> Self {
        let page = self.context.open_tab().await;
        Self::drive(Arc::clone(&self.context), page).await
    }

    /// Brings the tab to the front, and hides the others.
    pub async fn bring_to_front(&mut self) {
        self.command("Page.bringToFront", json!({})).await;
    }

    async fn drive(context: Arc<BrowserContext>, page: Connection) -> Self {
        let mut browser = Self { context, page, has_javascript: true };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.command(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    /// From the next page on, no page can run scripts. [`evaluate`](Self::evaluate) still can, but not wait for timers.
    pub async fn disable_javascript(&mut self) {
        self.allow_javascript(false).await;
    }

    pub async fn allow_javascript(&mut self, allowed: bool) {
        self.has_javascript = allowed;
        self.allow_scripts(allowed).await;
    }

    /// Whether the page was loaded with scripts.
    pub(crate) const fn has_javascript(&self) -> bool {
        self.has_javascript
    }

    pub(crate) async fn allow_scripts(&mut self, allowed: bool) {
        self.command("Emulation.setScriptExecutionDisabled", json!({ "value": !allowed })).await;
    }

    /// Shows pages as a small phone does.
    pub async fn be_a_phone(&mut self) {
        let screen = json!({ "width": 320, "height": 568, "deviceScaleFactor": 2, "mobile": true });
        self.command("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// Shows pages in a window of this size in CSS pixels; as a phone does, which says so.
    pub async fn show_as(&mut self, width: u32, height: u32, is_phone: bool) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.command("Emulation.setDeviceMetricsOverride", screen).await;
        let agent = if is_phone { "Mozilla/5.0 (Android 15; Mobile) Test" } else { "Mozilla/5.0 (X11; Linux) Test" };
        self.command("Emulation.setUserAgentOverride", json!({ "userAgent": agent })).await;
    }

    /// From the next request on, asks for pages in this language (`Accept-Language`).
    pub async fn read_language(&mut self, language: &str) {
        let headers = json!({ "headers": { "Accept-Language": language } });
        self.command("Network.setExtraHTTPHeaders", headers).await;
    }

    /// Shows pages in dark colours.
    pub async fn prefer_dark(&mut self) {
        self.prefer(&[("prefers-color-scheme", "dark")]).await;
    }

    /// Has these features of CSS media queries, and no others.
    pub async fn prefer(&mut self, features: &[(&str, &str)]) {
        let features: Vec<_> = features.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        self.command("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Loads the page again.
    pub async fn reload(&mut self) {
        self.evaluate("window.isOld = true").await;
        self.command("Page.reload", json!({})).await;
        self.until("document.readyState === 'complete' && !window.isOld").await;
    }

    /// A picture of the whole page, as PNG.
    pub async fn screenshot(&mut self) -> Vec<u8> {
        let size = "[document.documentElement.clientWidth,
            Math.max(innerHeight, document.documentElement.scrollHeight)]";
        let size = self.evaluate(size).await;
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.command("Page.captureScreenshot", parameters).await;
        BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }

    /// The page as it is now, without its scripts, and its fragment: another browser shows the same state.
    pub async fn copy(&mut self) -> (String, String) {
        let copy = "(function copy(page, address) {
            const root = page.documentElement.cloneNode(true);
            const all = (of) => of.querySelectorAll('input, iframe');
            all(root).forEach((element, at) => {
                const { checked, value, contentDocument } = all(page)[at];
                if (contentDocument) element.dataset.srcdoc = copy(contentDocument, address);
                else element.setAttribute('value', value);
                if (element.type === 'radio' || element.type === 'checkbox') element.toggleAttribute('checked', checked);
            });
            for (const element of root.querySelectorAll('script, noscript, meta[http-equiv]')) element.remove();
            const base = page.createElement('base');
            base.href = address;
            if (root.querySelector('link[rel=stylesheet]')) root.querySelector('head').prepend(base);
            // Pages forbid their scripts to set it.
            return '<!doctype html>' + root.outerHTML.replaceAll(' data-srcdoc=', ' srcdoc=');
        })(document, document.baseURI)";
        let html = self.evaluate(copy).await.as_str().unwrap().to_owned();
        (html, self.evaluate("location.hash").await.as_str().unwrap().to_owned())
    }

    /// The bytes that came over the wire, for all requests that have ended.
    pub fn received_bytes(&self) -> u64 {
        let ended = self.page.events.iter().filter(|event| event["method"] == "Network.loadingFinished");
        ended.filter_map(|event| event["params"]["encodedDataLength"].as_f64()).map(|bytes| bytes as u64).sum()
    }

    /// From the next page on, this script runs before those of the page.
    pub async fn run_on_every_page(&mut self, script: &str) {
        self.command("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await;
    }

    pub async fn open(&mut self, url: &str) {
        let opened = self.command("Page.navigate", json!({ "url": url })).await;
        assert!(opened["errorText"].is_null(), "{opened}");
    }

    /// The value of an expression; a promise is waited for.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).await.unwrap_or_else(|error| panic!("{expression:.200}: {error}"))
    }

    /// Waits until an expression is true, also on a page that is yet to come.
    pub async fn until(&mut self, expression: &str) {
        let waited = tokio::time::timeout(TIMEOUT, async {
            // A page that is being left has no value.
            while self.try_evaluate(expression).await != Ok(Value::Bool(true)) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        if waited.await.is_err() {
            let shown = self.try_evaluate("location.href + '\\n' + document.documentElement.outerHTML").await;
            let (unanswered, complaints) = (self.unanswered(), self.complaints());
            panic!("never true: {expression}\nunanswered: {unanswered:?}\ncomplaints: {complaints:?}\n{shown:?}");
        }
    }

    /// Clicks on the first element with this CSS selector, with the pointer.
    pub async fn click(&mut self, selector: &str) {
        self.until(&format!("document.readyState === 'complete' && document.querySelector({selector:?}) !== null"))
            .await;
        self.painted().await;
        let middle = format!(
            "(element => {{ element.scrollIntoView({{ block: 'center' }}); const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2]; }})(document.querySelector({selector:?}))"
        );
        let middle = self.evaluate(&middle).await;
        for kind in ["mousePressed", "mouseReleased"] {
            let mouse = json!({ "type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1 });
            self.command("Input.dispatchMouseEvent", mouse).await;
        }
    }

    /// Waits until the page was painted: before that it ignores the pointer.
    async fn painted(&mut self) {
        if self.has_javascript {
            // A page in the background is not painted.
            let frames = "new Promise(done => {
                requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 500); })";
            let _ = self.try_evaluate(frames).await;
        } else {
            // Such a page runs no timers and has no frames to wait for. A picture of it needs it painted.
            let corner = json!({ "x": 0, "y": 0, "width": 1, "height": 1, "scale": 1 });
            let _ = self.page.try_command("Page.captureScreenshot", json!({ "format": "png", "clip": corner })).await;
        }
    }

    pub async fn type_text(&mut self, text: &str) {
        self.command("Input.insertText", json!({ "text": text })).await;
    }

    /// Presses `Tab` or `Enter`.
    pub async fn press(&mut self, key: &str) {
        let (code, text) = if key == "Enter" { (13, "\r") } else { (9, "") };
        for kind in ["keyDown", "keyUp"] {
            let key = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.command("Input.dispatchKeyEvent", key).await;
        }
    }

    /// What the browser has to complain of: errors and warnings on the console, and what a policy has blocked.
    pub fn complaints(&self) -> Vec<&Value> {
        let complains = |event: &&Value| match event["method"].as_str() {
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "verbose",
            Some("Runtime.consoleAPICalled") => matches!(event["params"]["type"].as_str(), Some("error" | "warning")),
            Some("Runtime.exceptionThrown") => true,
            _ => false,
        };
        self.page.events.iter().filter(complains).collect()
    }

    pub fn requested(&self) -> Vec<&str> {
        self.requests().filter_map(|request| request["url"].as_str()).collect()
    }

    /// Waits until an address that begins so was requested; the address.
    pub async fn until_requested(&mut self, beginning: &str) -> String {
        let waited = tokio::time::timeout(TIMEOUT, async {
            loop {
                if let Some(url) = self.requested().into_iter().find(|url| url.starts_with(beginning)) {
                    return url.to_owned();
                }
                self.page.next_event().await;
            }
        });
        if let Ok(url) = waited.await {
            return url;
        }
        panic!("{beginning} was never requested: {:?}", self.requested());
    }

    /// The requests that were sent, as the browser describes them.
    pub fn requests(&self) -> impl Iterator<Item = &Value> {
        let sent = self.page.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| &event["params"]["request"])
    }

    /// The requests that were sent and have neither been answered nor failed.
    fn unanswered(&self) -> Vec<&Value> {
        let with_id = |method: &str, id: &Value| {
            self.page.events.iter().any(|event| event["method"] == method && event["params"]["requestId"] == *id)
        };
        let sent = self.page.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let open = sent.map(|event| &event["params"]).filter(|sent| {
            let id = &sent["requestId"];
            !with_id("Network.responseReceived", id) && !with_id("Network.loadingFailed", id)
        });
        open.map(|sent| &sent["request"]).collect()
    }

    /// The names of all cookies that the browser holds.
    pub async fn cookies(&mut self) -> Vec<String> {
        let cookies = self.all_cookies().await;
        cookies.iter().map(|cookie| cookie["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The cookie with this name, as the browser describes it.
    pub async fn cookie(&mut self, name: &str) -> Value {
        let cookies = self.all_cookies().await;
        cookies.into_iter().find(|cookie| cookie["name"] == name).unwrap_or_else(|| panic!("no cookie {name}"))
    }

    async fn all_cookies(&mut self) -> Vec<Value> {
        let cookies = self.command("Network.getAllCookies", json!({})).await;
        cookies["cookies"].as_array().unwrap().clone()
    }

    async fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut result = self.page.try_command("Runtime.evaluate", parameters).await?;
        if !result["exceptionDetails"].is_null() {
            return Err(result["exceptionDetails"].to_string());
        }
        Ok(result["result"]["value"].take())
    }

    pub(crate) async fn command(&mut self, method: &str, parameters: Value) -> Value {
        self.page.command(method, parameters).await
    }
}
