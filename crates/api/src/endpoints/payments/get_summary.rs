//! `GET /summary`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::ports::HourlySums;
use usher_engine::{FieldError, FieldErrors};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::Problem;
use crate::query::{LATEST, Parameters, Query, ReadQuery};

/// Sums by hour, or by day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Summary)]
pub(crate) struct Summary {
    /// One for each hour or day between `from` and `to`, the earliest first.
    summary: Vec<Sums>,
}

/// What happened in an hour or a day.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = SummarySums)]
struct Sums {
    /// Its beginning, in Unix seconds.
    #[schema(example = 1_732_136_400)]
    from: u64,
    /// Its end, in Unix seconds.
    #[schema(example = 1_732_140_000)]
    to: u64,
    /// Payments to the service that were paid.
    #[schema(example = 12)]
    paid: u64,
    /// What they brought, in millisats. What comes on top later counts when it arrives.
    #[schema(example = 120_000)]
    paid_millisats: u64,
    /// What was paid back, in millisats, without fees.
    #[schema(example = 10_000)]
    refunded_millisats: u64,
    /// What the Lightning backend paid otherwise, in millisats, without fees.
    #[schema(example = 0)]
    sent_millisats: u64,
    /// Payments to the service that ended unpaid. One that is paid later is taken out again.
    #[schema(example = 3)]
    unpaid: u64,
    /// Logins that were approved.
    #[schema(example = 40)]
    logins: u64,
    /// Logins that ended otherwise: declined, with a time-out, or with an error.
    #[schema(example = 2)]
    logins_failed: u64,
}

impl Sums {
    fn add(&mut self, hour: &HourlySums) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.paid, hour.paid);
        add(&mut self.paid_millisats, hour.paid_millisats);
        add(&mut self.refunded_millisats, hour.refunded_millisats);
        add(&mut self.sent_millisats, hour.sent_millisats);
        add(&mut self.unpaid, hour.unpaid);
        add(&mut self.logins, hour.logins);
        add(&mut self.logins_failed, hour.logins_failed);
    }
}

/// The requested time.
#[derive(Debug)]
pub(crate) struct Period {
    /// Unix seconds.
    from: Option<u64>,
    to: Option<u64>,
    by: Step,
}

/// What an entry is of.
#[derive(Clone, Copy, Debug)]
struct Step {
    hours: u64,
    most: u64,
    default: u64,
}

const HOUR: Step = Step { hours: 1, most: 31 * 24, default: 24 };

const DAY: Step = Step { hours: 24, most: 366, default: 30 };

impl ReadQuery for Period {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let from = query.integer("from", 0..=LATEST, errors);
        let to = query.integer("to", 0..=LATEST, errors);
        let by = match query.text("by", errors).as_deref() {
            None | Some("hour") => Some(HOUR),
            Some("day") => Some(DAY),
            Some(_) => errors.reject("/by", "must be `hour` or `day`"),
        };
        Self { from, to, by: by.unwrap_or(HOUR) }
    }
}

impl Period {
    /// Its beginning and end in hours since the Unix epoch, on the boundaries of entries.
    fn hours(&self, now: u64) -> Result<(u64, u64), Vec<FieldError>> {
        let Step { hours, most, default } = self.by;
        let seconds = hours * 60 * 60;
        let end = self.to.unwrap_or(now + 1).div_ceil(seconds);
        let begin = self.from.map_or_else(|| end.saturating_sub(default), |from| from / seconds);
        let mut errors = FieldErrors::default();
        let pointer = if self.to.is_some() { "/to" } else { "/from" };
        if end <= begin {
            errors.add(pointer, "`from` must be before `to`");
        } else if end - begin > most {
            errors.add(pointer, format!("from `from` to `to` must be at most {most} entries"));
        }
        errors.finish(Some((begin * hours, end * hours)))
    }
}

/// Sums up payments and logins by hour or day.
///
/// The sums are kept with the books, and stay when payments leave the books and when users are erased. A day begins at midnight UTC.
/// Logins that nobody has begun at the OpenID Connect provider or at a reusable login do not count.
#[utoipa::path(
    get,
    path = "/summary",
    params(
        ("from" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "From the hour or day of this time on, in Unix seconds. Default: 24 hours or 30 days before `to`."),
        ("to" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "Until the end of the hour or day before this time, in Unix seconds. Default: now. At most 744 hours or 366 days."),
        ("by" = inline(Option<String>), Query, pattern = "^(hour|day)$", description = "`hour` (default) or `day`."),
    ),
    responses(
        (status = 200, description = "The sums.", body = Summary),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn get_summary(
    State(state): State<ApiState>,
    Parameters(period): Parameters<Period>,
) -> Result<Json<Summary>, Problem> {
    let (from, to) = period.hours(state.clock.now().secs()).map_err(Problem::invalid)?;
    let hours = state.engine.hourly_sums(from, to).await?;
    Ok(Json(Summary { summary: sums(from, to, period.by.hours, &hours) }))
}

fn sums(from: u64, to: u64, step: u64, hours: &[HourlySums]) -> Vec<Sums> {
    let mut hours = hours.iter().peekable();
    let begins = (from..to).step_by(usize::try_from(step).unwrap_or(1));
    let entries = begins.map(|begin| {
        let end = begin + step;
        let mut sums = Sums { from: begin * 3600, to: end * 3600, ..Sums::default() };
        while let Some(hour) = hours.next_if(|hour| hour.hour < end) {
            sums.add(hour);
        }
        sums
    });
    entries.collect()
}
