//! HTTP/1.1 by hand, for clients that do not behave.

use nexus_tests::client::NEWEST;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Longer than every limit that a test sets.
const BOUND: Duration = Duration::from_secs(60);

/// A connection.
pub struct Wire<S>(BufReader<S>);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The lines of the head after the first, in lower case.
    pub head: Vec<String>,
    /// The body: null if it is none of JSON.
    pub body: Value,
}

impl Wire<TcpStream> {
    /// Connects from the address that clients of this machine usually have.
    pub async fn connect(to: SocketAddr) -> Self {
        Wire::connect_from("127.0.0.1", to).await
    }

    /// Connects from another address of this machine.
    pub async fn connect_from(from: &str, to: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::new(from.parse().expect("an address"), 0)).expect("an address");
        Wire::new(socket.connect(to).await.expect("it takes connections"))
    }
}

/// A request, but for its body.
pub fn head(method: &str, path: &str, more: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\napi-version: {NEWEST}\r\n{more}\r\n")
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub fn new(stream: S) -> Self {
        Wire(BufReader::new(stream))
    }

    /// Sends some bytes; says whether that was possible.
    pub async fn send(&mut self, text: &str) -> bool {
        let stream = self.0.get_mut();
        stream.write_all(text.as_bytes()).await.is_ok() && stream.flush().await.is_ok()
    }

    /// Sends a request without a body and reads the answer.
    pub async fn get(&mut self, path: &str) -> Option<Answer> {
        self.send(&head("GET", path, "")).await;
        self.answer().await
    }

    /// The next answer; none if the server has hung up.
    pub async fn answer(&mut self) -> Option<Answer> {
        timeout(BOUND, self.read()).await.expect("an answer or an end, in time")
    }

    /// Waits for the server to hang up; says whether it said nothing before.
    pub async fn closed(&mut self) -> bool {
        self.answer().await.is_none()
    }

    /// Whether the server has hung up by now.
    pub async fn gone(&mut self) -> bool {
        let read = self.0.get_mut().read_u8();
        timeout(Duration::from_millis(100), read).await.is_ok()
    }

    async fn read(&mut self) -> Option<Answer> {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap_or(0) == 0 {
                return None;
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_lowercase()),
            }
        }
        let first = head.remove(0);
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.ok()?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Some(Answer { status: status.expect("a status"), head, body })
    }
}
