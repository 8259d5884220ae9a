//! The endpoints that manage the OpenID Connect provider; the provider is scripted.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use usher_engine::UnixMillis;
use usher_engine::ports::{OpenIdConsent, OpenIdControl, OpenIdKey, OpenIdKeyError, StoreError};
use usher_protocol::PublicKey;

use crate::app::{TestApp, key, read};

/// A provider with consents in memory, whose keys are numbered.
#[derive(Default)]
struct ScriptedProvider {
    consents: Mutex<Vec<OpenIdConsent>>,
    rotations: Mutex<u64>,
    revoked: Mutex<Vec<String>>,
    fails: Mutex<bool>,
}

impl ScriptedProvider {
    fn work(&self) -> Result<(), StoreError> {
        if *self.fails.lock() { Err(StoreError::Closed) } else { Ok(()) }
    }
}

#[async_trait]
impl OpenIdControl for ScriptedProvider {
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
