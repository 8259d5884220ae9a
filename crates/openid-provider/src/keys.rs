//! The keys that sign ID tokens: generated at first use, stored in the database, rotated after 90 days.
//!
//! After a rotation the previous key stays in the key set for a day, because clients hold ID tokens signed with it. A
//! revoked key is removed at once.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64URL};
use parking_lot::RwLock;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RsaKeyPair,
};
use rsa::pkcs8::EncodePrivateKey as _;
use rsa::rand_core::OsRng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, OpenIdKey, OpenIdKeyError, OpenIdStore};

const SETTING: &str = "openid.keys";
/// Bits of an RSA key: the minimum of RFC 7518 section 3.3, which all libraries accept.
const RSA_BITS: usize = 2048;
/// How long a key stays published after its rotation.
const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Most keys published after their rotation: more rotations within a day end the oldest early.
const MAX_RETIRED: usize = 16;
/// How long a key signs.
const LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

usher_protocol::words! {
    /// A signature algorithm of ID tokens (RFC 7518).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Algorithm {
        /// RSA with SHA-256, which every library supports.
        #[default]
        #[serde(rename = "RS256")]
        Rs256 = "RS256",
        /// ECDSA on P-256 with SHA-256: smaller and faster.
        #[serde(rename = "ES256")]
        Es256 = "ES256",
    }
}

/// A key as stored. Secret: it has no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
struct StoredKey {
    algorithm: Algorithm,
    /// The private key (PKCS #8), in Base64.
    pkcs8: String,
    /// Unix milliseconds.
    made_at: u64,
    retired_at: Option<u64>,
}

enum KeyPair {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
}

struct Key {
    stored: StoredKey,
    pair: KeyPair,
    kid: String,
    /// The public key (RFC 7517).
    jwk: Value,
}

/// The keys of the provider, the newest first.
pub struct SigningKeys {
    keys: RwLock<Arc<Vec<Key>>>,
    /// Locked for a whole rotation.
    rotation: tokio::sync::Mutex<()>,
    store: Arc<dyn OpenIdStore>,
    clock: Arc<dyn Clock>,
    random: SystemRandom,
}

