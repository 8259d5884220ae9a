//! One connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::Service as _;
use usher_engine::ports::OsRandomness;

use super::options::ServeOptions;
use crate::connection_lease::ConnectionLease;
use crate::connection_table::ConnectionPermit;
use crate::instance_proof::{Prover, USHER_PROOF};
use crate::middleware::finish_response;
use crate::peer_address::Peer;
use crate::request_id::RequestId;
use crate::standby::outcome_unknown;

/// The largest read buffer and the largest write buffer of a connection.
const BUFFER_BYTES: usize = 64 * 1024;

pub(super) struct Connections {
    router: Router,
    /// The router for requests over WebSockets.
    api: Router,
    http: http1::Builder,
    options: ServeOptions,
    stop: CancellationToken,
}

impl Connections {
    pub(super) fn new(router: Router, api: Router, options: &ServeOptions, stop: CancellationToken) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(options.idle_timeout)
            .max_buf_size(BUFFER_BYTES.max(options.header_bytes))
            .max_header_size(options.header_bytes);
        Self { router, api, http, options: options.clone(), stop }
    }

    /// Serves a connection to its end, until an upgrade takes it over, or until its own token `cut` is cancelled.
    pub(super) fn run(
        &self,
        stream: TcpStream,
        place: ConnectionPermit,
        open: TaskTrackerToken,
        cut: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        // Responses are small and complete: batching would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY was not set");
        }
        let peer = stream.peer_addr().ok().map(|address| Peer(address.ip()));
        let instance = self.options.instance.clone();
        let prover = instance.zip(stream.local_addr().ok()).map(|(key, address)| Prover { key, address });
        // A client that accepts no bytes for this long is gone, even if its system still acknowledges packets.
        if let Err(error) = socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(self.options.write_timeout)) {
            tracing::debug!(%error, "TCP_USER_TIMEOUT was not set");
        }
        let has_requested = Arc::new(AtomicBool::new(false));
        let service = {
            let (router, has_requested) = (self.router.clone(), Arc::clone(&has_requested));
            let forwarding = self.options.forwarding.clone();
            // A token of its own, as below.
            let stepping_down = self.options.stepping_down.as_ref().map(CancellationToken::child_token);
            let lease = ConnectionLease::new(self.api.clone(), cut.clone(), place, open);
            service_fn(move |request: Request<Incoming>| {
                has_requested.store(true, Ordering::Relaxed);
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(lease.clone());
                let proof = prover.as_ref().and_then(|prover| prover.answer(&request));
                let client = forwarding.as_ref().and_then(|key| key.client(&request));
                if client.is_some() {
                    // Many clients share the address of another instance, which applies the limit itself.
                    lease.leave_address();
                }
                if let Some(peer) = client.or(peer) {
                    request.extensions_mut().insert(peer);
                }
                let stepping_down = stepping_down.clone();
                let request_id = stepping_down.as_ref().map(|_| RequestId::of(request.headers(), &OsRandomness));
                let response = router.clone().call(request);
                async move {
                    let mut response = match (stepping_down, request_id) {
                        (Some(stepping_down), Some(request_id)) => tokio::select! {
                            biased;
                            () = stepping_down.cancelled() => {
                                let mut response = outcome_unknown().into_response();
                                finish_response(&mut response, &request_id);
                                response
                            }
                            response = response => response?,
                        },
                        _ => response.await?,
                    };
                    response.headers_mut().extend(proof.map(|proof| (USHER_PROOF, proof)));
                    Ok::<_, Infallible>(response)
                }
            })
        };
        let connection = self.http.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let first_request_timeout = self.options.first_request_timeout;
        // A token of its own: a shared one would make all connections contend for its lock.
        let stop = self.stop.child_token();

        async move {
            let mut connection = std::pin::pin!(connection);
            let mut first_request = std::pin::pin!(tokio::time::sleep(first_request_timeout));
            let (mut waits_for_first, mut stopping) = (true, false);
            loop {
                tokio::select! {
                    biased;
                    // Polled first, so that a response caused by the stop has `Connection: close`.
                    () = stop.cancelled(), if !stopping => {
                        stopping = true;
                        connection.as_mut().graceful_shutdown();
                    }
                    ended = connection.as_mut() => {
                        if let Err(error) = ended {
                            tracing::debug!(error = &error as &dyn std::error::Error, "a connection broke");
                        }
                        return;
                    }
                    () = cut.cancelled() => return,
                    () = &mut first_request, if waits_for_first => {
                        waits_for_first = false;
                        if !has_requested.load(Ordering::Relaxed) {
                            tracing::debug!("no request arrived on a connection in time");
                            return;
                        }
                    }
                }
            }
        }
    }
}
