//! Prepared outputs: blinded messages for a mint to sign, with the secrets that turn its signatures into proofs.

use cashu::dhke::{blind_message, unblind_message};
use cashu::nuts::nut01::SecretKey;
use cashu::secret::Secret;
use cashu::{BlindSignature, BlindedMessage, Id, Keys, Proof, ProofDleq};
use serde::{Deserialize, Serialize};

use crate::mint_seeds::{MintSeeds, Owner};

/// Most outputs of a request.
pub(crate) const MAX_OUTPUTS: usize = 500;

/// Counters of a keyset: 31 bits (NUT-13).
pub(crate) const COUNTERS: u32 = 1 << 31;

/// Outputs of one keyset. They are stored before they are sent, so that the signatures can be restored and unblinded at any
/// later time, even if the response is lost.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Outputs {
    pub(crate) keyset: Id,
    outputs: Vec<Output>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Output {
    amount: u64,
    owner: Owner,
    secret: Secret,
    r: SecretKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputError {
    #[error("its keys cannot represent the amount with at most {MAX_OUTPUTS} proofs")]
    Amount,
    #[error("the keyset has no counters left")]
    Counters,
    #[error("a secret could not be derived")]
    Derivation,
}

/// Splits `total` into as few amounts as possible, the largest first.
pub(crate) fn split(total: u64, keys: &Keys) -> Result<Vec<u64>, OutputError> {
    let mut rest = total;
    let mut parts = Vec::new();
    // The store keeps amounts as signed 64-bit integers.
    let usable = 1..=i64::MAX as u64;
    for denomination in
        keys.keys().keys().rev().map(|amount| u64::from(*amount)).filter(|amount| usable.contains(amount))
    {
        let count = rest / denomination;
        if count > (MAX_OUTPUTS - parts.len()) as u64 {
            return Err(OutputError::Amount);
        }
        parts.extend((0..count).map(|_| denomination));
        rest %= denomination;
    }
    if rest == 0 { Ok(parts) } else { Err(OutputError::Amount) }
}

impl Output {
    fn derive(seeds: &MintSeeds, keyset: Id, counter: u32, amount: u64, owner: Owner) -> Result<Self, OutputError> {
        let seed = seeds.of(owner);
        let secret = Secret::from_seed(seed, keyset, counter).map_err(|_| OutputError::Derivation)?;
        let r = SecretKey::from_seed(seed, keyset, counter).map_err(|_| OutputError::Derivation)?;
        Ok(Self { amount, owner, secret, r })
    }
}

impl Outputs {
    /// Prepares outputs for these totals, with the counters from `counter` on; also returns the next unused counter.
    pub(crate) fn prepare(
        seeds: &MintSeeds,
        keyset: Id,
        keys: &Keys,
        counter: u32,
        totals: &[(u64, Owner)],
    ) -> Result<(Self, u32), OutputError> {
        let mut amounts = Vec::new();
        for (total, owner) in totals {
            amounts.extend(split(*total, keys)?.into_iter().map(|amount| (amount, *owner)));
        }
        if amounts.len() > MAX_OUTPUTS {
            return Err(OutputError::Amount);
        }
        // In ascending order, so that the order does not reveal which are change (NUT-03).
        amounts.sort_by_key(|(amount, _)| *amount);
        let count = u32::try_from(amounts.len()).map_err(|_| OutputError::Amount)?;
        let next = counter.checked_add(count).filter(|next| *next < COUNTERS).ok_or(OutputError::Counters)?;
        let derive = |(counter, (amount, owner))| Output::derive(seeds, keyset, counter, amount, owner);
        let outputs = (counter..).zip(amounts).map(derive).collect::<Result<_, _>>()?;
        Ok((Self { keyset, outputs }, next))
    }

    /// One output of unknown amount for each counter from `from` to `to` (exclusive), for a restore (NUT-09).
    pub(crate) fn unknown(
        seeds: &MintSeeds,
        keyset: Id,
        from: u32,
        to: u32,
        owner: Owner,
    ) -> Result<Self, OutputError> {
        let derive = |counter| Output::derive(seeds, keyset, counter, 0, owner);
        Ok(Self { keyset, outputs: (from..to).map(derive).collect::<Result<_, _>>()? })
    }

    pub(crate) fn only(&self, positions: &[usize]) -> Self {
        let outputs = positions.iter().filter_map(|position| self.outputs.get(*position).cloned()).collect();
        Self { keyset: self.keyset, outputs }
    }

    pub(crate) fn totals(&self) -> Vec<(u64, Owner)> {
        let total = |owner| {
            let amounts = self.outputs.iter().filter(|output| output.owner == owner).map(|output| output.amount);
            (amounts.fold(0, u64::saturating_add), owner)
        };
        [total(Owner::Holder), total(Owner::Wallet)].into_iter().filter(|(total, _)| *total > 0).collect()
    }

    pub(crate) fn blinded(&self) -> Result<Vec<BlindedMessage>, OutputError> {
        let blind = |output: &Output| {
            let (point, _) =
                blind_message(output.secret.as_bytes(), Some(output.r.clone())).map_err(|_| OutputError::Derivation)?;
            Ok(BlindedMessage::new(output.amount.into(), self.keyset, point))
        };
        self.outputs.iter().map(blind).collect()
    }

    /// Turns signatures into proofs. There must be one signature per output, in order, of the same keyset and amount (any
    /// amount, if the output has none), each with a valid DLEQ proof (NUT-12).
    pub(crate) fn unblind(
        &self,
        signatures: Vec<BlindSignature>,
        keys: &Keys,
    ) -> Result<Vec<(Owner, Proof)>, &'static str> {
        if signatures.len() != self.outputs.len() {
            return Err("the number of signatures is not that of the outputs");
        }
        let unblind = |(output, signature): (&Output, BlindSignature)| {
            if signature.keyset_id != self.keyset {
                return Err("a signature is of another keyset");
            }
            if output.amount != 0 && u64::from(signature.amount) != output.amount {
                return Err("a signature is for another amount");
            }
            let key = keys.amount_key(signature.amount).ok_or("a signature is for an amount without key")?;
            let (blinded, _) = blind_message(output.secret.as_bytes(), Some(output.r.clone()))
                .map_err(|_| "an output could not be blinded")?;
            signature.verify_dleq(key, blinded).map_err(|_| "a signature has no valid DLEQ proof")?;
            let c = unblind_message(&signature.c, &output.r, &key).map_err(|_| "a signature could not be unblinded")?;
            let mut proof = Proof::new(signature.amount, self.keyset, output.secret.clone(), c);
            proof.dleq = signature.dleq.map(|dleq| ProofDleq::new(dleq.e, dleq.s, output.r.clone()));
            Ok((output.owner, proof))
        };
        self.outputs.iter().zip(signatures).map(unblind).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::str::FromStr as _;

    use super::*;

    fn keys(amounts: &[u64]) -> (Keys, BTreeMap<u64, SecretKey>) {
        let secret: BTreeMap<u64, SecretKey> = amounts.iter().map(|a| (*a, SecretKey::generate())).collect();
        (Keys::new(secret.iter().map(|(a, key)| ((*a).into(), key.public_key())).collect()), secret)
    }

    fn id() -> Id {
        Id::from_str("009a1f293253e41e").unwrap()
    }

    #[test]
    fn amounts_are_split_within_bounds() {
        let (keys, _) = keys(&[1, 2, 4, 8]);
        assert_eq!(split(13, &keys), Ok(vec![8, 4, 1]));
        assert_eq!(split(0, &keys), Ok(vec![]));
        assert_eq!(split(u64::MAX, &keys), Err(OutputError::Amount), "no memory is taken for 2^61 proofs");
        let (odd, _) = super::tests::keys(&[5]);
        assert_eq!(split(7, &odd), Err(OutputError::Amount));
    }

    #[test]
    fn only_the_right_signatures_become_proofs() {
        let (keys, secret) = keys(&[1, 2, 4, 8]);
        let seeds = crate::mint_seeds::Seeds::new(&[1; 32]).of_any_mint();
        let (outputs, next) =
            Outputs::prepare(&seeds, id(), &keys, 7, &[(5, Owner::Holder), (8, Owner::Wallet)]).unwrap();
        assert_eq!((next, outputs.totals()), (10, vec![(5, Owner::Holder), (8, Owner::Wallet)]));
        let blinded = outputs.blinded().unwrap();
        let sign = |message: &BlindedMessage| {
            let key = &secret[&u64::from(message.amount)];
            let c = cashu::dhke::sign_message(key, &message.blinded_secret).unwrap();
            BlindSignature::new(message.amount, c, id(), &message.blinded_secret, key).unwrap()
        };
        let good: Vec<_> = blinded.iter().map(sign).collect();
        let proofs = outputs.unblind(good.clone(), &keys).unwrap();
        assert!(proofs.iter().all(|(_, proof)| {
            let key = keys.amount_key(proof.amount).unwrap();
            proof.verify_dleq(key).is_ok()
        }));
        assert_eq!(proofs.iter().filter(|(owner, _)| *owner == Owner::Wallet).count(), 1);
        // After a restart.
        let stored: Outputs = serde_json::from_str(&serde_json::to_string(&outputs).unwrap()).unwrap();
        assert_eq!(stored.blinded().unwrap(), blinded);

        let spoilt = |spoil: &dyn Fn(&mut Vec<BlindSignature>)| {
            let mut signatures = good.clone();
            spoil(&mut signatures);
            outputs.unblind(signatures, &keys).unwrap_err()
        };
        spoilt(&|signatures| drop(signatures.pop()));
        spoilt(&|signatures| signatures.swap(0, 2));
        spoilt(&|signatures| signatures[0].dleq = None);
        spoilt(&|signatures| signatures[0].c = signatures[1].c);
        spoilt(&|signatures| signatures[0].amount = 8.into());
        spoilt(&|signatures| signatures[0].keyset_id = Id::from_str("00ffffffffffffff").unwrap());
    }
}
