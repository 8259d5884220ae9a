//! `POST /payments/recurring/close`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::operations::SubscriptionView;
use usher_engine::{Engine, SubscriptionError};
use usher_protocol::PublicKey;
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody};
use crate::field_reader::{self, Fields};
use crate::idempotency::IdempotencyContext;
use crate::problem::Problem;
use crate::tasks::{self, TaskLost};

/// Why a subscription was not closed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Subscription(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// Closes a subscription.
#[derive(Debug, ToSchema)]
#[schema(as = CloseSubscriptionRequest, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "subkeys": [],
    "subscription_id": "0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10",
}))]
#[expect(dead_code, reason = "describes the body that `JsonBody for Request` reads")]
pub(crate) struct RequestBody {
    /// Whose it is: 64 hex characters.
    #[schema(pattern = "^[0-9a-fA-F]{64}$")]
    main_key: String,
    /// Keys of the user's devices, at most 8; the wallets that agreed are told in any case.
    subkeys: Vec<String>,
    /// The subscription.
    #[schema(format = "identifier", min_length = 1, max_length = 256)]
    subscription_id: String,
}

#[derive(Debug)]
pub(crate) struct Request {
    main_key: PublicKey,
    subscription_id: String,
}

impl JsonBody for Request {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let main_key = fields.required("main_key", field_reader::public_key);
        let subkeys = fields.required("subkeys", field_reader::public_keys::<{ Engine::MAX_SUBKEYS }>);
        let subscription_id = fields.required("subscription_id", field_reader::identifier);
        subkeys?;
        Some(Self { main_key: main_key?, subscription_id: subscription_id? })
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

/// Closes a subscription and tells the user's wallet.
///
/// One that has ended already, whoever closed it, is answered the same.
#[utoipa::path(
    post,
    path = "/payments/recurring/close",
    request_body = RequestBody,
    responses(
        (status = 200, description = "It is closed.", body = Closed),
        (status = 404, description = "`subscription_not_found`: There is none with this id of this `main_key`."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable."),
    ),
)]
pub(crate) async fn close_subscription(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<Request>,
) -> Result<Json<Closed>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Closed::of));
    let Request { main_key, subscription_id } = request;
    let close = async move { engine.close_subscription(main_key, &subscription_id, once).await };
    let view = tasks::run_detached(&state, close).await??;
    Ok(Json(Closed::of(&view)))
}
