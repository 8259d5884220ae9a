//! Age verifiers at real providers and services, and at such that lie.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod hostile_provider;
mod oidc;
mod verification_service;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use usher_engine::UnixMillis;
use usher_engine::ports::{NewAgeCheck, SystemClock};

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

/// What an endpoint responds.
#[derive(Clone)]
enum Reply {
    Json(Value),
    /// A status, more header lines, and a body.
    Raw(u16, String, String),
    Hang,
    /// A body, or a head, that never ends.
    Endless(&'static str),
    /// A byte now and then.
    Drip,
}

/// A server with a configured response per path; an empty path matches any.
#[derive(Clone)]
struct Server {
    url: String,
    replies: Arc<Mutex<Vec<(&'static str, Reply)>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { url, replies: Arc::default(), requests: Arc::default() };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.respond(stream.unwrap()));
            }
        });
        server
    }

    fn say(&self, path: &'static str, reply: Reply) {
        self.replies.lock().unwrap().push((path, reply));
    }

    fn last_request(&self) -> String {
        self.requests.lock().unwrap().last().cloned().unwrap()
    }

    fn respond(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let lower = head.to_lowercase();
        let length =
            lower.split("content-length: ").nth(1).map(|rest| rest.split('\r').next().unwrap().parse().unwrap());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        self.requests.lock().unwrap().push(head + &String::from_utf8(body).unwrap());
        let replies = self.replies.lock().unwrap().clone();
        let reply = replies.into_iter().rev().find(|(of, _)| of.is_empty() || *of == path);
        let mut stream = reader.into_inner();
        let mut send = |status: u16, head: &str, body: &str| {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n");
            let _ = stream.write_all((head + body).as_bytes());
        };
        match reply.map_or(Reply::Raw(404, String::new(), String::new()), |(_, reply)| reply) {
            Reply::Json(value) => send(200, "content-type: application/json\r\n", &value.to_string()),
            Reply::Raw(status, head, body) => send(status, &head, &body),
            Reply::Hang => drop(stream.read(&mut [0])),
            Reply::Endless(start) => {
                let _ = stream.write_all(start.as_bytes());
                while stream.write_all(&[b' '; 65_536]).is_ok() {}
            }
            Reply::Drip => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        }
    }
}
