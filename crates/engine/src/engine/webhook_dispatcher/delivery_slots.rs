//! Slots for posts: how many run at a time, and which of them must make room.
//!
//! A post takes milliseconds, or, when nobody responds, all of the receiver's time limit (20 s). If slow posts used the normal
//! slots, a receiver that hangs on some streams would delay all of them. So there are two pools of slots:
//!
//! | pool | streams | slots | more, for long posts | when those are used up too |
//! | --- | --- | --- | --- | --- |
//! | fast | all but the slow ones | 256 | 512 | a post that has taken a second makes room for one that waits |
//! | slow | whose last post failed and took over a second | 64 | 192 | posts wait |
//!
//! A fast slot is thus free again after a second at most, whatever receivers do: at least 256 streams a second begin. A post
//! that was cut off is repeated in the slow pool, where none is cut off: a receiver that is slow but responds in the end is
//! served. In all at most 1,024 posts run, each with a socket.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ports::Clock;

/// When a post is long: it moves from its slot to those for long posts. More than healthy receivers take.
const LONG_AFTER: Duration = Duration::from_millis(250);

/// When a post may be cut off to make room. A stream whose post failed after that long is a slow one.
pub(super) const HANGS_AFTER: Duration = Duration::from_secs(1);

/// How a stream's last post went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// It was fast or it succeeded; or there was none.
    Fast,
    /// It failed and took long; or nothing is known, after a restart.
    Slow,
}

/// Both pools.
pub(super) struct DeliverySlots {
    fast: Arc<Pool>,
    slow: Arc<Pool>,
}

impl DeliverySlots {
    pub(super) fn new() -> Self {
        Self { fast: Pool::new(Pace::Fast, 256, 512), slow: Pool::new(Pace::Slow, 64, 192) }
    }

    pub(super) fn of(&self, pace: Pace) -> Arc<Pool> {
        Arc::clone(match pace {
            Pace::Fast => &self.fast,
            Pace::Slow => &self.slow,
        })
    }
}

/// One pool.
pub(super) struct Pool {
    pace: Pace,
    slots: Arc<Semaphore>,
    /// For long posts.
    long: Arc<Semaphore>,
    /// A permit for each stream that waits for a slot: the post that takes it makes room.
    wanted: Semaphore,
}

impl Pool {
    fn new(pace: Pace, slots: usize, long: usize) -> Arc<Self> {
        let (slots, long) = (Arc::new(Semaphore::new(slots)), Arc::new(Semaphore::new(long)));
        Arc::new(Self { pace, slots, long, wanted: Semaphore::new(0) })
    }

    /// Waits for a slot. Only one task waits at a time. Never `None`: the semaphores are never closed.
    pub(super) async fn slot(self: &Arc<Self>) -> Option<Slot> {
        let slot = |permit| Slot { pool: Arc::clone(self), _permit: permit, is_long: false };
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Some(slot(permit));
        }
        self.wanted.add_permits(1);
        let permit = Arc::clone(&self.slots).acquire_owned().await.ok()?;
        if let Ok(wish) = self.wanted.try_acquire() {
            // A slot became free by itself: no post needs to make room.
            wish.forget();
        }
        Some(slot(permit))
    }

    /// Returns when the post with this slot must make room.
    async fn make_room(&self, clock: &dyn Clock, began: Duration) {
        match self.pace {
            Pace::Fast => {
                let lasted = clock.monotonic().saturating_sub(began);
                clock.sleep(HANGS_AFTER.saturating_sub(lasted)).await;
                if let Ok(wish) = self.wanted.acquire().await {
                    wish.forget();
                }
            }
            Pace::Slow => std::future::pending().await,
        }
    }
}

/// The right to post; released when dropped.
pub(super) struct Slot {
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
    is_long: bool,
}

impl Slot {
    /// The pace of the streams of its pool.
    pub(super) fn pace(&self) -> Pace {
        self.pool.pace
    }

