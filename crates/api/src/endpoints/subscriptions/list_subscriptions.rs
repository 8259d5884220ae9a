//! `GET /subscriptions`

use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::operations::SubscriptionState;
use usher_engine::{Requester, StreamId, SubscriptionFilter};
use usher_protocol::keys::parse_public_key;
use utoipa::ToSchema;

use super::subscription::Subscription;
use crate::ApiState;
use crate::paging::{ListError, PageQuery};
use crate::query::Query;
use usher_engine::FieldError;
use usher_engine::FieldErrors;

/// The query.
#[derive(Debug)]
struct Parameters {
    filter: SubscriptionFilter,
    page: PageQuery<StreamId>,
}

impl Parameters {
    fn read(query: Option<&str>) -> Result<Self, Vec<FieldError>> {
        let mut errors = FieldErrors::default();
        let query = Query::new(query);
        let state = query.text("state", &mut errors).and_then(|text| {
            let known = SubscriptionState::ALL.into_iter().find(|state| state.as_str() == text);
            known.or_else(|| {
                let words = "must be `active`, `closed_by_user`, `closed_by_provider`, `completed` or `ended`";
                errors.reject("/state", words)
            })
        });
        let main_key = query
            .text("main_key", &mut errors)
            .and_then(|text| parse_public_key(&text).map_err(|error| errors.add("/main_key", error)).ok());
        let page = PageQuery::read(&query, &mut errors);
        errors.finish(Some(Self { filter: SubscriptionFilter { state, main_key }, page }))
    }
}

/// Subscriptions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubscriptionList)]
pub(crate) struct List {
    /// The subscriptions, oldest first.
    subscriptions: Vec<Subscription>,
    /// The `after` for the next page; `null` if this is the last one. A page may have fewer entries than `limit`, even
    /// none, and still have a `next`.
    #[schema(example = json!(null))]
    next: Option<String>,
}

/// Lists subscriptions.
///
/// Subscriptions that have ended stay in the list for `streams.retention_days`.
#[utoipa::path(
    get,
    path = "/subscriptions",
    params(
        ("state" = inline(Option<String>), Query, pattern = "^(active|closed_by_user|closed_by_provider|completed|ended)$",
            description = "Only those in this state: `active`, `closed_by_user`, `closed_by_provider`, `completed` or `ended`."),
        ("main_key" = inline(Option<String>), Query, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$",
            description = "Only those of this user: 64 hex characters."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The subscriptions.", body = List),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn list_subscriptions(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    RawQuery(query): RawQuery,
) -> Result<Json<List>, ListError> {
    let Parameters { filter, page: PageQuery { after, limit } } =
        Parameters::read(query.as_deref()).map_err(ListError::Invalid)?;
    let page = state.engine.subscriptions().list(&requester, filter, after, limit).await?;
    Ok(Json(List {
        subscriptions: page.subscriptions.into_iter().map(Subscription::from).collect(),
        next: page.next.map(|next| next.to_string()),
    }))
}
