//! Apps of other implementations (npm `openid-client`, PyPI `Authlib`) log users in through the service, in a real browser
//! (Debian's chromium), with an extension of another implementation (npm `nostr-tools`).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use usher_protocol::{Keys, PublicKey};
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::{Browser, Library, RelyingParty};

use crate::harness::{EXTENSION_BUTTON, TestUsher, has, is_for_everybody, shows};

const SECRET: &str = "app-secret-app-secret-app-secret-app";

struct Fixture {
    usher: TestUsher,
    app: RelyingParty,
    browser: Browser,
    user: PublicKey,
    _relay: EmbeddedRelay,
}

impl Fixture {
    async fn start(library: Library, client: Value) -> Self {
        Self::start_at(library, client, None).await
    }

    /// On its only port, or with a port of the pages' own, which browsers find at this URL.
    async fn start_at(library: Library, client: Value, pages: Option<(u16, String)>) -> Self {
        let is_public = client["public"] == true;
        let app =
            RelyingParty::start(library, "app", (!is_public).then_some(SECRET), "openid profile email offline_access");
        let mut entry = json!({
            "id": "app", "name": "The App", "redirect_uris": [format!("{}/callback", app.address)],
            "post_logout_redirect_uris": [format!("{}/bye", app.address)],
        });
        if !is_public {
            entry["secret"] = SECRET.into();
        }
        entry.as_object_mut().unwrap().extend(client.as_object().unwrap().clone());
        let relay = EmbeddedRelay::start().await.unwrap();
        let mut builder = TestUsher::builder().relays(&[relay.url()]).set("OIDC__CLIENTS", json!([entry]));
        builder = builder.set("OIDC__EMAIL_DOMAIN", "users.example");
        if let Some((port, url)) = &pages {
            builder = builder.set("PAGES__LISTEN_PORT", port).set("PAGES__PUBLIC_URL", url);
        }
        let usher = builder.start().await;
        let issuer = pages.map_or_else(|| usher.api().base, |(_, url)| url);
        let keys = Keys::generate();
        let mut browser = Browser::start().await;
        browser.install_extension(&keys.secret_key().to_secret_hex()).await;
        let mut fixture = Self { usher, app, browser, user: keys.public_key(), _relay: relay };
        assert_eq!(fixture.app.ask(&json!({ "issuer": issuer })), json!({ "discovered": issuer }));
        fixture
    }

    async fn open_login(&mut self) {
        self.browser.open(&format!("{}/login", self.app.address)).await;
    }

    async fn click_extension(&mut self) {
        self.browser.until(&has(EXTENSION_BUTTON)).await;
        shows(&mut self.browser, &["Log in to The App"]).await;
        self.browser.click(EXTENSION_BUTTON).await;
    }

    /// On the page that asks: the user agrees.
    async fn agree(&mut self) {
        self.browser.until(&has("button[value=allow]")).await;
        is_for_everybody(&mut self.browser).await;
        self.browser.click("button[value=allow]").await;
    }

    async fn done(&mut self) -> Value {
        self.browser.until("document.querySelector('#done, #failed') !== null").await;
        let result = self.app.result();
        assert!(result["error"].is_null(), "{result}");
        let hex = self.user.to_hex();
        assert_eq!(result["claims"]["sub"], hex);
        assert_eq!(result["user"]["sub"], hex);
        assert_eq!(result["user"]["email"], format!("{hex}@users.example"));
        assert_eq!(result["claims"]["email"], result["user"]["email"]);
        assert!(result["user"]["preferred_username"].as_str().unwrap().starts_with("npub1"), "{result}");
        result
    }

    /// A login from the beginning to the end; its result.
    async fn login(&mut self) -> Value {
        self.open_login().await;
        self.click_extension().await;
        self.agree().await;
        self.done().await
    }
}

