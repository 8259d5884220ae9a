//! A part of a running Chromium with cookies, storage and a window of its own.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::devtools::{Connection, within};

/// Names the folder of a Chromium that runs and that all tests share (`scripts/run-tests`).
const SHARED: &str = "USHER_TEST_CHROMIUM_FOLDER";

/// The size of its window, in pixels.
const WINDOW: (u32, u32) = (1200, 2000);

/// Chromium disposes of it when the connection ends, also when the test's process is killed.
pub(crate) struct BrowserContext {
    browser: Mutex<Connection>,
    id: String,
    /// Where the browser is driven: `127.0.0.1:<port>`.
    address: String,
    _process: Option<Process>,
}

impl BrowserContext {
    /// A new one in the Chromium that all tests share; without it, in one that is started for this context.
    pub(crate) async fn create() -> Self {
        let mut process = None;
        let (address, path) = match std::env::var_os(SHARED) {
            Some(folder) => within(driven_at(Path::new(&folder), || {})).await,
            None => within(process.insert(Process::start()).driven_at()).await,
        };
        let mut browser = Connection::open(&format!("ws://{address}{path}")).await;
        let created = browser.command("Target.createBrowserContext", json!({ "disposeOnDetach": true })).await;
        let id = created["browserContextId"].as_str().unwrap().to_owned();
        Self { browser: Mutex::new(browser), id, address, _process: process }
    }

    /// Opens an empty page in a window of its own.
    pub(crate) async fn open_window(&self) -> Connection {
        let (width, height) = WINDOW;
        self.open_page(json!({
            "url": "about:blank", "browserContextId": self.id, "newWindow": true, "width": width, "height": height,
        }))
        .await
    }

    /// Opens an empty page in the window that is open, in front of the others.
    pub(crate) async fn open_tab(&self) -> Connection {
        self.open_page(json!({ "url": "about:blank", "browserContextId": self.id })).await
    }

    async fn open_page(&self, parameters: Value) -> Connection {
        let page = self.browser.lock().await.command("Target.createTarget", parameters).await;
        let page = page["targetId"].as_str().unwrap();
        Connection::open(&format!("ws://{}/devtools/page/{page}", self.address)).await
    }
}

/// The address at which the Chromium with this folder is driven, once it is, and the path of the connection.
async fn driven_at(folder: &Path, mut check: impl FnMut()) -> (String, String) {
    loop {
        let written = std::fs::read_to_string(folder.join("DevToolsActivePort")).unwrap_or_default();
        if let Some((port, path)) = written.split_once('\n')
            && !path.is_empty()
        {
            return (format!("127.0.0.1:{port}"), path.to_owned());
        }
        check();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A Chromium for one context; ends with it, also when its user panics.
struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/chromium");
        let child = Command::new(program).arg(folder.path()).spawn();
        Self { child: child.unwrap_or_else(|error| panic!("{program}: {error}")), folder }
    }

    async fn driven_at(&mut self) -> (String, String) {
        let child = &mut self.child;
        driven_at(self.folder.path(), || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "chromium has ended: {ended:?}");
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
