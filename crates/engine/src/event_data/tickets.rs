use serde::Serialize;
use utoipa::ToSchema;

/// Data of `CashuResponse`: the result of a ticket request, of a verification or of a ticket that was sent.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct CashuResponseData {
    /// `success` is reported only for a token that the mint has confirmed, or, for a ticket that was sent, when the mint
    /// says that it is spent.
    #[schema(pattern = "^(success|insufficient_funds|rejected)$", example = "success")]
    pub status: String,
    /// Of a verification session: whether the user has passed, also when no proof could be issued.
    #[schema(nullable = false, example = true)]
    pub passed: Option<bool>,
    /// With `success` of a request without `redeem`, and of a verification: the token (NUT-00). Anybody who has it can spend
    /// it: redeem it at once.
    #[schema(nullable = false)]
    pub token: Option<String>,
    /// With `success` of a request: what you get in `unit`, after the mint's fees: with `redeem` you have it, without it
    /// `POST /cashu/burn` gives it. With `success` of a verification: what the proof contains.
    #[schema(nullable = false, example = 1)]
    pub amount: Option<u64>,
    /// The unit.
    #[schema(nullable = false, example = "multi")]
    pub unit: Option<String>,
    /// The mint.
    #[schema(nullable = false, example = "https://mint.example")]
    pub mint_url: Option<String>,
    /// The reason; in the user's words with `rejected`.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// Your own reference.
    #[schema(nullable = false)]
    pub request_id: Option<String>,
}

/// Data of `StatusUpdate` on streams of tickets: they ended without a result.
#[derive(Clone, Default, Serialize, ToSchema)]
pub struct CashuStatusData {
    /// `timeout`: nobody answered, or redeemed the ticket, in time. `error`: the reason says why. A `CashuResponse`
    /// `success` may still follow.
    #[schema(pattern = "^(timeout|error)$", example = "timeout")]
    pub status: String,
    /// Why.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// With `error`: a token that the user has given away, that was not confirmed, and that may be worth something.
    /// Return it, or try to redeem it later.
    #[schema(nullable = false)]
    pub token: Option<String>,
    /// Your own reference.
    #[schema(nullable = false)]
    pub request_id: Option<String>,
}

impl CashuStatusData {
    /// Without a token and a reference.
    pub fn new(status: &str, reason: &str) -> Self {
        Self { status: status.to_owned(), reason: Some(reason.to_owned()), ..Self::default() }
    }
}
