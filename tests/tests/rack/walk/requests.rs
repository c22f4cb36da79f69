//! A valid request for every operation, with ids left open.
//!
//! The requests change nothing that a later one needs: what is to be created has a description
//! that is too long, which is found out after the question who asks; what is to be deleted is in
//! use; what is to be changed stays as it is.

use nexus_tests::make::{disk_body, image_body, instance_body, update_body, with};
use nexus_tests::tenants::silo_body;
use nexus_tests::{Client, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The operations that need no credential.
pub const PUBLIC: &[&str] =
    &["ping", "login_local", "logout", "device_auth_request", "device_access_token"];

/// The names of what a request can leave open.
const KEYS: &[&str] = &[
    "silo",
    "pool",
    "project",
    "floating_ip",
    "loose_ip",
    "disk",
    "instance",
    "moving_instance",
    "user_id",
    "interface",
    "vpc",
    "subnet",
    "group_id",
    "snapshot",
    "image",
    "sled_id",
    "fresh_image",
    "fresh_silo_image",
    "fresh_snapshot",
    "fresh_user",
    "fresh_code",
    "own_key",
    "own_token",
];

/// What to put where a request leaves something open.
#[derive(Clone, Debug)]
pub struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    /// The ids of nothing.
    pub fn random() -> Self {
        let empty = r#"{"role_assignments":[]}"#;
        let policies = ["fleet_policy", "silo_policy", "project_policy"];
        let policies = policies.map(|key| (key, empty.to_string()));
        Ids(KEYS.iter().map(|key| (*key, Uuid::new_v4().to_string())).chain(policies).collect())
    }

    /// The same, with the ids of nothing for these.
    pub fn with_random(&self, keys: &[&str]) -> Self {
        let mut ids = self.clone();
        for (_, id) in ids.0.iter_mut().filter(|(key, _)| keys.contains(key)) {
            *id = Uuid::new_v4().to_string();
        }
        ids
    }

    pub fn set(&mut self, key: &'static str, id: String) {
        self.0.insert(key, id);
    }

    pub fn get(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("no {key} in walk/requests.rs"))
    }

    /// The text, with the names of what is open for what stands there.
    pub fn hide(&self, text: &str) -> String {
        let mut hidden = text.to_string();
        for (key, id) in &self.0 {
            hidden = hidden.replace(id, &format!("{{{key}}}"));
        }
        hidden
    }

    fn fill(&self, text: &str) -> String {
        let mut filled = text.to_string();
        for (key, id) in &self.0 {
            filled = filled.replace(&format!("{{{key}}}"), id);
        }
        filled
    }
}

/// An operation of the document.
#[derive(Clone, Debug)]
pub struct Operation {
    pub id: String,
    method: Method,
    path: String,
}

impl Operation {
    /// All operations of the checked-in document of the newest version.
    pub fn all() -> Vec<Self> {
        let document = include_str!("../../../../openapi/nexus/nexus-latest.json");
        let document: Value = serde_json::from_str(document).expect("a document");
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, operation) in methods.as_object().expect("methods") {
                let Some(id) = operation["operationId"].as_str() else { continue };
                let method = method.to_uppercase().parse().expect("a method");
                operations.push(Operation { id: id.to_string(), method, path: path.clone() });
            }
        }
        operations.sort_by(|a, b| a.id.cmp(&b.id));
        assert!(operations.len() > 70, "the document has {} operations", operations.len());
        operations
    }
}

/// What a request has beyond the method and the path of its operation.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What goes into the path in place of what the document calls it.
    path: Vec<(&'static str, &'static str)>,
    query: &'static str,
    body: Option<Value>,
}

impl Request {
    fn path_of(&self, operation: &Operation) -> String {
        let mut path = operation.path.clone();
        for (from, to) in &self.path {
            path = path.replace(from, to);
        }
        path
    }

