//! Merges simultaneous look-ups of the same key into one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::Origin;
use usher_engine::ports::LookUpError;

/// One API key, and all users together, may use one part in this many of the look-ups: a slow server makes each last seconds.
const PART_OF_KEY: usize = 4;

/// Look-ups in progress, limited in number. Each runs as its own task: if its caller goes away, the result serves the
/// next one.
#[derive(Debug)]
pub(crate) struct SingleFlight<K, V> {
    running: Mutex<HashMap<K, Running<V>>>,
    most: usize,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Running<V> {
    result: watch::Receiver<Option<V>>,
    origin: Option<Origin>,
}

impl<K, V> SingleFlight<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(most: usize, tasks: TaskTracker, stop: CancellationToken) -> Arc<Self> {
        Arc::new(Self { running: Mutex::default(), most, tasks, stop })
    }

    /// The result of the look-up of `key` in progress, else `known`, else a new look-up for the API key `origin`.
    pub(crate) async fn join<F>(
        self: &Arc<Self>,
        key: K,
        origin: Option<Origin>,
        known: impl FnOnce() -> Option<V>,
        look_up: impl FnOnce() -> F,
    ) -> Result<V, LookUpError>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut result = {
            let mut running = self.running.lock();
            let of_key = running.values().filter(|other| origin.is_some() && other.origin == origin).count();
            if let Some(running) = running.get(&key) {
                running.result.clone()
            } else if let Some(known) = known() {
                return Ok(known);
            } else if running.len() >= self.most || of_key >= (self.most / PART_OF_KEY).max(1) {
                return Err(LookUpError::Busy);
            } else {
                let (land, result) = watch::channel(None);
                running.insert(key.clone(), Running { result: result.clone(), origin });
                let flight = Flight { single_flight: Arc::clone(self), key };
                let looking = self.stop.clone().run_until_cancelled_owned(look_up());
                self.tasks.spawn(async move {
                    let found = looking.await;
                    drop(flight);
                    land.send_replace(found);
                });
                result
            }
        };
        let found = result.wait_for(Option::is_some).await.map_err(|_| LookUpError::Busy)?;
        found.clone().ok_or(LookUpError::Busy)
    }
}

/// Removes the look-up from those in progress, however it ends.
struct Flight<K: Hash + Eq, V> {
    single_flight: Arc<SingleFlight<K, V>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for Flight<K, V> {
    fn drop(&mut self) {
        self.single_flight.running.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn one_look_up_serves_all_callers_even_if_the_first_leaves() {
        let tasks = TaskTracker::new();
        let single_flight = SingleFlight::new(1, tasks.clone(), CancellationToken::new());
        let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU32::new(0)));
        let join = |key: u8| {
            let (single_flight, gate, runs) = (Arc::clone(&single_flight), Arc::clone(&gate), Arc::clone(&runs));
            async move {
                let look_up = || async move {
                    let _open = gate.acquire().await;
                    runs.fetch_add(1, Ordering::SeqCst)
                };
                single_flight.join(key, None, || None, look_up).await
            }
        };
        let mut first = Box::pin(join(1));
        assert!(futures_util::poll!(&mut first).is_pending());
        let mut second = Box::pin(join(1));
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        assert_eq!(join(2).await, Err(LookUpError::Busy), "one at a time");
        gate.add_permits(10);
        assert_eq!(second.await, Ok(0));
        assert_eq!(join(2).await, Ok(1), "there is room again");
        assert_eq!(single_flight.join(3, None, || Some(7), || async { 8 }).await, Ok(7));
        tasks.close();
        tasks.wait().await;
    }

    #[tokio::test]
    async fn one_key_has_a_quarter_of_the_look_ups() {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let single_flight = SingleFlight::<u8, u8>::new(8, tasks.clone(), stop.clone());
        let begins = async |key: Option<i64>, number: u8| {
            let mut joined = Box::pin(single_flight.join(number, key.map(Origin), || None, std::future::pending));
            futures_util::poll!(&mut joined).is_pending()
        };
        assert!(begins(Some(1), 1).await && begins(Some(1), 2).await);
        assert!(!begins(Some(1), 3).await);
        assert!(begins(Some(1), 2).await, "one that is under way serves all");
        assert!(begins(Some(2), 3).await && begins(None, 4).await);
        stop.cancel();
    }

    #[tokio::test]
    async fn stop_ends_waiting_callers() {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let single_flight = SingleFlight::<u8, u8>::new(1, tasks.clone(), stop.clone());
        let mut waiting = Box::pin(single_flight.join(1, None, || None, std::future::pending));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        stop.cancel();
        assert_eq!(waiting.await, Err(LookUpError::Busy));
        assert!(single_flight.running.lock().is_empty());
    }
}
