//! The endpoints that manage the OpenID Connect provider; the provider is scripted.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::{
    NewOpenIdClient, OpenIdClient, OpenIdClientError, OpenIdClientFields, OpenIdConsent, OpenIdControl, OpenIdKey,
    OpenIdKeyError, StoreError,
};
use usher_protocol::PublicKey;

use crate::app::{TestApp, key, read};

/// A provider with consents in memory, whose keys are numbered.
#[derive(Default)]
struct ScriptedProvider {
    consents: Mutex<Vec<OpenIdConsent>>,
    rotations: Mutex<u64>,
    revoked: Mutex<Vec<String>>,
    fails: Mutex<bool>,
    /// Beside `a`, which is of the configuration.
    stored: Mutex<Vec<OpenIdClient>>,
}

fn client(client_id: &str, created_at: Option<UnixMillis>) -> OpenIdClient {
    OpenIdClient {
        client_id: client_id.to_owned(),
        name: client_id.to_uppercase(),
        is_public: false,
        redirect_uris: vec![format!("https://{client_id}.example/")],
        post_logout_redirect_uris: Vec::new(),
        require_pkce: true,
        algorithm: "RS256",
        created_at,
    }
}

impl ScriptedProvider {
    fn work(&self) -> Result<(), StoreError> {
        if *self.fails.lock() { Err(StoreError::Closed) } else { Ok(()) }
    }
}

#[async_trait]
impl OpenIdControl for ScriptedProvider {
    fn is_on(&self) -> bool {
        true
    }

    fn clients(&self) -> Vec<OpenIdClient> {
        let stored = self.stored.lock().clone();
        [client("a", None)].into_iter().chain(stored).collect()
    }

    async fn create_client(&self, new: NewOpenIdClient) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        self.work()?;
        let fields = new.fields;
        let created = OpenIdClient {
            name: fields.name.unwrap(),
            is_public: new.is_public,
            redirect_uris: fields.redirect_uris.unwrap(),
            require_pkce: fields.require_pkce.unwrap_or(true),
            algorithm: fields.algorithm.unwrap_or("RS256"),
            ..client(&new.client_id.unwrap_or_else(|| "random".to_owned()), Some(UnixMillis(7_000)))
        };
        self.stored.lock().push(created.clone());
        Ok((created, Some("new-secret".to_owned())))
    }

    async fn change_client(
        &self,
        client_id: &str,
        change: OpenIdClientFields,
        rotates_secret: bool,
    ) -> Result<(OpenIdClient, Option<String>), OpenIdClientError> {
        self.delete_client(client_id).await?;
        let changed = OpenIdClient { name: change.name.unwrap(), ..client(client_id, Some(UnixMillis(7_000))) };
        self.stored.lock().push(changed.clone());
        Ok((changed, rotates_secret.then(|| "newer-secret".to_owned())))
    }

    async fn delete_client(&self, client_id: &str) -> Result<(), OpenIdClientError> {
        self.work()?;
        if client_id == "a" {
            return Err(OpenIdClientError::Configured);
        }
        let mut stored = self.stored.lock();
        let place = stored.iter().position(|client| client.client_id == client_id);
        place.map(|place| drop(stored.remove(place))).ok_or(OpenIdClientError::NotFound)
    }

    async fn consents(&self, after: Option<(String, String)>, limit: usize) -> Result<Vec<OpenIdConsent>, StoreError> {
        self.work()?;
        let is_later =
            |consent: &&OpenIdConsent| after.as_ref() < Some(&(consent.client_id.clone(), consent.subject.clone()));
        Ok(self.consents.lock().iter().filter(is_later).take(limit).cloned().collect())
    }

    async fn revoke_consent(&self, client_id: &str, user: PublicKey) -> Result<bool, StoreError> {
        self.work()?;
        let mut consents = self.consents.lock();
        let before = consents.len();
        consents.retain(|consent| consent.client_id != client_id || consent.subject != user.to_hex());
        Ok(consents.len() < before)
    }

    fn keys(&self) -> Vec<OpenIdKey> {
        let newest = *self.rotations.lock();
        let key = |number: u64| OpenIdKey {
            kid: format!("key-{number}"),
            algorithm: "RS256",
            made_at: UnixMillis(number * 1000),
            retired_at: (number < newest).then_some(UnixMillis(newest * 1000)),
        };
        let revoked = self.revoked.lock();
        (0..=newest).rev().map(key).filter(|key| !revoked.contains(&key.kid)).collect()
    }

    async fn rotate_keys(&self) -> Result<Vec<OpenIdKey>, OpenIdKeyError> {
        self.work()?;
        *self.rotations.lock() += 1;
        Ok(self.keys())
    }

    async fn revoke_key(&self, kid: &str) -> Result<Option<Vec<OpenIdKey>>, OpenIdKeyError> {
        self.work()?;
        if !self.keys().iter().any(|key| key.kid == kid) {
            return Ok(None);
        }
        self.revoked.lock().push(kid.to_owned());
        Ok(Some(self.keys()))
    }
}

fn consent(client_id: &str, user: u8) -> OpenIdConsent {
    OpenIdConsent {
        client_id: client_id.to_owned(),
        subject: key(user).to_hex(),
        scopes: "openid profile".to_owned(),
        at: UnixMillis(1_732_137_600_000),
    }
}

/// A provider with three consents and a key.
pub(crate) fn provider() -> Arc<dyn OpenIdControl> {
    scripted()
}

fn scripted() -> Arc<ScriptedProvider> {
    let mut consents = vec![consent("a", 1), consent("a", 2), consent("b", 1)];
    consents.sort_by_key(|consent| (consent.client_id.clone(), consent.subject.clone()));
    Arc::new(ScriptedProvider { consents: Mutex::new(consents), ..ScriptedProvider::default() })
}

