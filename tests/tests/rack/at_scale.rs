//! Much at the same time, and a part of the rack that is missing meanwhile.

use futures::future::join_all;
use nexus_dev::layout::NatMode;
use nexus_dev::part::Part;
use nexus_tests::make::{attach_body, auto, floating_ip_body, instance_path, with};
use nexus_tests::sim::ip_of;
use nexus_tests::wait::{eventually, within};
use nexus_tests::{Client, TestRack};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the rules promise for a switch after a fault, and again as much for a busy machine.
const CONVERGENCE: Duration = Duration::from_secs(10);

/// Instances that run, and floating IPs, so many for each.
async fn furnish(rack: &TestRack, instances: usize, each: usize) -> (Vec<Value>, Vec<Value>) {
    rack.project("demo").await;
    let machines = (0..instances).map(|n| {
        let name = format!("web{n}");
        async move { rack.running_instance("demo", &name).await }
    });
    let machines = join_all(machines).await;
    let mut fips = Vec::new();
    for n in 0..instances * each {
        fips.push(rack.floating_ip("demo", &format!("f{n}")).await);
    }
    (machines, fips)
}

fn of(fip: &Value, action: &str) -> String {
    format!("/v1/floating-ips/{}/{action}", fip["id"].as_str().expect("an id"))
}

/// How many sagas are not finished.
async fn unfinished(operator: &Client) -> usize {
    let sagas = operator.all("/sagas?limit=1000").await;
    let finished =
        |saga: &&Value| matches!(saga["state"]["state"].as_str(), Some("succeeded" | "failed"));
    sagas.len() - sagas.iter().filter(finished).count()
}

/// Starts an attach for each floating IP, in turn to each instance, at one Nexus, and returns when
/// all are under way. None can be finished: the sleds do not answer.
async fn attaches_that_hang(rack: &TestRack, nexus: usize, machines: &[Value], fips: &[Value]) {
    for sled in rack.sleds() {
        sled.fault(json!({"operation": "vmm_put_external_ip", "fault": "hang", "times": 0})).await;
    }
    let before = unfinished(&rack.operator()).await;
    for (fip, machine) in fips.iter().zip(machines.iter().cycle()) {
        let (client, path, body) = (rack.nexus(nexus), of(fip, "attach"), attach_body(machine));
        // Its answer is of no interest: it goes down with the server.
        tokio::spawn(async move { client.try_send(Method::POST, &path, Some(body)).await });
    }
    eventually("all attaches are under way", async || {
        let sagas = unfinished(&rack.operator()).await - before;
        if sagas == fips.len() { Ok(()) } else { Err(sagas) }
    })
    .await;
}

/// A Nexus that dies for good with much in flight: within 15 s nothing is half done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_attaches_of_a_nexus_that_is_gone() {
    let rack = TestRack::with(|options| options.request.nexus = Some(2)).await;
    let (machines, fips) = furnish(&rack, 4, 16).await;
    attaches_that_hang(&rack, 1, &machines, &fips).await;
    rack.kill(Part::Nexus(1));
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
    let halfway = "SELECT count(*) FROM external_ip WHERE state IN ('attaching', 'detaching')";
    within(Duration::from_secs(15), "no address is half attached", async || {
        let count = rack.database().sql(halfway).await;
        if count == "0" { Ok(()) } else { Err(count) }
    })
    .await;
    // The check asks each Nexus of the rack.
    rack.restart(Part::Nexus(1)).await;
    rack.settled().await;
    let first = rack.nexus(0);
    for (fip, machine) in fips.iter().zip(machines.iter().cycle()) {
        first.attach(fip, machine).await;
    }
    rack.settled().await;
}

/// What one client does to its own addresses: `changes` in all, each of which succeeds.
async fn changes(rack: &TestRack, machines: &[Value], fips: &[Value], changes: usize) {
    for n in 0..changes {
        let fip = &fips[n % fips.len()];
        // Each is attached in one round and detached in the next.
        if (n / fips.len()).is_multiple_of(2) {
            rack.attach(fip, &machines[n % machines.len()]).await;
        } else {
            rack.detach(fip).await;
        }
    }
}

