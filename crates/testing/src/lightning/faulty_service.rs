//! A wallet service that misbehaves on demand.

use std::ops::Deref;
use std::sync::Arc;

use parking_lot::Mutex;
use usher_protocol::message::PaymentHash;
use usher_sandbox::lightning::nwc::{
    NwcRequest, NwcServiceContext, PayParams, RequestHandler, Response, pay_refusal, receipt,
};
use usher_sandbox::lightning::{Account, ErrorCode, Method, NwcKeys, NwcService};

use super::behaviour::{Behaviour, CallBehaviour, Memory};
use super::false_lookups::look_up;

/// An [`NwcService`] whose [`Behaviour`] can be changed while it runs. Without a change it is honest.
#[derive(Debug)]
pub struct FaultyNwcService {
    service: NwcService,
    handler: FaultyHandler,
}

impl Deref for FaultyNwcService {
    type Target = NwcService;

    fn deref(&self) -> &NwcService {
        &self.service
    }
}

impl FaultyNwcService {
    pub async fn start(account: &Account, relays: &[&str]) -> Self {
        Self::start_with(account, relays, NwcKeys::of(account), Behaviour::default()).await
    }

    /// As [`start`](Self::start), with these keys and this behaviour.
    pub async fn start_with(account: &Account, relays: &[&str], keys: NwcKeys, behaviour: Behaviour) -> Self {
        let capabilities = behaviour.capabilities.clone();
        let handler = FaultyHandler { behaviour: Arc::new(Mutex::new(behaviour)), ..FaultyHandler::default() };
        let service = NwcService::start_with(account, relays, keys, capabilities, Arc::new(handler.clone())).await;
        Self { service, handler }
    }

    /// As [`NwcService::stop`]. What is held stays held; which requests it has seen depends on [`Memory`].
    pub async fn stop(&self) {
        self.service.stop().await;
        if self.handler.behaviour.lock().memory == Memory::WhileRunning {
            self.service.context().forget_seen();
        }
    }

    pub fn behaviour(&self) -> Behaviour {
        self.handler.behaviour.lock().clone()
    }

    /// Changes the behaviour from now on, and announces the capabilities again.
    pub fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        let capabilities = {
            let mut behaviour = self.handler.behaviour.lock();
            change(&mut behaviour);
            behaviour.capabilities.clone()
        };
        self.service.context().set_capabilities(capabilities);
    }

    /// Sends the responses that were held; returns how many.
    pub fn release(&self) -> usize {
        self.handler.release(self.service.context())
    }

    /// The payments in flight arrive, or (`false`) fail, and their requests are answered. Returns how many.
    pub fn release_payments(&self, arrive: bool) -> usize {
        self.handler.release_payments(self.service.context(), arrive)
    }

    /// Sends a notification with any content, encrypted and signed like a true one.
    pub fn notify(&self, notification_type: &str, notification: &serde_json::Value) {
        self.service.context().notify(notification_type, notification);
    }
}

/// The state of a service that misbehaves. A clone is another handle of it.
#[derive(Clone, Debug, Default)]
struct FaultyHandler {
    behaviour: Arc<Mutex<Behaviour>>,
    /// Responses that wait until a test releases them.
    held: Arc<Mutex<Vec<(NwcRequest, Response)>>>,
    payments: Arc<Mutex<Vec<(PaymentHash, NwcRequest)>>>,
}

impl RequestHandler for FaultyHandler {
    fn handle(&self, context: &Arc<NwcServiceContext>, request: NwcRequest) {
        self.handle(context, &request);
    }

    fn handles_copies(&self) -> bool {
        self.behaviour.lock().memory == Memory::None
    }
}

