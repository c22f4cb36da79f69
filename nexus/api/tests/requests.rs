//! Requests as a server reads them: bodies in every spelling, queries and tokens of listings,
//! versions.
//!
//! A server of its own, whose operations answer with what they have understood. What is tested is
//! what the extractors make of a request, not what anything makes of that.

#![cfg(test)]

use dropshot::{
    ConfigDropshot, HttpError, HttpResponseDeleted, HttpResponseOk, HttpServer, Query,
    RequestContext, ResultsPage, ServerBuilder, TypedBody,
};
use nexus_api::api::REQUEST_BODY_MAX;
use nexus_api::compat::{CompatBody, OldSpellings};
use nexus_api::paging::{AddressPage, ListByAddress, ListByNameOrId, NameOrIdPage};
use nexus_api::types::{
    FloatingIpCreate, FloatingIpUpdate, IdentityMetadata, InstanceCreate, IpPoolFilter, Project,
    VpcSelector,
};
use nexus_api::version;
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};

#[dropshot::api_description]
trait Echo {
    type Context;

    #[endpoint { method = POST, path = "/floating-ips" }]
    async fn floating_ip(
        _rqctx: RequestContext<Self::Context>,
        body: CompatBody<FloatingIpCreate>,
    ) -> Result<HttpResponseOk<Value>, HttpError> {
        Ok(HttpResponseOk(echo(body)))
    }

    #[endpoint { method = POST, path = "/instances" }]
    async fn instance(
        _rqctx: RequestContext<Self::Context>,
        body: CompatBody<InstanceCreate>,
    ) -> Result<HttpResponseOk<Value>, HttpError> {
        Ok(HttpResponseOk(echo(body)))
    }

    #[endpoint { method = PUT, path = "/floating-ips" }]
    async fn update(
        _rqctx: RequestContext<Self::Context>,
        body: TypedBody<FloatingIpUpdate>,
    ) -> Result<HttpResponseOk<Value>, HttpError> {
        Ok(HttpResponseOk(json!(body.into_inner())))
    }

    #[endpoint { method = DELETE, path = "/floating-ips" }]
    async fn delete(
        _rqctx: RequestContext<Self::Context>,
    ) -> Result<HttpResponseDeleted, HttpError> {
        Ok(HttpResponseDeleted())
    }

    /// One item, named after what was understood of the query.
    #[endpoint { method = GET, path = "/subnets" }]
    async fn subnets(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<VpcSelector>>,
    ) -> Result<HttpResponseOk<ResultsPage<Project>>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        let VpcSelector { project, vpc } = &page.selector;
        let item = project_described(format!("{project:?} {vpc} {:?}", page.by));
        Ok(HttpResponseOk(page.results(vec![item])?))
    }

    #[endpoint { method = GET, path = "/pools" }]
    async fn pools(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByNameOrId<IpPoolFilter>>,
    ) -> Result<HttpResponseOk<Value>, HttpError> {
        let page = NameOrIdPage::new(&rqctx, query)?;
        Ok(HttpResponseOk(json!(page.selector)))
    }

    #[endpoint { method = GET, path = "/ranges" }]
    async fn ranges(
        rqctx: RequestContext<Self::Context>,
        query: Query<ListByAddress>,
    ) -> Result<HttpResponseOk<ResultsPage<String>>, HttpError> {
        let page = AddressPage::new(&rqctx, query)?;
        let item = format!("{:?}", page.by);
        Ok(HttpResponseOk(page.results(vec![item], |_| [10, 0, 0, 1].into())?))
    }
}

fn echo<T: OldSpellings + Serialize>(body: CompatBody<T>) -> Value {
    let (body, legacy) = body.into_parts();
    json!({
        "body": body,
        "prefers_ipv4": legacy.prefers_ipv4,
        "pool": legacy.pool,
    })
}

fn project_described(description: String) -> Project {
    let time = chrono::DateTime::<chrono::Utc>::MIN_UTC;
    let identity = IdentityMetadata {
        id: uuid::Uuid::nil(),
        name: "item".parse().expect("a name"),
        description,
        time_created: time,
        time_modified: time,
    };
    Project { identity }
}

enum Server {}

impl Echo for Server {
    type Context = ();
}

struct Client {
    server: HttpServer<()>,
    http: reqwest::Client,
}

