//! The way to a provider and back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use http::Request;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use usher_engine::VerificationSessionStarted;
use usher_engine::operations::AgeDecision;
use usher_engine::ports::{AgeCheckResult, AgeVerifier, AgeVerifierError, BegunAgeCheck, NewAgeCheck, PendingAgeCheck};

use crate::fixture::{Pages, path};

/// A provider that does as it is told.
struct ScriptedVerifier {
    polled: bool,
    begun: Mutex<Vec<NewAgeCheck>>,
    asked: Mutex<Vec<Option<String>>>,
    /// Each check that begins takes one.
    gate: Semaphore,
    result: Mutex<Result<AgeCheckResult, AgeVerifierError>>,
}

impl ScriptedVerifier {
    fn new(polled: bool, result: Result<AgeCheckResult, AgeVerifierError>) -> Arc<Self> {
        let (begun, asked, gate) = (Mutex::default(), Mutex::default(), Semaphore::new(1_000));
        Arc::new(Self { polled, begun, asked, gate, result: Mutex::new(result) })
    }
}

#[async_trait]
impl AgeVerifier for ScriptedVerifier {
    fn name(&self) -> &str {
        "id.example"
    }

    async fn probe(&self) -> Result<(), AgeVerifierError> {
        Ok(())
    }

    async fn begin(&self, check: &NewAgeCheck) -> Result<BegunAgeCheck, AgeVerifierError> {
        let number = {
            let mut begun = self.begun.lock();
            begun.push(check.clone());
            begun.len()
        };
        self.gate.acquire().await.unwrap().forget();
        let url = format!("https://id.example/check?n={number}&a=\"<b>");
        Ok(BegunAgeCheck { url, pending: PendingAgeCheck(format!("memo {number}")) })
    }

    async fn result(&self, _: &PendingAgeCheck, returned: Option<&str>) -> Result<AgeCheckResult, AgeVerifierError> {
        self.asked.lock().push(returned.map(str::to_owned));
        self.result.lock().clone()
    }

    fn can_be_polled(&self) -> bool {
        self.polled
    }
}

/// Begins a check; the cookie, and the way back with the state.
async fn begin(pages: &Pages, verifier: &ScriptedVerifier, session: &VerificationSessionStarted) -> (String, String) {
    let request = Request::post(format!("{}/start", path(session))).body(Body::empty()).unwrap();
    let (status, headers, html) = pages.send(request).await;
    assert_eq!(status, 200, "{html}");
    assert!(html.contains("https://id.example/check?n=") && !html.contains("<b>"), "{html}");
    let cookie = headers[SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.contains("; Path=/; Max-Age=900; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    let begun = verifier.begun.lock().last().cloned().unwrap();
    assert_eq!((begun.minimum_age, &*begun.return_url), (18, "https://shop.example/usher/verify/return"));
    (cookie.split(';').next().unwrap().to_owned(), format!("/verify/return?code=secret&state={}", begun.state))
}

async fn come_back(pages: &Pages, way: &str, cookie: &str) -> (u16, String) {
    let request = Request::get(way).header(COOKIE, format!("other=1; {cookie}")).body(Body::empty()).unwrap();
    let (status, headers, _) = pages.send(request).await;
    let location = headers.get(LOCATION).map(|location| location.to_str().unwrap().to_owned());
    (status.as_u16(), location.unwrap_or_default())
}

async fn state(pages: &Pages, session: &VerificationSessionStarted) -> String {
    pages.state(&path(session)).await
}

/// The path of a session's page as a browser sees it.
fn page(session: &VerificationSessionStarted) -> String {
    format!("/usher{}", path(session))
}

#[tokio::test]
async fn a_user_goes_to_the_provider_and_comes_back_with_the_result() {
    for (result, word) in [
        (AgeCheckResult::Passed, "not-issued"),
        (AgeCheckResult::Failed { reason: "the minimum age is not reached" }, "rejected"),
    ] {
        let verifier = ScriptedVerifier::new(false, Ok(result));
        let pages = Pages::start_with(None, Some(verifier.clone())).await;
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        assert_eq!(state(&pages, &session).await, "checking");
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, page(&session)));
        assert_eq!(state(&pages, &session).await, word);
        let asked = verifier.asked.lock().clone();
        assert!(matches!(&asked[..], [Some(query)] if query.starts_with("code=secret&state=")), "{asked:?}");
        // One use.
        assert_eq!(come_back(&pages, &way, &cookie).await.0, 404);
        assert_eq!(verifier.asked.lock().len(), 1);
        pages.stop().await;
    }
}

