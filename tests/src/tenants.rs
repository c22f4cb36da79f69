//! Tenants: silos, their users, what those may do, and their credentials.

use crate::client::{Client, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

/// The password of every user that tests make.
pub const PASSWORD: &str = "correct horse battery staple";

/// The body of a silo create.
pub fn silo_body(name: &str) -> Value {
    json!({
        "name": name,
        "description": "a tenant",
        "discoverable": true,
        "identity_mode": "local_only",
        "quotas": {"cpus": 1_000, "memory": 1_u64 << 42, "storage": 1_u64 << 42},
        "tls_certificates": [],
    })
}

/// A role of a user, as policies have it.
pub fn assignment(user: &Value, role: &str) -> Value {
    json!({"identity_type": "silo_user", "identity_id": user["id"], "role_name": role})
}

impl Client {
    /// Makes a silo.
    pub async fn silo(&self, name: &str) -> Value {
        self.post("/v1/system/silos", silo_body(name)).await.expect(201)
    }

    /// Makes a user who can log in with [`PASSWORD`].
    pub async fn user(&self, silo: &str, name: &str) -> Value {
        let path = format!("/v1/system/identity-providers/local/users?silo={silo}");
        let password = json!({"mode": "password", "value": PASSWORD});
        let body = json!({"external_id": name, "password": password});
        self.post(&path, body).await.expect(201)
    }

    /// Gives a role to a user, on what has its policy at this path.
    pub async fn grant(&self, policy: &str, user: &Value, role: &str) {
        let mut body = self.get(policy).await.expect(200);
        let assignments = body["role_assignments"].as_array_mut().expect("a policy");
        assignments.push(assignment(user, role));
        self.put(policy, body).await.expect(200);
    }

    /// Tries to log in with a password.
    pub async fn try_login(&self, silo: &str, user: &str, password: &str) -> Reply {
        let body = json!({"username": user, "password": password});
        self.without_token().post(&format!("/v1/login/{silo}/local"), body).await
    }

    /// Logs in with [`PASSWORD`]; returns the cookie, as a browser would send it.
    pub async fn session(&self, silo: &str, user: &str) -> String {
        let reply = self.try_login(silo, user, PASSWORD).await;
        let cookie = reply.headers.get("set-cookie").map(|c| c.to_str().expect("text").to_string());
        reply.expect(204);
        let cookie = cookie.expect("a login sets a cookie");
        cookie.split(';').next().expect("a cookie").to_string()
    }

    /// Any request with the cookie of a session, without a token.
    pub async fn with_cookie(
        &self,
        cookie: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Reply {
        let nobody = self.without_token();
        let mut request = nobody.request(method.clone(), path).header("cookie", cookie);
        if let Some(body) = body {
            request = request.json(&body);
        }
        Reply::read(format!("{method} {path}"), request).await
    }

    /// `POST` of a form, as nobody.
    pub async fn form(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let form: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = self
            .without_token()
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.join("&"));
        Reply::read(format!("POST {path}"), request).await
    }

    /// Asks to be let in, as a program; returns the program's id and what it was told.
    pub async fn device_auth(&self, ttl_seconds: Option<u32>) -> (String, Value) {
        let client_id = Uuid::new_v4().to_string();
        let ttl = ttl_seconds.map(|seconds| seconds.to_string());
        let mut fields = vec![("client_id", client_id.as_str())];
        fields.extend(ttl.as_deref().map(|seconds| ("ttl_seconds", seconds)));
        let codes = self.form("/device/auth", &fields).await.expect(200);
        (client_id, codes)
    }

    /// Asks for the token of a program that was, or was not, let in.
    pub async fn device_token(&self, client_id: &str, codes: &Value) -> Reply {
        let code = codes["device_code"].as_str().expect("a code");
        let grant = "urn:ietf:params:oauth:grant-type:device_code";
        let fields = [("grant_type", grant), ("device_code", code), ("client_id", client_id)];
        self.form("/device/token", &fields).await
    }

    /// A token of a user who logs in with [`PASSWORD`] and lets a program in.
    pub async fn token(&self, silo: &str, user: &str, ttl_seconds: Option<u32>) -> Value {
        let cookie = self.session(silo, user).await;
        let (client_id, codes) = self.device_auth(ttl_seconds).await;
        let body = json!({"user_code": codes["user_code"]});
        self.with_cookie(&cookie, Method::POST, "/device/confirm", Some(body)).await.expect(204);
        self.device_token(&client_id, &codes).await.expect(200)
    }

    /// The same client, as a user of [`Client::user`].
    pub async fn login(&self, silo: &str, user: &str) -> Client {
        let token = self.token(silo, user, None).await;
        self.with_token(token["access_token"].as_str().expect("a token"))
    }
}