/// What one client does to an instance of its own: ephemeral addresses come and go, it stops and
/// starts; eight changes in a round.
async fn lives(rack: &TestRack, machine: &Value, rounds: usize) {
    let path = format!("{}/external-ips/ephemeral", instance_path(machine));
    for _ in 0..rounds {
        for version in ["v4", "v6"] {
            let body = json!({"pool_selector": {"type": "auto", "ip_version": version}});
            rack.post(&path, body).await.expect(202);
        }
        rack.stop_instance(machine).await;
        rack.delete(&format!("{path}?ip_version=v4")).await.expect(204);
        rack.start_instance(machine).await;
        rack.delete(&format!("{path}?ip_version=v6")).await.expect(204);
        rack.instance_do("reboot", machine).await;
        rack.state_reached(machine, "running").await;
        rack.instance_do("reboot", machine).await;
        rack.state_reached(machine, "running").await;
    }
}

async fn table(rack: &TestRack, switch: usize) -> Vec<String> {
    let state = rack.switch(switch).state().await;
    let mut table: Vec<_> =
        state["nat"].as_array().expect("a table").iter().map(Value::to_string).collect();
    table.sort();
    table
}

/// 500 changes of all kinds while a switch is away; when it is back it is soon like the other one,
/// which has been repaired meanwhile.
async fn away_for_500_changes(nat: NatMode) {
    let rack = TestRack::with(|options| options.request.nat = Some(nat)).await;
    let (machines, fips) = furnish(&rack, 5, 8).await;
    match nat {
        NatMode::Push => rack.switch(0).down().await,
        NatMode::Pull => rack.kill(Part::Dpd(0)),
    }
    let dpd = Client::new(&rack.ready().switches[1].url).at_version("13.0.0");
    let target = json!({
        "internal_ip": "fd00:1122:3344:101::1",
        "inner_mac": {"a": [0xa8, 0x40, 0x25, 0xf0, 0, 9]},
        "vni": 2000,
    });
    dpd.put("/nat/ipv4/10.0.99.99/0/65535", target.clone()).await.expect(204);
    dpd.put("/nat/ipv4/198.51.100.1/0/65535", target).await.expect(204);
    let (own, shared) = machines.split_first().expect("machines");
    let clients = fips.chunks(5).map(|fips| changes(&rack, shared, fips, 57));
    let ((), _) = tokio::join!(lives(&rack, own, 6), join_all(clients));
    within(CONVERGENCE, "the stray entry is gone", async || {
        let answer = rack.switch(1).inbound("10.0.99.99".parse().expect("an address"), 22).await;
        if answer["reason"] == "no-nat-entry" { Ok(()) } else { Err(answer) }
    })
    .await;
    dpd.get("/nat/ipv4/198.51.100.1/0").await.expect(200);
    dpd.delete("/nat/ipv4/198.51.100.1/0").await.expect(204);
    match nat {
        NatMode::Push => rack.switch(0).clear_faults().await,
        NatMode::Pull => rack.restart(Part::Dpd(0)).await,
    }
    let other = table(&rack, 1).await;
    within(CONVERGENCE, "the switch has caught up", async || {
        let now = table(&rack, 0).await;
        if now == other { Ok(()) } else { Err((now.len(), other.len())) }
    })
    .await;
    rack.settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_is_away_for_500_changes() {
    away_for_500_changes(NatMode::Push).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_switch_that_pulls_is_away_for_500_changes() {
    away_for_500_changes(NatMode::Pull).await;
}

/// Someone who reads the changeset feed.
#[derive(Default)]
struct Follower {
    generation: i64,
    table: BTreeMap<(String, u64), Value>,
}

impl Follower {
    /// Reads and applies a page of three; whether there was anything on it.
    async fn read(&mut self, internal: &Client) -> bool {
        let path = format!("/nat/ipv4/changeset/{}?limit=3", self.generation);
        let page = internal.get(&path).await.expect(200);
        let page = page.as_array().expect("a page");
        assert!(page.len() <= 3, "{page:?}");
        for change in page {
            let generation = change["gen"].as_i64().expect("a generation");
            assert!(generation > self.generation, "{change} after {}", self.generation);
            self.generation = generation;
            let ip = change["external_address"].as_str().expect("an address").to_string();
            let key = (ip, change["first_port"].as_u64().expect("a port"));
            if change["deleted"] == true {
                self.table.remove(&key);
            } else {
                self.table.insert(key, change.clone());
            }
        }
        !page.is_empty()
    }
}

/// Whoever follows the feed in small pages while it grows misses nothing and sees nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_of_the_changes() {
    const CLIENTS: usize = 16;
    let rack = TestRack::start().await;
    let (machines, fips) = furnish(&rack, 4, CLIENTS).await;
    let over = AtomicBool::new(false);
    let load = async {
        let clients = fips.chunks(fips.len() / CLIENTS);
        join_all(clients.map(|fips| changes(&rack, &machines, fips, 60))).await;
        over.store(true, Ordering::Relaxed);
    };
    let follow = async {
        let (internal, mut follower) = (rack.internal(), Follower::default());
        loop {
            let more = follower.read(&internal).await;
            if !more && over.load(Ordering::Relaxed) {
                return follower;
            }
        }
    };
    let ((), mut follower) = tokio::join!(load, follow);
    while follower.read(&rack.internal()).await {}
    rack.settled().await;
    let followed: Vec<_> = follower.table.into_keys().collect();
    let state = rack.switch(0).state().await;
    let entry = |entry: &Value| {
        let ip = entry["external"].as_str().expect("an address").to_string();
        (ip, entry["low"].as_u64().expect("a port"))
    };
    let mut table: Vec<_> = state["nat"].as_array().expect("a table").iter().map(entry).collect();
    table.sort();
    assert_eq!(followed, table);
}

/// Twenty operations in flight when Nexus dies, one of them at a sled that answers nonsense from
/// then on: the others are finished all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_saga_that_cannot_go_on_holds_up_no_other() {
    let rack = TestRack::start().await;
    let (machines, fips) = furnish(&rack, 6, 4).await;
    let bad = rack.vmm_of(&machines[0]).await.expect("it runs").sled;
    let mut on_good = Vec::new();
    for machine in &machines {
        if rack.vmm_of(machine).await.expect("it runs").sled != bad {
            on_good.push(machine.clone());
        }
    }
    assert!(!on_good.is_empty(), "machines are spread over the sleds");
    let (stuck, rest) = fips.split_first().expect("floating IPs");
    let (_, rest) = rest.split_at(rest.len() - 19);
    attaches_that_hang(&rack, 0, &on_good, rest).await;
    attaches_that_hang(&rack, 0, &machines[..1], std::slice::from_ref(stuck)).await;
    rack.kill(Part::Nexus(0));
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
    rack.sled(bad)
        .fault(json!({"operation": "*", "fault": "error", "status": 500, "times": 0}))
        .await;
    rack.restart(Part::Nexus(0)).await;
    for fip in rest {
        eventually("what has nothing to do with it goes on", async || {
            let reply = rack.call(&of(fip, "detach")).await;
            if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
        })
        .await;
    }
    rack.floating_ip("demo", "new").await;
    rack.sled(bad).clear_faults().await;
    eventually("the last one is finished, too", async || {
        let reply = rack.call(&of(stuck, "detach")).await;
        if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
    })
    .await;
    rack.settled().await;
}

