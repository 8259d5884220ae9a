//! Spending conditions (NUT-10): only proofs that are locked to the service's own key (P2PK, NUT-11) can be spent.

use cashu::nuts::nut01::SecretKey;
use cashu::{Conditions, Kind, Nut10Secret, Proof, PublicKey, SigFlag};
use usher_engine::ports::TokenFault;

use crate::token::is_locked;

/// Signs the proof if it is locked to `key`, and returns whether it is; [`TokenFault::Locked`] if `key` alone cannot spend it.
pub(crate) fn unlock(proof: &mut Proof, key: &SecretKey) -> Result<bool, TokenFault> {
    if !is_locked(&proof.secret) {
        return Ok(false);
    }
    if !is_locked_to(proof, key) {
        return Err(TokenFault::Locked);
    }
    proof.sign_p2pk(key.clone()).map_err(|_| TokenFault::Locked)?;
    Ok(true)
}

/// Whether a signature by `key` over the secret is sufficient. Others may be able to spend it too, perhaps later; this does not
/// matter because it is swapped at once.
fn is_locked_to(proof: &Proof, key: &SecretKey) -> bool {
    let Ok(secret) = Nut10Secret::try_from(proof.secret.clone()) else { return false };
    let tags = secret.secret_data().tags().cloned().unwrap_or_default();
    let Ok(conditions) = Conditions::try_from(tags) else { return false };
    let Ok(locked_to) = secret.secret_data().data().parse::<PublicKey>() else { return false };
    secret.kind() == Kind::P2PK
        && locked_to.x_only_public_key() == key.public_key().x_only_public_key()
        && conditions.sig_flag == SigFlag::SigInputs
        && conditions.num_sigs.is_none_or(|wanted| wanted == 1)
}

#[cfg(test)]
mod tests {
    use cashu::secret::Secret;
    use cashu::{Id, SpendingConditions};

    use super::*;

    fn locked(conditions: SpendingConditions) -> Proof {
        let id: Id = "009a1f293253e41e".parse().unwrap();
        Proof::new(cashu::Amount::ONE, id, Secret::try_from(conditions).unwrap(), SecretKey::generate().public_key())
    }

    #[test]
    fn only_proofs_locked_to_own_key_are_unlocked() {
        let (ours, other) = (SecretKey::generate(), SecretKey::generate());
        let mut proof = locked(SpendingConditions::new_p2pk(ours.public_key(), None));
        assert_eq!(unlock(&mut proof, &ours), Ok(true));
        proof.verify_p2pk().unwrap();

        let mut proof = locked(SpendingConditions::new_p2pk(other.public_key(), None));
        assert_eq!(unlock(&mut proof, &ours), Err(TokenFault::Locked));
        let two = Conditions { num_sigs: Some(2), pubkeys: Some(vec![other.public_key()]), ..Conditions::default() };
        let mut proof = locked(SpendingConditions::new_p2pk(ours.public_key(), Some(two)));
        assert_eq!(unlock(&mut proof, &ours), Err(TokenFault::Locked));
        let all = Conditions { sig_flag: SigFlag::SigAll, ..Conditions::default() };
        let mut proof = locked(SpendingConditions::new_p2pk(ours.public_key(), Some(all)));
        assert_eq!(unlock(&mut proof, &ours), Err(TokenFault::Locked));
        // An unknown kind.
        let mut proof = locked(SpendingConditions::new_p2pk(ours.public_key(), None));
        proof.secret = Secret::new(r#"["NEW",{"nonce":"00","data":"x"}]"#);
        assert_eq!(unlock(&mut proof, &ours), Err(TokenFault::Locked));
        let mut proof = locked(SpendingConditions::new_p2pk(ours.public_key(), None));
        proof.secret = Secret::generate();
        assert_eq!(unlock(&mut proof, &ours), Ok(false));
    }
}
