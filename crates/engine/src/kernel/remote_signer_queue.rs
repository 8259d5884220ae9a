//! Requests signatures from users' remote signers, for operations. A request runs from its commit until it has ended,
//! the operation is over, or it is displaced ([`SignerSlots`]). Its reports are inputs of the operation, which repeats
//! the request after a crash.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tracing::debug;

use super::input_queue::InputQueue;
use super::signer_slots::{NewRequest, SignerSlots};
use crate::StreamId;
use crate::kernel::core::Core;
use crate::machine::{Input, SignerCall, SignerReport, SignerUpdate};
use crate::ports::{Clock, RemoteSigner, RemoteSignerError, SignerProgress, SignerStage};

/// Requests that displace each other, and no others.
type Lane = Mutex<SignerSlots>;

const PROGRESS: usize = 16;

pub(crate) struct SignerQueue {
    core: Core,
    signer: Option<Arc<dyn RemoteSigner>>,
    /// Requests to newly named signers. Anybody can begin a login.
    named: Arc<Lane>,
    /// Requests to the signers of earlier logins, which only the app can cause.
    kept: Arc<Lane>,
}

pub(crate) struct SignerWatch {
    lane: Arc<Lane>,
    clock: Arc<dyn Clock>,
    id: StreamId,
}

impl Drop for SignerWatch {
    fn drop(&mut self) {
        self.lane.lock().page_closed(self.id, self.clock.monotonic());
    }
}

impl SignerQueue {
    pub(crate) fn new(core: Core, signer: Option<Arc<dyn RemoteSigner>>) -> Self {
        Self { core, signer, named: Arc::default(), kept: Arc::default() }
    }

    /// Starts a request to a signer, replacing the operation's earlier one; never waits.
    pub(crate) fn put(&self, id: StreamId, call: SignerCall) {
        let (number, network) = (call.number, call.network);
        let Some(signer) = self.signer.clone() else {
            return self.report_later(id, number, RemoteSignerError::Unreachable);
        };
        let (lane, stage) = if call.is_kept {
            (&self.kept, SignerStage::Connected)
        } else {
            (&self.named, signer.stage(&call.session))
        };
        let new = NewRequest { id, number, stage, network };
        let (ended, displaced) = lane.lock().take(new, self.core.clock.monotonic());
        for (id, number) in displaced {
            self.report_later(id, number, RemoteSignerError::Busy);
        }
        let (inputs, tasks, clock) = (self.core.inputs.clone(), self.core.tasks.clone(), Arc::clone(&self.core.clock));
        let lane = Arc::clone(lane);
        self.core.tasks.spawn(async move {
            let left = call.until.since(clock.now());
            let in_time = async {
                tokio::select! {
                    biased;
                    () = ended.cancelled() => {}
                    () = ask(signer.as_ref(), &lane, &inputs, id, call) => {}
                    () = clock.sleep(left) => {}
                }
            };
            tasks.unless_stopped(in_time).await;
            lane.lock().ended(id, number);
        });
    }

    pub(crate) fn end(&self, id: StreamId) {
        for lane in [&self.named, &self.kept] {
            lane.lock().end(id);
        }
    }

    pub(crate) fn page_seen(&self, id: StreamId) {
        self.named.lock().page_seen(id, self.core.clock.monotonic());
    }

    pub(crate) fn watch(&self, id: StreamId) -> SignerWatch {
        self.named.lock().page_opened(id, self.core.clock.monotonic());
        SignerWatch { lane: Arc::clone(&self.named), clock: Arc::clone(&self.core.clock), id }
    }

    fn report_later(&self, id: StreamId, number: u32, error: RemoteSignerError) {
        let inputs = self.core.inputs.clone();
        self.core.tasks.spawn(async move { report(&inputs, id, number, SignerUpdate::Ended(Err(error))).await });
    }
}

