//! The error codes that client programs can branch on.

use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

/// The `code` of an error: stable, for programs to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The body is not JSON.
    MalformedJson,
    /// The request is malformed HTTP: its `Host` header is missing, repeated or invalid, a line of its head ends with LF
    /// alone, or the length of its body is ambiguous.
    MalformedRequest,
    /// The JWT is malformed, not signed by the key, or not valid yet.
    JwtInvalid,
    /// The JWT is correctly signed and has expired.
    JwtExpired,
    /// The bearer token is missing, or is neither the configured one nor an API key that is accepted.
    Unauthorized,
    /// The API key lacks the scope that the endpoint needs; `scope` names it.
    ScopeMissing,
    /// The API key is not accepted from the client's network.
    NetworkNotAllowed,
    /// The API key sees only the streams that it has started, and the endpoint is about the whole service.
    OwnStreamsOnly,
    /// The API key has a daily budget, and what the endpoint spends is not counted by it.
    BudgetNotCounted,
    /// Who asked for a payment cannot approve it.
    OwnRequest,
    /// More than a key may take out of the service, and there is no approval for it: only the token may.
    TokenRequired,
    /// There is no such API key, or it was revoked.
    KeyNotFound,
    /// There is no such path.
    RouteNotFound,
    /// There is no such stream, or it was removed after its retention.
    StreamNotFound,
    /// Events from the index asked for on were removed after their retention; `first` is the first index that can be read.
    EventsRemoved,
    /// There is no such delivery to the webhook, or it was removed with its stream.
    DeliveryNotFound,
    /// The relays that responded have no profile of the key, or the domain names no key.
    ProfileNotFound,
    /// There is no such verification session, or it was removed after its retention.
    SessionNotFound,
    /// There is no such subscription, or none of this user, or it ended so long ago that it was removed.
    SubscriptionNotFound,
    /// It is not one of the service's relays.
    RelayNotFound,
    /// The service's own Lightning node has no such channel.
    ChannelNotFound,
    /// The user has not agreed to give this OpenID Connect client anything.
    ConsentNotFound,
    /// There is no such signing key of the OpenID Connect provider.
    SigningKeyNotFound,
    /// No remote signer of this user is kept.
    RemoteSignerNotFound,
    /// No passkey of this user is kept.
    PasskeyNotFound,
    /// There is no payment with this stream that was paid.
    ReceiptNotFound,
    /// The path exists, but not with this method; `Allow` lists those it has.
    MethodNotAllowed,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The `Idempotency-Key` was used within 24 hours for the same call with another body.
    IdempotencyKeyReused,
    /// The Cashu token is spent already.
    TokenAlreadySpent,
    /// The mint holds the Cashu token as pending: it is being spent, and it is not known yet by whom.
    TokenPending,
    /// The verification session is decided already.
    SessionDecided,
    /// Nobody decided the verification session in time.
    SessionExpired,
    /// It is not the code of this login, or the login has none.
    LoginCodeInvalid,
    /// No payment waits for an approval under this id: there is none, or it is decided, or nobody has approved it in time.
    ApprovalNotFound,
    /// The payment that the request needs waits for an approval; `stream_id` names it. Repeat the request with its
    /// `Idempotency-Key` once it is approved.
    ApprovalRequired,
    /// The payment was not paid, so there is nothing to refund.
    PaymentNotPaid,
    /// All of the payment is refunded, or is being refunded.
    PaymentRefunded,
    /// The code of the login was redeemed before.
    LoginCodeRedeemed,
    /// The code of the login was not redeemed in time.
    LoginCodeExpired,
    /// The body is larger than the limit.
    BodyTooLarge,
    /// The body is not `application/json`, or is compressed.
    UnsupportedMediaType,
    /// Some fields are wrong; `errors` lists all of them.
    InvalidRequest,
    /// The path is a WebSocket, and this is no opening handshake of one.
    UpgradeRequired,
    /// More requests per second than `limits.requests_per_second`, or than the API key's own `requests_per_second`; ask again after
    /// `Retry-After`.
    RateLimited,
    /// Too little is left of `wallet.daily_budget_millisats`, or of the API key's daily budget; there is room again after `Retry-After` at the earliest.
    BudgetExhausted,
    /// A fault of the service; its log has more under the request id.
    InternalError,
    /// Something is full: open streams, waiting requests or connections; retry after `Retry-After`.
    Overloaded,
    /// The database does not do its work now; ask again after `Retry-After`.
    StorageUnavailable,
    /// No relay is connected, and the request needs one; retry after `Retry-After`.
    NoRelayConnected,
    /// No instance of the service is active, or another one became it while the request ran: it may have taken effect. Retry
    /// after `Retry-After`.
    NoActiveInstance,
    /// The service has no Lightning backend (`wallet.ln_backend` is `none`), or no node of its own (it is not `embedded`), and
    /// the request needs one.
    WalletNotConfigured,
    /// No mint of proofs of age is configured (`verification.mint_url`), and the request names none.
    VerificationNotConfigured,
    /// The service is no OpenID Connect provider (`oidc.clients`), and the request needs one.
    OidcNotConfigured,
    /// The amount is in a currency of which there is no exchange rate now; retry after `Retry-After`.
    RateUnavailable,
    /// The service's Lightning wallet refused, or cannot be reached.
    WalletError,
    /// The service's Lightning backend did not reply in time.
    WalletTimeout,
    /// The Cashu mint refused, cannot be reached, or its response is invalid.
    MintError,
    /// The Cashu mint did not respond in time. The work continues: repeat the request with its `Idempotency-Key`.
    MintTimeout,
    /// The request took longer than the time limit. It may still be processed.
    DeadlineExceeded,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 60] = [
        Self::MalformedJson,
        Self::MalformedRequest,
        Self::JwtInvalid,
        Self::JwtExpired,
        Self::Unauthorized,
        Self::ScopeMissing,
        Self::NetworkNotAllowed,
        Self::OwnStreamsOnly,
        Self::BudgetNotCounted,
        Self::OwnRequest,
        Self::TokenRequired,
        Self::RouteNotFound,
        Self::KeyNotFound,
        Self::StreamNotFound,
        Self::EventsRemoved,
        Self::ProfileNotFound,
        Self::SubscriptionNotFound,
        Self::RelayNotFound,
        Self::DeliveryNotFound,
        Self::SessionNotFound,
        Self::ChannelNotFound,
        Self::ConsentNotFound,
        Self::SigningKeyNotFound,
        Self::RemoteSignerNotFound,
        Self::PasskeyNotFound,
        Self::ReceiptNotFound,
        Self::ApprovalNotFound,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::IdempotencyKeyReused,
        Self::TokenAlreadySpent,
        Self::TokenPending,
        Self::ApprovalRequired,
        Self::PaymentNotPaid,
        Self::PaymentRefunded,
        Self::SessionDecided,
        Self::SessionExpired,
        Self::LoginCodeInvalid,
        Self::LoginCodeRedeemed,
        Self::LoginCodeExpired,
        Self::BodyTooLarge,
        Self::UnsupportedMediaType,
        Self::InvalidRequest,
        Self::UpgradeRequired,
        Self::RateLimited,
        Self::BudgetExhausted,
        Self::InternalError,
        Self::Overloaded,
        Self::StorageUnavailable,
        Self::NoRelayConnected,
        Self::NoActiveInstance,
        Self::WalletNotConfigured,
        Self::VerificationNotConfigured,
        Self::OidcNotConfigured,
        Self::RateUnavailable,
        Self::WalletError,
        Self::WalletTimeout,
        Self::MintError,
        Self::MintTimeout,
        Self::DeadlineExceeded,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MalformedJson => "malformed_json",
            Self::MalformedRequest => "malformed_request",
            Self::JwtInvalid => "jwt_invalid",
            Self::JwtExpired => "jwt_expired",
            Self::Unauthorized => "unauthorized",
            Self::ScopeMissing => "scope_missing",
            Self::NetworkNotAllowed => "network_not_allowed",
            Self::OwnStreamsOnly => "own_streams_only",
            Self::BudgetNotCounted => "budget_not_counted",
            Self::OwnRequest => "own_request",
            Self::TokenRequired => "token_required",
            Self::KeyNotFound => "key_not_found",
            Self::RouteNotFound => "route_not_found",
            Self::StreamNotFound => "stream_not_found",
            Self::EventsRemoved => "events_removed",
            Self::ProfileNotFound => "profile_not_found",
            Self::SubscriptionNotFound => "subscription_not_found",
            Self::RelayNotFound => "relay_not_found",
            Self::DeliveryNotFound => "delivery_not_found",
            Self::SessionNotFound => "session_not_found",
            Self::ChannelNotFound => "channel_not_found",
            Self::ConsentNotFound => "consent_not_found",
            Self::SigningKeyNotFound => "signing_key_not_found",
            Self::RemoteSignerNotFound => "remote_signer_not_found",
            Self::PasskeyNotFound => "passkey_not_found",
            Self::ReceiptNotFound => "receipt_not_found",
            Self::ApprovalNotFound => "approval_not_found",
            Self::ApprovalRequired => "approval_required",
            Self::PaymentNotPaid => "payment_not_paid",
            Self::PaymentRefunded => "payment_refunded",
            Self::SessionDecided => "session_decided",
            Self::SessionExpired => "session_expired",
            Self::LoginCodeInvalid => "login_code_invalid",
            Self::LoginCodeRedeemed => "login_code_redeemed",
            Self::LoginCodeExpired => "login_code_expired",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::BodyTimeout => "body_timeout",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::TokenAlreadySpent => "token_already_spent",
            Self::TokenPending => "token_pending",
            Self::BodyTooLarge => "body_too_large",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::InvalidRequest => "invalid_request",
            Self::UpgradeRequired => "upgrade_required",
            Self::RateLimited => "rate_limited",
            Self::BudgetExhausted => "budget_exhausted",
            Self::InternalError => "internal_error",
            Self::Overloaded => "overloaded",
            Self::StorageUnavailable => "storage_unavailable",
            Self::NoRelayConnected => "no_relay_connected",
            Self::NoActiveInstance => "no_active_instance",
            Self::WalletNotConfigured => "wallet_not_configured",
            Self::VerificationNotConfigured => "verification_not_configured",
            Self::OidcNotConfigured => "oidc_not_configured",
            Self::RateUnavailable => "rate_unavailable",
            Self::WalletError => "wallet_error",
            Self::WalletTimeout => "wallet_timeout",
            Self::MintError => "mint_error",
            Self::MintTimeout => "mint_timeout",
            Self::DeadlineExceeded => "deadline_exceeded",
        }
    }

    /// The HTTP status of the response.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::MalformedJson | Self::MalformedRequest | Self::JwtInvalid | Self::JwtExpired => {
                StatusCode::BAD_REQUEST
            }
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::ScopeMissing
            | Self::NetworkNotAllowed
            | Self::OwnStreamsOnly
            | Self::BudgetNotCounted
            | Self::OwnRequest
            | Self::TokenRequired => StatusCode::FORBIDDEN,
            Self::RouteNotFound
            | Self::KeyNotFound
            | Self::StreamNotFound
            | Self::ProfileNotFound
            | Self::SubscriptionNotFound
            | Self::RelayNotFound
            | Self::DeliveryNotFound
            | Self::SessionNotFound
            | Self::ChannelNotFound
            | Self::ConsentNotFound
            | Self::SigningKeyNotFound
            | Self::RemoteSignerNotFound
            | Self::PasskeyNotFound
            | Self::ReceiptNotFound
            | Self::ApprovalNotFound => StatusCode::NOT_FOUND,
            Self::EventsRemoved => StatusCode::GONE,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::IdempotencyKeyReused
            | Self::TokenAlreadySpent
            | Self::TokenPending
            | Self::ApprovalRequired
            | Self::PaymentNotPaid
            | Self::PaymentRefunded
            | Self::SessionDecided
            | Self::SessionExpired
            | Self::LoginCodeInvalid
            | Self::LoginCodeRedeemed
            | Self::LoginCodeExpired => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidRequest => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UpgradeRequired => StatusCode::UPGRADE_REQUIRED,
            Self::RateLimited | Self::BudgetExhausted => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::WalletError | Self::MintError => StatusCode::BAD_GATEWAY,
            Self::WalletTimeout | Self::MintTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Overloaded
            | Self::StorageUnavailable
            | Self::NoRelayConnected
            | Self::NoActiveInstance
            | Self::WalletNotConfigured
            | Self::VerificationNotConfigured
            | Self::OidcNotConfigured
            | Self::RateUnavailable
            | Self::DeadlineExceeded => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The `title`: the same for every occurrence (RFC 9457 section 3.1.3).
    pub const fn title(self) -> &'static str {
        match self {
            Self::MalformedJson => "The body is not JSON",
            Self::MalformedRequest => "The request is malformed",
            Self::JwtInvalid => "The JWT is invalid",
            Self::JwtExpired => "The JWT has expired",
            Self::Unauthorized => "The bearer token is missing or wrong",
            Self::ScopeMissing => "The API key lacks a scope",
            Self::NetworkNotAllowed => "The API key is not accepted from this network",
            Self::OwnStreamsOnly => "The API key sees only its own streams",
            Self::BudgetNotCounted => "The API key has a budget that cannot count this",
            Self::OwnRequest => "Somebody else has to approve the payment",
            Self::TokenRequired => "Only the token may do this",
            Self::KeyNotFound => "No such API key",
            Self::RouteNotFound => "No such path",
            Self::StreamNotFound => "No such stream",
            Self::EventsRemoved => "Events were removed",
            Self::ProfileNotFound => "No such profile",
            Self::SubscriptionNotFound => "No such subscription",
            Self::RelayNotFound => "No such relay",
            Self::DeliveryNotFound => "No such delivery",
            Self::SessionNotFound => "No such verification session",
            Self::ChannelNotFound => "No such channel",
            Self::ConsentNotFound => "No such consent",
            Self::SigningKeyNotFound => "No such signing key",
            Self::RemoteSignerNotFound => "No such remote signer",
            Self::PasskeyNotFound => "No such passkey",
            Self::ReceiptNotFound => "No receipt",
            Self::ApprovalNotFound => "Nothing waits for an approval",
            Self::ApprovalRequired => "The payment waits for an approval",
            Self::PaymentNotPaid => "The payment is not paid",
            Self::PaymentRefunded => "The payment is refunded",
            Self::SessionDecided => "The verification session is decided",
            Self::SessionExpired => "The verification session has expired",
            Self::LoginCodeInvalid => "The code of the login is wrong",
            Self::LoginCodeRedeemed => "The code of the login was redeemed",
            Self::LoginCodeExpired => "The code of the login has expired",
            Self::MethodNotAllowed => "The path does not support this method",
            Self::BodyTimeout => "The body did not arrive in time",
            Self::IdempotencyKeyReused => "The idempotency key belongs to another request",
            Self::TokenAlreadySpent => "The token is already spent",
            Self::TokenPending => "The token is pending at its mint",
            Self::BodyTooLarge => "The body is too large",
            Self::UnsupportedMediaType => "The body is not application/json",
            Self::InvalidRequest => "Some fields are wrong",
            Self::UpgradeRequired => "The path is a WebSocket",
            Self::RateLimited => "Too many requests",
            Self::BudgetExhausted => "The daily budget is spent",
            Self::InternalError => "The service failed",
            Self::Overloaded => "The service is full",
            Self::StorageUnavailable => "The database is unavailable",
            Self::NoRelayConnected => "No relay is connected",
            Self::NoActiveInstance => "No instance is active",
            Self::WalletNotConfigured => "No Lightning backend is configured",
            Self::VerificationNotConfigured => "No mint of proofs of age is configured",
            Self::OidcNotConfigured => "No OpenID Connect client is configured",
            Self::RateUnavailable => "There is no exchange rate now",
            Self::WalletError => "The Lightning backend failed",
            Self::WalletTimeout => "The Lightning backend did not respond",
            Self::MintError => "The mint failed",
            Self::MintTimeout => "The mint did not respond",
            Self::DeadlineExceeded => "The request took too long",
        }
    }

    /// The `type`: a name, not an address; there is nothing to fetch.
    pub fn type_uri(self) -> String {
        format!("urn:usher:error:{}", self.as_str())
    }
}
