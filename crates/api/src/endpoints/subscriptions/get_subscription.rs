//! `GET /subscriptions/{subscription_id}`

use axum::extract::State;
use axum::{Extension, Json};
use usher_engine::operations::SubscriptionView;
use usher_engine::{Requester, SubscriptionError};

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

/// Shows a subscription.
///
/// A subscription that has ended can be read for `streams.retention_days`.
#[utoipa::path(
    get,
    path = "/subscriptions/{subscription_id}",
    params(("subscription_id" = String, Path, description = "The `subscription_id` of the `Subscription` event.")),
    responses(
        (status = 200, description = "The subscription.", body = SubscriptionView),
        (status = 404, description = "`subscription_not_found`: There is none with this id, or it ended so long ago that \
            it was removed."),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn get_subscription(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    PathParameter(id): PathParameter,
) -> Result<Json<SubscriptionView>, Problem> {
    let id = id.ok_or(SubscriptionError::NotFound)?;
    Ok(Json(state.engine.subscriptions().view(&requester, &id).await?))
}