impl FaultyHandler {
    /// Executes the request, or what the behaviour configures instead.
    fn handle(&self, context: &Arc<NwcServiceContext>, request: &NwcRequest) {
        let (behaviour, call_behaviour) = {
            let mut behaviour = self.behaviour.lock();
            let call_behaviour = request.method().map_or(CallBehaviour::Honest, |method| behaviour.take(method));
            (behaviour.clone(), call_behaviour)
        };
        match call_behaviour {
            CallBehaviour::Ignore => return,
            CallBehaviour::Refuse(code) => {
                let refusal = Response::refused(code, "the wallet refuses");
                return respond_later(context, request, refusal, CallBehaviour::Honest, &behaviour);
            }
            _ => {}
        }
        let Some(response) = self.execute(context, request, &behaviour) else { return };
        match call_behaviour {
            CallBehaviour::Mute => {}
            CallBehaviour::Hold => self.held.lock().push((request.clone(), response)),
            call_behaviour => respond_later(context, request, response, call_behaviour, &behaviour),
        }
    }

    /// Executes a request, truly or not; `None` when it has expired, or is a payment that stays in flight.
    fn execute(&self, context: &NwcServiceContext, request: &NwcRequest, behaviour: &Behaviour) -> Option<Response> {
        if context.expire(request) {
            return None;
        }
        let executed = |method: Method| context.count(|metrics| *metrics.executed.entry(method).or_default() += 1);
        let Some(method) = context.supported(request) else { return Some(context.execute(request)) };
        match method {
            Method::PayInvoice if behaviour.holds_payments => {
                let begun = request.params().and_then(|params: PayParams| {
                    context.account().begin(&params.invoice, params.amount).map_err(pay_refusal)
                });
                executed(method);
                match begun {
                    Ok(hash) => {
                        self.payments.lock().push((hash, request.clone()));
                        None
                    }
                    Err(refusal) => Some(Response(Err(refusal))),
                }
            }
            _ => {
                let Response(truth) = context.execute(request);
                let lie = behaviour.lookups.filter(|_| method == Method::LookupInvoice);
                Some(Response(truth.and_then(|truth| lie.map_or(Ok(truth.clone()), |lie| look_up(truth, lie)))))
            }
        }
    }

    fn release(&self, context: &NwcServiceContext) -> usize {
        let held = std::mem::take(&mut *self.held.lock());
        for (request, response) in &held {
            context.respond(request, response);
        }
        held.len()
    }

    fn release_payments(&self, context: &NwcServiceContext, arrive: bool) -> usize {
        let payments = std::mem::take(&mut *self.payments.lock());
        let account = context.account();
        let count = payments.len();
        for (hash, request) in payments {
            let outcome = if arrive {
                account.settle(hash).map(|paid| receipt(&paid)).map_err(|error| error.to_string())
            } else {
                Err(account.fail(hash).err().map_or("no route found".to_owned(), |error| error.to_string()))
            };
            let response = match outcome {
                Ok(receipt) => Response(Ok(receipt)),
                Err(message) => Response::refused(ErrorCode::PaymentFailed, message),
            };
            context.respond(&request, &response);
        }
        count
    }
}

/// Responds once the latency has passed.
fn respond_later(
    context: &Arc<NwcServiceContext>,
    request: &NwcRequest,
    response: Response,
    call_behaviour: CallBehaviour,
    behaviour: &Behaviour,
) {
    let latency = behaviour.latency;
    if latency.is_zero() {
        return respond(context, request, &response, call_behaviour);
    }
    let (later, request) = (Arc::clone(context), request.clone());
    context.spawn(async move {
        tokio::time::sleep(latency).await;
        respond(&later, &request, &response, call_behaviour);
    });
}

fn respond(context: &NwcServiceContext, request: &NwcRequest, response: &Response, call_behaviour: CallBehaviour) {
    match call_behaviour {
        CallBehaviour::Garble => context.respond_with(request, "{\"result_type\":"),
        CallBehaviour::Empty => context.respond_with(request, "{}"),
        CallBehaviour::Twice => {
            context.respond(request, response);
            context.respond(request, response);
        }
        _ => context.respond(request, response),
    }
}
