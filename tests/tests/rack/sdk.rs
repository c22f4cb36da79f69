//! The published SDK, unmodified, drives the whole life of a floating IP.

use futures::TryStreamExt;
use nexus_tests::TestRack;
use nexus_tests::wait::eventually;
use oxide::types::{
    AddressAllocator, ByteCount, ExternalIp, FloatingIpAttach, FloatingIpCreate,
    FloatingIpParentKind, FloatingIpUpdate, Hostname, InstanceCpuCount, InstanceCreate,
    InstanceState, IpVersion, Name, NameOrId, PoolSelector, ProjectCreate,
};
use oxide::{
    Client, ClientConfig, ClientFloatingIpsExt, ClientInstancesExt, ClientProjectsExt,
    ClientSystemIpPoolsExt,
};

fn name(name: &str) -> Name {
    name.parse().expect("a name")
}

fn client(rack: &TestRack) -> Client {
    let config = ClientConfig::default().with_host_and_token(rack.url(), &rack.ready().token);
    Client::new_authenticated_config(&config).expect("a client")
}

#[tokio::test]
async fn the_life_of_a_floating_ip() {
    let rack = TestRack::start().await;
    let client = client(&rack);
    let project = ProjectCreate::builder().name(name("demo")).description("made by the SDK");
    client.project_create().body(project).send().await.expect("a project");

    let v4 = PoolSelector::Auto { ip_version: Some(IpVersion::V4) };
    let create = FloatingIpCreate::builder()
        .name(name("front"))
        .description("an address")
        .address_allocator(AddressAllocator::Auto { pool_selector: v4 });
    let fip = client
        .floating_ip_create()
        .project(name("demo"))
        .body(create)
        .send()
        .await
        .expect("a floating IP")
        .into_inner();
    assert_eq!(fip.ip.to_string(), "10.0.0.0");

    let create = InstanceCreate::builder()
        .name(name("web"))
        .description("a machine")
        .hostname("web".parse::<Hostname>().expect("a host name"))
        .ncpus(InstanceCpuCount(1))
        .memory(ByteCount(1 << 30));
    let web = client
        .instance_create()
        .project(name("demo"))
        .body(create)
        .send()
        .await
        .expect("an instance")
        .into_inner();
    eventually("the instance runs", async || {
        let now = client.instance_view().instance(web.id).send().await.expect("an instance");
        if now.run_state == InstanceState::Running { Ok(()) } else { Err(now.run_state) }
    })
    .await;

    let attach = FloatingIpAttach::builder()
        .kind(FloatingIpParentKind::Instance)
        .parent(NameOrId::Id(web.id));
    let attached = client.floating_ip_attach().floating_ip(fip.id).body(attach).send().await;
    assert_eq!(attached.expect("attached").instance_id, Some(web.id));
    let addresses = client
        .instance_external_ip_list()
        .instance(web.id)
        .send()
        .await
        .expect("addresses")
        .into_inner();
    assert!(
        addresses
            .items
            .iter()
            .any(|ip| matches!(ip, ExternalIp::Floating { id, .. } if *id == fip.id))
    );
    assert!(addresses.items.iter().any(|ip| matches!(ip, ExternalIp::Snat { .. })));

    let update = FloatingIpUpdate::builder().description("another".to_string());
    let updated = client.floating_ip_update().floating_ip(fip.id).body(update).send().await;
    assert_eq!(updated.expect("updated").description, "another");
    let all: Vec<_> = client
        .floating_ip_list()
        .project(name("demo"))
        .stream()
        .try_collect()
        .await
        .expect("a list");
    assert_eq!(all.len(), 1);

    let detached = client.floating_ip_detach().floating_ip(fip.id).send().await;
    assert_eq!(detached.expect("detached").instance_id, None);
    client.floating_ip_delete().floating_ip(fip.id).send().await.expect("deleted");
    rack.settled().await;
}

#[tokio::test]
async fn errors_are_typed() {
    let rack = TestRack::start().await;
    let client = client(&rack);
    let error = client.floating_ip_view().floating_ip(uuid::Uuid::nil()).send().await;
    let Err(oxide::Error::ErrorResponse(response)) = error else { panic!("{error:?}") };
    assert_eq!(response.status().as_u16(), 404);
    assert_eq!(response.error_code.as_deref(), Some("ObjectNotFound"));
    let pools = client.system_ip_pool_list().send().await.expect("pools").into_inner();
    let names: Vec<_> = pools.items.iter().map(|pool| pool.name.to_string()).collect();
    assert_eq!(names, ["default", "default-v6"]);
}