#[tokio::test]
async fn only_the_browser_that_began_the_last_check_comes_back() {
    let verifier = ScriptedVerifier::new(false, Ok(AgeCheckResult::Passed));
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let (session, other) = (pages.open().await, pages.open().await);
    let (old_cookie, old_way) = begin(&pages, &verifier, &session).await;
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    let (other_cookie, other_way) = begin(&pages, &verifier, &other).await;
    let name = cookie.split('=').next().unwrap();
    let value = |cookie: &str| cookie.split('=').nth(1).unwrap().to_owned();
    for (way, cookie, status) in [
        (&*old_way, &*cookie, 404),
        (&*way, &*old_cookie, 404),
        (&*way, &*format!("{name}=guess"), 404),
        (&*way, &*format!("{name}={}", value(&other_cookie)), 404),
        (&*way, "", 403),
        (&*other_way, &*cookie, 403),
        ("/verify/return", &*cookie, 404),
        ("/verify/return?state=x.y", &*cookie, 404),
        ("/verify/return?state=subscriptions.y", &*cookie, 403),
        (&*format!("{}x", way), &*cookie, 404),
    ] {
        assert_eq!(come_back(&pages, way, cookie).await.0, status, "{way} {cookie}");
    }
    assert!(verifier.asked.lock().is_empty());
    assert_eq!(come_back(&pages, &way, &cookie).await.0, 303, "nothing of this used it up");
}

#[tokio::test]
async fn a_check_without_a_result_can_be_begun_again_but_not_for_ever() {
    let unreachable = AgeVerifierError::Unreachable("connection refused".to_owned());
    let verifier = ScriptedVerifier::new(false, Err(unreachable));
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let session = pages.open().await;
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    assert_eq!(come_back(&pages, &way, &cookie).await, (303, format!("{}?incomplete", page(&session))));
    let html = pages.get(&format!("{}?incomplete", path(&session))).await.2;
    assert!(html.contains("The check was not completed.") && !html.contains("refresh"), "{html}");
    *verifier.result.lock() = Ok(AgeCheckResult::Cancelled);
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    assert_eq!(come_back(&pages, &way, &cookie).await.1, format!("{}?incomplete", page(&session)));
    assert_eq!(state(&pages, &session).await, "open");
    // Also of many at once.
    let again = || Request::post(format!("{}/start", path(&session))).body(Body::empty()).unwrap();
    let many = futures_util::future::join_all((0..40).map(|_| pages.send(again()))).await;
    assert_eq!(many.into_iter().filter(|response| response.0 == 429).count(), 32);
    assert_eq!(verifier.begun.lock().len(), 10);
    pages.engine.verification().decide(session.session_id, &AgeDecision::Approved, None).await.unwrap();
    assert_eq!(pages.send(again()).await.0, 409, "decided");
}

#[tokio::test]
async fn a_check_needs_the_sessions_secret_and_a_provider() {
    let verifier = ScriptedVerifier::new(false, Ok(AgeCheckResult::Passed));
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let session = pages.open().await;
    let path_of = path(&session);
    let wrong = format!("{}/guess/start", path_of.rsplit_once('/').unwrap().0);
    assert_eq!(pages.send(Request::post(wrong).body(Body::empty()).unwrap()).await.0, 404);
    let start = format!("{path_of}/start");
    assert_eq!(pages.get(&start).await.0, 405, "a link begins nothing");
    pages.clock.turn(Duration::from_secs(900));
    let late = pages.send(Request::post(&start).body(Body::empty()).unwrap()).await.0;
    assert_eq!(late, 409);
    assert!(verifier.begun.lock().is_empty());

    let pages = Pages::start(None).await;
    let session = pages.open().await;
    let begun = Request::post(format!("{}/start", path(&session))).body(Body::empty()).unwrap();
    assert_eq!(pages.send(begun).await.0, 409, "staff decide");
}

