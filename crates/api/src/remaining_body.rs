//! Reads what is left of a request's body once its handler has dropped it, so that the connection can be used again.
//!
//! The HTTP library closes a connection whose request body was not read to its end, without saying so: the client's next
//! request on that connection would be lost. So the rest is read, within limits; beyond them the response says
//! `Connection: close` (RFC 9112 section 9.6).

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::{Either, select};
use http::HeaderValue;
use http::header::{CONNECTION, EXPECT};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;

/// How long a finished response waits for the rest of the request's body. Clients that send the body at once, which are
/// nearly all, do not notice it.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs `respond`, and reads up to `limit` bytes of the body that it did not read. The response says `Connection: close`
/// when the body was not read to its end.
///
/// Nothing more is read when the response ends the connection or its use for HTTP anyway: it has a `Connection` header.
/// Nor when the client waits for `100 Continue` and `respond` did not ask for the body.
pub(crate) async fn drain<F>(limit: usize, request: Request, respond: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = Response>,
{
    if request.body().is_end_stream() {
        return respond(request).await;
    }
    let (request, remaining) = track(request);
    let respond = std::pin::pin!(respond(request));
    // At the same time: the library notices that a client has gone only if somebody reads the body.
    let drained = std::pin::pin!(read_remaining(remaining, limit));
    let (mut response, drained) = match select(respond, drained).await {
        Either::Left((response, _)) if response.headers().contains_key(CONNECTION) => return response,
        Either::Left((response, drained)) => {
            (response, tokio::time::timeout(DRAIN_TIMEOUT, drained).await.unwrap_or(false))
        }
        Either::Right((drained, respond)) => (respond.await, drained),
    };
    if !drained && !response.headers().contains_key(CONNECTION) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Reports the rest of the body: `None` if it was read to its end. The channel closes without a report if the rest cannot
/// or must not be read.
fn track(request: Request) -> (Request, oneshot::Receiver<Option<Body>>) {
    let (report, remaining) = oneshot::channel();
    let awaits_continue = request.headers().contains_key(EXPECT);
    let request =
        request.map(|body| Body::new(TrackedBody { body: Some(body), awaits_continue, report: Some(report) }));
    (request, remaining)
}

/// Reads up to `limit` bytes of what is left. Returns whether the whole body has been read.
async fn read_remaining(remaining: oneshot::Receiver<Option<Body>>, limit: usize) -> bool {
    let mut body = match remaining.await {
        Ok(Some(body)) => body,
        Ok(None) => return true,
        Err(_) => return false,
    };
    let mut left = u64::try_from(limit).unwrap_or(u64::MAX);
    if body.size_hint().lower() > left {
        return false;
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(u64::try_from(length).unwrap_or(u64::MAX)) {
            Some(rest) => left = rest,
            None => return false,
        }
    }
    true
}

/// A request body that is handed back when it is dropped before its end.
struct TrackedBody {
    body: Option<Body>,
    /// The client sends the body only after `100 Continue`, which the library sends when the body is first read.
    awaits_continue: bool,
    report: Option<oneshot::Sender<Option<Body>>>,
}

impl TrackedBody {
    fn report(&mut self, remaining: Option<Body>) {
        if let Some(report) = self.report.take() {
            // Nobody waits for it when the response was sent without the rest.
            let _ = report.send(remaining);
        }
    }
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        this.awaits_continue = false;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) if !body.is_end_stream() => {}
            Some(Ok(_)) | None => this.report(None),
            Some(Err(_)) => this.report = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        if !self.awaits_continue {
            let body = self.body.take();
            self.report(body);
        }
    }
}
