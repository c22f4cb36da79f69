//! The checker: it finds nothing where nothing is wrong, every kind of fault where there is one,
//! and says what it could not look at.
//!
//! A fault is planted behind the back of Nexus, in the database, a switch or a sled. Where Nexus
//! would repair it, it is first kept from that.

use nexus_dev::check::check;
use nexus_dev::layout::NatMode;
use nexus_dev::part::Part;
use nexus_tests::make::auto;
use nexus_tests::wait::eventually;
use nexus_tests::{Client, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use std::process::{Command, Output};

/// A rack with something of each kind: what the faults are planted in.
struct Scene {
    rack: TestRack,
    /// Runs, and has `front`.
    web: Value,
    front: Value,
    /// Is stopped, and has `kept`.
    idle: Value,
    kept: Value,
    /// Is attached to nothing.
    spare: Value,
}

impl Scene {
    async fn new(nat: NatMode) -> Self {
        let rack = TestRack::with(|options| options.request.nat = Some(nat)).await;
        rack.project("demo").await;
        let web = rack.running_instance("demo", "web").await;
        let idle = rack.stopped_instance("demo", "idle").await;
        let front = rack.floating_ip("demo", "front").await;
        let gone = rack.floating_ip("demo", "gone").await;
        let kept = rack.floating_ip("demo", "kept").await;
        let spare = rack.floating_ip("demo", "spare").await;
        rack.attach(&front, &web).await;
        rack.attach(&kept, &idle).await;
        // A released address below the mark.
        rack.delete(&format!("/v1/floating-ips/{}", id(&gone))).await.expect(204);
        rack.settled().await;
        Scene { rack, web, front, idle, kept, spare }
    }

    async fn sql(&self, statement: &str) -> String {
        self.rack.database().sql(statement).await
    }

    /// Waits until the checker finds this, and nothing else.
    async fn finds(&self, kind: &str, words: &str) {
        eventually(&format!("only {kind}: … {words} …"), async || {
            let found = check(self.rack.ready()).await.expect("it can be checked");
            let violations = &found.violations;
            let this =
                |line: &String| line.starts_with(&format!("{kind}: ")) && line.contains(words);
            let only = violations.len() == 1 && violations.iter().all(this);
            if only && found.unchecked.is_empty() { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// Plants a fault in the database, sees it found, and takes it back.
    async fn planted(&self, fault: &str, kind: &str, words: &str, undo: &str) {
        self.sql(fault).await;
        self.finds(kind, words).await;
        self.sql(undo).await;
        self.rack.settled().await;
    }
}

fn id(view: &Value) -> &str {
    view["id"].as_str().expect("a view has an id")
}

fn ip(view: &Value) -> &str {
    view["ip"].as_str().expect("a view with an address")
}

/// A rack that has done much of what a rack does.
async fn busy(nat: NatMode) {
    let scene = Scene::new(nat).await;
    let Scene { rack, web, front, idle, spare, .. } = &scene;
    let v6 = rack.floating_ip_with("demo", "six", json!({"address_allocator": auto("v6")})).await;
    rack.attach(&v6, web).await;
    rack.attach(spare, web).await;
    rack.detach(front).await;
    rack.attach(front, idle).await;
    rack.start_instance(idle).await;
    let ephemeral = json!({"pool_selector": {"type": "auto", "ip_version": "v4"}});
    let path = format!("/v1/instances/{}/external-ips/ephemeral", id(idle));
    rack.post(&path, ephemeral).await.expect(202);
    let doomed = rack.running_instance("demo", "doomed").await;
    rack.stop_instance(&doomed).await;
    rack.delete(&format!("/v1/instances/{}", id(&doomed))).await.expect(204);
    let crashing = rack.running_instance("demo", "crashing").await;
    let vmm = rack.vmm_of(&crashing).await.expect("it runs");
    rack.sled(vmm.sled).crash(&vmm.id).await;
    rack.state_reached(&crashing, "failed").await;
    let from = rack.vmm_of(web).await.expect("it runs").sled;
    let to = rack.ready().sled_agents[1 - from].id;
    let path = format!("/instances/{}/migrate", id(web));
    rack.operator().post(&path, json!({"dst_sled_id": to})).await.expect(200);
    rack.state_reached(web, "running").await;
    rack.settled().await;
    let found = check(rack.ready()).await.expect("it can be checked");
    assert_eq!((&found.violations, &found.unchecked), (&vec![], &vec![]));
    assert!(found.summary.contains("3 instances, 2 VMMs"), "{}", found.summary);
    assert!(found.summary.contains("2 switches"), "{}", found.summary);
    assert!(found.summary.contains("ports of 2 VMMs"), "{}", found.summary);
}

#[tokio::test]
async fn a_busy_rack_that_pushes_is_consistent() {
    busy(NatMode::Push).await;
}

#[tokio::test]
async fn a_busy_rack_whose_switches_pull_is_consistent() {
    busy(NatMode::Pull).await;
}

#[tokio::test]
async fn addresses_that_are_half_attached() {
    let scene = Scene::new(NatMode::Push).await;
    let of = |view: &Value| format!("WHERE id = '{}'", id(view));
    let set = |what: &str, view: &Value| format!("UPDATE external_ip SET {what} {}", of(view));
    let back = "state = 'attached', saga_id = NULL";
    for state in ["attaching", "detaching"] {
        let fault = format!("state = '{state}', saga_id = gen_random_uuid()");
        let (front, words) = (&scene.front, format!("is {state} by saga"));
        let kind = "address_in_transition";
        scene.planted(&set(&fault, front), kind, &words, &set(back, front)).await;
    }
    let free = set("state = 'detached', instance_id = NULL", &scene.spare);
    let nowhere = set("state = 'attached', instance_id = gen_random_uuid()", &scene.spare);
    scene.planted(&nowhere, "attachment", "an instance that does not exist", &free).await;
    let snat = format!("WHERE kind = 'snat' AND instance_id = '{}'", id(&scene.idle));
    let row = scene.sql(&format!("SELECT id FROM external_ip {snat}")).await;
    let fault =
        format!("UPDATE external_ip SET state = 'detached', instance_id = NULL WHERE id = '{row}'");
    let undo = format!(
        "UPDATE external_ip SET state = 'attached', instance_id = '{}' WHERE id = '{row}'",
        id(&scene.idle)
    );
    scene.planted(&fault, "attachment", "belongs to no instance", &undo).await;
}

#[tokio::test]
async fn addresses_that_overlap_or_are_outside_of_their_pool() {
    let scene = Scene::new(NatMode::Push).await;
    let spare = id(&scene.spare);
    let overlap = format!(
        "INSERT INTO external_ip SELECT gen_random_uuid(), kind, silo_id, project_id, 'twin', \
         description, ip, ip_version, 5, last_port, ip_pool_id, ip_pool_range_id, state, \
         instance_id, saga_id, now(), now(), NULL FROM external_ip WHERE id = '{spare}'"
    );
    let undo = "DELETE FROM external_ip WHERE name = 'twin'";
    let words = format!("overlaps with the floating IP {spare}");
    scene.planted(&overlap, "address_overlap", &words, undo).await;
    let pool = |name: &str| format!("SELECT id FROM ip_pool WHERE name = '{name}'");
    let set = |name: &str| {
        format!("UPDATE external_ip SET ip_pool_id = ({}) WHERE id = '{spare}'", pool(name))
    };
    let (fault, undo) = (set("default-v6"), set("default"));
    scene.planted(&fault, "address_outside_pool", "its range is another's", &undo).await;
    scene.rack.pool("extra", "10.9.0.0", "10.9.0.9").await;
    let explicit = json!({"address_allocator": {"type": "explicit", "ip": "10.9.0.3"}});
    scene.rack.floating_ip_with("demo", "far", explicit).await;
    let range =
        |what: &str| format!("UPDATE ip_pool_range SET {what} WHERE first_address = '10.9.0.0'");
    let (fault, undo) = (range("time_deleted = now()"), range("time_deleted = NULL"));
    scene.planted(&fault, "address_outside_pool", "a range that was removed", &undo).await;
}

#[tokio::test]
async fn the_records_of_the_allocator() {
    let scene = Scene::new(NatMode::Push).await;
    let range = "WHERE first_address = '10.0.0.0'";
    let spare = ip(&scene.spare);
    let list = |ip: &str| {
        format!(
            "INSERT INTO ip_pool_free_address SELECT ip_pool_id, '{ip}', id FROM ip_pool_range \
             {range}"
        )
    };
    let unlist = |ip: &str| format!("DELETE FROM ip_pool_free_address WHERE ip = '{ip}'");
    let both = format!("address {spare} is both in use and free");
    scene.planted(&list(spare), "free_address", &both, &unlist(spare)).await;
    let above = "is free, but not below the mark";
    scene.planted(&list("10.0.9.9"), "free_address", above, &unlist("10.0.9.9")).await;
    let released = scene.sql("SELECT host(ip) FROM ip_pool_free_address").await;
    let neither = format!("address {released} is below the mark of its range, but neither");
    scene.planted(&unlist(&released), "free_address", &neither, &list(&released)).await;
    let mark =
        |n: i32| format!("UPDATE ip_pool_range SET next_address = next_address + ({n}) {range}");
    scene.planted(&mark(3), "free_address", "so is what follows", &mark(-3)).await;
    scene.planted(&mark(1), "free_address", "neither in use nor free", &mark(-1)).await;
    scene.planted(&mark(-1), "free_address", "is the mark of its range", &mark(1)).await;
    let orphan = "INSERT INTO ip_pool_free_address \
                  VALUES (gen_random_uuid(), '10.77.0.1', gen_random_uuid())";
    let words = "the free list of a range that is no more";
    scene.planted(orphan, "free_address", words, &unlist("10.77.0.1")).await;
    let blocks = |n: i32| format!("UPDATE ip_pool_snat_address SET used_blocks = {n}");
    // Two instances have the first two blocks.
    scene.planted(&blocks(7), "pool_utilization", "1 block(s)", &blocks(3)).await;
    scene.planted(&blocks(1), "pool_utilization", "recorded as a free block", &blocks(3)).await;
}

#[tokio::test]
async fn nat_entries_that_do_not_follow_from_anything() {
    let scene = Scene::new(NatMode::Push).await;
    let of_front = format!("WHERE external_ip_id = '{}'", id(&scene.front));
    let mac = |n: i32| format!("UPDATE nat_entry SET mac = mac + ({n}) {of_front}");
    let words = "that is not the one that follows from it";
    scene.planted(&mac(1), "nat_intent", words, &mac(-1)).await;
    let stray = format!(
        "INSERT INTO nat_entry SELECT gen_random_uuid(), ip.id, ip.instance_id, ip.ip, 0, 65535, \
         nat.sled_address, nat.vni, nat.mac, nat.generation + 1000000, now(), NULL \
         FROM external_ip AS ip, (SELECT * FROM nat_entry {of_front}) AS nat WHERE ip.id = '{}'",
        id(&scene.kept)
    );
    let undo = format!("DELETE FROM nat_entry WHERE external_ip_id = '{}'", id(&scene.kept));
    scene.planted(&stray, "nat_intent", "its instance has no VMM", &undo).await;
    scene.sql(&format!("DELETE FROM nat_entry {of_front}")).await;
    scene.finds("nat_intent", "has no NAT entry").await;
}

#[tokio::test]
async fn switches_that_hold_something_else() {
    let scene = Scene::new(NatMode::Push).await;
    let rack = &scene.rack;
    let dpd = Client::new(&rack.ready().switches[1].url).at_version("13.0.0");
    let held = dpd.all(&format!("/nat/ipv4/{}", ip(&scene.front))).await.remove(0);
    let fault = |operation: &str| json!({"operation": operation, "fault": "error", "times": 0});
    let path = |ip: &str| format!("/nat/ipv4/{ip}/0/65535");

    // Nexus cannot take it away again.
    rack.switch(1).fault(fault("nat_ipv4_delete")).await;
    dpd.put(&path("10.0.200.1"), held["target"].clone()).await.expect(204);
    let words = "switch1 holds a NAT entry that is not intended for 10.0.200.1";
    scene.finds("switch_nat", words).await;
    // What is not ours is nothing to us.
    dpd.put(&path("192.0.2.1"), held["target"].clone()).await.expect(204);
    scene.finds("switch_nat", words).await;
    rack.switch(1).clear_faults().await;
    dpd.delete("/nat/ipv4/192.0.2.1/0").await.expect(204);
    rack.settled().await;

    // Nexus cannot write it again.
    rack.switch(1).fault(fault("nat_ipv4_create")).await;
    dpd.delete(&format!("/nat/ipv4/{}/0", ip(&scene.front))).await.expect(204);
    scene.finds("switch_nat", "switch1 lacks the NAT entry").await;
    rack.switch(1).clear_faults().await;
    rack.settled().await;
}

#[tokio::test]
async fn vmms_that_sleds_see_otherwise() {
    let scene = Scene::new(NatMode::Push).await;
    let vmm = scene.rack.vmm_of(&scene.web).await.expect("it runs");
    let set = |state: &str, n: i32| {
        format!(
            "UPDATE vmm SET state = '{state}', generation = generation + ({n}) WHERE id = '{}'",
            vmm.id
        )
    };
    let words = "is rebooting as recorded";
    scene.planted(&set("rebooting", 100), "vmm", words, &set("running", -100)).await;
    // Nexus believes that it has ended, and settles the instance; the sled still runs it.
    scene.sql(&set("destroyed", 100)).await;
    scene.finds("vmm", "has a VMM that it is not to have").await;
    let sled = &scene.rack.ready().sled_agents[vmm.sled];
    let agent = Client::new(&sled.url).at_version("48.0.0");
    agent.delete(&format!("/vmms/{}", vmm.id)).await.expect(200);
    scene.rack.settled().await;
}

#[tokio::test]
async fn ports_with_other_addresses() {
    let scene = Scene::new(NatMode::Push).await;
    let vmm = scene.rack.vmm_of(&scene.web).await.expect("it runs");
    let sim = scene.rack.sled(vmm.sled);
    let agent = Client::new(&scene.rack.ready().sled_agents[vmm.sled].url).at_version("48.0.0");
    let path = format!("/vmms/{}/external-ip", vmm.id);
    let call = async |method: Method, ip: &str| {
        let body = json!({"type": "floating", "value": ip});
        agent.send(method, &path, Some(body)).await.expect(204);
    };
    let fault = |operation: &str| json!({"operation": operation, "fault": "error", "times": 0});

    sim.fault(fault("vmm_delete_external_ip")).await;
    call(Method::PUT, ip(&scene.spare)).await;
    let words = format!("should not have the floating IP {}", ip(&scene.spare));
    scene.finds("port", &words).await;
    sim.clear_faults().await;
    call(Method::DELETE, ip(&scene.spare)).await;
    scene.rack.settled().await;

    sim.fault(fault("vmm_put_external_ip")).await;
    call(Method::DELETE, ip(&scene.front)).await;
    scene.finds("port", &format!("lacks the floating IP {}", ip(&scene.front))).await;
    sim.clear_faults().await;
    call(Method::PUT, ip(&scene.front)).await;
    scene.rack.settled().await;
}

#[tokio::test]
async fn sleds_that_look_for_private_addresses_elsewhere() {
    let scene = Scene::new(NatMode::Push).await;
    let sim = scene.rack.sled(0);
    let agent = Client::new(&scene.rack.ready().sled_agents[0].url).at_version("48.0.0");
    let listed = agent.get("/v2p").await.expect(200);
    let mut mapping = listed[0].clone();
    let fault = |operation: &str| json!({"operation": operation, "fault": "error", "times": 0});

    sim.fault(fault("set_v2p")).await;
    agent.send(Method::DELETE, "/v2p", Some(mapping.clone())).await.expect(204);
    scene.finds("v2p", "does not know that").await;
    sim.clear_faults().await;
    scene.rack.settled().await;

    sim.fault(fault("del_v2p")).await;
    mapping["vni"] = json!(4_242_424);
    agent.put("/v2p", mapping).await.expect(204);
    scene.finds("v2p", "should not believe that").await;
    sim.clear_faults().await;
    scene.rack.settled().await;
}

#[tokio::test]
async fn what_nobody_works_on_and_what_is_left_behind() {
    let scene = Scene::new(NatMode::Push).await;
    let state = |state: &str| {
        format!("UPDATE instance SET state = '{state}' WHERE id = '{}'", id(&scene.idle))
    };
    let words = "is being created, and nobody works on it";
    scene.planted(&state("creating"), "instance_stuck", words, &state("no_vmm")).await;

    let saga = "INSERT INTO saga VALUES (gen_random_uuid(), 'forgotten', '{}', 'running', \
                gen_random_uuid(), gen_random_uuid(), 1, now(), now(), NULL)";
    let undo = "DELETE FROM saga WHERE name = 'forgotten'";
    scene.planted(saga, "saga_unfinished", "the saga forgotten is unfinished", undo).await;

    let project = scene.rack.project("empty").await;
    let deleted = |when: &str| {
        format!("UPDATE project SET time_deleted = {when} WHERE id = '{}'", id(&project))
    };
    // All that a project has from the start is its default VPC.
    let words = "refers to a project that is no more";
    scene.planted(&deleted("now()"), "deleted_parent", words, &deleted("NULL")).await;
}

fn run_check(ready_file: &std::path::Path) -> Output {
    let programs = nexus_dev::rack::Options::new().expect("this program has a directory").programs;
    let mut command = Command::new(programs.join("nexus-dev"));
    command.arg("check").arg("--ready-file").arg(ready_file).output().expect("it runs")
}

#[tokio::test]
async fn the_exit_code_says_whether_all_is_well() {
    let scene = Scene::new(NatMode::Push).await;
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("ready.json");
    scene.rack.ready().write(&file).expect("a file");
    let says = |code: i32| {
        let output = run_check(&file);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
        (stdout, stderr)
    };
    let (stdout, stderr) = says(0);
    assert!(stdout.starts_with("no violations: "), "{stdout}");
    assert_eq!((stdout.lines().count(), stderr.as_str()), (1, ""));

    // What is wrong counts for more than what is not known.
    let state = |state: &str| {
        format!("UPDATE instance SET state = '{state}' WHERE id = '{}'", id(&scene.idle))
    };
    scene.sql(&state("creating")).await;
    scene.rack.switch(0).down().await;
    let (stdout, stderr) = says(1);
    assert!(stdout.starts_with("instance_stuck: "), "{stdout}");
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    assert!(stderr.starts_with("not checked: switch0: its NAT table: "), "{stderr}");
    scene.sql(&state("no_vmm")).await;
    let (stdout, stderr) = says(2);
    assert!(stdout.is_empty(), "{stdout}");
    assert!(stderr.starts_with("not checked: switch0: its NAT table: "), "{stderr}");
    scene.rack.switch(0).clear_faults().await;
    scene.rack.settled().await;

    let sled = scene.rack.vmm_of(&scene.web).await.expect("it runs").sled;
    scene.rack.kill(Part::SledAgent(sled));
    let (_, stderr) = says(2);
    let sled = scene.rack.ready().sled_agents[sled].id;
    for what in ["VMMs", "v2p mappings", "ports"] {
        assert!(stderr.contains(&format!("not checked: sled {sled}: its {what}: ")), "{stderr}");
    }
    scene.rack.kill(Part::Nexus(0));
    let (_, stderr) = says(2);
    assert!(stderr.starts_with("not checked: no Nexus answers: "), "{stderr}");
    std::fs::remove_file(&file).expect("it was there");
    let (_, stderr) = says(2);
    assert!(stderr.starts_with("not checked: cannot read the ready file "), "{stderr}");
}
