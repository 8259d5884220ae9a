//! `POST /payments/recurring/close`

use axum::Json;
use serde::Serialize;
use usher_engine::operations::SubscriptionView;
use usher_engine::request_body;
use usher_engine::request_body::{Identifier, Key, Subkeys};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;

request_body! {
    /// Closes a subscription.
    pub(crate) struct Body, BodyDraft = "CloseSubscriptionRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "subscription_id": "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10",
    } {
        /// Whose subscription it is: 64 hex characters.
        main_key: Key,
        /// Keys of the user's devices, at most 8. The wallets that agreed are notified in any case.
        subkeys: Subkeys,
        /// The subscription.
        subscription_id: Identifier,
    }
}

/// A closed subscription.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SubscriptionClosed)]
pub(crate) struct Closed {
    #[schema(example = "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10")]
    subscription_id: String,
    /// `closed`.
    #[schema(example = "closed")]
    status: &'static str,
}

impl Closed {
    fn of(view: &SubscriptionView) -> Self {
        Self { subscription_id: view.subscription_id.clone(), status: "closed" }
    }
}

/// Closes a subscription and notifies the user's wallet.
///
/// A subscription that has already ended gets the same response.
#[utoipa::path(
    post,
    path = "/payments/recurring/close",
    request_body = Body,
    responses(
        (status = 200, description = "The subscription is closed.", body = Closed),
        (status = 404, description = "`subscription_not_found`: This `main_key` has no subscription with this id."),
    ),
)]
pub(crate) async fn close_subscription(
    change: Change,
    body::Json(Body { main_key, subscription_id, .. }): body::Json<Body>,
) -> Result<Json<Closed>, Problem> {
    let once = change.once(Closed::of);
    let view = change.state.engine.subscriptions().close(&change.requester, main_key, &subscription_id, once).await?;
    Ok(Json(Closed::of(&view)))
}