async fn logs_in_refreshes_and_passes_at_once(library: Library, client: Value) -> Value {
    let mut fixture = Fixture::start(library, client).await;
    fixture.browser.be_a_phone().await;
    let result = fixture.login().await;
    assert_eq!(result["claims"]["amr"], json!(["extension"]));

    let refreshed = fixture.app.ask(&json!({ "refresh": result["tokens"]["refresh_token"] }));
    assert_eq!(refreshed["claims"]["sub"], result["claims"]["sub"], "{refreshed}");
    // As a parallel request of the app would: that is no theft.
    let parallel = fixture.app.ask(&json!({ "refresh": result["tokens"]["refresh_token"] }));
    assert_eq!(parallel["tokens"]["refresh_token"], refreshed["tokens"]["refresh_token"], "{parallel}");
    let refreshed = fixture.app.ask(&json!({ "refresh": refreshed["tokens"]["refresh_token"] }));
    assert_eq!(refreshed["claims"]["sub"], result["claims"]["sub"], "{refreshed}");
    let used_at = Instant::now();

    // The browser is logged in and has agreed: the second login asks nothing, also after a crash.
    fixture.usher.restart().await;
    fixture.open_login().await;
    let again = fixture.done().await;
    assert_eq!(again["claims"]["auth_time"], result["claims"]["auth_time"]);

    // A token that was used some time ago takes its family along.
    tokio::time::sleep(Duration::from_secs(11).saturating_sub(used_at.elapsed())).await;
    let replayed = fixture.app.ask(&json!({ "refresh": result["tokens"]["refresh_token"] }));
    assert_eq!(replayed["error"], "invalid_grant", "{replayed}");
    let stolen = fixture.app.ask(&json!({ "refresh": refreshed["tokens"]["refresh_token"] }));
    assert_eq!(stolen["error"], "invalid_grant", "{stolen}");

    let log = fixture.usher.log();
    for name in ["access_token", "refresh_token", "id_token"] {
        let token = result["tokens"][name].as_str().unwrap();
        assert!(!log.contains(token), "{name} stays out of the log");
    }
    let complaints = fixture.browser.complaints();
    let base = fixture.usher.api().base;
    let ours: Vec<_> = complaints.into_iter().filter(|complaint| complaint.to_string().contains(&base)).collect();
    assert_eq!(ours, [] as [&Value; 0]);
    result
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn app_with_openid_client_logs_a_user_in() {
    logs_in_refreshes_and_passes_at_once(Library::OpenidClient, json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn app_with_authlib_logs_a_user_in() {
    logs_in_refreshes_and_passes_at_once(Library::Authlib, json!({ "signing_algorithm": "ES256" })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn public_app_logs_a_user_in_and_out() {
    // Its port is another one each time (RFC 8252 section 7.3).
    let any_port = json!({ "public": true, "redirect_uris": ["http://127.0.0.1/callback"] });
    let mut fixture = Fixture::start(Library::OpenidClient, any_port).await;
    let result = fixture.login().await;
    let ended = fixture.app.ask(&json!({ "end_session": result["tokens"]["id_token"] }));
    fixture.browser.open(ended["address"].as_str().unwrap()).await;
    fixture.browser.until("document.querySelector('#bye') !== null").await;
    // The next login needs the extension again, but no consent.
    fixture.open_login().await;
    fixture.click_extension().await;
    fixture.done().await;
    // An app that asks silently learns that nobody is logged in.
    let silent = Browser::start().await;
    fixture.browser = silent;
    fixture.browser.open(&format!("{}/login?prompt=none", fixture.app.address)).await;
    fixture.browser.until("document.querySelector('#failed') !== null").await;
    assert_eq!(fixture.app.result()["error"], "login_required");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provider_is_where_the_pages_are() {
    let port = usher_loopback_port::free().unwrap();
    // Below a path, which no proxy takes away.
    let pages = Some((port, format!("http://127.0.0.1:{port}/usher")));
    let mut fixture = Fixture::start_at(Library::OpenidClient, json!({}), pages).await;
    fixture.login().await;
    fixture.browser.open(&format!("{}/login?response_mode=form_post", fixture.app.address)).await;
    fixture.done().await;
    let api = fixture.usher.api();
    let status = async |address: String| api.http.get(address).bearer_auth(&api.token).send().await.unwrap().status();
    for path in ["/oauth/jwks", "/.well-known/openid-configuration"] {
        // Another proxy takes the path away.
        for base in ["", "/usher"] {
            assert_eq!(status(format!("http://127.0.0.1:{port}{base}{path}")).await, 200, "{base}{path}");
            assert_eq!(status(format!("{}{base}{path}", api.base)).await, 404, "{base}{path}");
        }
    }
    for path in ["/oidc/keys", "/oidc/consents"] {
        assert_eq!(status(format!("http://127.0.0.1:{port}{path}")).await, 404, "{path}");
        assert_eq!(status(format!("{}{path}", api.base)).await, 200, "{path}");
    }
}
