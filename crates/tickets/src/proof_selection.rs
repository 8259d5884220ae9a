use cashu::{KeySetInfo, Proof};

use crate::keysets::{fee, fee_ppk};
use crate::token::sum;

pub(crate) enum Selected {
    Enough {
        inputs: Vec<Proof>,
        change: u64,
    },
    /// All proofs together do not cover the amount and their fee.
    TooLittle {
        available: u64,
        needed: u64,
    },
}

/// Selects own proofs for a withdrawal of `amount`: as few as possible, because each costs a fee, the last one as small as
/// possible, to keep large proofs.
pub(crate) fn select(list: &[KeySetInfo], mut proofs: Vec<Proof>, amount: u64) -> Selected {
    let covers = |inputs: &[Proof]| {
        let needed = amount.saturating_add(fee(list, inputs));
        sum(inputs).checked_sub(needed)
    };
    proofs.sort_by_key(|proof| std::cmp::Reverse(proof.amount));
    // A proof that is not worth its fee is never spent.
    proofs.retain(|proof| u64::from(proof.amount).saturating_mul(1000) > fee_ppk(list, proof));
    let mut inputs: Vec<Proof> = Vec::new();
    for (position, proof) in proofs.iter().enumerate() {
        inputs.push(proof.clone());
        if covers(&inputs).is_none() {
            continue;
        }
        for smaller in proofs.iter().skip(position + 1).rev() {
            if let Some(last) = inputs.last_mut() {
                *last = smaller.clone();
            }
            if let Some(change) = covers(&inputs) {
                return Selected::Enough { inputs, change };
            }
        }
        if let Some(last) = inputs.last_mut() {
            *last = proof.clone();
        }
        let change = covers(&inputs).unwrap_or_default();
        return Selected::Enough { inputs, change };
    }
    Selected::TooLittle { available: sum(&proofs), needed: amount.saturating_add(fee(list, &proofs)) }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use cashu::nuts::nut01::SecretKey;
    use cashu::secret::Secret;
    use cashu::{CurrencyUnit, Id};
    use proptest::prelude::*;

    use super::*;

    fn id() -> Id {
        Id::from_str("009a1f293253e41e").unwrap()
    }

    fn list(input_fee_ppk: u64) -> Vec<KeySetInfo> {
        vec![KeySetInfo { id: id(), unit: CurrencyUnit::Sat, active: true, input_fee_ppk, final_expiry: None }]
    }

    fn proofs(amounts: &[u64]) -> Vec<Proof> {
        let c = SecretKey::generate().public_key();
        amounts.iter().map(|amount| Proof::new((*amount).into(), id(), Secret::generate(), c)).collect()
    }

    #[test]
    fn few_proofs_are_spent_and_large_ones_stay() {
        let Selected::Enough { inputs, change } = select(&list(0), proofs(&[1, 1, 2, 4, 64]), 3) else { panic!() };
        assert_eq!((inputs.len(), sum(&inputs), change), (1, 4, 1));
        let Selected::Enough { inputs, change } = select(&list(1000), proofs(&[4, 4, 8]), 4) else { panic!() };
        assert_eq!((sum(&inputs), change), (8, 3), "the fee is part of it");
        assert!(matches!(select(&list(100), proofs(&[4]), 4), Selected::TooLittle { available: 4, needed: 5 }));
        assert!(matches!(select(&list(0), vec![], 1), Selected::TooLittle { available: 0, needed: 1 }));
        assert!(matches!(select(&list(2000), proofs(&[1, 1, 1]), 1), Selected::TooLittle { .. }));
    }

    proptest! {
        #[test]
        fn the_books_balance(amounts in prop::collection::vec(0u32..12, 0..30), wanted in 1u64..5000, ppk in 0u64..2000) {
            let amounts: Vec<u64> = amounts.into_iter().map(|exponent| 1 << exponent).collect();
            match select(&list(ppk), proofs(&amounts), wanted) {
                Selected::Enough { inputs, change } => {
                    prop_assert_eq!(sum(&inputs), wanted + change + fee(&list(ppk), &inputs));
                }
                Selected::TooLittle { .. } => {
                    let useful: Vec<u64> = amounts.into_iter().filter(|amount| amount * 1000 > ppk).collect();
                    let useful = proofs(&useful);
                    prop_assert!(sum(&useful) < wanted + fee(&list(ppk), &useful));
                }
            }
        }
    }
}