impl SigningKeys {
    /// No keys yet.
    pub fn new(store: Arc<dyn OpenIdStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            keys: RwLock::new(Arc::new(Vec::new())),
            rotation: tokio::sync::Mutex::new(()),
            store,
            clock,
            random: SystemRandom::new(),
        }
    }

    /// Reads the keys, unless it has, and generates missing ones.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; there are no keys then.
    pub async fn ensure(&self) -> Result<(), OpenIdKeyError> {
        let _one = self.rotation.lock().await;
        if !self.keys.read().is_empty() {
            return Ok(());
        }
        let stored: Vec<StoredKey> = match self.store.setting(SETTING).await? {
            None => Vec::new(),
            Some(text) => serde_json::from_str(&text).map_err(|_| OpenIdKeyError::Damaged)?,
        };
        let missing =
            Algorithm::ALL.into_iter().filter(|of| !stored.iter().any(|key| key.algorithm == *of && key.is_current()));
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            return self.replace(missing, stored).await;
        }
        *self.keys.write() = self.read(stored)?;
        Ok(())
    }

    /// Generates new signing keys. The previous ones stay published for a day, older ones do not. Returns all keys.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; the previous keys then continue to sign.
    pub async fn rotate(&self) -> Result<Vec<OpenIdKey>, OpenIdKeyError> {
        let _one = self.rotation.lock().await;
        let now = self.clock.now();
        let mut stored: Vec<StoredKey> = self.keys.read().iter().map(|key| key.stored.clone()).collect();
        stored.retain(|key| key.retired_at.is_none_or(|at| now.since(UnixMillis(at)) < KEPT));
        stored.truncate(MAX_RETIRED);
        for key in &mut stored {
            key.retired_at.get_or_insert(now.0);
        }
        self.replace(Algorithm::ALL.to_vec(), stored).await?;
        Ok(self.list())
    }

    /// Removes a compromised key at once, so that nothing signed with it is accepted. If it is a signing key, a new one
    /// replaces it. Returns all keys; `None` if there is no such key.
    ///
    /// # Errors
    /// [`OpenIdKeyError`]; the key then stays.
    pub async fn revoke(&self, kid: &str) -> Result<Option<Vec<OpenIdKey>>, OpenIdKeyError> {
        let _one = self.rotation.lock().await;
        let keys = Arc::clone(&self.keys.read());
        let Some(revoked) = keys.iter().find(|key| key.kid == kid) else { return Ok(None) };
        let replaced = revoked.stored.is_current().then_some(revoked.stored.algorithm);
        let others = keys.iter().filter(|key| key.kid != kid).map(|key| key.stored.clone()).collect();
        self.replace(replaced.into_iter().collect(), others).await?;
        Ok(Some(self.list()))
    }

    /// Rotates keys older than [`LIFETIME`].
    pub(crate) async fn rotate_old(&self) -> Result<(), OpenIdKeyError> {
        let now = self.clock.now();
        let is_old = |key: &OpenIdKey| key.retired_at.is_none() && now.since(key.made_at) >= LIFETIME;
        if self.list().iter().any(is_old) {
            self.rotate().await?;
            tracing::info!("the signing keys of the OpenID Connect provider were rotated");
        }
        Ok(())
    }

    /// The keys, for operators.
    pub fn list(&self) -> Vec<OpenIdKey> {
        let keys = self.keys.read();
        let info = |key: &Key| OpenIdKey {
            kid: key.kid.clone(),
            algorithm: key.stored.algorithm.as_str(),
            made_at: UnixMillis(key.stored.made_at),
            retired_at: key.stored.retired_at.map(UnixMillis),
        };
        keys.iter().map(info).collect()
    }

    /// The public keys (RFC 7517).
    pub(crate) fn jwks(&self) -> Value {
        let now = self.clock.now();
        let keys = self.keys.read();
        let published =
            keys.iter().filter(|key| key.stored.retired_at.is_none_or(|at| now.since(UnixMillis(at)) < KEPT));
        json!({ "keys": published.map(|key| &key.jwk).collect::<Vec<_>>() })
    }

    pub(crate) fn sign(&self, algorithm: Algorithm, claims: &Value) -> Result<String, OpenIdKeyError> {
        let keys = Arc::clone(&self.keys.read());
        let key = keys.iter().find(|key| key.stored.algorithm == algorithm && key.stored.is_current());
        let key = key.ok_or(OpenIdKeyError::Crypto)?;
        let header = json!({ "alg": algorithm.as_str(), "kid": key.kid, "typ": "JWT" });
        let signed = format!("{}.{}", BASE64URL.encode(header.to_string()), BASE64URL.encode(claims.to_string()));
        let signature = match &key.pair {
            KeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &self.random, signed.as_bytes(), &mut signature)
                    .map_err(|_| OpenIdKeyError::Crypto)?;
                signature
            }
            KeyPair::Ecdsa(pair) => {
                pair.sign(&self.random, signed.as_bytes()).map_err(|_| OpenIdKeyError::Crypto)?.as_ref().to_vec()
            }
        };
        Ok(format!("{signed}.{}", BASE64URL.encode(signature)))
    }

    /// The claims of a JWT signed with one of the keys, expired or not.
    pub(crate) fn verify(&self, jwt: &str) -> Option<Value> {
        let (signed, signature) = jwt.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = BASE64URL.decode(signature).ok()?;
        let header: Value = serde_json::from_slice(&BASE64URL.decode(header).ok()?).ok()?;
        let keys = Arc::clone(&self.keys.read());
        let key = keys.iter().find(|key| header["kid"] == key.kid.as_str())?;
        if header["alg"] != key.stored.algorithm.as_str() {
            return None;
        }
        let verified = match &key.pair {
            KeyPair::Rsa(pair) => PublicKeyComponents::<Vec<u8>>::from(pair.public()).verify(
                &signature::RSA_PKCS1_2048_8192_SHA256,
                signed.as_bytes(),
                &signature,
            ),
            KeyPair::Ecdsa(pair) => {
                signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref())
                    .verify(signed.as_bytes(), &signature)
            }
        };
        verified.ok()?;
        serde_json::from_slice(&BASE64URL.decode(claims).ok()?).ok()
    }

    async fn replace(&self, make: Vec<Algorithm>, others: Vec<StoredKey>) -> Result<(), OpenIdKeyError> {
        let now = self.clock.now();
        // An RSA key takes a fifth of a second.
        let made = tokio::task::spawn_blocking(move || {
            let made = make.into_iter().map(|algorithm| generate(algorithm, now));
            made.collect::<Result<Vec<_>, _>>()
        });
        let stored: Vec<StoredKey> =
            made.await.map_err(|_| OpenIdKeyError::Crypto)??.into_iter().chain(others).collect();
        let text = serde_json::to_string(&stored).map_err(|_| OpenIdKeyError::Crypto)?;
        // An unusable key is not stored.
        let keys = self.read(stored)?;
        self.store.set_setting(SETTING, Some(&text)).await?;
        *self.keys.write() = keys;
        Ok(())
    }

    fn read(&self, stored: Vec<StoredKey>) -> Result<Arc<Vec<Key>>, OpenIdKeyError> {
        stored.into_iter().map(|key| key.read(&self.random)).collect::<Result<Vec<_>, _>>().map(Arc::new)
    }
}

