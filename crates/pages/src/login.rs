//! The page of a login.
//!
//! It belongs to the browser that opens it first, so sending one's login page to somebody else does not log the sender
//! in as that person. A client that does not report a user navigation (link previews, old browsers) first gets a page
//! with a button. The page of a reusable login redirects each browser to a login of its own. Requests that change
//! something are POSTs to the page's unguessable address, with the browser's cookie.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use usher_engine::operations::{LoginMethod, LoginState};
use usher_engine::{
    ChildLogin, LoginPageError, LoginView, NoRoom, OpenedLogin, PageSigner, ProveError, ReusablePage, VisitError,
};
use usher_page_layout::Frame;

use crate::account::Account;
use crate::browser::{
    FetchInitiator, LoginCookie, fetch_initiator, is_own_form, last_method_cookie, login_cookies, shown_logins,
    surplus_cookies,
};
use crate::login_methods::Ways;
use crate::login_page_request::{AtLogin, other_type};
use crate::page::{self, CodePanel, Next, OtherLink, Tone};
use crate::passkey::PasskeyPart;
use crate::qr::Qr;
use crate::signer::{self, SignerPart};
use crate::signer_app;
use crate::state::PagesState;
use crate::texts::{LoginStatusTexts, Texts};
use crate::waiting_page::{self, Shown};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
    title: &'a str,
    heading: &'a str,
    /// What the app learns from the login.
    learns: &'a str,
    status: &'a str,
    tone: Tone,
    /// The state in one word.
    state: &'a str,
    /// Whether the user can still log in.
    live: bool,
    /// Whether the page reloads by itself without JavaScript.
    reloads: bool,
    wallet_url: &'a str,
    other_links: Vec<OtherLink<'a>>,
    wallet_qr: Option<Qr>,
    /// The main QR code.
    code: Option<CodePanel<'a>>,
    /// The line that shows a code.
    use_phone: &'a str,
    /// Whether wallets cannot be reached.
    wallets_offline: bool,
    /// The event for the extension to sign: JSON text.
    unsigned_proof: &'a str,
    ways: Ways,
    /// Whether the user may enter a remote signer.
    offers_signers: bool,
    /// The remote signer entered last.
    signer: Option<SignerPart<'a>>,
    /// The address that opens a signer app on the same phone.
    app_link: Option<String>,
    /// Passkeys, if offered.
    passkey: Option<PasskeyPart<'a>>,
    seconds_left: u64,
    time_left: &'a str,
    /// Where the page redirects at the end, and the text of the button.
    return_now: Option<&'a str>,
    go_on: &'a str,
    /// Whether the user logged in with a passkey: the page's script may offer a recovery file.
    offers_file: bool,
    /// The logged-in user.
    account: Option<Account>,
    /// Where the next login begins after this one is over: the link's text and its address.
    start_again: Option<(&'static str, &'a str)>,
}

/// The page shown before the login's page to a client that may not be showing it to a user.
#[derive(Template)]
#[template(path = "enter.html")]
struct EnterPage<'a> {
    frame: &'a Frame,
    texts: &'a Texts,
    /// The page's own path.
    address: &'a str,
}

/// How often the page polls the state of a remote signer, which has no events.
const SIGNER_EVERY: Duration = Duration::from_secs(1);

/// How often the page polls whether a wallet has scanned, if that event is on the stream of a reusable login, and whether wallets can
/// be reached again.
const SCAN_EVERY: Duration = Duration::from_secs(2);

/// How often the page polls whether wallets can still be reached.
const RELAYS_EVERY: Duration = Duration::from_secs(15);

/// `GET /login/{stream_id}/{secret}`
pub(crate) async fn show(State(pages): State<PagesState>, at: AtLogin, method: Method, headers: HeaderMap) -> Response {
    // The page belongs to the browser whose user opens it, not to one that only prefetched its address.
    let claims = match fetch_initiator(&method, &headers) {
        FetchInitiator::User => true,
        // Without TLS no browser sends Fetch Metadata.
        FetchInitiator::Unknown => !pages.url().starts_with("https://"),
        // The browser already has the page.
        FetchInitiator::Script => false,
        FetchInitiator::Nobody => return page::not_shown(),
    };
    open(&pages, &at, claims, &headers, async |view| show_login(&pages, &at, view).await).await
}

