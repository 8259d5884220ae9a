//! The error codes that client programs can branch on, and what is said of each.

use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// Declares the codes: each with its name on the wire, its status, its title, and, where that is not the title, what it means as a response
/// of an endpoint.
macro_rules! error_codes {
    ($( $(#[doc = $doc:tt])+ $code:ident $name:literal $status:ident $title:literal $($meaning:literal)?, )+) => {
        /// The `code` of an error: stable, for programs to branch on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $( $(#[doc = $doc])+ $code, )+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$( Self::$code, )+];

            /// The name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$code => $name, )+
                }
            }

            /// The HTTP status of the response.
            pub const fn status(self) -> StatusCode {
                match self {
                    $( Self::$code => StatusCode::$status, )+
                }
            }

            /// The `title`: the same for every occurrence (RFC 9457 section 3.1.3).
            pub const fn title(self) -> &'static str {
                match self {
                    $( Self::$code => $title, )+
                }
            }

            /// What it means as a response of an endpoint whose description says nothing else.
            pub(crate) const fn meaning(self) -> &'static str {
                match self {
                    $( Self::$code => error_codes!(@meaning $title $($meaning)?), )+
                }
            }
        }
    };
    (@meaning $title:literal) => { $title };
    (@meaning $title:literal $meaning:literal) => { $meaning };
}

