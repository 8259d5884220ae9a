//! How many posts run at a time, and which of them must make room.
//!
//! A post takes milliseconds, or, when nobody answers it, all of the receiver's time limit (20 s). Would the second kind
//! hold the places of the first, a receiver that hangs on some streams would delay all. So there are two lanes:
//!
//! | lane | streams | places | beside them, for posts that last | when those are taken too |
//! | --- | --- | --- | --- | --- |
//! | brisk | all but the slow ones | 256 | 512 | a post that has lasted for a second makes room for one that waits |
//! | slow | whose last post failed and took over a second | 64 | 192 | those that wait do so |
//!
//! A brisk place is thus free again after a second at most, whatever receivers do: at least 256 streams a second begin.
//! A post that was cut off is made again by the slow lane, where none is cut off: a receiver that needs long and answers in
//! the end is served, in its own time. In all at most 1,024 posts run, each a socket.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ports::Clock;

/// After how long a post gives its place back, and goes on beside the places: more than healthy receivers take.
const LASTS_AFTER: Duration = Duration::from_millis(250);

/// After how long a post may be cut off to make room; and a stream whose post took so long and failed is a slow one.
pub(super) const HANGS_AFTER: Duration = Duration::from_secs(1);

/// How a stream's last post went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Nothing is known against it.
    Brisk,
    /// It failed and took long; or nothing is known, after a restart.
    Slow,
}

/// The lanes.
pub(super) struct Lanes {
    brisk: Arc<Lane>,
    slow: Arc<Lane>,
}

impl Lanes {
    pub(super) fn new() -> Self {
        Self { brisk: Lane::new(Pace::Brisk, 256, 512), slow: Lane::new(Pace::Slow, 64, 192) }
    }

    pub(super) fn of(&self, pace: Pace) -> Arc<Lane> {
        Arc::clone(match pace {
            Pace::Brisk => &self.brisk,
            Pace::Slow => &self.slow,
        })
    }
}

/// One lane.
pub(super) struct Lane {
    pace: Pace,
    places: Arc<Semaphore>,
    /// For posts that last.
    lasting: Arc<Semaphore>,
    /// A permit for each stream that waits for a place: who takes it makes room.
    wanted: Semaphore,
}

impl Lane {
    fn new(pace: Pace, places: usize, lasting: usize) -> Arc<Self> {
        let (places, lasting) = (Arc::new(Semaphore::new(places)), Arc::new(Semaphore::new(lasting)));
        Arc::new(Self { pace, places, lasting, wanted: Semaphore::new(0) })
    }

