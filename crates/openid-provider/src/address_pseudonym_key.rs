//! How visitors are listed in the database.

use ring::hmac;
use usher_engine::ClientNetwork;

/// Of the 32 bytes of a hidden address: as many as no two addresses share by chance.
const HIDDEN_BYTES: usize = 16;

/// The text of those who come over loopback.
pub(crate) const LOOPBACK: &str = "loopback";

/// Hides the addresses of visitors in the database: records of one address belong together, and nobody can tell which it is
/// without this key.
#[derive(Clone, Debug)]
pub struct AddressPseudonymKey(hmac::Key);

impl AddressPseudonymKey {
    /// The key that is made of this secret. With another one, what is stored is of other visitors.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The text that a visitor's records are listed under.
    pub fn pseudonym(&self, network: ClientNetwork) -> String {
        let ClientNetwork::Network(address) = network else { return LOOPBACK.to_owned() };
        let tag = hmac::sign(&self.0, address.to_string().as_bytes());
        let hidden: String = tag.as_ref().iter().take(HIDDEN_BYTES).map(|byte| format!("{byte:02x}")).collect();
        format!("network {hidden}")
    }
}
