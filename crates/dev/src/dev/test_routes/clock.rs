//! `/dev/clock`: moves the service's clock forward, from one due time to the next.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use tokio::time::Instant;
use usher_api::{ApiState, DeadlineExtension, ErrorCode, JsonObject, Problem};
use usher_engine::ports::Clock as _;
use usher_engine::request_body::field_reader::integer;
use usher_engine::{Engine, Requester};
use usher_sandbox::relay::EventCount;
use usher_sandbox::wallet::WorkCount;

use super::token::require_token;
use crate::dev::clock::DevClock;

/// A leap year, in seconds.
const LONGEST: u64 = 366 * 24 * 3600;

/// Nothing has happened for so many looks, one after each pause: what a stop has caused is over. A message between
/// service and wallet takes less; on a busy machine the pauses grow, too.
const QUIET_LOOKS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(2);

/// The longest stay at a stop, when an app's webhook or a mint does not respond.
const LONGEST_STAY: Duration = Duration::from_secs(60);

/// The time limit of a call: a year with many timers takes minutes.
const TIME_LIMIT: Duration = Duration::from_secs(3600);

#[derive(Clone)]
pub(in crate::dev) struct ClockMover(Arc<Parts>);

struct Parts {
    /// `None`: the clock cannot be moved, because a real Lightning node has a clock of its own.
    clock: Option<Arc<DevClock>>,
    engine: Arc<Engine>,
    messages: EventCount,
    wallet: WorkCount,
    /// One move at a time.
    turn: tokio::sync::Mutex<()>,
}

impl ClockMover {
    pub(in crate::dev) fn new(
        clock: Option<Arc<DevClock>>,
        engine: Arc<Engine>,
        messages: EventCount,
        wallet: WorkCount,
    ) -> Self {
        Self(Arc::new(Parts { clock, engine, messages, wallet, turn: tokio::sync::Mutex::default() }))
    }
}

pub(super) fn routes(mover: ClockMover) -> Router<ApiState> {
    Router::new().route("/dev/clock", get(show).post(advance)).layer(Extension(mover))
}

async fn show(
    Extension(mover): Extension<ClockMover>,
    Extension(requester): Extension<Requester>,
) -> Result<Json<Value>, Problem> {
    require_token(&requester)?;
    Ok(Json(json!({ "now": mover.clock()?.now().secs() })))
}

async fn advance(
    State(state): State<ApiState>,
    Extension(mover): Extension<ClockMover>,
    Extension(requester): Extension<Requester>,
    Extension(deadline): Extension<DeadlineExtension>,
    body: JsonObject,
) -> Result<Json<Value>, Problem> {
    require_token(&requester)?;
    let by = Duration::from_secs(body.read(|fields| fields.required("advance", integer::<1, LONGEST>))?);
    let clock = Arc::clone(mover.clock()?);
    deadline.extend(TIME_LIMIT);
    // To its end, also if the client disconnects: the clock must not stand for ever.
    let moved = state.run_to_end(async move { mover.0.advance(&clock, by).await });
    moved.await?.map(|now| Json(json!({ "now": now }))).map_err(Problem::internal)
}

impl ClockMover {
    fn clock(&self) -> Result<&Arc<DevClock>, Problem> {
        self.0.clock.as_ref().ok_or_else(|| {
            let detail =
                "the clock cannot be moved with --embedded, because its Lightning nodes have clocks of their own";
            Problem::new(ErrorCode::RouteNotFound, detail)
        })
    }
}

impl Parts {
    /// Returns the time at the end, in Unix seconds.
    async fn advance(&self, clock: &DevClock, by: Duration) -> std::io::Result<u64> {
        let _turn = self.turn.lock().await;
        clock.stand(by)?;
        let mut left = by;
        self.until_quiet().await;
        while let Some(next) = self.next_stop(clock).filter(|next| *next <= left) {
            clock.step(next);
            left = left.saturating_sub(next);
            self.until_quiet().await;
        }
        clock.step(left);
        self.until_quiet().await;
        let now = clock.now().secs();
        clock.run();
        Ok(now)
    }

    /// Never nothing, so that a timer that cannot be handled now holds up no move.
    fn next_stop(&self, clock: &DevClock) -> Option<Duration> {
        let next = self.engine.next_timer().into_iter().chain(clock.first_stop()).min()?;
        Some(next.max(Duration::from_millis(1)))
    }

    /// Waits until what has happened at a stop is over: steps of operations, calls to Lightning and mints, posts to the
    /// webhook, messages to the wallet, what it does, and its replies.
    async fn until_quiet(&self) {
        let engine = &self.engine;
        let until = Instant::now() + LONGEST_STAY;
        let mut seen = None;
        let mut quiet = 0;
        while quiet < QUIET_LOOKS && Instant::now() < until {
            tokio::time::sleep(PAUSE).await;
            let now = (self.messages.get(), engine.metrics());
            let is_due = engine.next_timer().is_some_and(|next| next.is_zero());
            let is_idle = engine.is_idle() && self.wallet.is_idle() && !is_due;
            quiet = if is_idle && seen.as_ref() == Some(&now) { quiet + 1 } else { 0 };
            seen = Some(now);
        }
    }
}