    /// Waits for a place. One waits at a time. `None` never happens: the semaphores are never closed.
    pub(super) async fn place(self: &Arc<Self>) -> Option<Place> {
        let place = |permit| Place { lane: Arc::clone(self), _permit: permit, lasts: false };
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place(permit));
        }
        self.wanted.add_permits(1);
        let permit = Arc::clone(&self.places).acquire_owned().await.ok()?;
        if let Ok(wish) = self.wanted.try_acquire() {
            // A place became free by itself: nobody needs to make room.
            wish.forget();
        }
        Some(place(permit))
    }

    /// Returns when whoever has this one's place shall make room.
    async fn make_room(&self, clock: &dyn Clock, began: Duration) {
        match self.pace {
            Pace::Brisk => {
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

/// The right to post; given back when dropped.
pub(super) struct Place {
    lane: Arc<Lane>,
    _permit: OwnedSemaphorePermit,
    lasts: bool,
}

impl Place {
    /// The pace of the streams that have such places.
    pub(super) fn pace(&self) -> Pace {
        self.lane.pace
    }

    /// Whether others wait for it, or it is none to begin anything in: whoever has it had better queue again.
    pub(super) fn is_wanted(&self) -> bool {
        self.lasts || self.lane.pace == Pace::Slow || self.lane.wanted.available_permits() > 0
    }

    /// Runs a post that begins now; `None` when it was cut off to make room for others.
    pub(super) async fn run<T>(&mut self, clock: &dyn Clock, post: impl Future<Output = T>) -> Option<T> {
        let began = clock.monotonic();
        let lane = Arc::clone(&self.lane);
        let lasts = async {
            clock.sleep(LASTS_AFTER).await;
            tokio::select! {
                permit = Arc::clone(&lane.lasting).acquire_owned() => permit.ok(),
                () = lane.make_room(clock, began) => None,
            }
        };
        let mut post = std::pin::pin!(post);
        let permit = tokio::select! {
            biased;
            posted = &mut post => return Some(posted),
            permit = lasts => permit?,
        };
        self._permit = permit;
        self.lasts = true;
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

    /// Whether it goes on when looked at.
    fn waits<T>(future: &mut Pin<Box<impl Future<Output = T> + ?Sized>>) -> bool {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    fn clock() -> ManualClock {
        ManualClock::at(UnixMillis(1_000_000))
    }

    #[tokio::test]
    async fn a_post_that_lasts_gives_its_place_back_and_goes_on() {
        let (clock, lane) = (clock(), Lane::new(Pace::Brisk, 1, 1));
        let mut place = lane.place().await.unwrap();
        let (answer, answered) = tokio::sync::oneshot::channel();
        let mut post = Box::pin(place.run(&clock, answered));
        assert!(waits(&mut post));
        assert_eq!((lane.places.available_permits(), lane.lasting.available_permits()), (0, 1));
        clock.turn(LASTS_AFTER);
        assert!(waits(&mut post));
        assert_eq!((lane.places.available_permits(), lane.lasting.available_permits()), (1, 0));
        answer.send(7).unwrap();
        assert_eq!(post.await, Some(Ok(7)));
        assert!(place.is_wanted(), "the next post begins in a place");
        drop(place);
        assert_eq!((lane.places.available_permits(), lane.lasting.available_permits()), (1, 1));
    }

    #[tokio::test]
    async fn one_that_hangs_is_cut_off_when_its_place_is_wanted_and_not_before() {
        let (clock, lane) = (clock(), Lane::new(Pace::Brisk, 1, 0));
        let mut place = lane.place().await.unwrap();
        let mut post = Box::pin(place.run(&clock, pending::<()>()));
        assert!(waits(&mut post), "it begins");
        clock.turn(10 * HANGS_AFTER);
        assert!(waits(&mut post), "nobody waits");
        let mut next = Box::pin(lane.place());
        assert!(waits(&mut next));
        assert_eq!(post.await, None);
        drop(place);
        let mut place = next.await.unwrap();
        assert_eq!(place.run(&clock, ready(7)).await, Some(7));
        assert!(!place.is_wanted());
    }

    #[tokio::test]
    async fn within_a_second_nobody_is_cut_off_and_a_wish_that_came_true_is_over() {
        let (clock, lane) = (clock(), Lane::new(Pace::Brisk, 2, 0));
        let (mut one, two) = (lane.place().await.unwrap(), lane.place().await.unwrap());
        let mut post = Box::pin(one.run(&clock, pending::<()>()));
        assert!(waits(&mut post), "it begins");
        let mut next = Box::pin(lane.place());
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
    async fn the_slow_lane_cuts_nobody_off() {
        let (clock, lane) = (clock(), Lane::new(Pace::Slow, 1, 1));
        let (mut one, mut two) = (lane.place().await.unwrap(), None);
        let mut first = Box::pin(one.run(&clock, pending::<()>()));
        assert!(waits(&mut first), "it begins");
        clock.turn(10 * HANGS_AFTER);
        assert!(waits(&mut first));
        let mut second = Box::pin(two.insert(lane.place().await.unwrap()).run(&clock, pending::<()>()));
        let mut next = Box::pin(lane.place());
        assert!(waits(&mut second), "it begins");
        clock.turn(10 * HANGS_AFTER);
        for _ in 0..3 {
            assert!(waits(&mut next));
            assert!(waits(&mut first) && waits(&mut second));
        }
    }
}