async fn start() -> (TestApp, Arc<ScriptedProvider>) {
    let provider = scripted();
    let builder = crate::app::Builder { openid: Some(Arc::clone(&provider) as _), ..TestApp::builder() };
    (builder.start().await, provider)
}

#[tokio::test]
async fn consents_are_listed_and_revoked_once() {
    let (app, provider) = start().await;
    let all = provider.consents.lock().clone();
    let first = app.read("/oidc/consents?limit=2").await;
    let expected = json!({
        "client_id": "a", "main_key": all[0].subject, "scopes": ["openid", "profile"], "agreed_at": 1_732_137_600,
    });
    assert_eq!((first["consents"].as_array().unwrap().len(), &first["consents"][0]), (2, &expected));
    assert_eq!(first["next"], format!("a:{}", all[1].subject));
    let body = json!({ "client_id": "a", "main_key": key(1).to_hex() });
    assert_eq!(app.done("DELETE", "/oidc/consents", body.clone()).await, json!({ "status": "revoked" }));
    assert_eq!(provider.consents.lock().len(), 2);
    app.refused("DELETE", "/oidc/consents", body, (404, "consent_not_found")).await;
}

#[tokio::test]
async fn keys_are_listed_rotated_once_for_each_idempotency_key_and_revoked_once() {
    let (app, _) = start().await;
    let current =
        json!({ "kid": "key-0", "algorithm": "RS256", "status": "current", "created_at": 0, "retired_at": null });
    assert_eq!(app.read("/oidc/keys").await, json!({ "keys": [current] }));
    for _ in 0..2 {
        let (status, body) = read(app.post("/oidc/keys").header("Idempotency-Key", "one")).await;
        assert_eq!((status, body["keys"].as_array().unwrap().len()), (200, 2), "{body}");
        assert_eq!((&body["keys"][0]["status"], &body["keys"][1]["status"]), (&json!("current"), &json!("retired")));
        assert_eq!(body["keys"][1]["retired_at"], 1);
    }
    let left = app.done("DELETE", "/oidc/keys/key-0", Value::Null).await;
    assert_eq!((left["keys"].as_array().unwrap().len(), &left["keys"][0]["kid"]), (1, &json!("key-1")));
    for kid in ["key-0", "%ff", "key-1x"] {
        app.refused("DELETE", &format!("/oidc/keys/{kid}"), Value::Null, (404, "signing_key_not_found")).await;
    }
}

#[tokio::test]
async fn clients_are_created_changed_and_deleted_and_a_secret_is_shown_once() {
    let (app, _) = start().await;
    let body = json!({ "client_id": "b", "name": "B", "redirect_uris": ["https://b.example/"], "require_pkce": false });
    let shown = json!({
        "client_id": "b", "name": "B", "public": false, "redirect_uris": ["https://b.example/"],
        "post_logout_redirect_uris": [], "require_pkce": false, "signing_algorithm": "RS256", "source": "stored",
        "created_at": 7,
    });
    let create = || read(app.post("/oidc/clients").header("Idempotency-Key", "one").json(&body));
    assert_eq!(create().await, (200, json!({ "client": shown, "secret": "new-secret" })));
    assert_eq!(create().await, (200, json!({ "client": shown })), "repeated");
    let listed = app.read("/oidc/clients").await;
    assert_eq!(listed["clients"][0]["source"], "configuration");
    assert_eq!((&listed["clients"][0]["created_at"], &listed["clients"][1]), (&Value::Null, &shown));

    let renamed = app.done("PATCH", "/oidc/clients/b", json!({ "name": "New" })).await;
    assert_eq!((&renamed["client"]["name"], &renamed["secret"]), (&json!("New"), &Value::Null));
    let rotated = app.done("PATCH", "/oidc/clients/b", json!({ "name": "B", "rotate_secret": true })).await;
    assert_eq!(rotated["secret"], "newer-secret");
    let deleted = json!({ "client_id": "b", "status": "deleted" });
    assert_eq!(app.done("DELETE", "/oidc/clients/b", Value::Null).await, deleted);
    for (uri, is_near) in
        [("https://usher.example/", true), ("https://a.usher.example/", true), ("https://notusher.example/", false)]
    {
        let body = json!({ "client_id": "c", "name": "C", "redirect_uris": [uri] });
        let warning = app.done("POST", "/oidc/clients", body).await["client"]["warning"].clone();
        assert_eq!(warning.as_str().is_some_and(|text| text.contains("domain of the passkeys")), is_near, "{uri}");
        app.done("DELETE", "/oidc/clients/c", Value::Null).await;
    }
    for (id, refusal) in [("b", (404, "client_not_found")), ("a", (409, "client_of_configuration"))] {
        let path = format!("/oidc/clients/{id}");
        app.refused("DELETE", &path, Value::Null, refusal).await;
        app.refused("PATCH", &path, json!({ "name": "X" }), refusal).await;
    }
}

#[tokio::test]
async fn failures_have_codes() {
    let (app, provider) = start().await;
    *provider.fails.lock() = true;
    let none = TestApp::start().await;
    for (method, path) in [
        ("GET", "/oidc/consents"),
        ("DELETE", "/oidc/consents"),
        ("POST", "/oidc/keys"),
        ("DELETE", "/oidc/keys/key-0"),
        ("GET", "/oidc/keys"),
    ] {
        let body = json!({ "client_id": "a", "main_key": key(1).to_hex() });
        if (method, path) != ("GET", "/oidc/keys") {
            app.refused(method, path, body.clone(), (503, "storage_unavailable")).await;
        }
        let problem = none.refused(method, path, body, (503, "oidc_not_configured")).await;
        assert!(problem["detail"].as_str().unwrap().contains("oidc.clients"), "{problem}");
    }
}
