//! `GET /subscriptions`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::operations::{SubscriptionState, SubscriptionView};
use usher_engine::{FieldErrors, Requester, StreamId, SubscriptionFilter};
use usher_protocol::keys::parse_public_key;

use crate::ApiState;
use crate::paging::{OrderQuery, PageQuery, page};
use crate::problem::Problem;
use crate::query::{Parameters, Query, ReadQuery};

impl ReadQuery for SubscriptionFilter {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let state = query.text("state", errors).and_then(|text| {
            let known = SubscriptionState::ALL.into_iter().find(|state| state.as_str() == text);
            known.or_else(|| {
                let words = "must be `active`, `closed_by_user`, `closed_by_provider`, `completed` or `ended`";
                errors.reject("/state", words)
            })
        });
        let main_key = query
            .text("main_key", errors)
            .and_then(|text| parse_public_key(&text).map_err(|error| errors.add("/main_key", error)).ok());
        Self { state, main_key }
    }
}

page! {
    /// Subscriptions.
    SubscriptionList sparse {
        /// The subscriptions, in the order in which they began; with `order=newest` the last first.
        subscriptions: SubscriptionView,
    }
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
        ("order" = inline(Option<String>), Query, pattern = "^(oldest|newest)$",
            description = "`oldest`, as by default, or `newest`: the last first. The pages of one list have one order."),
        PageQuery<StreamId>,
    ),
    responses(
        (status = 200, description = "The subscriptions.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_subscriptions(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<((SubscriptionFilter, OrderQuery), PageQuery<StreamId>)>,
) -> Result<Json<List>, Problem> {
    let ((filter, OrderQuery(order)), PageQuery { after, limit }) = query;
    let page = state.engine.subscriptions().list(&requester, filter, order, after, limit).await?;
    Ok(List::page(page.items, page.next))
}
