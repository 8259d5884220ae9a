//! A real OpenID Connect provider (npm `oidc-provider`), whose forms a small client fills in.

use std::collections::BTreeMap;

use usher_engine::ports::{AgeCheckResult, AgeVerifier as _, AgeVerifierError};
use usher_testing::OidcProvider;

use super::{RETURN_URL, SECRET, check};
use crate::OidcVerifier;

fn start() -> (OidcProvider, OidcVerifier) {
    let mut provider = OidcProvider::start("usher", SECRET);
    provider.register(RETURN_URL);
    let verifier = super::verifier(&provider.issuer, &["profile"]);
    (provider, verifier)
}

/// Logs in and consents as a browser would; the query with which the browser returns.
async fn visit(provider: &OidcProvider, url: &str, user: &str) -> String {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut cookies: BTreeMap<String, String> = BTreeMap::new();
    let (mut url, mut form) = (url.to_owned(), None::<String>);
    for _ in 0..20 {
        let line: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = match form.take() {
            Some(body) => http.post(&url).header("content-type", "application/x-www-form-urlencoded").body(body),
            None => http.get(&url),
        };
        let response = request.header("cookie", line.join("; ")).send().await.unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            cookies.insert(name.to_owned(), rest.split(';').next().unwrap().to_owned());
        }
        if let Some(to) = response.headers().get("location") {
            let to = to.to_str().unwrap();
            if let Some(query) = to.strip_prefix(RETURN_URL) {
                return query.trim_start_matches('?').to_owned();
            }
            url = if to.starts_with('/') { format!("{}{to}", provider.issuer) } else { to.to_owned() };
            continue;
        }
        let page = response.text().await.unwrap();
        let action = page.split("action=\"").nth(1).unwrap_or_else(|| panic!("no form: {page}"));
        url = action.split('"').next().unwrap().to_owned();
        form = Some(match page.contains("name=\"login\"") {
            true => format!("prompt=login&login={user}&password=x"),
            false => "prompt=consent".to_owned(),
        });
    }
    panic!("it never ends");
}

#[tokio::test]
async fn the_age_of_a_providers_user_decides() {
    let (provider, verifier) = start();
    for (user, result) in [
        ("adult", AgeCheckResult::Passed),
        ("minor", AgeCheckResult::Failed { reason: "the minimum age is not reached" }),
        ("nobody", AgeCheckResult::Failed { reason: "the provider tells no age" }),
    ] {
        let begun = verifier.begin(&check()).await.unwrap();
        for part in ["code_challenge_method=S256", "code_challenge=", "nonce=", "state=id.random", "response_type=code"]
        {
            assert!(begun.url.contains(part), "{part}: {}", begun.url);
        }
        let query = visit(&provider, &begun.url, user).await;
        assert_eq!(verifier.result(&begun.pending, Some(&query)).await, Ok(result), "{user}");
        let again = verifier.result(&begun.pending, Some(&query)).await;
        assert!(matches!(again, Err(AgeVerifierError::Mismatch(_))), "a code is good for once");
    }
}

#[tokio::test]
async fn a_response_that_belongs_to_another_check_is_refused() {
    let (provider, verifier) = start();
    let (mine, other) = (verifier.begin(&check()).await.unwrap(), verifier.begin(&check()).await.unwrap());
    let query = visit(&provider, &other.url, "adult").await;
    let result = verifier.result(&mine.pending, Some(&query)).await;
    assert!(matches!(result, Err(AgeVerifierError::Mismatch(_))), "another verifier of PKCE: {result:?}");
    for query in ["", "error=server_error", "code=x&iss=https://other.example", "code=guess"] {
        let result = verifier.result(&mine.pending, Some(query)).await;
        assert!(matches!(result, Err(AgeVerifierError::Mismatch(_))), "{query}: {result:?}");
    }
    let denied = verifier.result(&mine.pending, Some("error=access_denied")).await;
    assert_eq!(denied, Ok(AgeCheckResult::Cancelled));
}
