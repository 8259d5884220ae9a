//! Calls of the app to the engine, as the HTTP API makes them.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use usher_engine::ports::{CurrencyCode, IdempotencyKey, StoreError};
use usher_engine::request_body::RequestedCurrency;
use usher_engine::{
    AuthenticateKey, ClientNetwork, DecideError, Engine, IdempotentRequest, InvoiceContent, KeyHandshakeRequest,
    KeyHandshakeStarted, LoginRequest, LoginStarted, OpenedLogin, PayInvoiceRequest, PricedOperation,
    RecurringPaymentRequest, RenderedResponse, RequestInvoice, Requester, ShownStream, SinglePaymentRequest,
    StartError, StreamId, VisitError,
};
use usher_protocol::PublicKey;
use usher_protocol::calendar::Calendar;
use usher_protocol::message::Recurrence;

use crate::world::World;
use crate::world::action::{AppRequest, Call};
use crate::world::reusable_login::STATIC_TOKEN;

fn key(number: u64) -> IdempotencyKey {
    IdempotencyKey(Sha256::digest(number.to_be_bytes()).into())
}

fn once<T>(call: &Call, body: impl Fn(&T) -> String + Send + Sync + 'static) -> Option<IdempotentRequest<T>> {
    let render = move |result: &T| RenderedResponse {
        status: 200,
        media_type: "text/plain".to_owned(),
        body: body(result).into_bytes(),
    };
    call.once.then(|| IdempotentRequest { key: key(call.number), fingerprint: [0; 32], render: Box::new(render) })
}

