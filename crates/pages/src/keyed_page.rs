//! Pages that need only an id and a secret: payment, key handshake, age verification.

use axum::extract::{Path, State};
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::StatusCode;
use usher_engine::ports::StoreError;
use usher_engine::{Engine, StreamId};

use crate::page::{self, Next};
use crate::state::PagesState;
use crate::texts::{Message, Texts};
use crate::visit::Visit;
use crate::waiting_page::{self, Shown};

/// What such a page shows.
pub(crate) trait KeyedView: Send + Sized + 'static {
    /// The first part of its path: `/{FOLDER}/{id}/{secret}`.
    const FOLDER: &'static str;

    /// Looks it up; `None` if it does not exist or the secret is wrong.
    fn find(
        engine: &Engine,
        id: StreamId,
        secret: &str,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;

    /// Its state, for the page's script.
    fn shown(&self) -> Shown;

    /// The message when there is none.
    fn not_found(texts: &Texts) -> &Message;
}

/// The page, or the response in its place.
pub(crate) type Page = Result<Response, Response>;

/// The id and the secret of the address.
pub(crate) type Address = Path<(String, String)>;

pub(crate) struct Found<V> {
    pub(crate) id: StreamId,
    /// The page's own path.
    pub(crate) address: String,
    pub(crate) view: V,
}

/// Looks up the page's content, or the response if there is none.
pub(crate) async fn find<V: KeyedView>(
    pages: &PagesState,
    visit: &Visit,
    id: &str,
    secret: &str,
) -> Result<Found<V>, Response> {
    let not_found = || page::message(StatusCode::NOT_FOUND, visit, V::not_found(visit.texts), Next::Nothing);
    let Ok(id) = id.parse::<StreamId>() else { return Err(not_found()) };
    match V::find(&pages.engine, id, secret).await {
        Ok(Some(view)) => Ok(Found { id, address: pages.address(V::FOLDER, id, secret), view }),
        Ok(None) => Err(not_found()),
        Err(error) => Err(unavailable(visit, id, &error)),
    }
}

pub(crate) fn unavailable(visit: &Visit, id: StreamId, error: &StoreError) -> Response {
    tracing::error!(stream_id = %id, %error, "a page could not be shown");
    page::message(StatusCode::SERVICE_UNAVAILABLE, visit, &visit.texts.unavailable, Next::Nothing)
}

/// `GET /{FOLDER}/{id}/{secret}/events`
pub(crate) async fn events<V: KeyedView>(State(pages): State<PagesState>, Path((id, secret)): Address) -> Response {
    let Ok(id) = id.parse::<StreamId>() else { return waiting_page::gone() };
    let engine = pages.engine.clone();
    let read = move || -> BoxFuture<'static, Option<Shown>> {
        let (engine, secret) = (engine.clone(), secret.clone());
        Box::pin(async move { Some(V::find(&engine, id, &secret).await.ok()??.shown()) })
    };
    waiting_page::respond(&pages, id, Box::new(read)).await
}
