//! The seeds from which secrets are derived (NUT-13).
//!
//! The derivation includes the mint's address, because any mint can publish the keys of another one: with equal secrets at
//! both, a mint could get the other one's signatures on them and take tokens of others.

use hmac::{Hmac, Mac as _};
use secrecy::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};
use sha2::Sha512;

use crate::mint_address::MintAddress;

/// The owner of a new proof. Each has its own seed, so that a restore of the balance never finds tokens that were handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Owner {
    /// The wallet's balance.
    Wallet,
    /// The holder of a token that the wallet hands out.
    Holder,
}

/// Derives all seeds from the service's Nostr secret key, with which the balances can be restored.
pub(crate) struct Seeds {
    secret_key: Zeroizing<[u8; 32]>,
}

impl Seeds {
    pub(crate) fn new(secret_key: &[u8; 32]) -> Self {
        Self { secret_key: Zeroizing::new(*secret_key) }
    }

    /// The seeds for the mint at this address. No address contains the byte 0, so no two messages are equal.
    pub(crate) fn of(&self, mint: &MintAddress) -> MintSeeds {
        let seed = |purpose: &str| hmac(&self.secret_key, format!("usher/tickets/v2/{purpose}\0{mint}").as_bytes());
        MintSeeds { wallet: seed("wallet"), holder: seed("holder") }
    }

    /// The seeds of development builds, the same for all mints: only for restoring their tickets.
    pub(crate) fn of_any_mint(&self) -> MintSeeds {
        let seed = |purpose: &str| hmac(&self.secret_key, format!("usher/tickets/v1/{purpose}").as_bytes());
        MintSeeds { wallet: seed("wallet"), holder: seed("holder") }
    }
}

/// The seeds for one mint, derived with HMAC-SHA512. The messages differ by purpose and mint, and from all other uses of the
/// key.
pub(crate) struct MintSeeds {
    wallet: Zeroizing<[u8; 64]>,
    holder: Zeroizing<[u8; 64]>,
}

impl MintSeeds {
    pub(crate) fn of(&self, owner: Owner) -> &[u8; 64] {
        match owner {
            Owner::Wallet => &self.wallet,
            Owner::Holder => &self.holder,
        }
    }
}

fn hmac(key: &[u8; 32], message: &[u8]) -> Zeroizing<[u8; 64]> {
    // HMAC pads a key shorter than the block of SHA-512 with zeros.
    let mut block = Zeroizing::new([0; 128]);
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mac = <Hmac<Sha512> as hmac::digest::KeyInit>::new(block.as_slice().into()).chain_update(message);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

usher_protocol::debug_shows!(Seeds(..));

usher_protocol::debug_shows!(MintSeeds(..));

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing them loses the balance of every operator who restores from the key.
    #[test]
    fn the_seeds_are_pinned() {
        let expected = |message: &str| {
            let mac = <Hmac<Sha512> as hmac::Mac>::new_from_slice(&[7; 32]).unwrap();
            mac.chain_update(message).finalize().into_bytes()
        };
        let seeds = Seeds::new(&[7; 32]);
        // The normal form is part of the derivation.
        for spelling in ["https://mint.example/Bitcoin", "HTTPS://Mint.Example:443/Bitcoin/"] {
            let of_mint = seeds.of(&MintAddress::parse(spelling).unwrap());
            let wallet = expected("usher/tickets/v2/wallet\0https://mint.example/Bitcoin");
            assert_eq!(of_mint.of(Owner::Wallet)[..], wallet[..]);
            let holder = expected("usher/tickets/v2/holder\0https://mint.example/Bitcoin");
            assert_eq!(of_mint.of(Owner::Holder)[..], holder[..]);
        }
        assert_eq!(seeds.of_any_mint().of(Owner::Wallet)[..], expected("usher/tickets/v1/wallet")[..]);
        assert_eq!(seeds.of_any_mint().of(Owner::Holder)[..], expected("usher/tickets/v1/holder")[..]);
    }

    #[test]
    fn each_mint_has_seeds_of_its_own_and_they_are_hidden() {
        let seeds = Seeds::new(&[7; 32]);
        let of = |address: &str| *seeds.of(&MintAddress::parse(address).unwrap()).of(Owner::Wallet);
        let addresses = ["https://a.example", "http://a.example", "https://a.example:1", "https://a.example/b"];
        let different: std::collections::HashSet<_> = addresses.map(of).into_iter().collect();
        assert_eq!(different.len(), addresses.len());
        let of_mint = seeds.of(&MintAddress::parse("https://a.example").unwrap());
        assert_eq!(format!("{seeds:?} {of_mint:?}"), "Seeds(…) MintSeeds(…)");
    }
}