impl StoredKey {
    const fn is_current(&self) -> bool {
        self.retired_at.is_none()
    }

    fn read(self, random: &SystemRandom) -> Result<Key, OpenIdKeyError> {
        let pkcs8 = BASE64.decode(&self.pkcs8).map_err(|_| OpenIdKeyError::Damaged)?;
        let (pair, public) = match self.algorithm {
            Algorithm::Rs256 => {
                let pair = RsaKeyPair::from_pkcs8(&pkcs8).map_err(|_| OpenIdKeyError::Damaged)?;
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                let public = json!({ "e": BASE64URL.encode(e), "kty": "RSA", "n": BASE64URL.encode(n) });
                (KeyPair::Rsa(Box::new(pair)), public)
            }
            Algorithm::Es256 => {
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, random);
                let pair = pair.map_err(|_| OpenIdKeyError::Damaged)?;
                // Uncompressed: 4, x, y.
                let point = pair.public_key().as_ref();
                let (x, y) =
                    point.get(1..).and_then(|point| point.split_at_checked(32)).ok_or(OpenIdKeyError::Damaged)?;
                let (x, y) = (BASE64URL.encode(x), BASE64URL.encode(y));
                (KeyPair::Ecdsa(Box::new(pair)), json!({ "crv": "P-256", "kty": "EC", "x": x, "y": y }))
            }
        };
        // RFC 7638: the required members sorted by name, which is how `serde_json` writes them.
        let kid = BASE64URL.encode(Sha256::digest(public.to_string()));
        let mut jwk = public;
        for (name, value) in [("alg", self.algorithm.as_str()), ("kid", kid.as_str()), ("use", "sig")] {
            jwk[name] = value.into();
        }
        Ok(Key { stored: self, pair, kid, jwk })
    }
}

fn generate(algorithm: Algorithm, now: UnixMillis) -> Result<StoredKey, OpenIdKeyError> {
    let pkcs8 = match algorithm {
        Algorithm::Rs256 => {
            let key = rsa::RsaPrivateKey::new(&mut OsRng, RSA_BITS).map_err(|_| OpenIdKeyError::Crypto)?;
            BASE64.encode(key.to_pkcs8_der().map_err(|_| OpenIdKeyError::Crypto)?.as_bytes())
        }
        Algorithm::Es256 => {
            let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
            BASE64.encode(key.map_err(|_| OpenIdKeyError::Crypto)?)
        }
    };
    Ok(StoredKey { algorithm, pkcs8, made_at: now.0, retired_at: None })
}
