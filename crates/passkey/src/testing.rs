//! A software authenticator, whose responses tests can falsify.

// For tests only.
#![allow(clippy::expect_used, clippy::missing_panics_doc)]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::value::Value as Cbor;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The user was present.
pub const PRESENT: u8 = 0x01;
/// The user was verified.
pub const VERIFIED: u8 = 0x04;
/// The passkey can be synchronised.
pub const BACKUP_ELIGIBLE: u8 = 0x08;

const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// A passkey in an authenticator. Its fields determine its responses.
#[derive(Clone)]
pub struct SoftAuthenticator {
    pub(crate) key: SigningKey,
    /// The passkey's id.
    pub id: Vec<u8>,
    /// The service's id of the user.
    pub user_handle: String,
    /// The domain to which the passkey is bound.
    pub rp_id: String,
    /// The origin of the page, as reported by the browser.
    pub origin: String,
    /// Whether that page is in a cross-site frame, as reported by the browser.
    pub cross_origin: bool,
    /// The flags of the response.
    pub flags: u8,
    /// The counter of the next answer.
    pub counter: u32,
    /// CBOR of extension outputs, for creation and for use; omitted if empty.
    pub extensions: [Vec<u8>; 2],
    /// The format of its attestation, and the statement.
    pub attestation: (&'static str, Cbor),
}

impl SoftAuthenticator {
    /// A correct one. `seed`, which is not 0, determines its key and its id.
    pub fn new(seed: u8, rp_id: &str, origin: &str) -> Self {
        Self {
            key: SigningKey::from_bytes(&[seed; 32].into()).expect("a key"),
            id: vec![seed; 32],
            // 16 zero bytes.
            user_handle: "A".repeat(22),
            rp_id: rp_id.to_owned(),
            origin: origin.to_owned(),
            cross_origin: false,
            flags: PRESENT | VERIFIED,
            counter: 1,
            extensions: [Vec::new(), Vec::new()],
            attestation: ("none", Cbor::Map(Vec::new())),
        }
    }

    /// Its id in base64url.
    pub fn credential_id(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.id)
    }

    /// Creates the passkey: `RegistrationResponseJSON`. Increments the counter.
    pub fn make(&mut self, options: &Value) -> Value {
        options["user"]["id"].as_str().expect("a user handle").clone_into(&mut self.user_handle);
        let point = self.key.verifying_key().to_encoded_point(false);
        let bytes = |bytes: Option<&p256::FieldBytes>| Cbor::Bytes(bytes.expect("a coordinate").to_vec());
        let key = Cbor::Map(vec![
            (1.into(), 2.into()),
            (3.into(), (-7).into()),
            ((-1).into(), 1.into()),
            ((-2).into(), bytes(point.x())),
            ((-3).into(), bytes(point.y())),
        ]);
        let id_length = u16::try_from(self.id.len()).expect("a short id").to_be_bytes();
        let credential = [&[0; 16][..], &id_length, &self.id, &cbor(&key)].concat();
        let [extensions, _] = &self.extensions;
        let data = [&*self.data(HAS_CREDENTIAL | flag_of(extensions)), &credential, extensions].concat();
        let (format, statement) = self.attestation.clone();
        let object = Cbor::Map(vec![
            (Cbor::Text("fmt".to_owned()), Cbor::Text(format.to_owned())),
            (Cbor::Text("attStmt".to_owned()), statement),
            (Cbor::Text("authData".to_owned()), Cbor::Bytes(data)),
        ]);
        self.counter += 1;
        self.answer(json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(self.client_data("webauthn.create", options)),
            "attestationObject": URL_SAFE_NO_PAD.encode(cbor(&object)),
        }))
    }

    /// Uses the passkey: `AuthenticationResponseJSON`. Increments the counter.
    pub fn get(&mut self, options: &Value) -> Value {
        let [_, extensions] = &self.extensions;
        let client_data = self.client_data("webauthn.get", options);
        let data = [&*self.data(flag_of(extensions)), extensions].concat();
        let signed = [&*data, &Sha256::digest(&client_data)].concat();
        let signature: Signature = self.key.sign(&signed);
        self.counter += 1;
        self.answer(json!({
            "clientDataJSON": URL_SAFE_NO_PAD.encode(client_data),
            "authenticatorData": URL_SAFE_NO_PAD.encode(data),
            "signature": URL_SAFE_NO_PAD.encode(signature.to_der()),
            "userHandle": self.user_handle,
        }))
    }

    fn answer(&self, response: Value) -> Value {
        let id = self.credential_id();
        json!({ "id": id, "rawId": id, "type": "public-key", "clientExtensionResults": {}, "response": response })
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let Self { origin, cross_origin, .. } = self;
        json!({ "type": kind, "challenge": options["challenge"], "origin": origin, "crossOrigin": cross_origin })
            .to_string()
            .into_bytes()
    }

    fn data(&self, more_flags: u8) -> Vec<u8> {
        let rp_id = Sha256::digest(&self.rp_id);
        [&*rp_id, &[self.flags | more_flags], &self.counter.to_be_bytes()].concat()
    }
}

fn flag_of(extensions: &[u8]) -> u8 {
    if extensions.is_empty() { 0 } else { HAS_EXTENSIONS }
}

/// As CBOR.
pub fn cbor(value: &Cbor) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).expect("memory takes everything");
    bytes
}
