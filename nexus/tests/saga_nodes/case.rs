//! For each saga: what it needs, what sets it off, and what it is for.

use crate::process::World;
use crate::world::{Look, instance_line};
use nexus_tests::make::{attach_body, instance_body, instance_path};
use nexus_tests::{Client, Reply};
use reqwest::Method;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::task::JoinHandle;

/// A saga that is about to be set off.
pub struct Case {
    pub saga: &'static str,
    instance: Value,
    fip: Value,
    /// Whom to ask, and for what.
    request: (Client, Method, String, Option<Value>),
}

/// Who set the saga off.
pub enum Caller {
    /// Has waited, and has been told.
    Answered(Reply),
    /// Went down with Nexus.
    Gone,
}

/// What a saga comes to.
enum Ending {
    /// Everything is as before.
    AsBefore,
    /// It has done what it is for.
    Done,
    /// The new instance is there, and does not run.
    Stopped,
}

/// Names are used once.
static NEXT: AtomicU32 = AtomicU32::new(0);

fn fresh(what: &str) -> String {
    format!("{what}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn fip_path(fip: &Value, action: &str) -> String {
    format!("/v1/floating-ips/{}/{action}", fip["id"].as_str().expect("an id"))
}

impl Case {
    pub const SAGAS: &[&str] = &[
        "external-ip-attach",
        "external-ip-detach",
        "instance-create",
        "instance-delete",
        "instance-migrate",
        "instance-start",
    ];

    /// Makes what the saga needs.
    pub async fn prepare(world: &World, saga: &'static str) -> Case {
        let rack = &world.rack;
        let client = Client::clone(rack);
        let fip = rack.floating_ip("demo", &fresh("f")).await;
        let name = fresh("i");
        let instance = match saga {
            "instance-create" => json!({ "name": name }),
            "instance-start" | "instance-delete" => rack.stopped_instance("demo", &name).await,
            _ => rack.running_instance("demo", &name).await,
        };
        if !matches!(saga, "external-ip-attach" | "instance-create") {
            rack.attach(&fip, &instance).await;
        }
        let request = match saga {
            "external-ip-attach" => {
                (client, Method::POST, fip_path(&fip, "attach"), Some(attach_body(&instance)))
            }
            "external-ip-detach" => (client, Method::POST, fip_path(&fip, "detach"), None),
            "instance-create" => {
                let mut body = instance_body(&name);
                body["start"] = json!(true);
                body["external_ips"] = json!([
                    { "type": "floating", "floating_ip": fip["id"] },
                ]);
                (client, Method::POST, "/v1/instances?project=demo".to_string(), Some(body))
            }
            "instance-start" => {
                (client, Method::POST, format!("{}/start", instance_path(&instance)), None)
            }
            "instance-delete" => (client, Method::DELETE, instance_path(&instance), None),
            "instance-migrate" => {
                let here = rack.vmm_of(&instance).await.expect("it runs").sled;
                let there = &rack.ready().sled_agents[1 - here].id;
                let id = instance["id"].as_str().expect("an id");
                let body = json!({ "dst_sled_id": there });
                (rack.operator(), Method::POST, format!("/instances/{id}/migrate"), Some(body))
            }
            other => panic!("no case for saga {other}"),
        };
        rack.settled().await;
        Case { saga, instance, fip, request }
    }

    /// Sets the saga off, and waits for the answer.
    pub async fn trigger(&self) -> Reply {
        let (client, method, path, body) = self.request.clone();
        client.send(method, &path, body).await
    }

    /// Sets the saga off. The answer will not come.
    pub fn trigger_and_forget(&self) -> JoinHandle<()> {
        let (client, method, path, body) = self.request.clone();
        tokio::spawn(async move {
            let _ = client.try_send(method, &path, body).await;
        })
    }

    async fn is_done(&self, world: &World) -> bool {
        let rack = &world.rack;
        match self.saga {
            "external-ip-attach" | "instance-start" => {
                rack.delivers_now(&self.fip, &self.instance).await
            }
            "external-ip-detach" => {
                let now = rack.floating_ip_now(&self.fip).await;
                let ip = nexus_tests::sim::ip_of(&now);
                let packets = rack.inbound(ip, 22).await;
                now["instance_id"].is_null() && packets.iter().all(|p| p["delivered"] == false)
            }
            "instance-create" => {
                let all = rack.all("/v1/instances?project=demo").await;
                match all.iter().find(|i| i["name"] == self.instance["name"]) {
                    Some(instance) => rack.delivers_now(&self.fip, instance).await,
                    None => false,
                }
            }
            "instance-delete" => {
                let status = rack.get(&instance_path(&self.instance)).await.status;
                let now = rack.floating_ip_now(&self.fip).await;
                status == 404 && now["instance_id"].is_null()
            }
            "instance-migrate" => {
                let (_, _, _, body) = &self.request;
                let there = body.as_ref().map(|body| body["dst_sled_id"].clone());
                match rack.vmm_of(&self.instance).await {
                    Some(vmm) => {
                        let here = &rack.ready().sled_agents[vmm.sled].id;
                        there == Some(json!(here))
                            && rack.delivers_now(&self.fip, &self.instance).await
                    }
                    None => false,
                }
            }
            other => panic!("no case for saga {other}"),
        }
    }

    /// The saga has done what it is for.
    pub async fn assert_done(&self, world: &World, node: &str) {
        nexus_tests::eventually(
            &format!("{} is done, with a fault at {node}", self.saga),
            async || {
                if self.is_done(world).await { Ok(()) } else { Err(world.look().await) }
            },
        )
        .await;
    }

    /// What a saga comes to whose node fails.
    fn ending(&self, node: &str, caller: &Caller) -> Ending {
        let sled_node = nexus::sagas::instance_start::SLED_NODES.contains(&node);
        match (self.saga, node, caller) {
            // The records are gone, and do not come back.
            ("instance-delete", "push", _) => Ending::Done,
            // Whoever still waits has another sled tried.
            ("instance-create" | "instance-start", _, Caller::Answered(_)) if sled_node => {
                Ending::Done
            }
            ("instance-create", "records", _) => Ending::AsBefore,
            ("instance-create", ..) => Ending::Stopped,
            _ => Ending::AsBefore,
        }
    }

    /// The world is as it should be after the saga failed at this node.
    pub async fn assert_ending(&self, world: &World, before: &Look, node: &str, caller: Caller) {
        match self.ending(node, &caller) {
            Ending::Done => self.assert_done(world, node).await,
            Ending::Stopped => {
                let mut expected = before.instances.clone();
                expected.insert(instance_line(&self.instance["name"], "stopped"));
                let now = world.look().await;
                assert_eq!(now.instances, expected, "{} failed at {node}", self.saga);
                assert!(!self.is_done(world).await);
            }
            Ending::AsBefore => {
                assert_eq!(&world.look().await, before, "{} failed at {node}", self.saga);
                if let Caller::Answered(reply) = caller {
                    assert!(reply.status >= 400, "{}, {node} fails: {}", self.saga, reply.body);
                }
            }
        }
    }

    /// Either of the two, whichever the saga has come to.
    pub async fn assert_done_or_undone(&self, world: &World, before: &Look, node: &str) {
        nexus_tests::eventually(
            &format!("{} is done or undone, after a crash at {node}", self.saga),
            async || {
                if self.is_done(world).await || &world.look().await == before {
                    return Ok(());
                }
                Err(world.look().await)
            },
        )
        .await;
    }
}