/// Asked to end with fifty operations in flight: none is lost, whether it is finished before the
/// end or by the next process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_with_fifty_operations_in_flight() {
    let rack = TestRack::start().await;
    let (machines, fips) = furnish(&rack, 5, 10).await;
    attaches_that_hang(&rack, 0, &machines, &fips).await;
    let nexus = rack.rack().process(Part::Nexus(0)).expect("a Nexus");
    let pid = nexus.pid().to_string();
    let sent = std::process::Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.expect("kill runs").success());
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
    eventually("it has ended", async || nexus.ended().ok_or("it runs")).await;
    rack.restart(Part::Nexus(0)).await;
    for fip in &fips {
        eventually("every one is finished or undone", async || {
            let reply = rack.call(&of(fip, "detach")).await;
            if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
        })
        .await;
    }
    rack.settled().await;
}

/// Kills during 200 creates: every address that is counted as used is somebody's, and can be seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_during_200_creates() {
    const CREATES: usize = 200;
    const KILLS: usize = 4;
    let rack = TestRack::start().await;
    rack.project("demo").await;
    let create = async |n: usize| {
        let body =
            with(floating_ip_body(&format!("f{n}")), json!({"address_allocator": auto("v4")}));
        let path = "/v1/floating-ips?project=demo";
        rack.try_send(Method::POST, path, Some(body)).await.map(|reply| reply.status)
    };
    let lists = async || rack.all("/v1/floating-ips?project=demo&limit=1000").await;
    for round in 0..KILLS {
        let batch = CREATES / KILLS;
        let (first, last) = (round * batch, (round + 1) * batch);
        // The kill comes after an answer, a later one in each round, with others on their way.
        let mine = join_all((first + 8..last).map(create));
        let kill = async {
            for n in first..=first + 2 * round {
                let _ = create(n).await;
            }
            rack.kill(Part::Nexus(0));
        };
        tokio::join!(mine, kill);
        rack.restart(Part::Nexus(0)).await;
        let shown = lists().await;
        assert_eq!(rack.addresses_in_use("default").await, shown.len() as u64);
    }
    // Who retries gets the name, or is told that it is taken: by himself.
    for n in 0..CREATES {
        assert!(matches!(create(n).await, Ok(201 | 400)));
    }
    let shown = lists().await;
    assert_eq!(shown.len(), CREATES);
    let mut ips: Vec<_> = shown.iter().map(ip_of).collect();
    ips.sort();
    ips.dedup();
    assert_eq!(ips.len(), CREATES, "no address is given twice");
    let last = ips.last().expect("an address").to_string();
    assert_eq!(last, "10.0.0.199", "none was left out");
    rack.settled().await;
}

