//! Requests at the same time: exactly one wins, and what the losers see is an answer to them.

use futures::future::join_all;
use nexus_tests::make::{attach_body, auto, floating_ip_body, instance_body, instance_path, with};
use nexus_tests::{Client, Reply, TestRack};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use tokio::sync::Barrier;

async fn rack() -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    rack
}

/// Sends requests that are let go at the same moment, each from a task of its own.
async fn at_once<F>(requests: Vec<F>) -> Vec<Reply>
where
    F: Future<Output = Reply> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(requests.len()));
    let tasks = requests.into_iter().map(|request| {
        let barrier = Arc::clone(&barrier);
        tokio::spawn(async move {
            barrier.wait().await;
            request.await
        })
    });
    let replies = join_all(tasks).await;
    replies.into_iter().map(|reply| reply.expect("the request is made")).collect()
}

fn post(client: &Client, path: String, body: Value) -> impl Future<Output = Reply> + Send + use<> {
    let client = client.clone();
    async move { client.post(&path, body).await }
}

fn statuses(replies: &[Reply]) -> Vec<u16> {
    let mut statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    statuses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_attaches_wins() {
    let rack = rack().await;
    let (a, b) =
        (rack.running_instance("demo", "a").await, rack.running_instance("demo", "b").await);
    let fip = rack.floating_ip("demo", "f").await;
    let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    for round in 0..20 {
        let attach = |to: &Value| post(&rack, path.clone(), attach_body(to));
        let replies = at_once(vec![attach(&a), attach(&b)]).await;
        let won: Vec<_> = replies.iter().filter(|reply| reply.status == 202).collect();
        assert_eq!(won.len(), 1, "round {round}: {:?}", statuses(&replies));
        for reply in &replies {
            reply.one_of(&[202, 400, 503]);
        }
        let owner = &won[0].body["instance_id"];
        assert_eq!(rack.floating_ip_now(&fip).await["instance_id"], *owner);
        let winner = if *owner == a["id"] { &a } else { &b };
        assert!(rack.delivers_now(&fip, winner).await, "round {round}");
        rack.detach(&fip).await;
    }
    rack.settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_eight_creates_gets_the_address() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let create = |n: usize| {
        let body = with(
            instance_body(&format!("i{n}")),
            json!({"external_ips": [
                {"type": "floating", "floating_ip": "f"},
                {"type": "ephemeral", "pool_selector": {"type": "auto", "ip_version": "v4"}},
            ]}),
        );
        post(&rack, "/v1/instances?project=demo".to_string(), body)
    };
    let replies = at_once((0..8).map(create).collect()).await;
    let won: Vec<_> = replies.iter().filter(|reply| reply.status == 201).collect();
    assert_eq!(won.len(), 1, "{:?}", statuses(&replies));
    for reply in &replies {
        reply.one_of(&[201, 400, 503]);
    }
    let winner = &won[0].body;
    rack.state_reached(winner, "running").await;
    assert_eq!(rack.floating_ip_now(&fip).await["instance_id"], winner["id"]);
    let names: Vec<_> =
        rack.all("/v1/instances?project=demo").await.iter().map(|i| i["id"].clone()).collect();
    assert_eq!(names, [winner["id"].clone()], "the losers are gone");
    // The floating, the ephemeral, and one for source NAT.
    assert_eq!(rack.addresses_in_use("default").await, 3);
    rack.delivered_to(&fip, winner).await;
    rack.settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_address_is_given_twice_and_none_is_left_out() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.31").await;
    let selector = json!({"type": "explicit", "pool": "p"});
    let create = |n: usize| {
        let body = with(
            floating_ip_body(&format!("f{n}")),
            json!({"address_allocator": {"type": "auto", "pool_selector": selector}}),
        );
        post(&rack, "/v1/floating-ips?project=demo".to_string(), body)
    };
    let replies = at_once((0..32).map(create).collect()).await;
    let addresses: HashSet<_> =
        replies.into_iter().map(|reply| reply.expect(201)["ip"].to_string()).collect();
    assert_eq!(addresses.len(), 32);
    assert_eq!(rack.addresses_in_use("p").await, 32);
    create(32).await.expect(507);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_deletes_delete_once() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let web = rack.stopped_instance("demo", "web").await;
    let pool =
        rack.post("/v1/system/ip-pools", json!({"name": "p", "description": "a pool"})).await;
    let pool = pool.expect(201);
    for (kind, object) in [("floating-ips", &fip), ("instances", &web), ("system/ip-pools", &pool)]
    {
        let path = format!("/v1/{kind}/{}", object["id"].as_str().expect("an id"));
        let delete = |_| {
            let (client, path) = (Client::clone(&rack), path.clone());
            async move { client.delete(&path).await }
        };
        let replies = at_once((0..20).map(delete).collect()).await;
        let of = statuses(&replies);
        assert!(of.contains(&204), "{kind}: {of:?}");
        for reply in &replies {
            reply.one_of(&[204, 404]);
        }
        rack.get(&path).await.expect(404);
    }
    assert_eq!(rack.addresses_in_use("default").await, 0);
    rack.settled().await;
}

/// Either the project goes, or it keeps what was just made in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_project_and_its_last_address() {
    let rack = TestRack::start().await;
    for round in 0..20 {
        let project = format!("p{round}");
        rack.project(&project).await;
        let body = with(floating_ip_body("f"), json!({"address_allocator": auto("v4")}));
        let (client, path) = (Client::clone(&rack), format!("/v1/projects/{project}"));
        let delete: std::pin::Pin<Box<dyn Future<Output = Reply> + Send>> =
            Box::pin(async move { client.delete(&path).await });
        let path = format!("/v1/floating-ips?project={project}");
        let replies = at_once(vec![delete, Box::pin(post(&rack, path, body))]).await;
        match (replies[0].status, replies[1].status) {
            (204, 404) => assert_eq!(rack.addresses_in_use("default").await, 0),
            (400, 201) => {
                let path = format!("/v1/floating-ips/f?project={project}");
                rack.delete(&path).await.expect(204);
                rack.delete(&format!("/v1/projects/{project}")).await.expect(204);
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}

/// A range goes, or an address of it is in use; never both.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_range_and_its_first_address() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.3").await;
    let range = json!({"first": "10.1.0.0", "last": "10.1.0.3"});
    let selector = json!({"type": "explicit", "pool": "p"});
    for round in 0..20 {
        let body = with(
            floating_ip_body("f"),
            json!({"address_allocator": {"type": "auto", "pool_selector": selector}}),
        );
        let remove = post(&rack, "/v1/system/ip-pools/p/ranges/remove".to_string(), range.clone());
        let remove: std::pin::Pin<Box<dyn Future<Output = Reply> + Send>> = Box::pin(remove);
        let create = post(&rack, "/v1/floating-ips?project=demo".to_string(), body);
        let replies = at_once(vec![remove, Box::pin(create)]).await;
        match (replies[0].status, replies[1].status) {
            (204, 507) => {
                let add = "/v1/system/ip-pools/p/ranges/add";
                rack.post(add, range.clone()).await.expect(201);
            }
            (400, 201) => {
                rack.delete("/v1/floating-ips/f?project=demo").await.expect(204);
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}

/// An attach under way and a stop, or a stop and a delete: nothing is left half done.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_attach_and_the_end_of_its_instance() {
    let rack = rack().await;
    let fip = rack.floating_ip("demo", "f").await;
    let path = format!("/v1/floating-ips/{}/attach", fip["id"].as_str().expect("an id"));
    for round in 0..3 {
        let web = rack.running_instance("demo", &format!("web{round}")).await;
        let slow = json!({"operation": "nat_ipv4_create", "fault": "delay", "delay_ms": 500});
        for switch in rack.switches() {
            switch.fault(slow.clone()).await;
        }
        let attach = tokio::spawn(post(&rack, path.clone(), attach_body(&web)));
        rack.instance_do("stop", &web).await;
        rack.state_reached(&web, "stopped").await;
        let delete = round > 0;
        if delete {
            rack.delete(&instance_path(&web)).await.expect(204);
        }
        let reply = attach.await.expect("the request is made");
        reply.one_of(&[202, 400, 404, 503]);
        rack.settled().await;
        let now = rack.floating_ip_now(&fip).await;
        if delete {
            assert!(now["instance_id"].is_null(), "its instance is gone");
        } else {
            let expected = if reply.status == 202 { web["id"].clone() } else { Value::Null };
            assert_eq!(now["instance_id"], expected, "as the answer said");
            rack.detach(&fip).await;
        }
        for switch in rack.switches() {
            switch.clear_faults().await;
        }
    }
}

/// A pool is no longer the silo's, or one of its addresses is; never both.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_link_and_its_first_address() {
    let rack = rack().await;
    rack.pool("p", "10.1.0.0", "10.1.0.3").await;
    let selector = json!({"type": "explicit", "pool": "p"});
    for round in 0..20 {
        let allocator = if round % 2 == 0 {
            json!({"type": "auto", "pool_selector": selector})
        } else {
            json!({"type": "explicit", "ip": "10.1.0.2"})
        };
        let body = with(floating_ip_body("f"), json!({"address_allocator": allocator}));
        let client = Client::clone(&rack);
        let unlink: std::pin::Pin<Box<dyn Future<Output = Reply> + Send>> =
            Box::pin(
                async move { client.delete("/v1/system/ip-pools/p/silos/default-silo").await },
            );
        let create = post(&rack, "/v1/floating-ips?project=demo".to_string(), body);
        let replies = at_once(vec![unlink, Box::pin(create)]).await;
        match (replies[0].status, replies[1].status) {
            // A named pool is not found, an address is in no pool.
            (204, 404 | 400) => {
                let link = json!({"silo": "default-silo", "is_default": false});
                rack.post("/v1/system/ip-pools/p/silos", link).await.expect(201);
            }
            (400, 201) => {
                rack.delete("/v1/floating-ips/f?project=demo").await.expect(204);
            }
            other => panic!("round {round}: {other:?}"),
        }
    }
}
