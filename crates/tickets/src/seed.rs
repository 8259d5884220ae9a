//! The seeds from which secrets are derived (NUT-13).

use std::fmt;

use hmac::{Hmac, Mac as _};
use secrecy::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};
use sha2::Sha512;

/// To whom a proof belongs once it is signed. Each has a seed of its own.
///
/// Tokens that are handed out must never be found by a restore of our balance: it would take the tickets out of the hands
/// of those who hold them. With seeds of their own they cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Owner {
    /// The wallet: its balance.
    Wallet,
    /// Whoever gets the token.
    Holder,
}

/// The seeds, derived from the service's Nostr secret key. A restored key restores the balance.
pub(crate) struct Seeds {
    wallet: Zeroizing<[u8; 64]>,
    holder: Zeroizing<[u8; 64]>,
}

impl Seeds {
    /// Derives the seeds with HMAC-SHA512. The messages separate them from every other use of the key, and from each other.
    pub(crate) fn derive(secret_key: &[u8; 32]) -> Self {
        Self {
            wallet: hmac(secret_key, b"usher/tickets/v1/wallet"),
            holder: hmac(secret_key, b"usher/tickets/v1/holder"),
        }
    }

    pub(crate) fn of(&self, owner: Owner) -> &[u8; 64] {
        match owner {
            Owner::Wallet => &self.wallet,
            Owner::Holder => &self.holder,
        }
    }
}

fn hmac(key: &[u8; 32], message: &[u8]) -> Zeroizing<[u8; 64]> {
    // A key of 32 bytes is shorter than a block of SHA-512, so it is used as it is: padding it changes nothing.
    let mut block = Zeroizing::new([0; 128]);
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mac = <Hmac<Sha512> as hmac::digest::KeyInit>::new(block.as_slice().into()).chain_update(message);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

impl fmt::Debug for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seeds(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_pinned_and_hidden() {
        let seeds = Seeds::derive(&[7; 32]);
        assert_ne!(seeds.of(Owner::Wallet), seeds.of(Owner::Holder));
        let expected = <Hmac<Sha512> as hmac::Mac>::new_from_slice(&[7; 32])
            .unwrap()
            .chain_update("usher/tickets/v1/wallet")
            .finalize()
            .into_bytes();
        // Whoever changes this loses the balances of every operator who restores a key.
        assert_eq!(seeds.of(Owner::Wallet)[..], expected[..]);
        assert_eq!(format!("{seeds:?}"), "Seeds(…)");
    }
}
