//! An HTTP client of Nexus, as one user, at one version of the API.

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;
use std::time::Duration;

/// The version that requests name, unless a test says otherwise: the newest.
pub const NEWEST: &str = "2026091500.0.0";

/// An HTTP client.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
    version: Option<String>,
}

impl Client {
    /// A client of the API at `url`, that names the newest version, and no user.
    pub fn new(url: &str) -> Self {
        // Longer than anything that a server may take: an answer that never comes is a failure
        // that names its request, not a test that hangs.
        let timeout = Duration::from_secs(90);
        let http = reqwest::Client::builder()
            // Where an answer leads is for tests to see.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(timeout)
            .build();
        Client {
            http: http.expect("an HTTP client"),
            url: url.to_string(),
            token: None,
            version: Some(NEWEST.to_string()),
        }
    }

    /// The same, as the user with this token.
    pub fn with_token(&self, token: &str) -> Self {
        Client { token: Some(token.to_string()), ..self.clone() }
    }

    /// The same, as nobody.
    pub fn without_token(&self) -> Self {
        Client { token: None, ..self.clone() }
    }

    /// The same, at this version of the API.
    pub fn at_version(&self, version: &str) -> Self {
        Client { version: Some(version.to_string()), ..self.clone() }
    }

    /// The same, without the header that names a version.
    pub fn without_version(&self) -> Self {
        Client { version: None, ..self.clone() }
    }

    /// The same, at another server.
    pub fn at(&self, url: &str) -> Self {
        Client { url: url.to_string(), ..self.clone() }
    }

    /// The URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// `GET`.
    pub async fn get(&self, path: &str) -> Reply {
        self.send(Method::GET, path, None).await
    }

    /// `POST` with a body.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, Some(body)).await
    }

    /// `POST` without a body.
    pub async fn call(&self, path: &str) -> Reply {
        self.send(Method::POST, path, None).await
    }

    /// `PUT` with a body.
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, Some(body)).await
    }

    /// `DELETE`.
    pub async fn delete(&self, path: &str) -> Reply {
        self.send(Method::DELETE, path, None).await
    }

    /// Any request; panics if there is no answer.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Reply {
        let request = format!("{method} {path}");
        match self.try_send(method, path, body).await {
            Ok(reply) => reply,
            Err(error) => panic!("{request}: no answer: {error:?}"),
        }
    }

    /// Any request to a server that may not be there, or may go away.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Result<Reply> {
        let mut request = self.request(method.clone(), path);
        if let Some(body) = &body {
            request = request.json(body);
        }
        Reply::try_read(format!("{method} {path}"), request).await
    }

    /// A request that a test completes itself.
    pub fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(version) = &self.version {
            request = request.header("api-version", version);
        }
        request
    }

    /// Every item of a listing, page by page; `path` may have a query. Panics if a page repeats
    /// itself.
    pub async fn all(&self, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut page = path.to_string();
        loop {
            let body = self.get(&page).await.expect(200);
            items.extend(body["items"].as_array().expect("a page has items").iter().cloned());
            let Some(token) = body["next_page"].as_str() else { return items };
            let (base, query) = path.split_once('?').unwrap_or((path, ""));
            let limit = query.split('&').find(|parameter| parameter.starts_with("limit="));
            let next = format!("{base}?page_token={token}&{}", limit.unwrap_or_default());
            assert_ne!(page, next, "a page that leads to itself");
            page = next;
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The method and the path, for messages.
    pub request: String,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body: null if it is empty, a string if it is not JSON.
    pub body: Value,
}

impl Reply {
    /// Sends a request that a test has completed itself; panics if there is no answer. `name` is
    /// for messages.
    pub async fn read(name: String, request: reqwest::RequestBuilder) -> Self {
        match Reply::try_read(name.clone(), request).await {
            Ok(reply) => reply,
            Err(error) => panic!("{name}: no answer: {error:?}"),
        }
    }

    async fn try_read(name: String, request: reqwest::RequestBuilder) -> reqwest::Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let json = if text.is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
        let body = json.unwrap_or(Value::String(text));
        Ok(Reply { request: name, status, headers, body })
    }

    /// The body of an answer that must have this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {:#}", self.request, self.body);
        self.body
    }

    /// Checks an error: the status, the message, and what every error has.
    #[track_caller]
    pub fn refused(self, status: u16, message: &str) {
        let request = self.request.clone();
        assert_eq!(self.message(status), message, "{request}");
    }

    /// Checks an error whose message need only contain this.
    #[track_caller]
    pub fn refused_about(self, status: u16, part: &str) {
        let request = self.request.clone();
        let message = self.message(status);
        assert!(message.contains(part), "{request}: {message}");
    }

    /// Checks an answer that may be one of several, as that of a request that races with others:
    /// an error among them must have what every error has. Returns the status.
    #[track_caller]
    pub fn one_of(&self, statuses: &[u16]) -> u16 {
        let Reply { request, status, body, .. } = self;
        assert!(statuses.contains(status), "{request}: {status}: {body:#}");
        if *status >= 400 {
            self.clone().message(*status);
        }
        *status
    }

    /// The message of an error.
    #[track_caller]
    fn message(self, status: u16) -> String {
        let id = self.headers.get("x-request-id").and_then(|id| id.to_str().ok());
        assert_eq!(self.body["request_id"].as_str(), id, "{}: {:#}", self.request, self.body);
        if status == 503 {
            assert!(self.headers.contains_key("retry-after"), "{}: when to retry?", self.request);
            let message = self.body["message"].as_str().unwrap_or_default();
            let said = message.contains("safe to retry") || message.contains("no longer reachable");
            assert!(said, "{}: may I retry? {message}", self.request);
        }
        let body = self.expect(status);
        body["message"].as_str().expect("an error has a message").to_string()
    }

    /// The code of an error, if it has one.
    pub fn error_code(&self) -> Option<&str> {
        self.body["error_code"].as_str()
    }
}
