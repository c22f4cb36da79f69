//! Pages: every item once, in order, whatever the size of the page.

use futures::stream::{self, StreamExt};
use nexus_tests::TestRack;
use nexus_tests::make::{auto, floating_ip_body, instance_path, with};
use serde_json::{Value, json};

const FIPS: &str = "/v1/floating-ips?project=demo";

async fn with_fips(count: usize) -> TestRack {
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let create = async |n: usize| {
        let body =
            with(floating_ip_body(&format!("f{n:04}")), json!({"address_allocator": auto("v4")}));
        rack.post(FIPS, body).await.expect(201);
    };
    stream::iter(0..count).for_each_concurrent(8, create).await;
    rack
}

fn names(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| item["name"].as_str().expect("a name").to_string()).collect()
}

#[tokio::test]
async fn a_thousand_floating_ips_are_listed_once_each() {
    let rack = with_fips(1000).await;
    let expected: Vec<_> = (0..1000).map(|n| format!("f{n:04}")).collect();
    for path in [FIPS.to_string(), format!("{FIPS}&limit=7"), format!("{FIPS}&limit=1000")] {
        assert_eq!(names(&rack.all(&path).await), expected, "{path}");
    }
    let mut descending = names(&rack.all(&format!("{FIPS}&sort_by=name_descending")).await);
    descending.reverse();
    assert_eq!(descending, expected);
    let by_id = rack.all(&format!("{FIPS}&sort_by=id_ascending&limit=33")).await;
    let ids: Vec<_> = by_id.iter().map(|fip| fip["id"].to_string()).collect();
    assert!(ids.is_sorted() && ids.len() == 1000);
    assert_eq!(rack.addresses_in_use("default").await, 1000);
    // A page without a limit has a hundred.
    let page = rack.get(FIPS).await.expect(200);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(100));
    let all = rack.get(&format!("{FIPS}&limit=10001")).await.expect(200);
    assert_eq!(all["items"].as_array().map(Vec::len), Some(1000), "clamped, not refused");
}

#[tokio::test]
async fn limits_and_tokens_are_checked() {
    let rack = with_fips(3).await;
    for limit in ["0", "-1", "abc", "4294967296"] {
        let reply = rack.get(&format!("{FIPS}&limit={limit}")).await;
        reply.refused_about(400, "unable to parse query string");
    }
    for token in ["x", "eyJ2IjoidjEifQ==", &"A".repeat(600)] {
        let reply = rack.get(&format!("/v1/floating-ips?page_token={token}")).await;
        reply.refused_about(400, "failed to parse pagination token");
    }
    rack.get(&format!("{FIPS}&sort_by=color")).await.refused_about(400, "sort_by");
    // A token holds the place while what it points at goes.
    let page = rack.get(&format!("{FIPS}&limit=2")).await.expect(200);
    rack.delete("/v1/floating-ips/f0001?project=demo").await.expect(204);
    let token = page["next_page"].as_str().expect("a token");
    let rest = rack.get(&format!("/v1/floating-ips?page_token={token}")).await.expect(200);
    assert_eq!(names(rest["items"].as_array().expect("items")), ["f0002"]);
}

/// Every listing, in every order, from page to page until the end.
#[tokio::test]
async fn every_listing_accepts_its_own_tokens() {
    let rack = with_fips(3).await;
    rack.stopped_instance("demo", "a").await;
    rack.stopped_instance("demo", "b").await;
    rack.disk("demo", "a").await;
    rack.disk("demo", "b").await;
    rack.project("second").await;
    for name in ["a", "b"] {
        let snapshot = rack.snapshot("demo", name, name).await;
        rack.image("demo", name, &snapshot).await;
        let key = json!({"name": name, "description": "", "public_key": "ssh-ed25519 AAAA"});
        rack.post("/v1/me/ssh-keys", key).await.expect(201);
    }
    let disks = json!({"start": false, "disks": [
        {"type": "attach", "name": "a"}, {"type": "attach", "name": "b"},
    ]});
    let c = rack.instance_with("demo", "c", disks).await;
    let promoted = rack.call("/v1/images/b/promote?project=demo").await.expect(202);
    assert_eq!(promoted["name"], "b");
    let its = |what: &str| format!("{}/{what}?", instance_path(&c));
    let (its_disks, its_keys) = (its("disks"), its("ssh-public-keys"));
    rack.pool("p", "10.1.0.0", "10.1.0.1").await;
    let by_name_or_id = ["name_ascending", "name_descending", "id_ascending"];
    for (path, least) in [
        (FIPS, 3),
        ("/v1/instances?project=demo", 2),
        ("/v1/disks?project=demo", 2),
        ("/v1/projects?", 2),
        ("/v1/snapshots?project=demo", 2),
        ("/v1/images?project=demo", 1),
        ("/v1/images?", 1),
        ("/v1/me/ssh-keys?", 2),
        (&its_disks, 2),
        (&its_keys, 2),
        ("/v1/vpcs?project=demo", 1),
        ("/v1/vpc-subnets?vpc=default&project=demo", 1),
        ("/v1/network-interfaces?instance=a&project=demo", 1),
        ("/v1/ip-pools?", 3),
        ("/v1/system/ip-pools?", 3),
        ("/v1/system/silos?", 1),
    ] {
        let mut found = Vec::new();
        for order in by_name_or_id {
            let mut items = rack.all(&format!("{path}&sort_by={order}&limit=1")).await;
            assert!(items.len() >= least, "{path} {order}: {items:#?}");
            items.sort_by_key(|item| item["id"].to_string());
            found.push(items);
        }
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{path}");
    }
    for order in by_name_or_id {
        let path = format!("/v1/system/utilization/silos?sort_by={order}&limit=1");
        assert_eq!(rack.all(&path).await.len(), 1, "{path}");
    }
    let running = rack.running_instance("demo", "d").await;
    let on = rack.vmm_of(&running).await.expect("it runs").sled;
    let sled = &rack.ready().sled_agents[on].id;
    let on_sled = format!("/v1/system/hardware/sleds/{sled}/instances?");
    for (path, count) in [
        ("/v1/system/ip-pools/p/silos?", 1),
        ("/v1/system/ip-pools/p/ranges?", 1),
        ("/v1/system/silo-quotas?", 1),
        ("/v1/system/hardware/sleds?", 2),
        (&on_sled, 1),
        ("/v1/me/groups?", 0),
    ] {
        assert_eq!(rack.all(&format!("{path}&limit=1")).await.len(), count, "{path}");
    }
}
