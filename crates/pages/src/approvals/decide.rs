//! `/approve/{stream_id}/{decision}`: asks an operator for confirmation, and decides.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use usher_engine::access::{OpenSession, operator_id};
use usher_engine::{DecideError, Decision, PageRequestSource, PendingAudit, Requester, StreamId, WaitingPayment};
use usher_page_layout::Frame;
use usher_protocol::PublicKey;

use super::shown::ShownPayment;
use crate::browser::{FetchInitiator, fetch_initiator, is_certainly_own_form};
use crate::keyed_page::Address;
use crate::login_page_request::other_type;
use crate::operators::login::{self, LoggedOut};
use crate::operators::purpose::Purpose;
use crate::operators::purpose::field;
use crate::operators::state::{OperatorsState, with_own_forms};
use crate::page::{self, Next};
use crate::texts::Texts;
use crate::visit::Visit;

/// The name of a decision in the audit log, as in the API.
const ACTION: &str = "decideApproval";

#[derive(Template)]
#[template(path = "approval.html")]
struct ConfirmPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    heading: &'a str,
    message: &'a str,
    payment: &'a ShownPayment,
    /// The form's target.
    action: &'a str,
    token: &'a str,
    button: &'a str,
    /// The address of the list.
    back: &'a str,
}

/// `GET /approve/{stream_id}/{decision}`
pub(super) async fn ask(
    State(state): State<OperatorsState>,
    Path((id, decision)): Address,
    method: Method,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    if fetch_initiator(&method, &headers) == FetchInitiator::Nobody {
        return page::not_shown();
    }
    let session = match fresh_session(&state, &visit, &headers, LoggedOut::NotYet, (&id, &decision)).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let (decision, payment) = match find(&state, &visit, &id, &decision).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let texts = &visit.texts.approvals;
    let shown = ShownPayment::in_full(&state, &visit, &payment);
    let (heading, message, button) = match decision {
        Decision::Approve => (texts.approve_heading, texts.approve_message, texts.approve_amount(&shown.amount)),
        Decision::Decline => (texts.decline_heading, texts.decline_message, texts.decline_amount(&shown.amount)),
    };
    let _turn = state.pages.turn().await;
    with_own_forms(visit.frame.render_without_script(
        StatusCode::OK,
        &ConfirmPage {
            frame: &visit.frame,
            texts: visit.texts,
            heading,
            message,
            payment: &shown,
            action: &format!("{}/{}", shown.address, decision.as_str()),
            token: &session.form_token(&what_it_does(decision, &payment)),
            button: &button,
            back: &state.path(),
        },
    ))
}

/// `POST /approve/{stream_id}/{decision}`
pub(super) async fn decide(
    State(state): State<OperatorsState>,
    Path((id, decision)): Address,
    source: Option<Extension<PageRequestSource>>,
    visit: Visit,
    headers: HeaderMap,
    form: String,
) -> Response {
    if let Some(refused) = other_type(&headers, "application/x-www-form-urlencoded") {
        return refused;
    }
    if !is_certainly_own_form(state.pages.url(), &headers) {
        return state.foreign_form(&visit);
    }
    let session = match fresh_session(&state, &visit, &headers, LoggedOut::Over, (&id, &decision)).await {
        Ok(session) => session,
        Err(response) => return response,
    };
    let (decision, payment) = match find(&state, &visit, &id, &decision).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let texts = &visit.texts.approvals;
    if !session.is_form_token(&what_it_does(decision, &payment), &field(&form, "token")) {
        return page::message(StatusCode::CONFLICT, &visit, &texts.other_form, Next::Back(&state.path()));
    }
    let source = source.map(|Extension(source)| source).unwrap_or_default();
    match state.decide(payment.id, decision, session.operator, source).await {
        Ok(()) => {
            let amount = ShownPayment::in_full(&state, &visit, &payment).amount;
            let said = match decision {
                Decision::Approve => texts.approved(amount),
                Decision::Decline => texts.declined(amount),
            };
            state.sessions().note(&session, said);
            page::see_other(&state.path())
        }
        Err(DecideError::NotFound) => gone(&state, &visit),
        Err(DecideError::OwnRequest) => {
            page::message(StatusCode::FORBIDDEN, &visit, &texts.own_request, Next::Back(&state.path()))
        }
        Err(DecideError::Store(error)) => state.unavailable(&visit, &error),
    }
}

impl OperatorsState {
    async fn decide(
        &self,
        id: StreamId,
        decision: Decision,
        operator: PublicKey,
        source: PageRequestSource,
    ) -> Result<(), DecideError> {
        let engine = &self.pages.engine;
        let PageRequestSource { address, request_id } = source;
        let entry = engine.audit().entry(self.actor(&operator), address, ACTION.to_owned(), request_id);
        let pending = Arc::new(PendingAudit::default());
        pending.set(entry);
        let work = async {
            PendingAudit::add_detail("decision", decision.as_str());
            engine.payments().decline_if_revoked(id, &|origin| self.keys.is_revoked(origin)).await?;
            engine.payments().decide(&Requester::Service, id, decision, Some(operator_id(&operator).origin())).await
        };
        pending.scope(work).await
    }
}

/// The session, if the operator has just logged in: a decision moves money. Otherwise the login, which returns here.
async fn fresh_session(
    state: &OperatorsState,
    visit: &Visit,
    headers: &HeaderMap,
    otherwise: LoggedOut,
    (id, decision): (&str, &str),
) -> Result<OpenSession, Response> {
    let here = format!("{}/{id}/{decision}", state.path());
    match state.session(headers) {
        Some(session) if session.is_fresh => Ok(session),
        Some(_) => Err(login::enter(state, visit, LoggedOut::NotFresh, &Purpose::again(here)).await),
        None => Err(login::enter(state, visit, otherwise, &Purpose::next(here)).await),
    }
}

async fn find(
    state: &OperatorsState,
    visit: &Visit,
    id: &str,
    decision: &str,
) -> Result<(Decision, WaitingPayment), Response> {
    let decision = [Decision::Approve, Decision::Decline].into_iter().find(|known| known.as_str() == decision);
    let (Ok(id), Some(decision)) = (id.parse::<StreamId>(), decision) else { return Err(gone(state, visit)) };
    match state.pages.engine.payments().payment_waiting_for_approval(&Requester::Service, id).await {
        Ok(Some(payment)) => Ok((decision, payment)),
        Ok(None) => Err(gone(state, visit)),
        Err(error) => Err(state.unavailable(visit, &error)),
    }
}

fn gone(state: &OperatorsState, visit: &Visit) -> Response {
    page::message(StatusCode::NOT_FOUND, visit, &visit.texts.approvals.gone, Next::Back(&state.path()))
}

/// The purpose of a decision's form, with all shown data of the payment: if any of it changes, the form is void.
fn what_it_does(decision: Decision, payment: &WaitingPayment) -> String {
    format!("{} {payment:?}", decision.as_str())
}
