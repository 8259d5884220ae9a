//! Requests sent one after the other without waiting for the responses.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

pub(super) type Request<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Pending requests, which share a round trip.
///
/// The library sends a request when its future is first polled, so this polls each once, in order. (`join_all`
/// guarantees no order for many futures.)
pub(super) struct Pipeline<'a, T> {
    waiting: Vec<(Request<'a, T>, Option<T>)>,
}

impl<'a, T> Pipeline<'a, T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { waiting: Vec::with_capacity(capacity) }
    }

    /// Sends a request, unless it fails first. Its response may have arrived when this returns.
    pub(super) async fn send(&mut self, mut request: Request<'a, T>) {
        let polled = poll_fn(|context| Poll::Ready(request.as_mut().poll(context))).await;
        let result = match polled {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        };
        self.waiting.push((request, result));
    }

    /// The results, in the order of the requests.
    pub(super) async fn results(self) -> Vec<T> {
        let mut results = Vec::with_capacity(self.waiting.len());
        for (request, result) in self.waiting {
            results.push(match result {
                Some(result) => result,
                None => request.await,
            });
        }
        results
    }
}

impl<T, E> Pipeline<'_, Result<T, E>> {
    /// Whether a request has failed and may not have been sent.
    pub(super) fn has_failed(&self) -> bool {
        self.waiting.iter().any(|(_, result)| matches!(result, Some(Err(_))))
    }
}

/// Sends all requests, and returns their results, in this order.
pub(super) async fn run<T>(requests: Vec<Request<'_, T>>) -> Vec<T> {
    let mut pipeline = Pipeline::new(requests.len());
    for request in requests {
        pipeline.send(request).await;
    }
    pipeline.results().await
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    async fn a_request_with_an_early_response_has_not_failed() {
        let mut pipeline: Pipeline<'_, Result<(), ()>> = Pipeline::new(3);
        pipeline.send(Box::pin(std::future::pending())).await;
        pipeline.send(Box::pin(std::future::ready(Ok(())))).await;
        assert!(!pipeline.has_failed());
        pipeline.send(Box::pin(std::future::ready(Err(())))).await;
        assert!(pipeline.has_failed());
    }

    #[tokio::test]
    async fn requests_begin_in_order_before_the_first_ends() {
        let begun = Mutex::new(Vec::new());
        let request = |number: usize| {
            let begun = &begun;
            Box::pin(async move {
                begun.lock().push(number);
                // Some are ready at once.
                if !number.is_multiple_of(3) {
                    tokio::task::yield_now().await;
                    assert_eq!(begun.lock().len(), 100);
                }
                number
            }) as Request<'_, usize>
        };
        let expected: Vec<_> = (0..100).collect();
        assert_eq!(run((0..100).map(request).collect()).await, expected);
        assert_eq!(*begun.lock(), expected);
    }
}
