//! `usher dev` with operators of each role, and a user who does everything once, with strings that attack whoever shows them.

use serde_json::json;
use tempfile::TempDir;
use usher_protocol::Keys;
use usher_protocol::keys::npub;

use crate::common::{KEY, Running, TOKEN, stderr, stdout, usher};
use crate::harness::{Api, App, Reply, until};

/// HTML, a formula, an order that is reversed, what cannot be seen, and an address that runs a script.
pub(super) const HOSTILE: &str = "=HYPERLINK(\"javascript:alert(1)\") <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'\
                                  </script> \u{202e}gpj.tsop\u{2066}\u{200b}";

/// What the webhook refuses.
pub(super) const REFUSED: &str = "refused by the app";

pub(super) struct Stage {
    pub(super) api: Api,
    /// Where browsers find the pages and the console.
    pub(super) url: String,
    /// The user of the test wallet, who approves everything.
    pub(super) user: String,
    pub(super) people: People,
    _running: Running,
    _app: App,
    pub(super) folder: TempDir,
}

/// The keys of the operators.
pub(super) struct People {
    /// `viewer`, who also approves payments.
    pub(super) viewer: Keys,
    pub(super) support: Keys,
    pub(super) admin: Keys,
}

impl People {
    pub(super) const fn all(&self) -> [&Keys; 3] {
        [&self.viewer, &self.support, &self.admin]
    }
}

impl Stage {
    pub(super) async fn start() -> Self {
        Self::start_with(false).await
    }

    /// With a Lightning node, and nobody's settings: the operator is the test user.
    pub(super) async fn embedded() -> Self {
        Self::start_with(true).await
    }

    async fn start_with(is_embedded: bool) -> Self {
        let people = People { viewer: Keys::generate(), support: Keys::generate(), admin: Keys::generate() };
        let app = App::start(|post, _| if post.says(REFUSED) { Reply::Status(500) } else { Reply::Ok }).await;
        let folder = tempfile::tempdir().unwrap();
        let operator = |keys: &Keys, name: &str, role: &str| {
            format!("{{ key = \"{}\", name = \"{name}\", role = \"{role}\" }}", npub(&keys.public_key()))
        };
        let operators = [
            operator(&people.viewer, "Vera", "viewer"),
            operator(&people.support, "Sam", "support"),
            operator(&people.admin, "Ada", "admin"),
        ];
        let config = format!(
            "[auth]\nauth_token = \"{TOKEN}\"\n[nostr]\nprivate_key = \"{KEY}\"\n[console]\noperators = [{}]\n[wallet]\napproval_above_millisats = 10000000\napprovers = [\"{}\"]\n[webhook]\nurl = \
             \"{}\"\n[streams]\nretention_days = 30\n",
            operators.join(", "),
            npub(&people.viewer.public_key()),
            app.url(),
        );
        std::fs::write(folder.path().join("config.toml"), config).unwrap();
        let mut command = usher();
        command.args(["dev", "--port", "0", "--relay-port", "0", "--auto-approve"]);
        if is_embedded {
            command.arg("--embedded");
        } else {
            command.arg("--data-dir").arg(folder.path());
        }
        let mut running = Running::start(command);
        running.wait_for("Open the start page");
        let get = |name: &str| {
            let line = running.said.lines().find_map(|line| line.trim_start().strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name}: {}", running.said)).trim().to_owned()
        };
        let port = get("base URL").rsplit(':').next().unwrap().parse().unwrap();
        Self {
            api: Api::new(port, &get("token")),
            url: get("start page").trim_end_matches('/').to_owned(),
            user: get("user"),
            people,
            _running: running,
            _app: app,
            folder,
        }
    }
}

impl Stage {
    /// What a command of the program prints.
    pub(super) fn says(&self, arguments: &[&str]) -> String {
        let output = usher().arg("--data-dir").arg(self.folder.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn mint(&self) -> (String, String) {
        let said = self.says(&["dev", "env"]);
        let value = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(&format!("export {name}=")));
            line.unwrap_or_else(|| panic!("{name}: {said}")).to_owned()
        };
        (value("MINT"), value("MINT_TOKEN"))
    }

    /// A payment of the user; its stream, once it is paid.
    pub(super) async fn paid(&self, sats: u64, description: &str, reference: &str) -> String {
        let body = json!({
            "main_key": self.user, "subkeys": [], "description": description, "amount": sats, "currency": "sats",
            "request_id": reference,
        });
        let stream = self.api.start("/payments/single", &body).await;
        self.until_status(&stream, "paid").await;
        stream
    }

    pub(super) async fn until_status(&self, stream: &str, status: &str) {
        until(status, async || self.api.events(stream).await.0.iter().any(|event| event.status() == status)).await;
    }

    /// A ticket on its way to somebody who never redeems it.
    pub(super) async fn ticket(&self) {
        let (mint, token) = self.mint();
        let ticket = json!({ "mint_url": mint, "unit": "multi", "amount": 5, "static_token": token });
        let ticket = self.api.post("/cashu/mint", &ticket).await.unwrap()["token"].clone();
        let stranger = Keys::generate().public_key().to_hex();
        let sent = json!({ "mint_url": mint, "unit": "multi", "static_token": token, "main_key": stranger, "subkeys": [], "token": ticket });
        self.api.start("/cashu/send-direct", &sent).await;
    }

    /// The number on the page of a new age check.
    pub(super) async fn age_check(&self) -> String {
        let started = self.api.post("/verification/sessions", &json!({})).await.unwrap();
        let list = self.api.get("/verification/sessions?status=open").await.unwrap();
        let sessions = list["sessions"].as_array().unwrap();
        let session = sessions.iter().find(|session| session["session_id"] == started["session_id"]).unwrap();
        session["number"].to_string().trim_matches('"').to_owned()
    }

    pub(super) async fn subscription(&self) -> String {
        let now = self.api.get("/dev/clock").await.unwrap()["now"].as_u64().unwrap();
        let body = json!({
            "main_key": self.user, "subkeys": [], "description": HOSTILE, "amount": 1_000, "currency": "sats",
            "expires_at": now + 600, "recurrence": { "calendar": "monthly", "first_payment_due": now + 86_400 },
        });
        let stream = self.api.start("/payments/recurring", &body).await;
        let events = self.api.finished(&stream).await;
        events.last().unwrap().data["subscription_id"].as_str().unwrap_or_else(|| panic!("{events:?}")).to_owned()
    }

    /// Moves the clock of the service.
    pub(super) async fn advance(&self, seconds: u64) {
        self.api.post("/dev/clock", &json!({ "advance": seconds })).await.unwrap();
    }

    /// The last entry of the audit log: actor, action, outcome.
    pub(super) async fn last_entry(&self) -> [String; 3] {
        let head = self.api.get("/audit?limit=1").await.unwrap()["head"].as_str().unwrap_or("0:").to_owned();
        let last: u64 = head.split(':').next().unwrap().parse().unwrap();
        let page = self.api.get(&format!("/audit?after={}", last.saturating_sub(1))).await.unwrap();
        ["actor", "action", "outcome"].map(|name| page["entries"][0][name].as_str().unwrap_or_default().to_owned())
    }
}
