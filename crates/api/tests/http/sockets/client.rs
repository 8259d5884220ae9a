//! A client of `/ws` that uses an independent WebSocket library and none of the service's code.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::app::{TOKEN, TestApp, within};

pub struct Client {
    pub stream: WebSocketStream<TcpStream>,
    next_id: u64,
}

impl Client {
    pub async fn open(app: &TestApp) -> Self {
        Self::try_open(app.address, Some(&format!("Bearer {TOKEN}"))).await.unwrap()
    }

    pub async fn open_as_stranger(app: &TestApp) -> Self {
        Self::try_open(app.address, None).await.unwrap()
    }

    /// Opens it with this `Authorization`; else gives the status of the answer.
    pub async fn try_open(address: SocketAddr, authorization: Option<&str>) -> Result<Self, u16> {
        Self::over(within(TcpStream::connect(address)).await.unwrap(), authorization).await
    }

    /// Opens it on a connection that holds as little as the system lets it for a client that does not read.
    pub async fn open_narrow(app: &TestApp) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4 * 1024).unwrap();
        let stream = within(socket.connect(app.address)).await.unwrap();
        Self::over(stream, Some(&format!("Bearer {TOKEN}"))).await.unwrap()
    }

    async fn over(stream: TcpStream, authorization: Option<&str>) -> Result<Self, u16> {
        let mut request = format!("ws://{}/ws", stream.peer_addr().unwrap()).into_client_request().unwrap();
        if let Some(authorization) = authorization {
            request.headers_mut().insert("authorization", authorization.parse().unwrap());
        }
        match within(client_async(request, stream)).await {
            Ok((stream, _)) => Ok(Self { stream, next_id: 1 }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Says a command later, with what follows.
    pub async fn feed(&mut self, message: Value) {
        self.stream.feed(Message::text(message.to_string())).await.unwrap();
    }

    pub async fn say_raw(&mut self, bytes: &[u8]) {
        // It may be cut short: the service hangs up as soon as it has seen enough.
        let _ = self.stream.get_mut().write_all(bytes).await;
    }

    pub async fn say(&mut self, message: Value) {
        self.say_text(&message.to_string()).await;
    }

    pub async fn say_text(&mut self, text: &str) {
        within(self.stream.send(Message::text(text))).await.unwrap();
    }

    /// The next message; panics at the end.
    pub async fn hear(&mut self) -> Value {
        match self.hear_or_end().await {
            Ok(message) => message,
            Err(end) => panic!("it ended: {end:?}"),
        }
    }

    /// The next message, or the close code and reason.
    pub async fn hear_or_end(&mut self) -> Result<Value, Option<(u16, String)>> {
        loop {
            match within(self.stream.next()).await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| (frame.code.into(), frame.reason.to_string())));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The close code; panics when another message comes.
    pub async fn end(&mut self) -> u16 {
        match self.hear_or_end().await {
            Err(Some((code, _))) => code,
            other => panic!("{other:?}"),
        }
    }

    /// Asserts that this command is refused with this code; returns the error.
    pub async fn refused(&mut self, cmd: &str, params: Value, code: &str) -> Value {
        let answer = self.ask(cmd, params).await;
        assert_eq!((&answer["type"], &answer["error"]["code"]), (&json!("error"), &json!(code)), "{answer}");
        answer
    }

    /// Says a command, and gives the next message, which must be the answer.
    pub async fn ask(&mut self, cmd: &str, params: Value) -> Value {
        let id = self.next_id.to_string();
        self.next_id += 1;
        self.say(json!({ "id": id, "cmd": cmd, "params": params })).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// As [`ask`](Self::ask), of a command that succeeds: its data.
    pub async fn done(&mut self, cmd: &str, params: Value) -> Value {
        let answer = self.ask(cmd, params).await;
        assert_eq!(answer["type"], "success", "{answer}");
        answer["data"].clone()
    }

    pub async fn subscribe(&mut self, stream: &str, after: u64) {
        let data = self.done("subscribe", json!({ "stream_id": stream, "after": after })).await;
        assert_eq!(data, json!({ "stream_id": stream }));
    }

    /// The next message, which must be an event of this stream: its index and data.
    pub async fn event(&mut self, stream: &str) -> (u64, Value) {
        let event = self.hear().await;
        assert_eq!((&event["type"], &event["stream_id"]), (&json!("event"), &json!(stream)), "{event}");
        (event["index"].as_u64().unwrap(), event["data"].clone())
    }
}
