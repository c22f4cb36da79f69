//! The pools of a new rack, made through the external API as an operator would make them.
//!
//! Each step looks first whether it was done, so that a start that was interrupted half way can be
//! made again.

use anyhow::{Context, Result, bail};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};

/// The version of the external API that this is written for.
const API_VERSION: &str = "2026091500.0.0";

struct Pool {
    name: &'static str,
    description: &'static str,
    ip_version: &'static str,
    first: &'static str,
    last: &'static str,
}

/// The IPv6 addresses are of the prefix for documentation: they are no one's.
const POOLS: [Pool; 2] = [
    Pool {
        name: "default",
        description: "default IPv4 pool of this rack",
        ip_version: "v4",
        first: "10.0.0.0",
        last: "10.0.255.255",
    },
    Pool {
        name: "default-v6",
        description: "default IPv6 pool of this rack",
        ip_version: "v6",
        first: "2001:db8::",
        last: "2001:db8::ffff:ffff:ffff:ffff",
    },
];

/// Makes the default pools and links them to a silo.
pub async fn default_pools(http: &Client, url: &str, token: &str, silo: &str) -> Result<()> {
    let api = Api { http, url, token };
    for pool in &POOLS {
        api.ensure_pool(pool, silo)
            .await
            .with_context(|| format!("cannot make the pool {}", pool.name))?;
    }
    Ok(())
}

struct Api<'a> {
    http: &'a Client,
    url: &'a str,
    token: &'a str,
}

impl Api<'_> {
    async fn ensure_pool(&self, pool: &Pool, silo: &str) -> Result<()> {
        let path = format!("/v1/system/ip-pools/{}", pool.name);
        if self.call(Method::GET, &path, None).await?.is_none() {
            let body = json!({
                "name": pool.name,
                "description": pool.description,
                "ip_version": pool.ip_version,
            });
            self.create("/v1/system/ip-pools", body).await?;
        }
        if self.is_empty(&format!("{path}/ranges")).await? {
            let body = json!({"first": pool.first, "last": pool.last});
            self.create(&format!("{path}/ranges/add"), body).await?;
        }
        if self.is_empty(&format!("{path}/silos")).await? {
            let body = json!({"silo": silo, "is_default": true});
            self.create(&format!("{path}/silos"), body).await?;
        }
        Ok(())
    }

    async fn is_empty(&self, path: &str) -> Result<bool> {
        let page = self.call(Method::GET, path, None).await?.context("the pool is gone")?;
        Ok(page["items"].as_array().is_none_or(Vec::is_empty))
    }

    async fn create(&self, path: &str, body: Value) -> Result<()> {
        self.call(Method::POST, path, Some(body)).await?.context("the pool is gone")?;
        Ok(())
    }

    /// One request; none if the answer is 404.
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Option<Value>> {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.token)
            .header("api-version", API_VERSION);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer: Value = response.json().await.unwrap_or_default();
        if !status.is_success() {
            bail!("{path}: {status}: {}", answer["message"].as_str().unwrap_or("no message"));
        }
        Ok(Some(answer))
    }
}
