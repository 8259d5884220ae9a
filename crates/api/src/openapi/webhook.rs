//! The webhook in the OpenAPI document: a request that the service makes to the app.
//!
//! `usher-webhooks` makes it; the end-to-end tests hold posts against this description.

#![expect(dead_code, reason = "describes what usher-webhooks posts")]

use usher_engine::EventData;
use utoipa::openapi::path::{HttpMethod, PathItem, Paths};
use utoipa::openapi::{OpenApi, RefOr, Schema};
use utoipa::{PartialSchema as _, Path as _, ToSchema};

use super::parameters;

/// Its name among the document's webhooks.
const NAME: &str = "event";

/// An event and its stream: the same bytes at every attempt.
#[derive(ToSchema)]
struct WebhookEvent {
    /// The event's stream: a UUID, or `subscriptions`.
    #[schema(example = "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b")]
    stream_id: String,
    /// Position in the stream, from 0, without gaps.
    #[schema(example = 0)]
    index: u64,
    /// What kind of event it is, as in `Event`.
    #[schema(example = "KeyHandshake")]
    r#type: String,
    /// When it happened, in Unix seconds.
    #[schema(example = 1732137600)]
    timestamp: u64,
    data: EventData,
}

/// Posts an event to the app, at `webhook.url`.
///
/// Each event of every stream is posted as soon as it is on disk: at least once, and in order within a stream (on the
/// stream `subscriptions`: within a subscription). Store the ids of the events that you have handled, and ignore
/// repetitions. Respond within 20 s. See docs/webhooks.md.
#[utoipa::path(
    post,
    path = "",
    operation_id = "receiveEvent",
    params(
        (
            "webhook-id" = String,
            Header,
            description = "Names the event, the same each time it is posted: `<stream_id>:<index>`.",
            example = "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b:0",
        ),
        ("webhook-timestamp" = u64, Header, description = "When it is posted, in Unix seconds.", example = 1732137600),
        (
            "webhook-signature" = Option<String>,
            Header,
            description = "With `webhook.secret`: of Standard Webhooks, one for each secret, over id, timestamp and body.",
            pattern = "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$",
            example = "v1,0pDMVBOrDWtRkTlBHU08sAGiMdtA0B7jJwjHNaz14Kw=",
        ),
        (
            "X-Service-Event-Id" = String,
            Header,
            description = "The same as `webhook-id`.",
            example = "0193a1b2-5c4d-7e8f-9a0b-1c2d3e4f5a6b:0",
        ),
        (
            "X-Service-Signature" = Option<String>,
            Header,
            description = "With `webhook.secret`: HMAC-SHA256 of the body in hex, the secret as configured being the key.",
            pattern = "^[0-9a-f]{64}$",
            example = "534905501b42c09f618c5023bbe10872ef40912a1a69967f5676b477e6903d50",
        ),
    ),
    request_body(content = WebhookEvent, description = "The event and its stream."),
    responses(
        (status = "2XX", description = "The app has the event. A body does not matter."),
        (
            status = "default",
            description = "The app does not have it: it is posted again, later and later, for three days. The same goes for a \
                           redirect, a broken connection, and no answer within 20 s.",
            headers(("Retry-After" = u32, description = "Post it again after so many seconds, a day at most; a date is \
                                                         understood, too. May be left out.")),
        ),
    ),
)]
fn event() {}

/// Adds the webhook and its body to the document.
pub(crate) fn describe(document: &mut OpenApi) {
    let mut operation = __path_event::operation();
    operation.tags = Some(vec!["Events".to_owned()]);
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            parameters::forget_null(parameter);
        }
    }
    let mut webhooks = Paths::new();
    webhooks.paths.insert(NAME.to_owned(), PathItem::new(HttpMethod::Post, operation));
    document.webhooks = Some(webhooks);
    let schemas = &mut document.components.get_or_insert_default().schemas;
    schemas.insert(WebhookEvent::name().into_owned(), WebhookEvent::schema());
    let mut within: Vec<(String, RefOr<Schema>)> = Vec::new();
    WebhookEvent::schemas(&mut within);
    schemas.extend(within);
}
