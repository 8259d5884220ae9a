//! The HTTP server of both mints.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long to wait when there is no file for another connection.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A server on a free loopback port. Dropping it closes every connection.
#[derive(Debug)]
pub(super) struct HttpServer {
    address: SocketAddr,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl HttpServer {
    /// Answers each request with what `handle` gives; an error closes the connection.
    pub(super) async fn start<F, B>(
        handle: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    ) -> io::Result<Self>
    where
        F: Future<Output = io::Result<Response<B>>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let accept = {
            let (tasks, stop) = (tasks.clone(), stop.clone());
            async move {
                loop {
                    let Ok((stream, _)) = listener.accept().await else {
                        tokio::time::sleep(ACCEPT_RETRY).await;
                        continue;
                    };
                    tasks.spawn(stop.clone().run_until_cancelled_owned(serve(stream, handle.clone())));
                }
            }
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(accept));
        Ok(Self { address, tasks, stop })
    }

    /// Its address: `http://127.0.0.1:<port>`.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the port and every connection, and waits until that is done.
    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn serve<F, B>(stream: TcpStream, handle: impl Fn(Request<Incoming>) -> F)
where
    F: Future<Output = io::Result<Response<B>>>,
    B: Body<Data = Bytes> + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if stream.set_nodelay(true).is_err() {
        return;
    }
    // An error is a connection that was closed, by the client or on purpose.
    let served = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(handle));
    let _ = served.await;
}
