//! A request to the Lightning backend, and the conversion of its reply to an input.

use tokio::task::JoinSet;
use tracing::{debug, error, warn};

use super::LightningQueue;
use super::failed_call::failed;
use crate::StreamId;
use crate::kernel::lightning_metrics::LightningCallKind;
use crate::machine::{Input, LightningRequest};
use crate::ports::{LightningError, NodeError};

impl LightningQueue {
    /// Makes the request. A panic of the adapter counts as a reply with an unknown result.
    pub(super) async fn call_guarded(self: &std::sync::Arc<Self>, id: StreamId, call: LightningRequest) -> Input {
        let (queue, asked) = (std::sync::Arc::clone(self), call.clone());
        // Aborted when the engine stops.
        let mut made = JoinSet::new();
        made.spawn(async move { queue.call(call).await });
        let input = match made.join_next().await {
            Some(Ok(input)) => input,
            Some(Err(_)) | None => {
                error!(stream_id = %id, "a request to the Lightning backend panicked");
                failed(&asked, || LightningError::Unknown("the request ended without a result".to_owned()))
            }
        };
        self.count(&input);
        match &input {
            Input::InvoiceMade(Err(failure)) => {
                warn!(stream_id = %id, %failure, "the Lightning backend made no invoice");
            }
            Input::PaymentSent { result: Err(failure), .. } => {
                warn!(stream_id = %id, %failure, "the Lightning backend did not confirm a payment");
            }
            Input::OnChain(Err(failure)) if !matches!(failure, NodeError::Unavailable(_)) => {
                warn!(stream_id = %id, %failure, "the Lightning node did not send money on chain");
            }
            Input::InvoiceStatus(Err(failure))
            | Input::PaymentStatus(Err(failure))
            | Input::PaymentPrepared(Err(failure)) => {
                debug!(stream_id = %id, %failure, "the Lightning backend could not be asked");
            }
            _ => {}
        }
        input
    }

    fn count(&self, input: &Input) {
        match input {
            Input::InvoiceMade(made) => self.metrics.count(LightningCallKind::MakeInvoice, made),
            // A request that could not be signed was not sent; a signed one is counted when it is sent.
            Input::PaymentPrepared(prepared @ Err(_)) => self.metrics.count(LightningCallKind::Pay, prepared),
            Input::PaymentSent { result, .. } => self.metrics.count(LightningCallKind::Pay, result),
            Input::InvoiceStatus(status) => self.metrics.count(LightningCallKind::LookUpInvoice, status),
            Input::PaymentStatus(status) => self.metrics.count(LightningCallKind::LookUpPayment, status),
            _ => {}
        }
    }

    async fn call(&self, call: LightningRequest) -> Input {
        let Some(backend) = &self.backend else { return without_backend(&call) };
        // Tests end the process at these points, and check the accounts after the next start.
        match call {
            LightningRequest::MakeInvoice(wanted) => {
                fail::fail_point!("before-make-invoice");
                let made = backend.make_invoice(&wanted).await;
                fail::fail_point!("after-make-invoice");
                Input::InvoiceMade(made)
            }
            LightningRequest::LookUpInvoice(hash) => {
                fail::fail_point!("before-look-up-invoice");
                let status = backend.look_up_invoice(hash).await;
                fail::fail_point!("after-look-up-invoice");
                Input::InvoiceStatus(status)
            }
            // It has waited too long in the queue.
            LightningRequest::PreparePayment { until, .. } if self.core.clock.now().secs() >= until => {
                Input::PaymentPrepared(Err(LightningError::NotSent))
            }
            LightningRequest::PreparePayment { invoice, until } => {
                fail::fail_point!("before-prepare-payment");
                let prepared = backend.prepare_payment(&invoice, until).await;
                fail::fail_point!("after-prepare-payment");
                Input::PaymentPrepared(prepared)
            }
            LightningRequest::Pay { invoice, payment, attempt, again } => {
                fail::fail_point!("before-pay");
                let result = backend.pay(&invoice, &payment, again).await;
                fail::fail_point!("after-pay");
                Input::PaymentSent { attempt, result }
            }
            LightningRequest::LookUpPayment { hash, asked } => {
                fail::fail_point!("before-look-up-payment");
                let status = backend.look_up_payment(hash, asked.as_ref()).await;
                fail::fail_point!("after-look-up-payment");
                Input::PaymentStatus(status)
            }
            LightningRequest::SendOnChain(order) => Input::OnChain(match &self.node {
                Some(node) => node.send_on_chain(&order).await.map(Some),
                None => Err(no_node()),
            }),
            LightningRequest::LookUpOnChain(order) => Input::OnChain(match &self.node {
                Some(node) => node.look_up_on_chain(order).await,
                None => Err(no_node()),
            }),
        }
    }
}

/// An earlier node may have executed it.
fn no_node() -> NodeError {
    NodeError::Unavailable("the service runs no Lightning node of its own".to_owned())
}

fn without_backend(call: &LightningRequest) -> Input {
    match call {
        // An earlier backend may have executed it, even if none is configured now.
        LightningRequest::LookUpPayment { .. } => failed(call, || LightningError::NotSent),
        LightningRequest::Pay { again: true, .. } => {
            failed(call, || LightningError::Unknown("no Lightning backend is configured".to_owned()))
        }
        _ => failed(call, || LightningError::Refused {
            again: false,
            reason: "no Lightning backend is configured".to_owned(),
        }),
    }
}