#[tokio::test]
async fn a_browser_that_returns_after_the_end_of_its_check_sees_how_the_session_is() {
    let failed = AgeCheckResult::Failed { reason: "the age verifier did not confirm the age" };
    for polled in [false, true] {
        let verifier = ScriptedVerifier::new(polled, Ok(AgeCheckResult::Pending));
        let pages = Pages::start_with(None, Some(verifier.clone())).await;
        // Staff decide while the user is at the provider.
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        let rejected = AgeDecision::Rejected { reason: None };
        pages.engine.verification().decide(session.session_id, &rejected, None).await.unwrap();
        assert_eq!(come_back(&pages, &way, "").await.0, 403, "its browser alone");
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, page(&session)));
        // The time runs out.
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        pages.clock.turn(Duration::from_secs(901));
        pages.engine.events().wait(session.session_id, 0, 1, Duration::from_secs(60)).await.unwrap();
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, page(&session)));
        assert_eq!(state(&pages, &session).await, "expired");
        assert_eq!(*verifier.asked.lock(), [], "nobody asks for a result any more");
        pages.stop().await;
    }
    // The service asks the provider before the browser returns.
    for (result, word, query) in [(failed, "rejected", ""), (AgeCheckResult::Cancelled, "open", "?incomplete")] {
        let verifier = ScriptedVerifier::new(true, Ok(result));
        let pages = Pages::start_with(None, Some(verifier.clone())).await;
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        for _ in 0..200 {
            pages.clock.turn(Duration::from_secs(2));
            if state(&pages, &session).await == word {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, format!("{}{query}", page(&session))));
        assert_eq!(state(&pages, &session).await, word);
        pages.stop().await;
    }
}

#[tokio::test]
async fn the_second_click_of_a_double_click_counts() {
    let verifier = ScriptedVerifier::new(false, Ok(AgeCheckResult::Passed));
    verifier.gate.forget_permits(1_000);
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let session = pages.open().await;
    let start = || {
        let request = Request::post(format!("{}/start", path(&session))).body(Body::empty()).unwrap();
        pages.send(request)
    };
    let begun = async |count| {
        while verifier.begun.lock().len() < count {
            tokio::task::yield_now().await;
        }
    };
    let (first, second, ()) = tokio::join!(
        start(),
        async {
            begun(1).await;
            start().await
        },
        async {
            begun(2).await;
            verifier.gate.add_permits(2);
        }
    );
    assert_eq!((first.0.as_u16(), second.0.as_u16()), (503, 200));
    assert!(first.1.get(SET_COOKIE).is_none(), "it does not take the place of the second's cookie");
    let cookie = second.1[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let states: Vec<_> = verifier.begun.lock().iter().map(|check| check.state.clone()).collect();
    let way = |number: usize| format!("/verify/return?code=secret&state={}", states[number]);
    assert_eq!(come_back(&pages, &way(0), &cookie).await.0, 404);
    assert_eq!(come_back(&pages, &way(1), &cookie).await, (303, page(&session)));
}

#[tokio::test]
async fn no_response_can_be_framed_cached_or_sniffed_and_none_leads_elsewhere() {
    let verifier = ScriptedVerifier::new(false, Ok(AgeCheckResult::Passed));
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let session = pages.open().await;
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    let post = |path: &str| Request::post(path).body(Body::empty()).unwrap();
    let get = |path: &str| Request::get(path).header(COOKIE, &cookie).body(Body::empty()).unwrap();
    let evil = "https%3A%2F%2Fevil.example";
    for (request, status) in [
        (get(&path(&session)), 200),
        (post(&format!("{}/start", path(&session))), 200),
        (post("/verify/x/y/start"), 404),
        (get(&format!("{way}x&return_url={evil}")), 404),
        (get(&format!("/verify/return?state={evil}")), 404),
        (get("/verify/return?state=https://evil.example.x"), 404),
    ] {
        let uri = request.uri().to_string();
        let (found, headers, _) = pages.send(request).await;
        assert_eq!(found, status, "{uri}");
        assert!(headers.get(LOCATION).is_none(), "{uri}");
        is_guarded(&headers);
    }
    is_guarded(pages.open_body(get(&format!("{}/events", path(&session)))).await.headers());
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    let request = Request::get(format!("{way}&return_url={evil}&iss={evil}")).header(COOKIE, cookie);
    let (status, headers, _) = pages.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((status.as_u16(), headers[LOCATION].to_str().unwrap()), (303, &*page(&session)));
    is_guarded(&headers);
}

fn is_guarded(headers: &http::HeaderMap) {
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"), "{policy}");
    for (name, value) in [
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(headers[name], value, "{name}");
    }
}
