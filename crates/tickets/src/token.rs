//! Serialized Cashu tokens (NUT-00): versions 3 and 4 are read, with limits; version 4 is written.

use std::collections::HashSet;
use std::str::FromStr as _;

use cashu::mint_url::MintUrl;
use cashu::nut02::ShortKeysetId;
use cashu::nuts::nut00::token::Token as CashuToken;
use cashu::{CurrencyUnit, Proof, Proofs};
use usher_engine::ports::{ProofId, Token, TokenFault, TokenInfo};

use crate::mint_address::{MintAddress, normal_unit};

/// Longest token text, in bytes: room for 500 proofs with their DLEQ proofs (about 450 bytes each).
pub(crate) const MAX_TOKEN_BYTES: usize = 256 * 1024;

/// Most proofs of a token. Mints refuse more than 1,000 inputs.
pub(crate) const MAX_PROOFS: usize = 500;

/// Longest secret of a proof, in bytes. Mints refuse longer ones.
pub(crate) const MAX_SECRET_BYTES: usize = 1024;

const SCHEME: &str = "cashu:";

/// A parsed token, not verified.
pub(crate) struct ReadToken {
    pub(crate) mint: MintAddress,
    pub(crate) unit: String,
    pub(crate) amount: u64,
    pub(crate) proofs: Vec<ReadProof>,
}

/// A proof of a token; the id of its keyset may be shortened.
pub(crate) struct ReadProof {
    keyset: ShortKeysetId,
    parts: ProofParts,
}

enum ProofParts {
    V3(cashu::nuts::nut00::ProofV3),
    V4(cashu::nuts::nut00::ProofV4),
}

impl ReadProof {
    /// The version and the id of the keyset, or a prefix of them.
    pub(crate) fn keyset_prefix(&self) -> Vec<u8> {
        self.keyset.to_bytes()
    }

    /// The proof with the full id of its keyset, without witness.
    pub(crate) fn of_keyset(&self, keyset: cashu::Id) -> Proof {
        let mut proof = match &self.parts {
            ProofParts::V3(proof) => proof.into_proof(&keyset),
            ProofParts::V4(proof) => proof.into_proof(&keyset),
        };
        proof.witness = None;
        proof.p2pk_e = None;
        proof
    }

    pub(crate) fn secret(&self) -> &cashu::secret::Secret {
        match &self.parts {
            ProofParts::V3(proof) => &proof.secret,
            ProofParts::V4(proof) => &proof.secret,
        }
    }

    fn amount(&self) -> u64 {
        match &self.parts {
            ProofParts::V3(proof) => proof.amount.into(),
            ProofParts::V4(proof) => proof.amount.into(),
        }
    }
}

/// Parses a token of version 3 or 4, with or without `cashu:`, without verifying it.
///
/// # Errors
/// [`TokenFault`]: `Malformed`, `TooLarge`, `Forged` (one secret twice).
pub fn read_token(token: &Token) -> Result<TokenInfo, TokenFault> {
    read(token).map(|token| token.info())
}