impl Client {
    fn new() -> Self {
        let config = ConfigDropshot {
            default_request_body_max_bytes: REQUEST_BODY_MAX,
            ..ConfigDropshot::default()
        };
        let api = echo_mod::api_description::<Server>().expect("an API");
        let log = slog::Logger::root(slog::Discard, slog::o!());
        let server = ServerBuilder::new(api, (), log)
            .config(config)
            .version_policy(version::version_policy(version::latest_version()))
            .start()
            .expect("a server");
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Client { server, http }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("http://{}{path}", self.server.local_addr()))
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        answer(self.request(Method::GET, path)).await
    }

    /// Posts a body as a client that sends no version.
    async fn post(&self, path: &str, body: &str) -> Result<Value, String> {
        answer(self.request(Method::POST, path).body(body.to_string())).await
    }

    /// Posts a body as a client of the newest version.
    async fn post_newest(&self, path: &str, body: &str) -> Result<Value, String> {
        let request = self.request(Method::POST, path).body(body.to_string());
        answer(request.header("api-version", version::latest_version().to_string())).await
    }
}

/// The answer's body or, where it is a 400, its message.
async fn answer(request: reqwest::RequestBuilder) -> Result<Value, String> {
    let response = request.send().await.expect("an answer");
    let status = response.status();
    let body: Value = response.json().await.expect("JSON");
    match status {
        StatusCode::OK => Ok(body),
        StatusCode::BAD_REQUEST => Err(body["message"].as_str().expect("a message").to_string()),
        other => panic!("{other}: {body}"),
    }
}

const OLD: &str = r#"{"name":"f","description":"","ip":"10.0.0.1","pool":"p"}"#;
const NEW: &str = r#"{"name":"f","description":"","address_allocator":{"type":"auto","pool_selector":{"type":"explicit","pool":"p"}}}"#;
const MISSPELT: &str = r#"{"name":"f","description":"","address_allocator":{"type":"auto","pool_selecter":{"type":"explicit","pool":"p"}}}"#;

#[tokio::test]
async fn only_a_request_without_a_version_may_use_older_spellings() {
    let client = Client::new();
    let understood = client.post("/floating-ips", OLD).await.expect("an older body");
    assert_eq!(
        understood["body"]["address_allocator"],
        json!({"type": "explicit", "ip": "10.0.0.1"})
    );
    assert_eq!(understood["pool"], json!("p"));
    assert_eq!(understood["prefers_ipv4"], json!(true));

    let error = client.post_newest("/floating-ips", OLD).await.expect_err("an older body");
    assert_eq!(error, "unable to parse JSON body: unknown field `ip` at line 1 column 56");
}

#[tokio::test]
async fn every_request_may_use_the_newest_spelling() {
    let client = Client::new();
    let old = client.post("/floating-ips", NEW).await.expect("the newest body");
    let new = client.post_newest("/floating-ips", NEW).await.expect("the newest body");
    assert_eq!(old["body"], new["body"]);
    assert_eq!(old["prefers_ipv4"], json!(true));
    assert_eq!(new["prefers_ipv4"], json!(false));
    assert_eq!(new["pool"], json!(null));
}

