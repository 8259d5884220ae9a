//! A user's browser as far as pages need one: it keeps cookies, and sends forms.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};

use crate::http::Connection;

/// A browser with a connection of its own.
pub(crate) struct Browser {
    connection: Connection,
    origin: String,
    cookies: BTreeMap<String, String>,
}

/// What the browser got.
pub(crate) struct Visited {
    pub(crate) status: u16,
    /// Where it leads to.
    pub(crate) location: Option<String>,
    pub(crate) text: String,
}

impl Browser {
    pub(crate) async fn open(service: SocketAddr) -> Result<Self> {
        Ok(Self {
            connection: Connection::open(service).await?,
            origin: format!("http://{service}"),
            cookies: BTreeMap::new(),
        })
    }

    /// Forgets who it was.
    pub(crate) fn clear_cookies(&mut self) {
        self.cookies.clear();
    }

    pub(crate) async fn get(&mut self, address: &str) -> Result<Visited> {
        self.visit("GET", address, "", "").await
    }

    pub(crate) async fn post(&mut self, address: &str, media_type: &str, body: &str) -> Result<Visited> {
        self.visit("POST", address, media_type, body).await
    }

    async fn visit(&mut self, method: &str, address: &str, media_type: &str, body: &str) -> Result<Visited> {
        let path = address.strip_prefix(&self.origin).unwrap_or(address);
        ensure!(path.starts_with('/'), "the service leads to {address}");
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (cookies, length) = (cookies.join("; "), body.len());
        let content = match method {
            "GET" => String::new(),
            _ => format!("Content-Type: {media_type}\r\nContent-Length: {length}\r\n"),
        };
        let request = format!("{method} {path} HTTP/1.1\r\nHost: usher\r\nCookie: {cookies}\r\n{content}\r\n{body}");
        let answer = self.connection.call(request.as_bytes()).await?;
        let visited = Visited {
            status: answer.status,
            location: answer.headers("location")?.into_iter().next(),
            text: std::str::from_utf8(answer.body)?.to_owned(),
        };
        for cookie in answer.headers("set-cookie")? {
            let pair = cookie.split(';').next().and_then(|pair| pair.split_once('='));
            let (name, value) = pair.context("a cookie without a value")?;
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        Ok(visited)
    }
}

impl Visited {
    /// Where it leads to; an error unless it is a redirect.
    pub(crate) fn leads_to(&self) -> Result<&str> {
        ensure!(self.status == 303, "status {}: {}", self.status, self.text);
        self.location.as_deref().context("a redirect without an address")
    }

    /// What stands after `before` up to the next quotation mark, in a page.
    pub(crate) fn between_quotes(&self, before: &str) -> Result<String> {
        ensure!(self.status == 200, "status {}: {}", self.status, self.text);
        let rest = self.text.split_once(before).map(|(_, rest)| rest);
        let value = rest.and_then(|rest| rest.split('"').next());
        let value = value.with_context(|| format!("no {before} in: {}", self.text))?;
        Ok(value.replace("&#34;", "\"").replace("&#38;", "&"))
    }
}
