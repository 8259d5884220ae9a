use nostr::hashes::{Hash as _, sha256};
use usher_protocol::{Keys, SecretKey};

use crate::lightning::Account;

/// The wallet's key and the app's. `Debug` shows the wallet's public key alone.
#[derive(Clone)]
pub struct NwcKeys {
    /// Signs the replies.
    pub wallet: Keys,
    /// Signs the requests; the connection string carries its secret.
    pub app: Keys,
}

impl std::fmt::Debug for NwcKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NwcKeys").field("wallet", &self.wallet.public_key()).finish_non_exhaustive()
    }
}

impl NwcKeys {
    pub fn generate() -> Self {
        Self { wallet: Keys::generate(), app: Keys::generate() }
    }

    /// The keys that belong to an account: the same as long as the account is.
    pub fn of(account: &Account) -> Self {
        let derive = |label: &str| {
            let node = account.node_key()?;
            let hash = sha256::Hash::hash(format!("{label}:{}", node.display_secret()).as_bytes());
            SecretKey::from_slice(hash.as_byte_array()).ok().map(Keys::new)
        };
        Self {
            wallet: derive("wallet").unwrap_or_else(Keys::generate),
            app: derive("app").unwrap_or_else(Keys::generate),
        }
    }

    /// The connection string for these relays. A secret: who has it can spend.
    pub fn url(&self, relays: &[String]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for relay in relays {
            query.append_pair("relay", relay);
        }
        query.append_pair("secret", &self.app.secret_key().to_secret_hex());
        format!("nostr+walletconnect://{}?{}", self.wallet.public_key().to_hex(), query.finish())
    }
}
