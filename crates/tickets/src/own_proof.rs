//! The wallet's own proofs in the store.

use cashu::Proof;
use usher_engine::ports::{ProofId, StoreError, StoredProof};

pub(crate) fn read(stored: &StoredProof) -> Result<Proof, StoreError> {
    serde_json::from_str(&stored.proof).map_err(|_| StoreError::Unreadable("a proof of the ticket wallet"))
}

pub(crate) fn row(mint_url: &str, unit: &str, proof: &Proof) -> Result<StoredProof, StoreError> {
    let unreadable = StoreError::Unreadable("a proof of the ticket wallet");
    let Ok(y) = proof.y() else { return Err(unreadable) };
    let Ok(json) = serde_json::to_string(proof) else { return Err(unreadable) };
    Ok(StoredProof {
        id: ProofId(y.to_bytes()),
        mint_url: mint_url.to_owned(),
        unit: unit.to_owned(),
        amount: proof.amount.into(),
        proof: json,
    })
}