    /// What the request leaves open.
    pub fn ids(&self, operation: &Operation) -> Vec<&'static str> {
        let body = self.body.as_ref().map(Value::to_string).unwrap_or_default();
        let text = format!("{}{}{body}", self.path_of(operation), self.query);
        KEYS.iter().filter(|key| text.contains(&format!("{{{key}}}"))).copied().collect()
    }

    pub async fn send(&self, client: &Client, operation: &Operation, ids: &Ids) -> Reply {
        let path = ids.fill(&format!("{}{}", self.path_of(operation), self.query));
        assert!(!path.contains('{'), "{}: what is {path}?", operation.id);
        let body = self.body.as_ref().map(|body| match body {
            // A policy that stays as it is.
            Value::String(policy) => serde_json::from_str(&ids.fill(policy)).expect("a policy"),
            body => serde_json::from_str(&ids.fill(&body.to_string())).expect("JSON"),
        });
        client.send(operation.method.clone(), &path, body).await
    }
}

fn plain() -> Option<Request> {
    Some(Request::default())
}

fn query(query: &'static str) -> Option<Request> {
    Some(Request { query, ..Default::default() })
}

fn body(body: Value) -> Option<Request> {
    Some(Request { body: Some(body), ..Default::default() })
}

fn in_place_of(from: &'static str, to: &'static str) -> Request {
    Request { path: vec![(from, to)], ..Default::default() }
}

