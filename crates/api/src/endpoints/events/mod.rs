//! Events: read them by polling, as server-sent events or over a WebSocket, and see which ones reached the webhook.

mod event_json;
mod list_webhook_deliveries;
mod read_events;
mod retry_webhook_delivery;
mod sse;
mod stream_all_events;
mod test_webhook;
mod webhook_delivery;
mod websocket;

use usher_engine::access::Scope;

use crate::access::ScopeExt as _;
use crate::auth::AuthPolicy;
use crate::endpoint_group::{Detail, EndpointGroup, handler};
use crate::route::Audit;

pub(super) fn group<D: Detail>() -> EndpointGroup<D> {
    EndpointGroup::new("Events", "Learn what happened: read events, or have them posted to your app.")
        .endpoint(Scope::EventsRead, Audit::Nothing, handler!(read_events))
        .endpoint_for(AuthPolicy::WebSocket, handler!(websocket::open_web_socket))
        .endpoint(Scope::EventsRead, Audit::Nothing, handler!(stream_all_events))
        .endpoint(Scope::EventsRead.of_service(), Audit::Nothing, handler!(list_webhook_deliveries))
        .endpoint(Scope::Admin.of_service().for_support(), Audit::BeforeAndAfter, handler!(retry_webhook_delivery))
        .endpoint(Scope::Admin.of_service().for_support(), Audit::Once, handler!(test_webhook))
}
