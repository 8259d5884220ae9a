//! `GET /metrics`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;

use crate::ApiState;
use crate::client_places::ClientPlaces;
use crate::connection_table::ConnectionCounts;
use crate::problem::Problem;
use crate::service_status::{Family, Measure, Sample};

/// Returns metrics for Prometheus.
///
/// The text format, version 0.0.4. Names begin with `usher_`, units are base units, and counters end in `_total` and
/// start at 0 with the process. No label contains a key, a token, a stream or an address. `docs/monitoring.md` lists
/// the metrics.
#[utoipa::path(
    get,
    path = "/metrics",
    responses((
        status = 200,
        description = "The metrics.",
        body = String,
        content_type = "text/plain",
        example = "# HELP usher_operations_open Operations that are open.\n# TYPE usher_operations_open gauge\n\
            usher_operations_open{kind=\"key_handshake\"} 3\n",
    )),
)]
pub(crate) async fn get_metrics(State(state): State<ApiState>) -> Result<Response, Problem> {
    let mut families = state.status.metrics().await;
    families.push(build(&state));
    families.extend(long_lived_connections(&state));
    families.extend(connections(&state));
    // It fails if two families contradict each other.
    let text = state.metrics.write(families).map_err(Problem::internal)?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn build(state: &ApiState) -> Family {
    let labels = vec![("version", state.version.clone()), ("commit", state.commit.clone())];
    Family {
        name: "usher_build_info",
        help: "1, by what runs.",
        samples: vec![Sample { labels, measure: Measure::Gauge(1.0) }],
    }
}

fn connections(state: &ApiState) -> [Family; 3] {
    let ConnectionCounts { authenticated, unauthenticated, evicted } = state.connections.counts();
    let sample = |kind: &str, count: usize| Sample {
        labels: vec![("authenticated", kind.to_owned())],
        measure: Measure::Gauge(u32::try_from(count).unwrap_or(u32::MAX).into()),
    };
    [
        Family {
            name: "usher_http_connections",
            help: "Connections that are open, by whether the token has been sent over them.",
            samples: vec![sample("yes", authenticated), sample("no", unauthenticated)],
        },
        Family::single(
            "usher_http_connections_evicted_total",
            "Connections over which no token had been sent and that were closed for new ones.",
            Measure::Counter(evicted),
        ),
        Family::single(
            "usher_http_wrong_tokens_total",
            "Requests with a token that is not accepted.",
            Measure::Counter(state.auth_failure_throttle.wrong_tokens()),
        ),
    ]
}

fn long_lived_connections(state: &ApiState) -> [Family; 4] {
    let gauge = |name, help, places: &ClientPlaces| {
        Family::single(name, help, Measure::Gauge(u32::try_from(places.taken()).unwrap_or(u32::MAX).into()))
    };
    [
        gauge("usher_http_long_polls", "Requests that wait for events.", &state.long_polls),
        gauge("usher_http_event_streams", "Server-sent event streams that are open.", &state.event_streams),
        gauge("usher_http_websockets", "WebSockets that are open.", &state.websockets),
        gauge(
            "usher_http_websocket_subscriptions",
            "Streams that clients of WebSockets have subscribed to.",
            &state.subscriptions,
        ),
    ]
}
