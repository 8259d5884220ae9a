//! `/dev/outcomes`: how the wallet answers its next requests.

use axum::routing::get;
use axum::{Extension, Json, Router};
use serde_json::{Value, json};
use usher_api::{ApiState, JsonObject, Problem};
use usher_engine::request_body::field_reader::{Fields, integer, parsed};
use usher_engine::{FieldErrors, Requester};
use usher_sandbox::wallet::{MAX_OUTCOMES, Outcome, RequestType, ScriptedOutcome, ScriptedOutcomes};

use super::token::require_token;

/// A number that JSON of all languages can carry.
const MAX: u64 = 1 << 53;

pub(super) fn routes(outcomes: ScriptedOutcomes) -> Router<ApiState> {
    Router::new().route("/dev/outcomes", get(list).post(add).delete(clear)).layer(Extension(outcomes))
}

async fn list(
    Extension(outcomes): Extension<ScriptedOutcomes>,
    Extension(requester): Extension<Requester>,
) -> Result<Json<Value>, Problem> {
    require_token(&requester)?;
    Ok(answer(&outcomes))
}

async fn clear(
    Extension(outcomes): Extension<ScriptedOutcomes>,
    Extension(requester): Extension<Requester>,
) -> Result<Json<Value>, Problem> {
    require_token(&requester)?;
    outcomes.clear();
    Ok(answer(&outcomes))
}

async fn add(
    Extension(outcomes): Extension<ScriptedOutcomes>,
    Extension(requester): Extension<Requester>,
    body: JsonObject,
) -> Result<Json<Value>, Problem> {
    require_token(&requester)?;
    let scripted = body.read(read)?;
    let mut errors = FieldErrors::default();
    check(&scripted, &mut errors);
    if errors.is_empty() && !outcomes.add(scripted) {
        errors.add("", format_args!("there are {MAX_OUTCOMES} outcomes; DELETE /dev/outcomes forgets them"));
    }
    errors.finish(Some(answer(&outcomes))).map_err(Problem::invalid)
}

fn read(fields: &mut Fields<'_>) -> Option<ScriptedOutcome> {
    let outcome = fields.required("outcome", |pointer, value, errors| {
        parsed(pointer, value, errors, Outcome::parse, one_of(&Outcome::ALL.map(Outcome::as_str)))
    });
    let request_type = fields.optional("for", |pointer, value, errors| {
        parsed(pointer, value, errors, RequestType::parse, one_of(&RequestType::ALL.map(RequestType::as_str)))
    });
    let amount_millisats = fields.optional("amount_millisats", integer::<1, MAX>);
    let times_left = fields.optional("times", integer::<0, MAX>).unwrap_or(1);
    Some(ScriptedOutcome { outcome: outcome?, request_type, amount_millisats, times_left })
}

fn one_of(words: &[&str]) -> String {
    format!("must be one of {}", words.join(", "))
}

fn check(scripted: &ScriptedOutcome, errors: &mut FieldErrors) {
    let Some(of) = scripted.request_type else { return };
    if !of.can(scripted.outcome) {
        let whom = if scripted.outcome == Outcome::Fail { "payment or ticket" } else { "payment" };
        errors.add("/for", format_args!("must be {whom} with this outcome"));
    }
    if scripted.amount_millisats.is_some() && !matches!(of, RequestType::Payment | RequestType::Subscription) {
        errors.add("/amount_millisats", "is for payments and subscriptions");
    }
}

fn answer(outcomes: &ScriptedOutcomes) -> Json<Value> {
    let list = outcomes.all();
    let list = list.iter().map(|scripted| {
        json!({
            "outcome": scripted.outcome.as_str(),
            "for": scripted.request_type.map(RequestType::as_str),
            "amount_millisats": scripted.amount_millisats,
            "times_left": scripted.times_left,
        })
    });
    Json(json!({ "outcomes": list.collect::<Vec<_>>() }))
}