pub(crate) async fn make(world: Arc<World>, engine: Arc<Engine>, call: Call) {
    let result = match &call.what {
        AppRequest::Close { user, id } => {
            let key = user_key(&world, *user);
            let closed = engine.subscriptions().close(&Requester::Service, key, id, None).await;
            let mut state = world.lock();
            state.app.pending.remove(&call.number);
            match closed {
                Ok(_) => {
                    state.log(&format!("call {} is answered", call.number));
                    let over = state.invariants.subscriptions.get(id).is_some_and(|book| book.over_at.is_some());
                    if !over {
                        state.violation("acknowledged-exists", &format!("{id} is said to be closed, and is not"));
                    }
                }
                Err(error) => state.failed(&call, &error.to_string()),
            }
            drop(state);
            world.queued.notify_one();
            return;
        }
        AppRequest::Decide { stream, decision, by_requester } => {
            let operator = Some(usher_engine::access::operator_id(&world.lock().service.public_key()).origin());
            let by = if *by_requester { None } else { operator };
            let decided = engine.payments().decide(&Requester::Service, *stream, *decision, by).await;
            let mut state = world.lock();
            match decided {
                Err(DecideError::Store(error)) => state.failed(&call, &error.to_string()),
                decided => {
                    state.app.pending.remove(&call.number);
                    match decided {
                        Ok(()) => state.decided(*stream, *decision, *by_requester),
                        Err(error) => state.log(&format!("call {} is refused: {error}", call.number)),
                    }
                }
            }
            drop(state);
            world.queued.notify_one();
            return;
        }
        _ => start(&world, &engine, &call).await,
    };
    // Repeated: the response is the stored one.
    let result = match result {
        Err(StartError::Repeated) => match engine.idempotency().get(&key(call.number)).await {
            Ok(Some(answer)) => {
                let text = String::from_utf8(answer.body).unwrap_or_default();
                let (stream, token) = text.split_once(' ').unwrap_or((&text, ""));
                let token = (!token.is_empty()).then(|| token.to_owned());
                stream.parse().map(|stream| (stream, token)).map_err(|_| "no stream in the answer".to_owned())
            }
            Ok(None) => Err("the answer is gone".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        other => other.map_err(|error| error.to_string()),
    };
    let mut state = world.lock();
    match result {
        Ok((stream, token)) => state.answered(&call, stream, token),
        Err(why) => state.failed(&call, &why),
    }
    drop(state);
    world.queued.notify_one();
}

/// 5,000 millisats: every other call says it in euros ([`crate::daemon::EURO_RATE`]).
fn price(call: &Call) -> (u64, RequestedCurrency) {
    match CurrencyCode::parse("EUR").filter(|_| call.number.is_multiple_of(2)) {
        Some(euro) => (100, RequestedCurrency::Iso(euro)),
        None => (5_000, RequestedCurrency::Millisats),
    }
}

fn user_key(world: &World, user: usize) -> PublicKey {
    let state = world.lock();
    state.users.get(user).map_or(state.service.public_key(), |user| user.keys.public_key())
}

async fn start(world: &World, engine: &Engine, call: &Call) -> Result<(StreamId, Option<String>), StartError> {
    let secs = world.time.wall().secs();
    let stream = |id: &StreamId| id.to_string();
    let (amount, currency) = price(call);
    let priced = |started: &PricedOperation| started.stream_id.to_string();
    let started = match &call.what {
        AppRequest::Handshake(_) => {
            let answer = |started: &KeyHandshakeStarted| format!("{} {}", started.stream_id, token(&started.url));
            let started = engine
                .handshakes()
                .start(&Requester::Service, KeyHandshakeRequest::default(), once(call, answer))
                .await?;
            return Ok((started.stream_id, Some(token(&started.url))));
        }
        AppRequest::ReusableLogin { page, .. } => {
            let request = LoginRequest { static_token: Some(STATIC_TOKEN.to_owned()), return_url: None };
            let started = engine.logins().start(&Requester::Service, request, None).await?;
            let url = if *page { own_url(engine, &started).await? } else { started.url };
            return Ok((started.stream_id, Some(token(&url))));
        }
        AppRequest::Authenticate(user) => {
            let request = AuthenticateKey { main_key: user_key(world, *user), subkeys: Vec::new() };
            engine.logins().authenticate(&Requester::Service, request, once(call, stream)).await?
        }
        AppRequest::Payment { user, lives, subscription } => {
            let request = SinglePaymentRequest {
                main_key: Some(user_key(world, *user)),
                subkeys: Vec::new(),
                description: "coffee".to_owned(),
                amount,
                currency,
                subscription_id: subscription.clone(),
                reference: None,
                expires_at: Some(secs + lives),
                return_url: None,
            };
            engine.payments().request(&Requester::Service, request, once(call, priced)).await?.stream_id
        }
        AppRequest::Subscribe { user, first, yearly, charges } => {
            let calendar = if *yearly { Calendar::Yearly } else { Calendar::Minutely };
            let request = RecurringPaymentRequest {
                main_key: user_key(world, *user),
                subkeys: Vec::new(),
                description: "membership".to_owned(),
                amount,
                currency,
                minimum_amount: None,
                max_amount_millisats: None,
                recurrence: Recurrence {
                    until: (!yearly).then_some(first.max(&secs) + 900),
                    calendar,
                    max_payments: *charges,
                    first_payment_due: *first.max(&secs),
                },
                expires_at: secs + 300,
                reference: None,
                auto_charge: true,
            };
            engine.subscriptions().request(&Requester::Service, request, once(call, priced)).await?.stream_id
        }
        AppRequest::Invoice(user) => {
            let content =
                InvoiceContent { amount, currency, description: None, expires_at: Some(secs + 300), reference: None };
            let request = RequestInvoice { main_key: user_key(world, *user), subkeys: Vec::new(), content };
            engine.payments().request_invoice(&Requester::Service, request, once(call, priced)).await?.stream_id
        }
        AppRequest::PayTheirs(user, Some(invoice)) => {
            let request = PayInvoiceRequest {
                main_key: Some(user_key(world, *user)),
                subkeys: Vec::new(),
                invoice: invoice.clone(),
                amount: None,
                currency: None,
                description: Some("an invoice".to_owned()),
                reference: None,
                expires_at: Some(secs + 300),
            };
            engine.payments().pay(&Requester::Service, request, once(call, stream)).await?
        }
        AppRequest::PayOurs(Some(invoice)) => {
            let request = PayInvoiceRequest {
                main_key: None,
                subkeys: Vec::new(),
                invoice: invoice.clone(),
                amount: None,
                currency: None,
                description: None,
                reference: None,
                expires_at: None,
            };
            engine.payments().pay(&Requester::Service, request, once(call, stream)).await?
        }
        AppRequest::PayTheirs(_, None)
        | AppRequest::PayOurs(None)
        | AppRequest::Close { .. }
        | AppRequest::Decide { .. } => {
            return Err(StartError::NoLightning);
        }
    };
    Ok((started, None))
}

/// The URL for a wallet on the page of a browser's own login at the reusable login.
async fn own_url(engine: &Engine, started: &LoginStarted) -> Result<String, StartError> {
    let gone = || StartError::Store(StoreError::Unreadable("the page at the reusable login"));
    let secret = started.page_url.rsplit('/').next().unwrap_or_default();
    let own = engine.logins().open_child_login(started.stream_id, secret, &[], ClientNetwork::Loopback).await.map_err(
        |error| match error {
            VisitError::Store(error) => StartError::Store(error),
            _ => gone(),
        },
    )?;
    let browser = own.new_browser.as_ref().map(|(browser, _)| browser.as_str());
    match engine.logins().open(own.login, &own.page_secret, browser, false).await? {
        OpenedLogin::Page { view, .. } => Ok(view.wallet_url),
        _ => Err(gone()),
    }
}

fn token(url: &str) -> String {
    let token = url.split("token=").nth(1).unwrap_or_default();
    token.split('&').next().unwrap_or_default().to_owned()
}

/// Reads a stream as the app does, and compares it with what was committed.
pub(crate) async fn look(world: Arc<World>, engine: Arc<Engine>) {
    let stream = {
        let mut state = world.lock();
        let streams: Vec<_> = state.invariants.streams.keys().copied().collect();
        let Some(first) = streams.first().copied() else { return };
        state.decisions.pick(&streams, first)
    };
    let committed = |world: &World| world.lock().invariants.streams.get(&stream).map_or(0, |book| book.events.len());
    let page = engine.events().read(ShownStream::to_service(stream), 0, 1000).await;
    let after = committed(&world);
    let mut state = world.lock();
    let label = state.invariants.label(stream);
    let Ok(page) = page else {
        return state.log(&format!("{label} could not be read"));
    };
    let Some(book) = state.invariants.streams.get(&stream) else { return };
    // The first events of a stream that does not end are removed after their retention.
    let first = page.events.first().map_or(0, |event| usize::try_from(event.index).unwrap_or(usize::MAX));
    let same = book.events.iter().skip(first).zip(&page.events).all(|((committed, _), seen)| committed == seen);
    if !same || page.events.len().saturating_add(first) > after {
        let what = format!("{label} shows {} events, {after} are committed", page.events.len());
        state.violation("events-never-change", &what);
    }
}