/// `POST /login/{stream_id}/{secret}`: the user opens the page.
pub(crate) async fn enter(State(pages): State<PagesState>, at: AtLogin, headers: HeaderMap) -> Response {
    // Another site can make browsers send this form without their login cookies; it can only lead them to the page.
    if !is_own_form(pages.url(), &headers) {
        return page::see_other(&at.address);
    }
    open(&pages, &at, true, &headers, async |_| page::see_other(&at.address)).await
}

/// Opens the page, and responds with the result of `shows`.
async fn open(
    pages: &PagesState,
    at: &AtLogin,
    claims: bool,
    headers: &HeaderMap,
    shows: impl AsyncFnOnce(&LoginView) -> Response,
) -> Response {
    match pages.engine.logins().open(at.login, &at.secret, at.browser.as_deref(), claims).await {
        Ok(OpenedLogin::Page { view, new_browser }) => {
            let mut response = shows(&view).await;
            if let LoginState::Proven { method, .. } | LoginState::Approved { method, .. } = view.state {
                set_cookies(&mut response, vec![last_method_cookie(pages.url(), method)]);
            }
            if let Some(browser) = new_browser {
                set_cookies(&mut response, login_cookies(pages.url(), at.login, &browser, view.time_left, headers));
            }
            response
        }
        Ok(OpenedLogin::Reusable) if claims => visit_reusable(pages, at, headers).await,
        Ok(OpenedLogin::Unclaimed | OpenedLogin::Reusable) => {
            let _turn = pages.turn().await;
            let page = EnterPage { frame: &at.visit.frame, texts: at.texts, address: &at.address };
            page::with_own_forms(at.visit.frame.render(StatusCode::OK, &page))
        }
        Ok(OpenedLogin::OtherBrowser { start_again }) => at.elsewhere(pages, start_again.as_ref()),
        Ok(OpenedLogin::NotFound) => at.not_found(pages).await,
        Ok(OpenedLogin::Closed) => at.closed(),
        Err(error) => at.unavailable(&error),
    }
}

/// Redirects a browser from the page of a reusable login to its own login.
async fn visit_reusable(pages: &PagesState, at: &AtLogin, headers: &HeaderMap) -> Response {
    match pages
        .engine
        .logins()
        .open_child_login(at.login, &at.secret, &shown_logins(pages.url(), headers), at.visit.network)
        .await
    {
        Ok(ChildLogin { login, page_secret, new_browser }) => {
            let mut response = page::see_other(&at.page_of(pages, login, &page_secret));
            let cookies = match new_browser {
                Some((browser, time_left)) => {
                    let begun_at = Some(ReusablePage { login: at.login, page_secret: at.secret.clone() });
                    let cookie = LoginCookie { browser, begun_at }.to_string();
                    login_cookies(pages.url(), login, &cookie, time_left, headers)
                }
                None => surplus_cookies(pages.url(), login, headers),
            };
            set_cookies(&mut response, cookies);
            response
        }
        Err(VisitError::NotFound) => at.not_found(pages).await,
        Err(VisitError::Closed) => at.closed(),
        Err(VisitError::NoRoom(NoRoom { is_of_network, retry_after })) => {
            let texts = &at.texts.login;
            let (status, said) = if is_of_network {
                (StatusCode::TOO_MANY_REQUESTS, &texts.busy_network)
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, &texts.busy)
            };
            at.message(status, said, Next::Retry(&at.address, retry_after.as_secs().max(1)))
        }
        Err(VisitError::Store(error)) => at.unavailable(&error),
    }
}

