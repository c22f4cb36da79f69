//! Pages: every item once, in order, whatever the size of the page.

use futures::stream::{self, StreamExt};
use nexus_tests::TestRack;
use nexus_tests::make::{auto, floating_ip_body, with};
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
    rack.pool("p", "10.1.0.0", "10.1.0.1").await;
    let by_name_or_id = ["name_ascending", "name_descending", "id_ascending"];
    for (path, least) in [
        (FIPS, 3),
        ("/v1/instances?project=demo", 2),
        ("/v1/disks?project=demo", 2),
        ("/v1/projects?", 2),
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
    for path in ["/v1/system/ip-pools/p/silos?", "/v1/system/ip-pools/p/ranges?"] {
        assert_eq!(rack.all(&format!("{path}&limit=1")).await.len(), 1, "{path}");
    }
}
