//! The seeds from which secrets are derived (NUT-13): others for each mint.
//!
//! Any mint can publish the keys of another one. Were the secrets the same at both, a mint could have the other one
//! sign them, and take what somebody else holds. So the mint's address is part of the derivation.

use std::fmt;

use hmac::{Hmac, Mac as _};
use secrecy::zeroize::Zeroizing;
use serde::{Deserialize, Serialize};
use sha2::Sha512;

use crate::mint_address::MintAddress;

/// To whom a proof belongs once it is signed. Each has a seed of its own: a restore of our balance must never find
/// tokens that were handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Owner {
    /// The wallet: its balance.
    Wallet,
    /// Whoever gets the token.
    Holder,
}

/// What all seeds are derived from: the service's Nostr secret key. A restored key restores the balances.
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

    /// The seeds of development builds, the same for all mints: only to find what they have left.
    pub(crate) fn of_any_mint(&self) -> MintSeeds {
        let seed = |purpose: &str| hmac(&self.secret_key, format!("usher/tickets/v1/{purpose}").as_bytes());
        MintSeeds { wallet: seed("wallet"), holder: seed("holder") }
    }
}

/// The seeds for one mint, derived with HMAC-SHA512. The messages separate them from every other use of the key, from each
/// other, and from those for other mints.
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

impl fmt::Debug for MintSeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MintSeeds(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever changes this loses the balances of every operator who restores a key.
    #[test]
    fn the_seeds_are_pinned() {
        let expected = |message: &str| {
            let mac = <Hmac<Sha512> as hmac::Mac>::new_from_slice(&[7; 32]).unwrap();
            mac.chain_update(message).finalize().into_bytes()
        };
        let seeds = Seeds::new(&[7; 32]);
        // The normal form is a part of the derivation.
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