pub(crate) fn set_cookies(response: &mut Response, cookies: Vec<String>) {
    for cookie in cookies.into_iter().filter_map(|cookie| HeaderValue::try_from(cookie).ok()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// `GET /login/{stream_id}/{secret}/events`
pub(crate) async fn events(State(pages): State<PagesState>, at: AtLogin) -> Response {
    let (engine, login) = (pages.engine.clone(), at.login);
    let watch = engine.logins().watch(login);
    let read = move || -> futures_util::future::BoxFuture<'static, Option<Shown>> {
        let _watched = &watch;
        let (engine, browser, secret) = (engine.clone(), at.browser.clone(), at.secret.clone());
        Box::pin(async move {
            match engine.logins().open(login, &secret, browser.as_deref(), false).await {
                Ok(OpenedLogin::Page { view, .. }) => {
                    let is_final = !view.state.is_open();
                    // These states have no events of their own.
                    let is_scan_elsewhere = view.is_child_login || view.client_name.is_some();
                    let every = if is_scan_elsewhere || !view.is_reachable { SCAN_EVERY } else { RELAYS_EVERY };
                    let check_after = view.signer.as_ref().map(|_| SIGNER_EVERY).or((!is_final).then_some(every));
                    Some(Shown { word: word(&view), is_final, check_after })
                }
                _ => None,
            }
        })
    };
    waiting_page::respond(&pages, login, Box::new(read)).await
}

/// `POST /login/{stream_id}/{secret}/extension`: the body is the signed event.
pub(crate) async fn prove(State(pages): State<PagesState>, at: AtLogin, headers: HeaderMap, event: String) -> Response {
    if let Some(refused) = other_type(&headers, "application/json") {
        return refused;
    }
    if !pages.login_methods.has(LoginMethod::Extension) {
        return at.message(StatusCode::NOT_FOUND, &at.texts.no_page, Next::Back(&at.address));
    }
    match pages
        .engine
        .logins()
        .prove(at.login, &at.secret, at.browser.as_deref(), &event, PageSigner::Extension, at.visit.network)
        .await
    {
        Ok(()) => (page::HEADERS, StatusCode::NO_CONTENT).into_response(),
        Err(error) => {
            let texts = &at.texts.login;
            let (status, said) = match &error {
                ProveError::Page(error) => at.refusal(error),
                ProveError::TooOften => (StatusCode::TOO_MANY_REQUESTS, &texts.too_often),
                ProveError::Proof(error) => {
                    tracing::info!(login = %at.login, %error, "a browser extension's event was refused");
                    (StatusCode::UNPROCESSABLE_ENTITY, &texts.not_proven)
                }
            };
            page::for_script(status, said.message)
        }
    }
}

/// `POST /login/{stream_id}/{secret}/decline`
pub(crate) async fn decline(State(pages): State<PagesState>, at: AtLogin) -> Response {
    match pages.engine.logins().decline(at.login, &at.secret, at.browser.as_deref()).await {
        // Nothing of the login may remain.
        Ok(view) if view.is_child_login => show_login(&pages, &at, &view).await,
        // The page shows the outcome.
        Ok(_) | Err(LoginPageError::Ended) => page::see_other(&at.address),
        Err(error) => at.refused(&pages, &error).await,
    }
}

/// `GET /login/{stream_id}/{secret}/decline`: the browser goes back to the form's result.
pub(crate) async fn decline_again(at: AtLogin) -> Response {
    page::see_other(&at.address)
}

async fn show_login(pages: &PagesState, at: &AtLogin, view: &LoginView) -> Response {
    let (texts, service) = (at.texts, at.visit.service());
    let asker = view.client_name.as_deref().unwrap_or(service);
    let open = view.state.is_open();
    let start_again = view.start_again.as_ref().map(|page| at.page_of(pages, page.login, &page.page_secret));
    let return_now = view.return_url.as_deref().filter(|_| !open);
    let account = match view.state {
        // A browser that is redirected does not wait for the profile.
        LoginState::Proven { main_key, .. } | LoginState::Approved { main_key, .. } if return_now.is_none() => {
            Some(Account::of(pages, &main_key).await)
        }
        _ => None,
    };
    let _turn = pages.turn().await;
    let can_scan = view.state == LoginState::Waiting;
    let mut ways = pages.login_methods.ways(
        |method| match method {
            LoginMethod::Extension => true,
            LoginMethod::Passkey => view.passkey_rp_id.is_some(),
            // A wallet scans once.
            LoginMethod::Wallet => can_scan && view.is_reachable,
            LoginMethod::Signer => view.offers_signers || view.signer.is_some() || at.is_android,
        },
        view.signer.as_ref().map(|_| LoginMethod::Signer),
        at.last_used,
    );
    // The user has chosen a method and only has to approve.
    let is_asking = view.state == LoginState::Asking;
    if is_asking && view.signer.is_none() {
        ways.put_aside();
    }
    let mut signer = view.signer.as_ref().map(|signer| SignerPart::of(signer, &texts.login));
    let mut wallet_qr = Qr::of(&view.wallet_url).filter(|_| open && can_scan);
    // One main code, that of the first method.
    let signer_code = signer.as_mut().and_then(|signer| signer.qr.take());
    // The user has requested it.
    let signer_code = signer_code.map(|qr| (qr, texts.login.signer_qr, texts.login.signer_scan, true));
    let is_wallet_first = ways.first.contains(&LoginMethod::Wallet);
    // Otherwise the user asks for the code.
    let is_wallet_alone = ways.first == [LoginMethod::Wallet];
    let code = signer_code.or_else(|| {
        let qr = wallet_qr.take_if(|_| is_wallet_first)?;
        Some((qr, texts.login.wallet_qr, texts.login.wallet_scan, is_wallet_alone && !at.visit.is_phone))
    });
    let code = code.filter(|_| open).map(|(qr, label, text, is_open)| CodePanel { qr, label, text, is_open });
    at.visit.frame.render(
        StatusCode::OK,
        &LoginPage {
            frame: &at.visit.frame,
            texts,
            address: &at.address,
            title: by_state(&texts.login.titles, view.state),
            heading: &match view.state {
                LoginState::Asking => texts.login.titles.asking.to_owned(),
                _ => texts.login.heading_to(asker),
            },
            learns: &match &view.client_name {
                Some(client) => texts.login.learns_through(client, service),
                None => texts.login.learns(service),
            },
            status: match view.state {
                LoginState::Expired if start_again.is_some() => texts.login.expired_start_again,
                state => by_state(&texts.login.status, state),
            },
            tone: match view.state {
                LoginState::Waiting | LoginState::Asking => Tone::Waiting,
                LoginState::Proven { .. } | LoginState::Approved { .. } => Tone::Passed,
                LoginState::Declined | LoginState::Expired => Tone::Failed,
            },
            state: &word(view),
            live: open,
            reloads: open,
            wallet_url: &view.wallet_url,
            other_links: OtherLink::of_all(&view.other_wallet_urls),
            wallet_qr,
            code,
            use_phone: at.visit.use_phone(),
            wallets_offline: open && !view.is_reachable && pages.login_methods.has(LoginMethod::Wallet),
            unsigned_proof: &view.unsigned_proof,
            ways,
            offers_signers: view.offers_signers,
            signer,
            app_link: at.is_android.then(|| signer_app::link(pages, at, &view.unsigned_proof)),
            passkey: PasskeyPart::of(view),
            seconds_left: view.time_left.as_secs(),
            time_left: &texts.time_left(view.time_left),
            return_now,
            go_on: &match &view.client_name {
                Some(client) => texts.go_to(client),
                None => texts.go_on.to_owned(),
            },
            offers_file: matches!(
                view.state,
                LoginState::Proven { method: LoginMethod::Passkey, .. }
                    | LoginState::Approved { method: LoginMethod::Passkey, .. }
            ),
            account,
            start_again: start_again.as_deref().map(|address| match view.state {
                LoginState::Proven { .. } | LoginState::Approved { .. } => (texts.login.new_login, address),
                _ => (texts.login.start_again, address),
            }),
        },
    )
}

fn word(view: &LoginView) -> String {
    let login = match view.state {
        LoginState::Waiting => "waiting",
        LoginState::Asking => "asking",
        // The page redirects at once; only the app knows the rest.
        LoginState::Proven { .. } | LoginState::Approved { .. } => "approved",
        LoginState::Declined => "declined",
        LoginState::Expired => "expired",
    };
    let signer = view.signer.as_ref().map(|signer| format!("-signer-{}", signer::word(&signer.status)));
    let offline = if view.state.is_open() && !view.is_reachable { "-offline" } else { "" };
    format!("{login}{}{offline}", signer.unwrap_or_default())
}

const fn by_state(texts: &LoginStatusTexts, state: LoginState) -> &'static str {
    match state {
        LoginState::Waiting => texts.waiting,
        LoginState::Asking => texts.asking,
        LoginState::Proven { .. } => texts.proven,
        LoginState::Approved { .. } => texts.approved,
        LoginState::Declined => texts.declined,
        LoginState::Expired => texts.expired,
    }
}
