//! HTTP/1.1 requests, read as they come over the wire.

use std::collections::HashMap;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    /// Names in lower case; a header that comes twice is an error.
    pub headers: HashMap<String, String>,
    /// As long as the header `Content-Length` says.
    pub body: Vec<u8>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }
}

/// Reads a request with a `Content-Length`; `None` when the connection ends.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let mut headers = HashMap::new();
    for header in lines {
        let (name, value) = header.split_once(": ").unwrap();
        assert!(headers.insert(name.to_lowercase(), value.to_owned()).is_none(), "{name} comes twice");
    }
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    assert_eq!(body.len(), length, "more than one request at once");
    Some(Request { line, headers, body })
}
