//! Signatures of bodies: the service's own scheme and that of Standard Webhooks 1.0.0.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, Mac};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;
use usher_engine::UnixMillis;

use crate::WebhookError;

/// Prefix of a secret in the form of Standard Webhooks.
const STANDARD_PREFIX: &str = "whsec_";

/// Decodes base64 with or without padding, as verifiers do.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(crate) struct Signer {
    secrets: Vec<Secret>,
    /// When it was last used, in Unix milliseconds; 0 for never. All secrets sign each body.
    signed_at: AtomicU64,
}

/// A secret, with the keys that the two schemes derive from it.
struct Secret {
    /// Keyed with the text as configured.
    service: Hmac<Sha256>,
    /// The key is the decoded text after `whsec_`, or the text itself without that prefix.
    standard: Hmac<Sha256>,
}

impl Signer {
    /// Parses the secrets, newest first. Fails if one is empty, or `whsec_` is not followed by the base64 of a key.
    pub(crate) fn new(secrets: &[SecretString]) -> Result<Self, WebhookError> {
        let secrets = secrets
            .iter()
            .zip(1..)
            .map(|(text, position)| Secret::new(text.expose_secret()).ok_or(WebhookError::NotAKey { position }));
        Ok(Self { secrets: secrets.collect::<Result<_, _>>()?, signed_at: AtomicU64::new(0) })
    }

    pub(crate) fn len(&self) -> usize {
        self.secrets.len()
    }

    pub(crate) fn note_use(&self, now: UnixMillis) {
        self.signed_at.fetch_max(now.0, Ordering::Relaxed);
    }

    /// When each secret was last used, newest secret first.
    pub(crate) fn last_uses(&self) -> Vec<Option<UnixMillis>> {
        let signed_at = Some(self.signed_at.load(Ordering::Relaxed)).filter(|at| *at > 0).map(UnixMillis);
        vec![signed_at; self.secrets.len()]
    }

    /// `X-Service-Signature`: lower-case hex of HMAC-SHA256 over the body, with the newest secret; `None` without one.
    pub(crate) fn service_signature(&self, body: &[u8]) -> Option<String> {
        self.secrets.first().map(|newest| hex::encode(sign(&newest.service, &[body])))
    }

    /// `webhook-signature`: for each secret `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; `None`
    /// without secrets.
    pub(crate) fn standard_signature(&self, id: &str, timestamp: &str, body: &[u8]) -> Option<String> {
        let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
        let signatures: Vec<String> = self
            .secrets
            .iter()
            .map(|secret| format!("v1,{}", STANDARD.encode(sign(&secret.standard, &signed))))
            .collect();
        (!signatures.is_empty()).then(|| signatures.join(" "))
    }
}

impl Secret {
    /// `None` if the text is not a key.
    fn new(text: &str) -> Option<Self> {
        let standard = Zeroizing::new(match text.strip_prefix(STANDARD_PREFIX) {
            Some(encoded) => LENIENT.decode(encoded).ok()?,
            None => text.as_bytes().to_vec(),
        });
        if standard.is_empty() {
            return None;
        }
        Some(Self {
            service: Hmac::new_from_slice(text.as_bytes()).ok()?,
            standard: Hmac::new_from_slice(&standard).ok()?,
        })
    }
}

fn sign(keyed: &Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = keyed.clone();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}
