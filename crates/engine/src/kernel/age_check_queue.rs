//! Polls the age verifier for operations. A request is made once, after the commit that requests it; if it is not made
//! or its reply is lost, the operation repeats it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::debug;

use crate::StreamId;
use crate::kernel::core::Core;
use crate::machine::Input;
use crate::ports::{AgeCheckResult, AgeVerifier, AgeVerifierError, PendingAgeCheck};

const CONCURRENT: usize = 32;

/// Time limit of a request to the age verifier: a few exchanges, while a browser waits.
const WITHIN: Duration = Duration::from_secs(20);

pub(crate) struct AgeCheckQueue {
    core: Core,
    verifier: Option<Arc<dyn AgeVerifier>>,
    permits: Arc<Semaphore>,
}

impl AgeCheckQueue {
    pub(crate) fn new(core: Core, verifier: Option<Arc<dyn AgeVerifier>>) -> Self {
        Self { core, verifier, permits: Arc::new(Semaphore::new(CONCURRENT)) }
    }

    /// Requests a result; never waits. With too many concurrent requests, none is made, and the operation repeats it.
    pub(crate) fn put(&self, id: StreamId, pending: PendingAgeCheck) {
        let Some(verifier) = self.verifier.clone() else { return };
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let (inputs, tasks) = (self.core.inputs.clone(), self.core.tasks.clone());
        self.core.tasks.spawn(async move {
            let asked = within(verifier.result(&pending, None));
            let Some(result) = tasks.unless_stopped(asked).await else { return };
            drop(permit);
            match result {
                Ok(AgeCheckResult::Pending) => {}
                Ok(result) => inputs.put(id, Input::AgeChecked { pending, result }).await,
                Err(failure) => debug!(stream_id = %id, %failure, "the age verifier could not be asked"),
            }
        });
    }
}

pub(crate) async fn within<T>(
    request: impl Future<Output = Result<T, AgeVerifierError>>,
) -> Result<T, AgeVerifierError> {
    let late = || Err(AgeVerifierError::Unreachable("it does not respond in time".to_owned()));
    timeout(WITHIN, request).await.unwrap_or_else(|_| late())
}
