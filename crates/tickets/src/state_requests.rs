//! Sends the questions about a mint's proofs that wait.

use std::sync::Arc;

use crate::core::Core;
use crate::mints::Mint;
use crate::states::together;

impl Core {
    /// Sends what waits, batch after batch, until nothing waits.
    pub(crate) async fn send_all(&self, mint: Arc<Mint>) {
        loop {
            let batch = mint.states.next();
            if batch.is_empty() {
                return;
            }
            let ys = batch.iter().flat_map(|question| question.ys.iter().copied()).collect();
            let auth = self.tokens.of(&mint.address).await;
            let result = mint.client.check_state(ys, auth.as_ref()).await;
            let mut states = result.as_ref().map(|states| states.iter().map(|state| state.state));
            for question in batch {
                let state = match &mut states {
                    Ok(states) => Ok(together(states.by_ref().take(question.ys.len()))),
                    Err(error) => Err((*error).clone()),
                };
                // Who asked may have given up.
                let _ = question.reply.send(state);
            }
        }
    }
}
