//! The way to a provider and back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use http::Request;
use http::header::{COOKIE, LOCATION, SET_COOKIE};
use parking_lot::Mutex;
use usher_engine::operations::AgeDecision;
use usher_engine::ports::{AgeCheckResult, AgeVerifier, AgeVerifierError, BegunAgeCheck, NewAgeCheck, PendingAgeCheck};
use usher_engine::{Requester, VerificationSessionStarted};

use crate::fixture::{Pages, path};

struct ScriptedVerifier {
    polled: bool,
    begun: Mutex<Vec<NewAgeCheck>>,
    asked: Mutex<Vec<Option<String>>>,
    result: Mutex<Result<AgeCheckResult, AgeVerifierError>>,
}

impl ScriptedVerifier {
    fn new(polled: bool, result: Result<AgeCheckResult, AgeVerifierError>) -> Arc<Self> {
        let (begun, asked) = (Mutex::default(), Mutex::default());
        Arc::new(Self { polled, begun, asked, result: Mutex::new(result) })
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
        let mut begun = self.begun.lock();
        begun.push(check.clone());
        let number = begun.len();
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

fn post(path: &str) -> Request<Body> {
    Request::post(path).body(Body::empty()).unwrap()
}

fn start(session: &VerificationSessionStarted) -> Request<Body> {
    post(&format!("{}/start", path(session)))
}

/// Pages of a service with this provider, and an open session.
async fn open(
    polled: bool,
    result: Result<AgeCheckResult, AgeVerifierError>,
) -> (Arc<ScriptedVerifier>, Pages, VerificationSessionStarted) {
    let verifier = ScriptedVerifier::new(polled, result);
    let pages = Pages::start_with(None, Some(verifier.clone())).await;
    let session = pages.open().await;
    (verifier, pages, session)
}

/// Begins a check; the cookie, and the way back with the state.
async fn begin(pages: &Pages, verifier: &ScriptedVerifier, session: &VerificationSessionStarted) -> (String, String) {
    let (status, headers, html) = pages.send(start(session)).await;
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
    (status, location.unwrap_or_default())
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
        let (verifier, pages, session) = open(false, Ok(result)).await;
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
    // Nothing of this used it up, and nothing in the address leads elsewhere.
    let evil = "https%3A%2F%2Fevil.example";
    let (status, to) = come_back(&pages, &format!("{way}&return_url={evil}&iss={evil}"), &cookie).await;
    assert_eq!((status, to), (303, page(&session)));
}

#[tokio::test]
async fn a_check_without_a_result_can_be_begun_again_but_not_for_ever() {
    let unreachable = AgeVerifierError::Unreachable("connection refused".to_owned());
    let (verifier, pages, session) = open(false, Err(unreachable)).await;
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    assert_eq!(come_back(&pages, &way, &cookie).await, (303, format!("{}?incomplete", page(&session))));
    let html = pages.get(&format!("{}?incomplete", path(&session))).await.2;
    assert!(html.contains("The check was not completed.") && !html.contains("refresh"), "{html}");
    *verifier.result.lock() = Ok(AgeCheckResult::Cancelled);
    let (cookie, way) = begin(&pages, &verifier, &session).await;
    assert_eq!(come_back(&pages, &way, &cookie).await.1, format!("{}?incomplete", page(&session)));
    assert_eq!(state(&pages, &session).await, "open");
    // Also of many at once.
    let many = futures_util::future::join_all((0..40).map(|_| pages.send(start(&session)))).await;
    assert_eq!(many.into_iter().filter(|response| response.0 == 429).count(), 32);
    assert_eq!(verifier.begun.lock().len(), 10);
    pages
        .engine
        .verification()
        .decide(&Requester::Service, session.session_id, &AgeDecision::Approved, None)
        .await
        .unwrap();
    assert_eq!(pages.send(start(&session)).await.0, 409, "decided");
}

#[tokio::test]
async fn a_check_needs_the_sessions_secret_and_a_provider() {
    let (verifier, pages, session) = open(false, Ok(AgeCheckResult::Passed)).await;
    let path_of = path(&session);
    let wrong = format!("{}/guess/start", path_of.rsplit_once('/').unwrap().0);
    assert_eq!(pages.send(post(&wrong)).await.0, 404);
    assert_eq!(pages.get(&format!("{path_of}/start")).await.0, 405, "a link begins nothing");
    pages.clock.turn(Duration::from_secs(900));
    assert_eq!(pages.send(start(&session)).await.0, 409, "late");
    assert!(verifier.begun.lock().is_empty());

    let pages = Pages::start(None).await;
    let session = pages.open().await;
    assert_eq!(pages.send(start(&session)).await.0, 409, "staff decide");
}

#[tokio::test]
async fn a_browser_that_returns_after_the_end_of_its_check_sees_how_the_session_is() {
    for polled in [false, true] {
        let verifier = ScriptedVerifier::new(polled, Ok(AgeCheckResult::Pending));
        let pages = Pages::start_with(None, Some(verifier.clone())).await;
        // Staff decide while the user is at the provider.
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        let rejected = AgeDecision::Rejected { reason: None };
        pages.engine.verification().decide(&Requester::Service, session.session_id, &rejected, None).await.unwrap();
        assert_eq!(come_back(&pages, &way, "").await.0, 403, "its browser alone");
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, page(&session)));
        // The time runs out.
        let session = pages.open().await;
        let (cookie, way) = begin(&pages, &verifier, &session).await;
        pages.clock.turn(Duration::from_secs(901));
        pages.event(session.session_id).await;
        assert_eq!(come_back(&pages, &way, &cookie).await, (303, page(&session)));
        assert_eq!(state(&pages, &session).await, "expired");
        assert_eq!(*verifier.asked.lock(), [], "nobody asks for a result any more");
        pages.stop().await;
    } // The service asks the provider before the browser returns.
    let failed = AgeCheckResult::Failed { reason: "the age verifier did not confirm the age" };
    for (result, word, query) in [(failed, "rejected", ""), (AgeCheckResult::Cancelled, "open", "?incomplete")] {
        let (verifier, pages, session) = open(true, Ok(result)).await;
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