#[tokio::test]
async fn no_request_may_misspell() {
    let client = Client::new();
    let expected = "unable to parse JSON body: address_allocator: unknown field `pool_selecter`, \
                    expected `pool_selector`";
    for error in [
        client.post("/floating-ips", MISSPELT).await.expect_err("misspelt"),
        client.post_newest("/floating-ips", MISSPELT).await.expect_err("misspelt"),
    ] {
        assert!(error.starts_with(expected), "{error}");
    }
    let instance = r#"{"name":"i","description":"","ncpus":1,"memory":1073741824,"hostname":"i","external_ips":[{"type":"ephemeral","pool_selecter":{}}]}"#;
    for error in [
        client.post("/instances", instance).await.expect_err("misspelt"),
        client.post_newest("/instances", instance).await.expect_err("misspelt"),
    ] {
        assert!(error.contains("external_ips[0]: unknown field `pool_selecter`"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_body_is_refused_alike() {
    let client = Client::new();
    let huge = format!("\"{}\"", "x".repeat(REQUEST_BODY_MAX));
    for body in ["", "{", "[]", "null", "1", "{\"name\":\"A\"}", "\u{0}", &huge] {
        let old = client.post("/floating-ips", body).await.expect_err("no floating IP");
        let new = client.post_newest("/floating-ips", body).await.expect_err("no floating IP");
        assert_eq!(old, new);
    }
    let too_large = client.post("/floating-ips", &huge).await.expect_err("too large");
    assert_eq!(too_large, "request body exceeded maximum size of 1048576 bytes");
}

#[tokio::test]
async fn the_content_type_is_json_or_absent() {
    let client = Client::new();
    let post = |content_type: &str| {
        let request = client.request(Method::POST, "/floating-ips").body(OLD);
        answer(request.header("content-type", content_type))
    };
    post("application/json; charset=utf-8").await.expect("JSON");
    assert_eq!(
        post("application/x-www-form-urlencoded").await.expect_err("a form"),
        "expected content type \"application/json\", got \"application/x-www-form-urlencoded\""
    );
    assert!(post("text/plain").await.expect_err("text").starts_with("unsupported content-type"));

    // What takes no body does not mind what a client says of the body that it does not send.
    let delete = client.request(Method::DELETE, "/floating-ips");
    let delete = delete.header("content-type", "application/json").send().await;
    assert_eq!(delete.expect("an answer").status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn an_update_ignores_what_it_does_not_know() {
    let client = Client::new();
    let put = client.request(Method::PUT, "/floating-ips").body(r#"{"name":"g","x":1}"#);
    assert_eq!(answer(put).await, Ok(json!({"name": "g", "description": null})));
}

#[tokio::test]
async fn a_listing_goes_on_where_its_token_says() {
    let client = Client::new();
    let first = client.get("/subnets?vpc=v&project=p&sort_by=name_descending&limit=3").await;
    let first = first.expect("a page");
    let describe = |page: &Value| page["items"][0]["description"].as_str().expect("it").to_string();
    let expected = r#"Some(Name(Name("p"))) v Name(PageParams { limit: 3, direction: Descending, marker: None })"#;
    assert_eq!(describe(&first), expected);

    let token = first["next_page"].as_str().expect("a token");
    let next = client.get(&format!("/subnets?page_token={token}")).await.expect("a page");
    let expected = r#"Some(Name(Name("p"))) v Name(PageParams { limit: 100, direction: Descending, marker: Some(Name("item")) })"#;
    assert_eq!(describe(&next), expected);

    let first = client.get("/ranges").await.expect("a page");
    let token = first["next_page"].as_str().expect("a token");
    let next = client.get(&format!("/ranges?limit=1&page_token={token}")).await.expect("a page");
    let expected = "PageParams { limit: 1, direction: Ascending, marker: Some(10.0.0.1) }";
    assert_eq!(next["items"][0], json!(expected));
}

#[tokio::test]
async fn a_listing_has_limits_and_filters() {
    let client = Client::new();
    let pools = |query: &'static str| {
        let client = &client;
        async move { client.get(&format!("/pools{query}")).await }
    };
    let none = json!({"ip_version": null, "pool_type": null, "assignment": null});
    assert_eq!(pools("").await, Ok(none.clone()));
    assert_eq!(pools("?unknown=1&limit=10001").await, Ok(none));
    assert_eq!(
        pools("?ip_version=v6&pool_type=unicast&assignment=silos").await,
        Ok(json!({"ip_version": "v6", "pool_type": "unicast", "assignment": "silos"}))
    );
    for bad in
        ["?limit=0", "?limit=-1", "?limit=abc", "?ip_version=4", "?sort_by=size", "?page_token=x"]
    {
        let error = pools(bad).await.expect_err(bad);
        assert!(error.starts_with("unable to parse query string: "), "{error}");
    }
    for (query, message) in [
        ("", "missing field `vpc`"),
        ("?vpc=v&vpc=w", "duplicate field `vpc`"),
        ("?vpc=%22v%22", "`vpc`: data did not match any variant of untagged enum NameOrId"),
        (
            "?vpc=v&project='p'",
            "`project`: data did not match any variant of untagged enum NameOrId",
        ),
    ] {
        assert_eq!(
            client.get(&format!("/subnets{query}")).await.expect_err(query),
            format!("unable to parse query string: {message}")
        );
    }
}

#[tokio::test]
async fn a_broken_token_is_refused() {
    use base64::Engine;
    let client = Client::new();
    let list = |page_start: Value| {
        let token = json!({"v": "v1", "page_start": page_start}).to_string();
        let token = base64::engine::general_purpose::URL_SAFE.encode(token);
        let client = &client;
        async move { client.get(&format!("/subnets?page_token={token}")).await }
    };
    let corrupted = "unable to parse query string: failed to parse pagination token: corrupted \
                     token";
    for (page_start, message) in [
        (json!({"sort_by": "id_ascending", "vpc": "v", "last_seen": "a"}), "invalid page token"),
        (
            json!({"sort_by": "name_ascending", "vpc": "v", "last_seen": uuid::Uuid::nil()}),
            "invalid page token",
        ),
        (json!({"sort_by": "name_ascending", "vpc": "v"}), corrupted),
        (json!({"sort_by": "name_ascending", "last_seen": "a"}), corrupted),
        (json!({"sort_by": "name_ascending", "vpc": "V", "last_seen": "a"}), corrupted),
        (json!(null), corrupted),
    ] {
        assert_eq!(list(page_start.clone()).await.expect_err("broken"), message, "{page_start}");
    }
}
