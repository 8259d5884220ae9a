//! `GET /approve`: waiting payments.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use usher_engine::access::OpenSession;
use usher_engine::{Requester, StreamId};
use usher_page_layout::Frame;

use super::shown::ShownPayment;
use crate::account::Account;
use crate::browser::{FetchInitiator, fetch_initiator};
use crate::operators::login::{self, LOG_OUT, LoggedOut};
use crate::operators::purpose::Purpose;
use crate::operators::state::{OperatorsState, with_own_forms};
use crate::page;
use crate::texts::Texts;
use crate::visit::Visit;

const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "approvals.html")]
struct ListPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    payments: &'a [ShownPayment],
    /// The last decision in this session.
    decided: Option<&'a str>,
    /// The address of the next page.
    more: Option<&'a str>,
    /// The logged-in operator.
    account: &'a Account,
    log_out_token: &'a str,
}

#[derive(Deserialize)]
pub(super) struct Position {
    after: Option<String>,
}

/// `GET /approve`
pub(super) async fn show(
    State(state): State<OperatorsState>,
    Query(position): Query<Position>,
    method: Method,
    visit: Visit,
    headers: HeaderMap,
) -> Response {
    if fetch_initiator(&method, &headers) == FetchInitiator::Nobody {
        return page::not_shown();
    }
    let Some(session) = state.session(&headers) else {
        return login::enter(&state, &visit, LoggedOut::NotYet, &Purpose::default()).await;
    };
    let after = position.after.and_then(|after| after.parse().ok());
    show_list(&state, &visit, &session, after).await
}

async fn show_list(state: &OperatorsState, visit: &Visit, session: &OpenSession, after: Option<StreamId>) -> Response {
    let (waiting, next) =
        match state.pages.engine.payments().waiting_for_approval(&Requester::Service, after, PAGE).await {
            Ok(found) => found,
            Err(error) => return state.unavailable(visit, &error),
        };
    let account = Account::of(&state.pages, &session.operator).await;
    let payments: Vec<_> = waiting.iter().map(|payment| ShownPayment::in_list(state, visit, payment)).collect();
    let address = state.path();
    let more = next.map(|after| format!("{address}?after={after}"));
    let _turn = state.pages.turn().await;
    with_own_forms(visit.frame.render_without_script(
        StatusCode::OK,
        &ListPage {
            frame: &visit.frame,
            texts: visit.texts,
            address: &address,
            payments: &payments,
            decided: session.note.as_deref(),
            more: more.as_deref(),
            account: &account,
            log_out_token: &session.form_token(LOG_OUT),
        },
    ))
}