/// A valid request for an operation; none if there is none here yet.
pub fn request(operation: &str) -> Option<Request> {
    let too_long = || json!({"description": "x".repeat(600)});
    let named = || with(json!({"name": "n"}), too_long());
    const IN_PROJECT: &str = "?project={project}";
    const IN_SILO: &str = "?silo={silo}";
    let create = |body| Some(Request { query: IN_PROJECT, body: Some(body), ..Default::default() });
    let moving = || Some(in_place_of("{instance}", "{moving_instance}"));
    let range = || body(json!({"first": "10.7.0.0", "last": "10.7.0.99"}));
    match operation {
        // Projects, and what is in them
        "project_list" | "project_view" | "project_delete" | "project_policy_view" => plain(),
        "project_create" => body(named()),
        "project_update" => body(json!({})),
        "project_policy_update" => body(json!("{project_policy}")),
        "disk_list" | "floating_ip_list" | "image_list" | "instance_list" | "snapshot_list"
        | "vpc_list" => query(IN_PROJECT),
        "disk_view" | "disk_delete" => plain(),
        "disk_create" => create(with(disk_body("n"), too_long())),
        "disk_bulk_write_import_start" | "disk_bulk_write_import_stop" => plain(),
        "disk_bulk_write_import" => body(json!({"offset": 0, "base64_encoded_data": ""})),
        "disk_finalize_import" => body(json!({})),
        "floating_ip_view" | "floating_ip_delete" => plain(),
        "floating_ip_create" => create(named()),
        "floating_ip_update" => body(json!({})),
        "floating_ip_attach" => body(json!({"kind": "instance", "parent": "{instance}"})),
        "floating_ip_detach" => Some(in_place_of("{floating_ip}", "{loose_ip}")),
        "instance_view" | "instance_delete" | "instance_external_ip_list" => plain(),
        "instance_create" => create(with(instance_body("n"), too_long())),
        "instance_update" => body(update_body()),
        "instance_start" | "instance_stop" | "instance_reboot" => moving(),
        "instance_disk_list" | "instance_ssh_public_key_list" => plain(),
        "instance_disk_attach" | "instance_disk_detach" => body(json!({"disk": "{disk}"})),
        "instance_ephemeral_ip_attach" => {
            Some(Request { body: Some(json!({})), ..moving().unwrap_or_default() })
        }
        "instance_ephemeral_ip_detach" => moving(),
        "instance_affinity_group_list" | "instance_anti_affinity_group_list" => plain(),
        "instance_external_subnet_list" => plain(),
        "affinity_group_list" | "anti_affinity_group_list" | "external_subnet_list" => {
            query(IN_PROJECT)
        }
        "instance_network_interface_list" => query("?instance={instance}"),
        "instance_network_interface_create" => Some(Request {
            query: "?instance={instance}",
            body: Some(with(named(), json!({"vpc_name": "default", "subnet_name": "default"}))),
            ..Default::default()
        }),
        "instance_network_interface_update" => body(json!({})),
        "instance_network_interface_view" | "instance_network_interface_delete" => plain(),
        "vpc_create" => create(with(named(), json!({"dns_name": "n"}))),
        "vpc_update" | "vpc_subnet_update" => body(json!({})),
        "vpc_view" | "vpc_delete" | "vpc_subnet_view" | "vpc_subnet_delete" => plain(),
        "vpc_subnet_list_network_interfaces" => plain(),
        "vpc_subnet_list" | "vpc_firewall_rules_view" => query("?vpc={vpc}"),
        "vpc_firewall_rules_update" => Some(Request {
            query: "?vpc={vpc}",
            body: Some(json!({"rules": []})),
            ..Default::default()
        }),
        "vpc_subnet_create" => Some(Request {
            query: "?vpc={vpc}",
            body: Some(with(named(), json!({"ipv4_block": "10.0.0.0/24"}))),
            ..Default::default()
        }),
        "image_view" | "snapshot_view" => plain(),
        "image_create" => create(with(image_body("n", &json!({"id": "{snapshot}"})), too_long())),
        "image_delete" | "image_promote" => Some(in_place_of("{image}", "{fresh_image}")),
        "image_demote" => {
            Some(Request { query: IN_PROJECT, ..in_place_of("{image}", "{fresh_silo_image}") })
        }
        "snapshot_create" => create(with(named(), json!({"disk": "{disk}"}))),
        "snapshot_delete" => Some(in_place_of("{snapshot}", "{fresh_snapshot}")),
        // The silo of the user
        "current_user_view" | "current_user_groups" | "current_user_access_token_list" => plain(),
        "current_user_ssh_key_list" | "utilization_view" => plain(),
        "current_user_ssh_key_create" => body(with(named(), json!({"public_key": "k"}))),
        "current_user_ssh_key_view" | "current_user_ssh_key_delete" => {
            Some(in_place_of("{ssh_key}", "{own_key}"))
        }
        "current_user_access_token_delete" => Some(in_place_of("{token_id}", "{own_token}")),
        "device_auth_confirm" => body(json!({"user_code": "{fresh_code}"})),
        "policy_view" | "auth_settings_view" | "user_list" | "group_list" => plain(),
        "policy_update" => body(json!("{silo_policy}")),
        "auth_settings_update" => body(json!({"device_token_max_ttl_seconds": null})),
        "user_view" | "user_token_list" | "user_session_list" | "user_logout" => plain(),
        "group_view" | "ip_pool_list" | "ip_pool_view" => plain(),
        // Operators
        "silo_list" | "silo_view" | "silo_delete" | "silo_policy_view" => plain(),
        "silo_ip_pool_list" | "silo_quotas_view" | "silo_utilization_view" => plain(),
        "silo_utilization_list" | "system_quotas_list" => plain(),
        "silo_quotas_update" => body(json!({})),
        "audit_log_list" => query("?start_time=2026-01-01T00:00:00Z"),
        "sled_list" | "sled_view" | "sled_instance_list" => plain(),
        "sled_set_provision_policy" => body(json!({"state": "provisionable"})),
        "silo_create" => body(with(silo_body("n"), too_long())),
        "silo_policy_update" => body(json!("{silo_policy}")),
        "silo_user_list" | "silo_user_view" => query(IN_SILO),
        "user_builtin_list" => plain(),
        "user_builtin_view" => Some(in_place_of("{user}", "internal-api")),
        "local_idp_user_create" => Some(Request {
            query: IN_SILO,
            body: Some(json!({
                "external_id": "carl",
                "password": {"mode": "login_disallowed"},
            })),
            ..Default::default()
        }),
        "local_idp_user_delete" => {
            Some(Request { query: IN_SILO, ..in_place_of("{user_id}", "{fresh_user}") })
        }
        "local_idp_user_set_password" => Some(Request {
            query: IN_SILO,
            body: Some(json!({"mode": "login_disallowed"})),
            ..Default::default()
        }),
        "system_policy_view" => plain(),
        "system_policy_update" => body(json!("{fleet_policy}")),
        "system_ip_pool_list" | "system_ip_pool_view" | "system_ip_pool_delete" => plain(),
        "system_ip_pool_create" => body(named()),
        "system_ip_pool_update" => body(json!({})),
        "system_ip_pool_range_list" | "system_ip_pool_utilization_view" => plain(),
        "system_ip_pool_range_add" | "system_ip_pool_range_remove" => range(),
        "system_ip_pool_silo_list" | "system_ip_pool_silo_unlink" => plain(),
        "system_ip_pool_silo_link" => body(json!({"silo": "{silo}", "is_default": false})),
        "system_ip_pool_silo_update" => body(json!({"is_default": true})),
        _ => None,
    }
}
