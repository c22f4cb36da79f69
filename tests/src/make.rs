//! Makes what tests need. Each function takes what the test is about and fills in the rest.

use crate::client::Client;
use crate::wait::eventually;
use serde_json::{Value, json};

/// The object `base`, with the fields of `changes` put in or replaced.
pub fn with(base: Value, changes: Value) -> Value {
    let (Value::Object(mut base), Value::Object(changes)) = (base, changes) else {
        panic!("not objects");
    };
    base.extend(changes);
    Value::Object(base)
}

/// The body of a floating IP create.
pub fn floating_ip_body(name: &str) -> Value {
    json!({"name": name, "description": "an address"})
}

/// The body of an instance create: small, with the default network interface and no external
/// address of its own.
pub fn instance_body(name: &str) -> Value {
    json!({
        "name": name,
        "description": "a machine",
        "hostname": name,
        "ncpus": 1,
        "memory": 1_u64 << 30,
        "external_ips": [],
    })
}

/// The body of an update that leaves an instance of [`instance_body`] as it is.
pub fn update_body() -> Value {
    json!({
        "ncpus": 1,
        "memory": 1_u64 << 30,
        "boot_disk": null,
        "auto_restart_policy": null,
        "cpu_platform": null,
        "enable_jumbo_frames": false,
    })
}

/// The body of a disk create.
pub fn disk_body(name: &str) -> Value {
    json!({
        "name": name,
        "description": "a disk",
        "size": 1_u64 << 30,
        "disk_backend": {
            "type": "distributed",
            "disk_source": {"type": "blank", "block_size": 512},
        },
    })
}

/// The body of an image create, from a snapshot.
pub fn image_body(name: &str, snapshot: &Value) -> Value {
    json!({
        "name": name,
        "description": "an image",
        "os": "debian",
        "version": "13",
        "source": {"type": "snapshot", "id": snapshot["id"]},
    })
}

/// The body of a create of a disk with this content.
pub fn disk_from(name: &str, source: Value) -> Value {
    let backend = json!({"type": "distributed", "disk_source": source});
    with(disk_body(name), json!({"disk_backend": backend}))
}

/// How to attach a floating IP to an instance.
pub fn attach_body(instance: &Value) -> Value {
    json!({"kind": "instance", "parent": instance["id"]})
}

/// An automatic address of this version from the default pool.
pub fn auto(ip_version: &str) -> Value {
    json!({"type": "auto", "pool_selector": {"type": "auto", "ip_version": ip_version}})
}

impl Client {
    /// Makes a project.
    pub async fn project(&self, name: &str) -> Value {
        let body = json!({"name": name, "description": "a project"});
        self.post("/v1/projects", body).await.expect(201)
    }

    /// Makes a pool with one range, and links it to the silo, not as a default.
    pub async fn pool(&self, name: &str, first: &str, last: &str) -> Value {
        self.make_pool(name, first, last, json!({"silo": "default-silo", "is_default": false}))
            .await
    }

    /// Makes a pool with one range, and makes it the default of a silo.
    pub async fn pool_of(&self, silo: &str, name: &str, first: &str, last: &str) -> Value {
        self.make_pool(name, first, last, json!({"silo": silo, "is_default": true})).await
    }

    async fn make_pool(&self, name: &str, first: &str, last: &str, link: Value) -> Value {
        let ip_version = if first.contains(':') { "v6" } else { "v4" };
        let body = json!({"name": name, "description": "a pool", "ip_version": ip_version});
        let pool = self.post("/v1/system/ip-pools", body).await.expect(201);
        let range = json!({"first": first, "last": last});
        let path = format!("/v1/system/ip-pools/{name}");
        self.post(&format!("{path}/ranges/add"), range).await.expect(201);
        self.post(&format!("{path}/silos"), link).await.expect(201);
        pool
    }

    /// How many addresses of a pool are in use.
    pub async fn addresses_in_use(&self, pool: &str) -> u64 {
        let path = format!("/v1/system/ip-pools/{pool}/utilization");
        let view = self.get(&path).await.expect(200);
        let number = |field: &str| view[field].as_f64().expect("a number");
        (number("capacity") - number("remaining")) as u64
    }

    /// Makes a floating IP with an IPv4 address of the default pool.
    pub async fn floating_ip(&self, project: &str, name: &str) -> Value {
        self.floating_ip_with(project, name, json!({"address_allocator": auto("v4")})).await
    }

