//! The browser's own authenticators in software (Chrome DevTools Protocol, domain WebAuthn).

use serde_json::{Value, json};

use crate::Browser;

/// An authenticator of a browser's tab.
pub struct Authenticator(String);

impl Browser {
    /// Gives the tab a device that keeps passkeys and confirms by itself. `has_prf`: it evaluates a function for a site.
    pub async fn add_authenticator(&mut self, has_prf: bool) -> Authenticator {
        self.command("WebAuthn.enable", json!({})).await;
        let options = json!({
            "protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal", "hasResidentKey": true,
            "hasUserVerification": true, "isUserVerified": true, "automaticPresenceSimulation": true, "hasPrf": has_prf,
        });
        let added = self.command("WebAuthn.addVirtualAuthenticator", json!({ "options": options })).await;
        Authenticator(added["authenticatorId"].as_str().unwrap().to_owned())
    }

    /// The passkeys that the device keeps.
    pub async fn passkeys(&mut self, authenticator: &Authenticator) -> Vec<Value> {
        let kept = self.command("WebAuthn.getCredentials", json!({ "authenticatorId": authenticator.0 })).await;
        kept["credentials"].as_array().unwrap().clone()
    }
}
