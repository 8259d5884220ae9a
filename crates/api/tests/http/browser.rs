//! A real browser: Debian's chromium, driven by its own protocol (Chrome DevTools Protocol).

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::app::within;

/// One browser with one page; it ends with this.
pub struct Browser {
    _process: Process,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    next_id: u64,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub async fn start(http: &reqwest::Client) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let chromium = std::env::var_os("USHER_TEST_CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
        let process = Command::new(&chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-port=0", "--window-size=1200,2000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("no browser at {chromium:?} ({error}): scripts/test installs chromium"));
        let process = Process(process);
        let file = profile.path().join("DevToolsActivePort");
        let socket = within(async {
            loop {
                let port = std::fs::read_to_string(&file).unwrap_or_default();
                if let Some((port, _)) = port.split_once('\n')
                    && let Some(url) = page(http, port).await
                {
                    return tokio_tungstenite::connect_async(url).await.unwrap().0;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
        let mut browser = Self { _process: process, socket, next_id: 0, events: Vec::new(), _profile: profile };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.command(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    pub async fn open(&mut self, url: &str) {
        let opened = self.command("Page.navigate", json!({ "url": url })).await;
        assert!(opened["errorText"].is_null(), "{opened}");
    }

    /// The value of an expression; a promise is waited for.
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.command("Runtime.evaluate", parameters).await;
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Waits until an expression is true.
    pub async fn until(&mut self, expression: &str) {
        let waited = tokio::time::timeout(crate::app::PATIENCE, async {
            while self.evaluate(expression).await != true {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        assert!(waited.await.is_ok(), "never true: {expression}");
    }

    /// What the browser has to complain of: errors and warnings on the console, and what a policy has blocked.
    pub fn complaints(&self) -> Vec<&Value> {
        let complains = |event: &&Value| match event["method"].as_str() {
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "verbose",
            Some("Runtime.consoleAPICalled") => matches!(event["params"]["type"].as_str(), Some("error" | "warning")),
            Some("Runtime.exceptionThrown") => true,
            _ => false,
        };
        self.events.iter().filter(complains).collect()
    }

    /// Addresses that were requested.
    pub fn requested(&self) -> Vec<&str> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    async fn command(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let command = json!({ "id": id, "method": method, "params": parameters });
        self.socket.send(Message::text(command.to_string())).await.unwrap();
        loop {
            let message = within(self.socket.next()).await.expect("the browser has ended").unwrap();
            let Message::Text(text) = message else { continue };
            let mut message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }
}

/// Ends with its last user, also when that panics.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address at which the browser's page is driven.
async fn page(http: &reqwest::Client, port: &str) -> Option<String> {
    let targets: Value = http.get(format!("http://127.0.0.1:{port}/json/list")).send().await.ok()?.json().await.ok()?;
    let page = targets.as_array()?.iter().find(|target| target["type"] == "page")?;
    Some(page["webSocketDebuggerUrl"].as_str()?.to_owned())
}