    /// Makes a floating IP; `changes` are fields of the body.
    pub async fn floating_ip_with(&self, project: &str, name: &str, changes: Value) -> Value {
        let body = with(floating_ip_body(name), changes);
        self.post(&format!("/v1/floating-ips?project={project}"), body).await.expect(201)
    }

    /// A floating IP as it is now.
    pub async fn floating_ip_now(&self, fip: &Value) -> Value {
        let id = fip["id"].as_str().expect("a view has an id");
        self.get(&format!("/v1/floating-ips/{id}")).await.expect(200)
    }

    /// Attaches a floating IP.
    pub async fn attach(&self, fip: &Value, instance: &Value) -> Value {
        let id = fip["id"].as_str().expect("a view has an id");
        let path = format!("/v1/floating-ips/{id}/attach");
        self.post(&path, attach_body(instance)).await.expect(202)
    }

    /// Detaches a floating IP.
    pub async fn detach(&self, fip: &Value) -> Value {
        let id = fip["id"].as_str().expect("a view has an id");
        self.call(&format!("/v1/floating-ips/{id}/detach")).await.expect(202)
    }

    /// Makes an instance and does not start it.
    pub async fn stopped_instance(&self, project: &str, name: &str) -> Value {
        self.instance_with(project, name, json!({"start": false})).await
    }

    /// Makes an instance and waits until it runs.
    pub async fn running_instance(&self, project: &str, name: &str) -> Value {
        let instance = self.instance_with(project, name, json!({})).await;
        self.state_reached(&instance, "running").await
    }

    /// Makes an instance; `changes` are fields of the body.
    pub async fn instance_with(&self, project: &str, name: &str, changes: Value) -> Value {
        let body = with(instance_body(name), changes);
        self.post(&format!("/v1/instances?project={project}"), body).await.expect(201)
    }

    /// An instance as it is now.
    pub async fn instance_now(&self, instance: &Value) -> Value {
        self.get(&instance_path(instance)).await.expect(200)
    }

    /// Starts, stops or reboots an instance.
    pub async fn instance_do(&self, action: &str, instance: &Value) -> Value {
        self.call(&format!("{}/{action}", instance_path(instance))).await.expect(202)
    }

    /// Stops an instance and waits until it has stopped.
    pub async fn stop_instance(&self, instance: &Value) -> Value {
        self.instance_do("stop", instance).await;
        self.state_reached(instance, "stopped").await
    }

    /// Starts an instance and waits until it runs.
    pub async fn start_instance(&self, instance: &Value) -> Value {
        self.instance_do("start", instance).await;
        self.state_reached(instance, "running").await
    }

    /// Waits until an instance is in a state.
    pub async fn state_reached(&self, instance: &Value, state: &str) -> Value {
        let name = &instance["name"];
        eventually(&format!("instance {name} is {state}"), async || {
            let now = self.instance_now(instance).await;
            if now["run_state"] == state { Ok(now) } else { Err(now["run_state"].clone()) }
        })
        .await
    }

    /// The external addresses of an instance, except those of source NAT.
    pub async fn external_ips(&self, instance: &Value) -> Vec<Value> {
        let mut all = self.external_ips_and_snat(instance).await;
        all.retain(|ip| ip["kind"] != "snat");
        all
    }

    /// All external addresses of an instance.
    pub async fn external_ips_and_snat(&self, instance: &Value) -> Vec<Value> {
        let path = format!("{}/external-ips", instance_path(instance));
        let page = self.get(&path).await.expect(200);
        assert!(page["next_page"].is_null(), "this listing has one page");
        page["items"].as_array().expect("a page has items").clone()
    }

    /// Makes a snapshot of a disk.
    pub async fn snapshot(&self, project: &str, name: &str, disk: &str) -> Value {
        let body = json!({"name": name, "description": "a snapshot", "disk": disk});
        self.post(&format!("/v1/snapshots?project={project}"), body).await.expect(201)
    }

    /// Makes an image of a project from a snapshot.
    pub async fn image(&self, project: &str, name: &str, snapshot: &Value) -> Value {
        let path = format!("/v1/images?project={project}");
        self.post(&path, image_body(name, snapshot)).await.expect(201)
    }

    /// Makes a disk.
    pub async fn disk(&self, project: &str, name: &str) -> Value {
        self.post(&format!("/v1/disks?project={project}"), disk_body(name)).await.expect(201)
    }
}

/// The path of an instance, by its id.
pub fn instance_path(instance: &Value) -> String {
    format!("/v1/instances/{}", instance["id"].as_str().expect("a view has an id"))
}