    /// Whether the stream should queue again before its next post: others wait, or the slot is for long or slow posts.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_long || self.pool.pace == Pace::Slow || self.pool.wanted.available_permits() > 0
    }

    /// Runs a post that begins now; `None` when it was cut off to make room.
    pub(super) async fn run<T>(&mut self, clock: &dyn Clock, post: impl Future<Output = T>) -> Option<T> {
        let began = clock.monotonic();
        let pool = Arc::clone(&self.pool);
        let long = async {
            clock.sleep(LONG_AFTER).await;
            tokio::select! {
                permit = Arc::clone(&pool.long).acquire_owned() => permit.ok(),
                () = pool.make_room(clock, began) => None,
            }
        };
        let mut post = std::pin::pin!(post);
        let permit = tokio::select! {
            biased;
            posted = &mut post => return Some(posted),
            permit = long => permit?,
        };
        self._permit = permit;
        self.is_long = true;
        Some(post.await)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::pin::Pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::UnixMillis;
    use crate::testing::ManualClock;

    /// Whether it is pending when polled.
    fn waits<T>(future: &mut Pin<Box<impl Future<Output = T> + ?Sized>>) -> bool {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    fn clock() -> ManualClock {
        ManualClock::at(UnixMillis(1_000_000))
    }

    #[tokio::test]
    async fn long_post_releases_its_slot_and_continues() {
        let (clock, pool) = (clock(), Pool::new(Pace::Fast, 1, 1));
        let mut slot = pool.slot().await.unwrap();
        let (answer, answered) = tokio::sync::oneshot::channel();
        let mut post = Box::pin(slot.run(&clock, answered));
        assert!(waits(&mut post));
        assert_eq!((pool.slots.available_permits(), pool.long.available_permits()), (0, 1));
        clock.turn(LONG_AFTER);
        assert!(waits(&mut post));
        assert_eq!((pool.slots.available_permits(), pool.long.available_permits()), (1, 0));
        answer.send(7).unwrap();
        assert_eq!(post.await, Some(Ok(7)));
        assert!(slot.is_wanted(), "the next post begins in a slot");
        drop(slot);
        assert_eq!((pool.slots.available_permits(), pool.long.available_permits()), (1, 1));
    }

    #[tokio::test]
    async fn hanging_post_is_cancelled_only_when_its_slot_is_needed() {
        let (clock, pool) = (clock(), Pool::new(Pace::Fast, 1, 0));
        let mut slot = pool.slot().await.unwrap();
        let mut post = Box::pin(slot.run(&clock, pending::<()>()));
        assert!(waits(&mut post), "it begins");
        clock.turn(10 * HANGS_AFTER);
        assert!(waits(&mut post), "nobody waits");
        let mut next = Box::pin(pool.slot());
        assert!(waits(&mut next));
        assert_eq!(post.await, None);
        drop(slot);
        let mut slot = next.await.unwrap();
        assert_eq!(slot.run(&clock, ready(7)).await, Some(7));
        assert!(!slot.is_wanted());
    }

    #[tokio::test]
    async fn post_is_not_cancelled_early_or_when_another_slot_is_free() {
        let (clock, pool) = (clock(), Pool::new(Pace::Fast, 2, 0));
        let (mut one, two) = (pool.slot().await.unwrap(), pool.slot().await.unwrap());
        let mut post = Box::pin(one.run(&clock, pending::<()>()));
        assert!(waits(&mut post), "it begins");
        let mut next = Box::pin(pool.slot());
        assert!(waits(&mut next));
        assert!(two.is_wanted());
        clock.turn(HANGS_AFTER - Duration::from_millis(1));
        assert!(waits(&mut post));
        drop(two);
        let three = next.await.unwrap();
        clock.turn(HANGS_AFTER);
        assert!(waits(&mut post));
        assert!(!three.is_wanted());
    }

    #[tokio::test]
    async fn slow_pool_never_cancels_posts() {
        let (clock, pool) = (clock(), Pool::new(Pace::Slow, 1, 1));
        let (mut one, mut two) = (pool.slot().await.unwrap(), None);
        let mut first = Box::pin(one.run(&clock, pending::<()>()));
        assert!(waits(&mut first), "it begins");
        clock.turn(10 * HANGS_AFTER);
        assert!(waits(&mut first));
        let mut second = Box::pin(two.insert(pool.slot().await.unwrap()).run(&clock, pending::<()>()));
        let mut next = Box::pin(pool.slot());
        assert!(waits(&mut second), "it begins");
        clock.turn(10 * HANGS_AFTER);
        for _ in 0..3 {
            assert!(waits(&mut next));
            assert!(waits(&mut first) && waits(&mut second));
        }
    }
}