error_codes! {
    /// The body is not JSON.
    MalformedJson "malformed_json" BAD_REQUEST "The body is not JSON",
    /// The request is malformed HTTP: its `Host` header is missing, repeated or invalid, a line of its head ends with LF
    /// alone, or the length of its body is ambiguous.
    MalformedRequest "malformed_request" BAD_REQUEST "The request is malformed",
    /// The JWT is malformed, not signed by the key, or not valid yet.
    JwtInvalid "jwt_invalid" BAD_REQUEST "The JWT is invalid",
    /// The JWT is correctly signed and has expired.
    JwtExpired "jwt_expired" BAD_REQUEST "The JWT has expired",
    /// The bearer token is missing, or is neither the configured one nor an API key that is accepted.
    Unauthorized "unauthorized" UNAUTHORIZED "The bearer token is missing or wrong",
    /// The API key lacks the scope that the endpoint needs; `scope` names it.
    ScopeMissing "scope_missing" FORBIDDEN "The API key lacks a scope",
    /// The operator's role in the console does not include this.
    RoleNotAllowed "role_not_allowed" FORBIDDEN "The operator's role does not include this",
    /// In the console, this needs a login that is at most five minutes old.
    StepUpRequired "step_up_required" FORBIDDEN "Log in to the console again",
    /// The API key is not accepted from the client's network.
    NetworkNotAllowed "network_not_allowed" FORBIDDEN "The API key is not accepted from this network",
    /// The API key sees only the streams that it has started, and the endpoint is about the whole service.
    OwnStreamsOnly "own_streams_only" FORBIDDEN "The API key sees only its own streams",
    /// The API key has a daily budget, and what the endpoint spends is not counted by it.
    BudgetNotCounted "budget_not_counted" FORBIDDEN "The API key has a budget that cannot count this",
    /// Who asked for a payment cannot approve it.
    OwnRequest "own_request" FORBIDDEN "Somebody else has to approve the payment",
    /// More than a key may take out of the service, and there is no approval for it: only the token may.
    TokenRequired "token_required" FORBIDDEN "Only the token may do this",
    /// There is no such API key, or it was revoked.
    KeyNotFound "key_not_found" NOT_FOUND "No such API key"
        "No API key has this id, or it was revoked",
    /// There is no such operator, or the configuration has them.
    OperatorNotFound "operator_not_found" NOT_FOUND "No such operator"
        "No operator with this key can be removed: there is none, or the configuration has them",
    /// There is no such path.
    RouteNotFound "route_not_found" NOT_FOUND "No such path",
    /// There is no such stream, or it was removed after its retention.
    StreamNotFound "stream_not_found" NOT_FOUND "No such stream",
    /// Events from the index asked for on were removed after their retention; `first` is the first index that can be read.
    EventsRemoved "events_removed" GONE "Events were removed",
    /// There is no such delivery to the webhook, or it was removed with its stream.
    DeliveryNotFound "delivery_not_found" NOT_FOUND "No such delivery",
    /// The relays that responded have no profile of the key, or the domain names no key.
    ProfileNotFound "profile_not_found" NOT_FOUND "No such profile",
    /// There is no such verification session, or it was removed after its retention.
    SessionNotFound "session_not_found" NOT_FOUND "No such verification session",
    /// There is no such subscription, or none of this user, or it ended so long ago that it was removed.
    SubscriptionNotFound "subscription_not_found" NOT_FOUND "No such subscription",
    /// It is not one of the service's relays.
    RelayNotFound "relay_not_found" NOT_FOUND "No such relay",
    /// The service's own Lightning node has no such channel.
    ChannelNotFound "channel_not_found" NOT_FOUND "No such channel",
    /// The user has not agreed to give this OpenID Connect client anything.
    ConsentNotFound "consent_not_found" NOT_FOUND "No such consent",
    /// There is no such OpenID Connect client.
    ClientNotFound "client_not_found" NOT_FOUND "No such client",
    /// The OpenID Connect client is one of the configuration (`oidc.clients`): it is changed there.
    ClientOfConfiguration "client_of_configuration" CONFLICT "The client is one of the configuration",
    /// There is no such signing key of the OpenID Connect provider.
    SigningKeyNotFound "signing_key_not_found" NOT_FOUND "No such signing key",
    /// No remote signer of this user is kept.
    RemoteSignerNotFound "remote_signer_not_found" NOT_FOUND "No such remote signer",
    /// No passkey of this user is kept.
    PasskeyNotFound "passkey_not_found" NOT_FOUND "No such passkey",
    /// Nothing is kept of this user.
    UserNotFound "user_not_found" NOT_FOUND "No such user",
    /// There is no payment with this stream that was paid.
    ReceiptNotFound "receipt_not_found" NOT_FOUND "No receipt",
    /// The path exists, but not with this method; `Allow` lists those it has.
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "The path does not support this method",
    /// The body did not arrive in time.
    BodyTimeout "body_timeout" REQUEST_TIMEOUT "The body did not arrive in time",
    /// The `Idempotency-Key` was used within 24 hours for the same call with another body.
    IdempotencyKeyReused "idempotency_key_reused" CONFLICT "The idempotency key belongs to another request",
    /// The Cashu token is spent already.
    TokenAlreadySpent "token_already_spent" CONFLICT "The token is already spent",
    /// The mint holds the Cashu token as pending: it is being spent, and it is not known yet by whom.
    TokenPending "token_pending" CONFLICT "The token is pending at its mint",
    /// The verification session is decided already.
    SessionDecided "session_decided" CONFLICT "The verification session is decided",
    /// Nobody decided the verification session in time.
    SessionExpired "session_expired" CONFLICT "The verification session has expired",
    /// It is not the code of this login, or the login has none.
    LoginCodeInvalid "login_code_invalid" CONFLICT "The code of the login is wrong",
    /// No payment waits for an approval under this id: there is none, or it is decided, or nobody has approved it in time.
    ApprovalNotFound "approval_not_found" NOT_FOUND "Nothing waits for an approval",
    /// The payment that the request needs waits for an approval; `stream_id` names it. Repeat the request with its
    /// `Idempotency-Key` once it is approved.
    ApprovalRequired "approval_required" CONFLICT "The payment waits for an approval",
    /// The payment was not paid, so there is nothing to refund.
    PaymentNotPaid "payment_not_paid" CONFLICT "The payment is not paid",
    /// All of the payment is refunded, or is being refunded.
    PaymentRefunded "payment_refunded" CONFLICT "The payment is refunded",
    /// The code of the login was redeemed before.
    LoginCodeRedeemed "login_code_redeemed" CONFLICT "The code of the login was redeemed",
    /// The code of the login was not redeemed in time.
    LoginCodeExpired "login_code_expired" CONFLICT "The code of the login has expired",
    /// The body is larger than the limit.
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE "The body is too large",
    /// The body is not `application/json`, or is compressed.
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE "The body is not application/json",
    /// Some fields are wrong; `errors` lists all of them.
    InvalidRequest "invalid_request" UNPROCESSABLE_ENTITY "Some fields are wrong",
    /// The path is a WebSocket, and this is no opening handshake of one.
    UpgradeRequired "upgrade_required" UPGRADE_REQUIRED "The path is a WebSocket",
    /// More requests per second than `limits.requests_per_second`, or than the API key's own `requests_per_second`; ask again after
    /// `Retry-After`.
    RateLimited "rate_limited" TOO_MANY_REQUESTS "Too many requests",
    /// Too little is left of `wallet.daily_budget_millisats`, or of the API key's daily budget; there is room again after `Retry-After` at the earliest.
    BudgetExhausted "budget_exhausted" TOO_MANY_REQUESTS "The daily budget is spent",
    /// A fault of the service; its log has more under the request id.
    InternalError "internal_error" INTERNAL_SERVER_ERROR "The service failed",
    /// Something is full: open streams, waiting requests or connections; retry after `Retry-After`.
    Overloaded "overloaded" SERVICE_UNAVAILABLE "The service is full"
        "`limits.max_open_streams` is reached",
    /// The database does not do its work now; ask again after `Retry-After`.
    StorageUnavailable "storage_unavailable" SERVICE_UNAVAILABLE "The database is unavailable",
    /// No relay is connected, and the request needs one; retry after `Retry-After`.
    NoRelayConnected "no_relay_connected" SERVICE_UNAVAILABLE "No relay is connected",
    /// No instance of the service is active, or another one became it while the request ran: it may have taken effect. Retry
    /// after `Retry-After`.
    NoActiveInstance "no_active_instance" SERVICE_UNAVAILABLE "No instance is active",
    /// The service has no Lightning backend (`wallet.ln_backend` is `none`), or no node of its own (it is not `embedded`), and
    /// the request needs one.
    WalletNotConfigured "wallet_not_configured" SERVICE_UNAVAILABLE "No Lightning backend is configured"
        "`wallet.ln_backend` is `none`",
    /// No mint of proofs of age is configured (`verification.mint_url`), and the request names none.
    VerificationNotConfigured "verification_not_configured" SERVICE_UNAVAILABLE "No mint of proofs of age is configured",
    /// No webhook is configured (`webhook.url`), and the request needs one.
    WebhookNotConfigured "webhook_not_configured" SERVICE_UNAVAILABLE "No webhook is configured",
    /// The service is no OpenID Connect provider: it has no client (`POST /oidc/clients`, `oidc.clients`), and the request needs one.
    OidcNotConfigured "oidc_not_configured" SERVICE_UNAVAILABLE "No OpenID Connect client is configured"
        "The service is no OpenID Connect provider: it has no client (`POST /oidc/clients`, `oidc.clients`)",
    /// The amount is in a currency of which there is no exchange rate now; retry after `Retry-After`.
    RateUnavailable "rate_unavailable" SERVICE_UNAVAILABLE "There is no exchange rate now"
        "There is no exchange rate for `currency` now",
    /// The service's Lightning wallet refused, or cannot be reached.
    WalletError "wallet_error" BAD_GATEWAY "The Lightning backend failed",
    /// The service's Lightning backend did not reply in time.
    WalletTimeout "wallet_timeout" GATEWAY_TIMEOUT "The Lightning backend did not respond",
    /// The Cashu mint refused, cannot be reached, or its response is invalid.
    MintError "mint_error" BAD_GATEWAY "The mint failed"
        "The mint refuses, cannot be reached, or its response is invalid",
    /// The Cashu mint did not respond in time. The work continues: repeat the request with its `Idempotency-Key`.
    MintTimeout "mint_timeout" GATEWAY_TIMEOUT "The mint did not respond"
        "The mint did not respond in time. The work continues: repeat the request with the same `Idempotency-Key`",
    /// The request took longer than the time limit. It may still be processed.
    DeadlineExceeded "deadline_exceeded" SERVICE_UNAVAILABLE "The request took too long",
}

impl ErrorCode {
    /// The `type`: a name, not an address; there is nothing to fetch.
    pub fn type_uri(self) -> String {
        format!("urn:usher:error:{}", self.as_str())
    }
}
