//! Another browser: Debian's firefox-esr, driven by WebDriver BiDi.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::devtools::{Connection, TIMEOUT, within};
use crate::extension::extension;

/// A Firefox without a window, with a profile of its own.
pub struct Firefox {
    connection: Connection,
    tab: Value,
    child: Child,
    folder: TempDir,
}

impl Firefox {
    /// Starts `firefox-esr`, which prefers these colours for as long as it runs.
    pub async fn start(is_dark: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scheme = u8::from(!is_dark);
        let preference = format!("user_pref(\"layout.css.prefers-color-scheme.content-override\", {scheme});\n");
        std::fs::write(folder.path().join("user.js"), preference).unwrap();
        let mut command = Command::new("firefox-esr");
        command.args(["--headless", "--no-remote", "--remote-debugging-port=0", "--profile"]).arg(folder.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.unwrap_or_else(|error| panic!("firefox-esr: {error}"));
        let url = within(driven_at(folder.path())).await;
        let mut connection = Connection::open(&url).await;
        connection.command("session.new", json!({ "capabilities": {} })).await;
        let tabs = connection.command("browsingContext.getTree", json!({})).await;
        Self { connection, tab: tabs["contexts"][0]["context"].clone(), child, folder }
    }

    pub async fn open(&mut self, url: &str) {
        let page = json!({ "context": self.tab, "url": url, "wait": "complete" });
        // The page before may be loading, and ends this when that fails.
        if self.connection.try_command("browsingContext.navigate", page.clone()).await.is_err() {
            self.connection.command("browsingContext.navigate", page).await;
        }
    }

    /// From the next page on, this script runs before those of the page.
    pub async fn run_on_every_page(&mut self, script: &str) {
        let script = json!({ "functionDeclaration": format!("() => {{ {script} }}") });
        self.connection.command("script.addPreloadScript", script).await;
    }

    /// From the next page on, pages find an extension with this secret key (64 hex characters).
    pub async fn install_extension(&mut self, secret_key: &str) {
        self.run_on_every_page(&extension(secret_key)).await;
    }

    /// The value of an expression; a promise is waited for.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        self.try_evaluate(expression).await.unwrap_or_else(|error| panic!("{expression:.200}: {error}"))
    }

    /// Waits until an expression is true, also on a page that is yet to come.
    pub async fn until(&mut self, expression: &str) {
        let waited = tokio::time::timeout(TIMEOUT, async {
            while self.try_evaluate(expression).await != Ok(Value::Bool(true)) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        if waited.await.is_err() {
            let shown = self.try_evaluate("location.href + '\\n' + document.documentElement.outerHTML").await;
            panic!("never true: {expression}\n{shown:?}");
        }
    }

    async fn try_evaluate(&mut self, expression: &str) -> Result<Value, String> {
        let as_json = format!("(async () => JSON.stringify((await ({expression})) ?? null))()");
        let script = json!({ "expression": as_json, "target": { "context": self.tab }, "awaitPromise": true });
        let evaluated = self.connection.try_command("script.evaluate", script).await?;
        let value = evaluated["result"]["value"].as_str().ok_or_else(|| evaluated["exceptionDetails"].to_string())?;
        serde_json::from_str(value).map_err(|error| error.to_string())
    }

    /// A picture of the whole page, as PNG, in a window of this size in CSS pixels: of a copy that
    /// [`Browser::copy`](crate::Browser::copy) made. `part` is the page's fragment.
    pub async fn screenshot(&mut self, html: &str, part: &str, width: u32, height: u32) -> Vec<u8> {
        let file = self.folder.path().join("page.html");
        std::fs::write(&file, html).unwrap();
        let viewport = json!({ "context": self.tab, "viewport": { "width": width, "height": height } });
        self.connection.command("browsingContext.setViewport", viewport).await;
        // Not the page before with another fragment.
        for url in ["about:blank".to_owned(), format!("file://{}{part}", file.display())] {
            let page = json!({ "context": self.tab, "url": url, "wait": "complete" });
            self.connection.command("browsingContext.navigate", page).await;
        }
        let whole = json!({ "context": self.tab, "origin": "document" });
        let picture = self.connection.command("browsingContext.captureScreenshot", whole).await;
        BASE64_STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the Firefox with this profile is driven, once it is.
async fn driven_at(folder: &Path) -> String {
    loop {
        let written = std::fs::read_to_string(folder.join("WebDriverBiDiServer.json")).unwrap_or_default();
        if let Ok(server) = serde_json::from_str::<Value>(&written) {
            return format!("ws://{}:{}/session", server["ws_host"].as_str().unwrap(), server["ws_port"]);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
