//! Blinds outputs, unblinds signatures, and restores signatures from a mint (NUT-09).

use std::collections::HashMap;

use cashu::{BlindSignature, BlindedMessage, KeySetInfo, Proof};
use usher_engine::ports::MintAuthToken;

use crate::attempt_history::wrong;
use crate::job_failure::Refusal;
use crate::job_runtime::{AttemptError, Core, blocking};
use crate::keysets::FRESH;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::outputs::{COUNTERS, OutputError, Outputs};

/// Counters per request of [`Core::find_first_unused`], each with an output of both seeds.
const LOOKED_AT: u32 = 50;

/// Most requests of one look-up. Beyond it the mint refuses outputs that it has signed, and the next look-up continues.
const LOOKS: usize = 64;

impl Core {
    pub(crate) async fn blinded(&self, outputs: &Outputs) -> Result<Vec<BlindedMessage>, AttemptError> {
        let outputs = outputs.clone();
        Ok(blocking(move || outputs.blinded()).await.map_err(|error| wrong(&error.to_string()))?)
    }

    /// The signatures of all outputs in order, if the mint has signed them; `None` if it has signed none. An error if it has
    /// signed only some.
    pub(crate) async fn restore_outputs(
        &self,
        mint: &Mint,
        outputs: &Outputs,
        auth: Option<&MintAuthToken>,
    ) -> Result<Option<Vec<BlindSignature>>, AttemptError> {
        let blinded = self.blinded(outputs).await?;
        let restored = mint.client.restore(blinded.clone(), auth).await?;
        if restored.is_empty() {
            return Ok(None);
        }
        let signatures: Option<Vec<_>> = in_order(&blinded, restored).into_iter().collect();
        Ok(Some(signatures.ok_or_else(|| wrong("it has signed only some of the outputs"))?))
    }

    pub(crate) async fn unblinded(
        &self,
        mint: &Mint,
        outputs: &Outputs,
        signatures: Vec<BlindSignature>,
    ) -> Result<Vec<(Owner, Proof)>, AttemptError> {
        let keys = match mint.keysets.known(outputs.keyset) {
            Some(keys) => keys,
            None => {
                let list = mint.keysets.list(self.clock.monotonic(), FRESH).await?;
                let info = list.iter().find(|info| info.id == outputs.keyset);
                mint.keysets.keys(info.ok_or_else(|| wrong("it no longer names the keyset"))?).await?
            }
        };
        let outputs = outputs.clone();
        let work = move || Ok::<_, OutputError>(outputs.unblind(signatures, &keys));
        let proofs = blocking(work).await.map_err(|error| wrong(&error.to_string()))?;
        Ok(proofs.map_err(wrong)?)
    }

    /// The first counter from `from` on after all counters whose outputs the mint reports as signed.
    pub(crate) async fn find_first_unused(
        &self,
        mint: &Mint,
        info: &KeySetInfo,
        from: u32,
        auth: Option<&MintAuthToken>,
    ) -> Result<u32, Refusal> {
        let mut first = from;
        let mut at = from;
        for _ in 0..LOOKS {
            let to = at.saturating_add(LOOKED_AT).min(COUNTERS);
            let (seeds, id) = (self.seeds.of(&mint.address), info.id);
            let work = move || {
                let mut outputs = Outputs::unknown(&seeds, id, at, to, Owner::Wallet)?.blinded()?;
                outputs.extend(Outputs::unknown(&seeds, id, at, to, Owner::Holder)?.blinded()?);
                Ok(outputs)
            };
            let outputs = blocking(work).await?;
            if outputs.is_empty() {
                break;
            }
            let counters = (at..to).chain(at..to);
            let counters: HashMap<_, _> =
                outputs.iter().map(|output| output.blinded_secret.to_bytes()).zip(counters).collect();
            let signed = mint.client.restore(outputs, auth).await?;
            let signed = signed.iter().filter_map(|(output, _)| counters.get(&output.blinded_secret.to_bytes()));
            let Some(last) = signed.max() else { break };
            (first, at) = (last + 1, to);
        }
        if first > from {
            tracing::warn!(
                mint = mint.address.as_str(),
                keyset = %info.id,
                counters = first - from,
                "the mint has signed more for this service's key than the database knows, as after a lost database or an \
                 old copy: its counters are skipped; `usher tickets restore` adds what is missing in the balance",
            );
        }
        Ok(first)
    }
}

pub(crate) fn in_order(
    outputs: &[BlindedMessage],
    restored: Vec<(BlindedMessage, BlindSignature)>,
) -> Vec<Option<BlindSignature>> {
    let mut signed: HashMap<_, _> =
        restored.into_iter().map(|(output, signature)| (output.blinded_secret.to_bytes(), signature)).collect();
    outputs.iter().map(|output| signed.remove(&output.blinded_secret.to_bytes())).collect()
}
