//! A client that sends raw, possibly invalid HTTP.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::app::{TOKEN, TestApp, within};

pub struct Raw(pub TcpStream);

/// A response, taken apart far enough.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Raw {
    pub async fn connect(app: &TestApp) -> Self {
        Self(within(TcpStream::connect(app.address)).await.unwrap())
    }

    /// Sends this on a new connection.
    pub async fn sending(app: &TestApp, text: &str) -> Self {
        let mut raw = Self::connect(app).await;
        raw.send(text).await;
        raw
    }

    /// The response to this on a new connection.
    pub async fn ask(app: &TestApp, text: &str) -> Answer {
        Self::sending(app, text).await.answer().await.unwrap()
    }

    pub async fn send(&mut self, text: &str) {
        within(self.0.write_all(text.as_bytes())).await.unwrap();
    }

    /// Reads one response; `None` when the connection ended instead.
    pub async fn answer(&mut self) -> Option<Answer> {
        let head = self.until("\r\n\r\n").await?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        within(self.0.read_exact(&mut body)).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        Some(answer)
    }

    /// Reads up to and with `end`; `None` when the connection ended before.
    pub async fn until(&mut self, end: &str) -> Option<String> {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            match within(self.0.read_u8()).await {
                Ok(byte) => text.push(byte),
                Err(_) => return None,
            }
        }
        Some(String::from_utf8(text).unwrap())
    }

    /// Waits until the service has closed the connection; returns what it sent before.
    pub async fn closed(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = within(self.0.read_to_end(&mut rest)).await;
        rest
    }
}

/// The head of a request with the token, without its last empty line.
pub fn head(method: &str, target: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {TOKEN}\r\n")
}
