//! Age verifiers at real providers and services, and at such that lie.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod hostile_provider;
mod oidc;
mod verification_service;

use std::sync::{Arc, Mutex};

use usher_engine::UnixMillis;
use usher_engine::ports::{NewAgeCheck, SystemClock};
use usher_testing::{Request, WebResponse, WebServer};

use crate::{OidcOptions, OidcVerifier};

const SECRET: &str = "s3cret-of-the-client-which-is-long-enough";
const RETURN_URL: &str = "http://127.0.0.1:9/verify/return";

fn check() -> NewAgeCheck {
    NewAgeCheck {
        minimum_age: 18,
        return_url: RETURN_URL.to_owned(),
        state: "id.random".to_owned(),
        expires_at: UnixMillis(1_800_000_000_000),
    }
}

fn verifier(issuer: &str, scopes: &[&str]) -> OidcVerifier {
    let options = OidcOptions {
        issuer: issuer.parse().unwrap(),
        client_id: "usher".to_owned(),
        client_secret: Some(SECRET.to_owned().into()),
        claim: None,
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    };
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    OidcVerifier::new(options, tls, Arc::new(SystemClock)).unwrap()
}

/// A server with a configured response per path; an empty path matches any.
struct Server {
    web: WebServer,
    url: String,
    replies: Arc<Mutex<Vec<(&'static str, WebResponse)>>>,
}

impl Server {
    async fn start() -> Self {
        let replies = Arc::<Mutex<Vec<(&'static str, WebResponse)>>>::default();
        let said = Arc::clone(&replies);
        let web = WebServer::start(move |request| {
            let replies = said.lock().unwrap();
            let reply = replies.iter().rev().find(|(of, _)| of.is_empty() || *of == request.path());
            reply.map_or_else(|| WebResponse::new(404, "", ""), |(_, reply)| reply.clone())
        })
        .await;
        Self { url: web.url(""), web, replies }
    }

    fn say(&self, path: &'static str, reply: WebResponse) {
        self.replies.lock().unwrap().push((path, reply));
    }

    fn last_request(&self) -> Request {
        self.web.requests().pop().unwrap()
    }
}
