//! The HTTP server of both mints.

use std::io;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use crate::TcpServer;

/// Answers each request with what `handle` gives; an error closes the connection.
pub(super) async fn start<F, B>(handle: impl Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static) -> TcpServer
where
    F: Future<Output = io::Result<Response<B>>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    TcpServer::start(move |stream| {
        let handle = handle.clone();
        async move {
            if stream.set_nodelay(true).is_ok() {
                // An error is a connection that was closed, by the client or on purpose.
                let _ = Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle)).await;
            }
        }
    })
    .await
}