pub(crate) fn read(token: &Token) -> Result<ReadToken, TokenFault> {
    let text = token.0.trim();
    if text.len() > MAX_TOKEN_BYTES {
        return Err(TokenFault::TooLarge { limit: MAX_TOKEN_BYTES, of: "bytes" });
    }
    let text = match text.get(..SCHEME.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(SCHEME) => text.get(SCHEME.len()..).unwrap_or_default(),
        _ => text,
    };
    let (mints, unit, proofs) = match CashuToken::from_str(text).map_err(|_| TokenFault::Malformed)? {
        CashuToken::TokenV3(token) => {
            let mints: Vec<_> = token.token.iter().map(|part| part.mint.to_string()).collect();
            // Version 3 may omit the unit, which is then `sat`.
            let unit = token.unit.unwrap_or(CurrencyUnit::Sat);
            let proofs = token.token.into_iter().flat_map(|part| part.proofs);
            let proofs =
                proofs.map(|proof| ReadProof { keyset: proof.keyset_id.clone(), parts: ProofParts::V3(proof) });
            (mints, unit, proofs.collect::<Vec<_>>())
        }
        CashuToken::TokenV4(token) => {
            let proofs = token.token.into_iter().flat_map(|part| {
                let keyset = part.keyset_id;
                part.proofs
                    .into_iter()
                    .map(move |proof| ReadProof { keyset: keyset.clone(), parts: ProofParts::V4(proof) })
            });
            (vec![token.mint_url.to_string()], token.unit, proofs.collect())
        }
    };
    let mint = one_mint(&mints)?;
    if proofs.len() > MAX_PROOFS {
        return Err(TokenFault::TooLarge { limit: MAX_PROOFS, of: "proofs" });
    }
    if proofs.is_empty() || proofs.iter().any(|proof| proof.amount() == 0 || proof.secret().is_empty()) {
        return Err(TokenFault::Malformed);
    }
    if proofs.iter().any(|proof| proof.secret().as_bytes().len() > MAX_SECRET_BYTES) {
        return Err(TokenFault::TooLarge { limit: MAX_SECRET_BYTES, of: "bytes in a secret" });
    }
    let amount = proofs.iter().try_fold(0u64, |sum, proof| sum.checked_add(proof.amount()));
    let amount = amount.ok_or(TokenFault::Malformed)?;
    let mut secrets = HashSet::new();
    if !proofs.iter().all(|proof| secrets.insert(proof.secret().as_bytes())) {
        return Err(TokenFault::Forged);
    }
    Ok(ReadToken { mint, unit: normal_unit(&unit.to_string()), amount, proofs })
}

fn one_mint(mints: &[String]) -> Result<MintAddress, TokenFault> {
    let mut mints = mints.iter().map(|mint| MintAddress::parse(mint).map_err(|_| TokenFault::Malformed));
    let first = mints.next().ok_or(TokenFault::Malformed)??;
    for other in mints {
        if other? != first {
            return Err(TokenFault::TooLarge { limit: 1, of: "mints" });
        }
    }
    Ok(first)
}

impl ReadToken {
    pub(crate) fn info(&self) -> TokenInfo {
        TokenInfo {
            mint_url: self.mint.as_str().to_owned(),
            unit: self.unit.clone(),
            amount: self.amount,
            proofs: self.proofs.len(),
        }
    }

    /// The points Y of the proofs; [`TokenFault::Malformed`] for a secret without one.
    pub(crate) fn ys(&self) -> Result<Vec<cashu::PublicKey>, TokenFault> {
        let point = |proof: &ReadProof| cashu::dhke::hash_to_curve(proof.secret().as_bytes());
        self.proofs.iter().map(|proof| point(proof).map_err(|_| TokenFault::Malformed)).collect()
    }
}

/// Whether a secret has spending conditions (NUT-10): a JSON array. It may be of any kind, because a mint may enforce kinds
/// unknown here.
pub(crate) fn is_locked(secret: &cashu::secret::Secret) -> bool {
    serde_json::from_slice::<Vec<serde::de::IgnoredAny>>(secret.as_bytes()).is_ok()
}

/// Writes a token of version 4, with the DLEQ proofs of its proofs.
pub(crate) fn write(mint: &str, unit: &str, proofs: Proofs) -> Result<Token, cashu::mint_url::Error> {
    let unit = CurrencyUnit::from_str(unit).unwrap_or_else(|_| CurrencyUnit::custom(unit));
    Ok(Token(CashuToken::new(MintUrl::from_str(mint)?, proofs, None, unit).to_string()))
}

pub(crate) fn proof_id(y: &cashu::PublicKey) -> ProofId {
    ProofId(y.to_bytes())
}

pub(crate) fn sum(proofs: &[Proof]) -> u64 {
    proofs.iter().map(|proof| u64::from(proof.amount)).fold(0, u64::saturating_add)
}
