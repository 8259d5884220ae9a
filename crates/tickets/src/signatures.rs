//! From outputs to what a mint is sent, and from its signatures to proofs.

use std::collections::HashMap;

use cashu::{BlindSignature, BlindedMessage, Proof};
use usher_engine::ports::MintAuthToken;

use crate::attempt_history::wrong;
use crate::job_runtime::{AttemptError, Core, blocking};
use crate::keysets::FRESH;
use crate::mint_seeds::Owner;
use crate::mints::Mint;
use crate::outputs::{OutputError, Outputs};

impl Core {
    pub(crate) async fn blinded(&self, outputs: &Outputs) -> Result<Vec<BlindedMessage>, AttemptError> {
        let outputs = outputs.clone();
        Ok(blocking(move || outputs.blinded()).await.map_err(|error| wrong(&error.to_string()))?)
    }

    /// The signatures of all outputs in their order, if the mint has signed them (NUT-09); `None` if it has signed
    /// none, an error if only some.
    pub(crate) async fn restore_outputs(
        &self,
        mint: &Mint,
        outputs: &Outputs,
        auth: Option<&MintAuthToken>,
    ) -> Result<Option<Vec<BlindSignature>>, AttemptError> {
        let blinded = self.blinded(outputs).await?;
        let mut signed: HashMap<_, _> = mint
            .client
            .restore(blinded.clone(), auth)
            .await?
            .into_iter()
            .map(|(output, signature)| (output.blinded_secret.to_bytes(), signature))
            .collect();
        if signed.is_empty() {
            return Ok(None);
        }
        let signatures: Option<Vec<_>> =
            blinded.iter().map(|output| signed.remove(&output.blinded_secret.to_bytes())).collect();
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
}