async fn ask(signer: &dyn RemoteSigner, lane: &Lane, inputs: &InputQueue, id: StreamId, call: SignerCall) {
    let number = call.number;
    let (sender, mut progress) = mpsc::channel::<SignerProgress>(PROGRESS);
    let mut signing = std::pin::pin!(signer.sign(call.session, call.wanted, sender));
    loop {
        tokio::select! {
            // Earlier reports precede the end.
            biased;
            Some(update) = progress.recv() => {
                if matches!(update, SignerProgress::Connected(_)) {
                    lane.lock().connected(id, number);
                }
                report(inputs, id, number, SignerUpdate::Progress(update)).await;
            }
            result = &mut signing => {
                while let Ok(update) = progress.try_recv() {
                    report(inputs, id, number, SignerUpdate::Progress(update)).await;
                }
                if let Err(failure) = &result {
                    debug!(stream_id = %id, %failure, "a remote signer has signed nothing");
                }
                return report(inputs, id, number, SignerUpdate::Ended(result.map(Box::new))).await;
            }
        }
    }
}

async fn report(inputs: &InputQueue, id: StreamId, number: u32, update: SignerUpdate) {
    inputs.put(id, Input::Signer(Box::new(SignerReport { number, update }))).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnixMillis;
    use crate::kernel::fixtures::{Around, NOW, id};
    use crate::ports::{InvalidSignerAddress, SignedEvent, SignerSession, WantedEvent};
    use async_trait::async_trait;

    const CONCURRENT: usize = 4_096;

    struct Silent(Arc<()>);

    #[async_trait]
    impl RemoteSigner for Silent {
        fn invite(&self) -> Result<SignerSession, RemoteSignerError> {
            Err(RemoteSignerError::Unreachable)
        }

        fn accept(&self, _: &str) -> Result<SignerSession, InvalidSignerAddress> {
            Err(InvalidSignerAddress::Malformed)
        }

        fn address(&self, _: &SignerSession) -> Option<String> {
            None
        }

        fn stage(&self, _: &SignerSession) -> SignerStage {
            SignerStage::Connected
        }

        async fn sign(
            &self,
            _: SignerSession,
            _: WantedEvent,
            _: mpsc::Sender<SignerProgress>,
        ) -> Result<SignedEvent, RemoteSignerError> {
            let _asked = Arc::clone(&self.0);
            std::future::pending().await
        }
    }

    fn call(number: u32, until: UnixMillis) -> SignerCall {
        let wanted = WantedEvent { kind: 1, content: String::new(), tags: Vec::new() };
        SignerCall { number, session: SignerSession(String::new()), wanted, until, is_kept: false, network: None }
    }

    /// Lets all tasks progress: tokio runs 61 of them at each yield.
    async fn settle() {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn each_operation_asks_one_signer_and_the_oldest_makes_room() {
        let asked = Arc::new(());
        let running = || Arc::strong_count(&asked) - 2;
        let (inputs, mut workers) = InputQueue::new();
        let core = Core { inputs, ..Around::new().core() };
        let queue = SignerQueue::new(core, Some(Arc::new(Silent(Arc::clone(&asked)))));
        let later = NOW.plus(std::time::Duration::from_secs(600));

        queue.put(id(0), call(1, later));
        queue.put(id(0), call(2, later));
        settle().await;
        assert_eq!(running(), 1, "the second takes the place of the first");
        queue.end(id(0));
        queue.put(id(1), call(1, NOW));
        settle().await;
        assert_eq!(running(), 0, "one operation is over, and the time of the other");

        let slots = u64::try_from(CONCURRENT).unwrap();
        (0..=slots).for_each(|n| queue.put(id(n), call(1, later)));
        settle().await;
        assert_eq!(running(), CONCURRENT);
        let mut reports = workers.iter_mut().flat_map(|worker| std::iter::from_fn(|| worker.try_recv().ok()));
        let report = reports.next().unwrap();
        let Input::Signer(said) = report.input else { panic!("{report:?}") };
        assert_eq!((report.id, said.number), (id(0), 1));
        assert!(matches!(said.update, SignerUpdate::Ended(Err(RemoteSignerError::Busy))));
        assert!(reports.next().is_none());

        queue.put(id(0), SignerCall { is_kept: true, ..call(1, later) });
        settle().await;
        assert_eq!(running(), CONCURRENT + 1, "the signers of earlier logins have places of their own");
        queue.end(id(0));
        settle().await;
        assert_eq!(running(), CONCURRENT);
    }
}
