//! Parses what a page sends of an authenticator's response. Nothing unparsed reaches a library.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::value::Value as Cbor;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::error::{PasskeyError, malformed};

const AT: u8 = 0x40;
const ED: u8 = 0x80;
/// The flags UP, UV, BE and BS; those that announce further data are excluded.
const KNOWN_FLAGS: u8 = 0x1d;
const RP_ID_HASH_BYTES: usize = 32;
const AAGUID_BYTES: usize = 16;

/// Bytes in base64url without padding.
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        URL_SAFE_NO_PAD.decode(text).map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
enum CredentialType {
    #[serde(rename = "public-key")]
    PublicKey,
}

/// `RegistrationResponseJSON` or `AuthenticationResponseJSON`, without unused fields: the browser's extensions,
/// transports and attachment.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<R> {
    raw_id: Bytes,
    #[serde(rename = "type")]
    _kind: CredentialType,
    response: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attestation {
    #[serde(rename = "clientDataJSON")]
    client_data: Bytes,
    attestation_object: Bytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    pub(crate) client_data: Bytes,
    pub(crate) authenticator_data: Bytes,
    pub(crate) signature: Bytes,
    pub(crate) user_handle: Bytes,
}

pub(crate) fn assertion(json: &str) -> Result<(Vec<u8>, AssertionResponse), PasskeyError> {
    let answer: Answer<AssertionResponse> = serde_json::from_str(json).map_err(malformed)?;
    Ok((answer.raw_id.0, answer.response))
}

/// A registration response as `webauthn_rp` accepts it: without extensions, of which it supports few, and without an
/// attestation statement, which is not requested. Nothing omitted is signed.
pub(crate) fn registration(json: &str) -> Result<String, PasskeyError> {
    let Answer { raw_id, response, .. }: Answer<Attestation> = serde_json::from_str(json).map_err(malformed)?;
    let object: Cbor = ciborium::from_reader(&*response.attestation_object.0).map_err(malformed)?;
    let data = object.into_map().ok().and_then(|fields| {
        let is_data = |(name, _): &(Cbor, Cbor)| name.as_text() == Some("authData");
        fields.into_iter().find(is_data).and_then(|(_, data)| data.into_bytes().ok())
    });
    let data = data.as_deref().and_then(without_extensions);
    let data = data.ok_or_else(|| malformed("no authData with a credential"))?;
    let object = Cbor::Map(vec![
        (Cbor::Text("fmt".to_owned()), Cbor::Text("none".to_owned())),
        (Cbor::Text("attStmt".to_owned()), Cbor::Map(Vec::new())),
        (Cbor::Text("authData".to_owned()), Cbor::Bytes(data)),
    ]);
    let mut attestation = Vec::new();
    ciborium::into_writer(&object, &mut attestation).map_err(malformed)?;
    let id = URL_SAFE_NO_PAD.encode(raw_id.0);
    let answer: Value = json!({
        "id": id,
        "rawId": id,
        "type": "public-key",
        "clientExtensionResults": {},
        "response": {
            "clientDataJSON": URL_SAFE_NO_PAD.encode(response.client_data.0),
            "attestationObject": URL_SAFE_NO_PAD.encode(attestation),
        },
    });
    Ok(answer.to_string())
}

/// The beginning of authenticator data (WebAuthn, section 6.1).
#[derive(Clone, Copy)]
pub(crate) struct AuthenticatorData<'a> {
    pub(crate) rp_id_hash: &'a [u8],
    pub(crate) flags: u8,
    pub(crate) counter: u32,
    /// The credential of a registration, and extensions.
    rest: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_at_checked(RP_ID_HASH_BYTES)?;
        let (&flags, rest) = rest.split_first()?;
        let (&counter, rest) = rest.split_first_chunk()?;
        let may_have_rest = flags & (AT | ED) != 0;
        (may_have_rest || rest.is_empty()).then_some(Self {
            rp_id_hash,
            flags,
            counter: u32::from_be_bytes(counter),
            rest,
        })
    }
}

fn without_extensions(data: &[u8]) -> Option<Vec<u8>> {
    let AuthenticatorData { rp_id_hash, flags, counter, rest: credential } = AuthenticatorData::read(data)?;
    let (&id_length, after) = credential.get(AAGUID_BYTES..)?.split_first_chunk()?;
    let mut after_key = after.get(usize::from(u16::from_be_bytes(id_length))..)?;
    // The length of the key is known only after parsing it.
    ciborium::from_reader::<Cbor, _>(&mut after_key).ok()?;
    let credential = credential.get(..credential.len() - after_key.len())?;
    Some([rp_id_hash, &[flags & (KNOWN_FLAGS | AT)], &counter.to_be_bytes(), credential].concat())
}