/// Clients that hang up at any moment of an attach or a detach: 500 times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_clients_that_hang_up() {
    const EACH: usize = 50;
    let rack = TestRack::start().await;
    let (machines, fips) = furnish(&rack, 2, 5).await;
    let hasty = async |fip: &Value, seed: usize| {
        for round in 0..EACH {
            // A connection of its own, which goes when the request is dropped.
            let client = Client::new(rack.url()).with_token(&rack.ready().token);
            let (action, body) = match round % 2 {
                0 => ("attach", Some(attach_body(&machines[round / 2 % machines.len()]))),
                _ => ("detach", None),
            };
            let path = of(fip, action);
            let request = client.try_send(Method::POST, &path, body);
            let patience = Duration::from_millis((seed * 7 + round * 3) as u64 % 50 + 1);
            let _ = tokio::time::timeout(patience, request).await;
        }
    };
    join_all(fips.iter().enumerate().map(|(seed, fip)| hasty(fip, seed))).await;
    rack.settled().await;
    for fip in &fips {
        eventually("it can be used again", async || {
            let reply = rack.call(&of(fip, "detach")).await;
            if reply.one_of(&[202, 503]) == 202 { Ok(()) } else { Err(reply.body) }
        })
        .await;
        rack.attach(fip, &machines[0]).await;
    }
    rack.settled().await;
}
