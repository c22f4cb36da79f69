//! Tenants: silos with users, roles and policies of their own, that see nothing of each other.

use nexus_tests::make::{attach_body, image_body, with};
use nexus_tests::tenants::{PASSWORD, assignment, silo_body};
use nexus_tests::{Client, TestRack};
use serde_json::{Value, json};
use uuid::Uuid;

const SILOS: &str = "/v1/system/silos";
const USERS: &str = "/v1/system/identity-providers/local/users";

fn id(view: &Value) -> &str {
    view["id"].as_str().expect("an id")
}

/// A silo with an administrator, as whom the client is.
async fn tenant(rack: &TestRack, silo: &str) -> Client {
    rack.silo(silo).await;
    let admin = rack.user(silo, "admin").await;
    rack.grant(&format!("{SILOS}/{silo}/policy"), &admin, "admin").await;
    rack.login(silo, "admin").await
}

#[tokio::test]
async fn a_silo_lives() {
    let rack = TestRack::start().await;
    let silo = rack.silo("red").await;
    assert_eq!(silo["identity_mode"], "local_only");
    assert_eq!(silo["discoverable"], true);
    assert_eq!(silo["mapped_fleet_roles"], json!({}));
    assert_eq!(rack.get(&format!("{SILOS}/red")).await.expect(200), silo);
    assert_eq!(rack.get(&format!("{SILOS}/{}", id(&silo))).await.expect(200), silo);
    let taken = rack.post(SILOS, silo_body("red")).await;
    taken.refused(400, "already exists: silo \"red\"");
    let hidden = with(silo_body("hidden"), json!({"discoverable": false}));
    rack.post(SILOS, hidden).await.expect(201);
    let listed: Vec<_> = rack.all(SILOS).await.iter().map(|silo| silo["name"].clone()).collect();
    assert_eq!(listed, ["default-silo", "red"]);
    rack.get(&format!("{SILOS}/hidden")).await.expect(200);
    let saml = with(silo_body("s"), json!({"identity_mode": "saml_jit"}));
    rack.post(SILOS, saml).await.refused_about(400, "local_only");
    let owner = rack.user("red", "owner").await;
    rack.grant(&format!("{SILOS}/red/policy"), &owner, "admin").await;
    let owner = rack.login("red", "owner").await;
    owner.project("p").await;
    rack.delete(&format!("{SILOS}/red"))
        .await
        .refused(400, "silo to be deleted contains a project");
    owner.delete("/v1/projects/p").await.expect(204);
    rack.delete(&format!("{SILOS}/red")).await.expect(204);
    // Its users went with it, at once.
    owner.get("/v1/me").await.refused(401, "credentials missing or invalid");
    let gone = rack.try_login("red", "owner", PASSWORD).await;
    gone.refused(404, "not found: silo with name \"red\"");
    rack.silo("red").await;
    assert_eq!(rack.all("/v1/system/users?silo=red").await, Vec::<Value>::new());
}

/// What a silo has beside users and projects goes with it, and what a user has with the user.
#[tokio::test]
async fn nothing_is_left_of_a_silo() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    let quotas = red.get(&format!("{SILOS}/red/quotas")).await.expect(200);
    let asked = with(silo_body("red")["quotas"].clone(), json!({"silo_id": quotas["silo_id"]}));
    assert_eq!(quotas, asked);
    let key = json!({"name": "laptop", "description": "", "public_key": "ssh-ed25519 AAAA"});
    red.post("/v1/me/ssh-keys", key.clone()).await.expect(201);
    let carl = rack.user("red", "carl").await;
    rack.login("red", "carl").await.post("/v1/me/ssh-keys", key).await.expect(201);
    red.project("p").await;
    red.disk("p", "d").await;
    let snapshot = red.snapshot("p", "s", "d").await;
    red.post("/v1/images", image_body("wide", &snapshot)).await.expect(201);
    red.delete("/v1/snapshots/s?project=p").await.expect(204);
    red.delete("/v1/disks/d?project=p").await.expect(204);
    red.delete("/v1/projects/p").await.expect(204);
    let left = async || {
        let live = "SELECT
            (SELECT count(*) FROM ssh_key WHERE time_deleted IS NULL),
            (SELECT count(*) FROM image WHERE time_deleted IS NULL),
            (SELECT count(*) FROM silo_quotas)";
        rack.database().sql(live).await.trim().to_string()
    };
    assert_eq!(left().await, "2|1|1");
    rack.delete(&format!("{USERS}/{}?silo=red", id(&carl))).await.expect(204);
    assert_eq!(left().await, "1|1|1");
    rack.delete(&format!("{SILOS}/red")).await.expect(204);
    assert_eq!(left().await, "0|0|0");
}

/// Who makes a silo says what it may use; hidden silos are in no list of what is used either.
#[tokio::test]
async fn whoever_makes_silos_may_change_their_quotas() {
    let rack = TestRack::start().await;
    let operator = rack.user("default-silo", "operator").await;
    rack.grant("/v1/system/policy", &operator, "collaborator").await;
    let operator = rack.login("default-silo", "operator").await;
    operator.silo("red").await;
    let quotas = operator.put(&format!("{SILOS}/red/quotas"), json!({"cpus": 3})).await.expect(200);
    assert_eq!(quotas["cpus"], 3);
    let negative = json!({"quotas": {"cpus": -1, "memory": 0, "storage": 0}});
    operator
        .post(SILOS, with(silo_body("blue"), negative))
        .await
        .refused(400, "unsupported value for \"cpus\": a quota must not be negative");
    let hidden = with(silo_body("hidden"), json!({"discoverable": false}));
    operator.post(SILOS, hidden).await.expect(201);
    let used = operator.all("/v1/system/utilization/silos").await;
    let names: Vec<_> = used.iter().map(|silo| &silo["silo_name"]).collect();
    assert_eq!(names, ["default-silo", "red"]);
    operator.get("/v1/system/utilization/silos/hidden").await.expect(200);
}

#[tokio::test]
async fn a_user_lives() {
    let rack = TestRack::start().await;
    rack.silo("red").await;
    let carl = rack.user("red", "carl").await;
    assert_eq!(carl["display_name"], "carl");
    let path = format!("{USERS}?silo=red");
    let body = json!({"external_id": "carl", "password": {"mode": "login_disallowed"}});
    let taken = rack.post(&path, body).await;
    taken.refused(400, "already exists: silo-user \"carl\"");
    assert_eq!(rack.all("/v1/system/users?silo=red").await, std::slice::from_ref(&carl));
    let view = format!("/v1/system/users/{}?silo=red", id(&carl));
    assert_eq!(rack.get(&view).await.expect(200), carl);
    // A user of another silo is none of this one.
    let other = format!("/v1/system/users/{}?silo=default-silo", id(&carl));
    let missing = format!("not found: silo-user with id \"{}\"", id(&carl));
    rack.get(&other).await.refused(404, &missing);
    let as_carl = rack.login("red", "carl").await;
    assert_eq!(as_carl.all("/v1/users").await, std::slice::from_ref(&carl));
    let me = as_carl.get("/v1/me").await.expect(200);
    assert_eq!((&me["id"], &me["silo_name"]), (&carl["id"], &json!("red")));
    assert_eq!((&me["fleet_viewer"], &me["silo_admin"]), (&json!(false), &json!(false)));
    // Everybody may change its own password, and nobody else's.
    let dora = rack.user("red", "dora").await;
    let set = |user: &Value| format!("{USERS}/{}/set-password?silo=red", id(user));
    let password = json!({"mode": "password", "value": "another one"});
    as_carl.post(&set(&dora), password.clone()).await.refused(403, "Forbidden");
    as_carl.post(&set(&carl), password).await.expect(204);
    rack.try_login("red", "carl", PASSWORD).await.refused(401, "credentials missing or invalid");
    rack.try_login("red", "carl", "another one").await.expect(204);
    rack.post(&set(&carl), json!({"mode": "login_disallowed"})).await.expect(204);
    rack.try_login("red", "carl", "another one")
        .await
        .refused(401, "credentials missing or invalid");
    let long = json!({"mode": "password", "value": "x".repeat(513)});
    let reply = rack.post(&set(&dora), long).await;
    assert!(!reply.body.to_string().contains("xxx"), "a password is repeated");
    reply.refused_about(400, "the password provided was too long");
    rack.delete(&format!("{USERS}/{}?silo=red", id(&carl))).await.expect(204);
    as_carl.get("/v1/me").await.refused(401, "credentials missing or invalid");
    rack.get(&view).await.refused(404, &missing);
    rack.user("red", "carl").await;
}

#[tokio::test]
async fn a_silo_may_have_a_group_of_administrators() {
    let rack = TestRack::start().await;
    let body = with(silo_body("red"), json!({"admin_group_name": "admins"}));
    let silo = rack.post(SILOS, body).await.expect(201);
    assert_eq!(silo["admin_group_name"], "admins");
    rack.user("red", "carl").await;
    let carl = rack.login("red", "carl").await;
    let groups = carl.all("/v1/groups").await;
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["display_name"], "admins");
    assert_eq!(carl.get(&format!("/v1/groups/{}", id(&groups[0]))).await.expect(200), groups[0]);
    assert_eq!(carl.all("/v1/me/groups").await, Vec::<Value>::new());
    let members = format!("/v1/users?group={}", id(&groups[0]));
    assert_eq!(carl.all(&members).await, Vec::<Value>::new());
    let policy = rack.get(&format!("{SILOS}/red/policy")).await.expect(200);
    let expected = json!([{
        "identity_type": "silo_group",
        "identity_id": groups[0]["id"],
        "role_name": "admin",
    }]);
    assert_eq!(policy["role_assignments"], expected);
}

#[tokio::test]
async fn a_policy_is_replaced_as_a_whole() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    red.project("p").await;
    let (a, b) = (rack.user("red", "a").await, rack.user("red", "b").await);
    let path = "/v1/projects/p/policy";
    assert_eq!(red.get(path).await.expect(200), json!({"role_assignments": []}));
    let viewer_a = json!({"role_assignments": [assignment(&a, "viewer")]});
    assert_eq!(red.put(path, viewer_a.clone()).await.expect(200), viewer_a);
    assert_eq!(red.get(path).await.expect(200), viewer_a);
    let as_a = rack.login("red", "a").await;
    as_a.get("/v1/projects/p").await.expect(200);
    let twice = json!({"role_assignments": [assignment(&b, "viewer"), assignment(&b, "admin"),
        assignment(&b, "admin")]});
    let stored = red.put(path, twice).await.expect(200);
    let expected = json!([assignment(&b, "admin"), assignment(&b, "viewer")]);
    assert_eq!(stored["role_assignments"], expected);
    // What was taken away is gone at once.
    as_a.get("/v1/projects/p").await.refused(404, "not found: project with name \"p\"");
    let too_many = vec![assignment(&a, "viewer"); 65];
    red.put(path, json!({"role_assignments": too_many}))
        .await
        .refused_about(400, "invalid length 65, expected a list of at most 64 role assignments");
    let fleet = json!({"role_assignments": [assignment(&a, "limited_collaborator")]});
    rack.put("/v1/system/policy", fleet).await.refused_about(400, "limited_collaborator");
    // A role of another silo's user is worth nothing.
    let blue = tenant(&rack, "blue").await;
    let blue_user = blue.all("/v1/users").await.remove(0);
    let view = red.get("/v1/projects/p").await.expect(200);
    red.grant(path, &blue_user, "admin").await;
    let foreign = format!("/v1/projects/{}", id(&view));
    let missing = format!("not found: project with id \"{}\"", id(&view));
    blue.get(&foreign).await.refused(404, &missing);
}

#[tokio::test]
async fn roles_in_a_silo_may_come_with_roles_in_the_fleet() {
    let rack = TestRack::start().await;
    let mapped = json!({"mapped_fleet_roles": {"admin": ["collaborator"], "viewer": ["viewer"]}});
    let silo = rack.post(SILOS, with(silo_body("ops"), mapped.clone())).await.expect(201);
    assert_eq!(silo["mapped_fleet_roles"], mapped["mapped_fleet_roles"]);
    for (name, role) in [("boss", "admin"), ("guest", "viewer")] {
        let user = rack.user("ops", name).await;
        rack.grant(&format!("{SILOS}/ops/policy"), &user, role).await;
    }
    let guest = rack.login("ops", "guest").await;
    assert_eq!(guest.get("/v1/me").await.expect(200)["fleet_viewer"], true);
    guest.post(SILOS, silo_body("new")).await.refused(403, "Forbidden");
    let boss = rack.login("ops", "boss").await;
    boss.post(SILOS, silo_body("new")).await.expect(201);
    // Who may make silos may not make operators.
    boss.post(SILOS, with(silo_body("trick"), mapped)).await.refused(403, "Forbidden");
    let collaborator = rack.user("ops", "collaborator").await;
    rack.grant("/v1/system/policy", &collaborator, "collaborator").await;
    let collaborator = rack.login("ops", "collaborator").await;
    let policy = rack.get(&format!("{SILOS}/ops/policy")).await.expect(200);
    collaborator.put("/v1/policy", policy.clone()).await.refused(403, "Forbidden");
    boss.put("/v1/policy", policy).await.expect(200);
}

#[tokio::test]
async fn built_in_users_are_shown() {
    let rack = TestRack::start().await;
    let users = rack.all("/v1/system/users-builtin").await;
    let names: Vec<_> = users.iter().map(|user| user["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["external-authn", "internal-api", "saga-recovery"]);
    let view = rack.get("/v1/system/users-builtin/internal-api").await.expect(200);
    assert_eq!(view, users[1]);
    rack.get("/v1/system/users-builtin/x")
        .await
        .refused(404, "not found: user-builtin with name \"x\"");
}

/// Two silos in which everything has the same names.
#[tokio::test]
async fn the_same_names_are_different_things() {
    let rack = TestRack::start().await;
    let mut made = Vec::new();
    for (silo, range) in [("red", "10.7.0"), ("blue", "10.8.0")] {
        let admin = tenant(&rack, silo).await;
        rack.pool_of(silo, silo, &format!("{range}.0"), &format!("{range}.9")).await;
        let project = admin.project("demo").await;
        let fip = admin.floating_ip("demo", "front").await;
        let web = admin.running_instance("demo", "web").await;
        made.push((admin, project, fip, web));
    }
    for (one, other) in [(0, 1), (1, 0)] {
        let (admin, project, fip, web) = &made[one];
        let (_, other_project, other_fip, other_web) = &made[other];
        assert_eq!(admin.all("/v1/projects").await, std::slice::from_ref(project));
        assert_eq!(admin.all("/v1/floating-ips?project=demo").await, std::slice::from_ref(fip));
        let listed = admin.all("/v1/instances?project=demo").await;
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["id"], web["id"]);
        let users = admin.all("/v1/users").await;
        assert_eq!(users.len(), 1);
        for (path, view) in [
            ("/v1/projects", other_project),
            ("/v1/floating-ips", other_fip),
            ("/v1/instances", other_web),
        ] {
            let reply = admin.get(&format!("{path}/{}", id(view))).await;
            assert_eq!(reply.status, 404, "{path}");
        }
        let foreign = format!("/v1/floating-ips?project={}", id(other_project));
        admin
            .get(&foreign)
            .await
            .refused(404, &format!("not found: project with id \"{}\"", id(other_project)));
        let attach = format!("/v1/floating-ips/{}/attach", id(fip));
        let reply = admin.post(&attach, attach_body(other_web)).await;
        reply.refused(404, &format!("not found: instance with id \"{}\"", id(other_web)));
        admin
            .post("/v1/floating-ips/front/attach?project=demo", attach_body(web))
            .await
            .expect(202);
        rack.delivered_to(fip, web).await;
    }
    rack.settled().await;
}

/// AZ-01: addresses of pools that are not linked to a silo.
#[tokio::test]
async fn no_address_comes_from_a_pool_that_is_not_linked() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    let blue = tenant(&rack, "blue").await;
    rack.pool_of("red", "pool-a", "10.7.0.0", "10.7.0.9").await;
    let pool_b = rack.pool_of("blue", "pool-b", "10.8.0.0", "10.8.0.9").await;
    rack.pool_of("red", "pool-c", "fd00:c::1", "fd00:c::9").await;
    let both = json!({"silo": "blue", "is_default": true});
    rack.post("/v1/system/ip-pools/pool-c/silos", both).await.expect(201);
    red.project("demo").await;
    blue.project("demo").await;
    let create = "/v1/floating-ips?project=demo";
    let from = |pool: &str| {
        let selector = json!({"type": "explicit", "pool": pool});
        json!({"name": "f", "description": "",
            "address_allocator": {"type": "auto", "pool_selector": selector}})
    };
    let exactly = |ip: &str| {
        json!({"name": "f", "description": "",
            "address_allocator": {"type": "explicit", "ip": ip}})
    };
    let no_pool = async |pool: &str, by: &str| {
        let missing = format!("not found: ip-pool with {by} \"{pool}\"");
        red.post(create, from(pool)).await.refused(404, &missing);
        red.get(&format!("/v1/ip-pools/{pool}")).await.refused(404, &missing);
    };
    let check_b = async || {
        no_pool("pool-b", "name").await;
        no_pool(id(&pool_b), "id").await;
        let in_b = red.post(create, exactly("10.8.0.3")).await;
        let in_none = red.post(create, exactly("192.0.2.3")).await;
        assert_eq!((in_b.status, in_none.status), (400, 400));
        let told = |reply: &nexus_tests::Reply, ip: &str| {
            reply.body["message"].as_str().expect("a message").replace(ip, "IP")
        };
        assert_eq!(told(&in_b, "10.8.0.3"), told(&in_none, "192.0.2.3"));
    };
    no_pool("pool-x", "name").await;
    no_pool(&Uuid::new_v4().to_string(), "id").await;
    check_b().await;
    // While it is linked, it can be used, and right after it is not, no more.
    let link = json!({"silo": "red", "is_default": false});
    rack.post("/v1/system/ip-pools/pool-b/silos", link).await.expect(201);
    let fip = red.post(create, exactly("10.8.0.3")).await.expect(201);
    let unlink = "/v1/system/ip-pools/pool-b/silos/red";
    rack.delete(unlink).await.refused_about(400, "in use in the linked silo");
    red.delete(&format!("/v1/floating-ips/{}", id(&fip))).await.expect(204);
    rack.delete(unlink).await.expect(204);
    check_b().await;
    // The ephemeral address of an instance comes from no other pool either.
    let web = red.stopped_instance("demo", "web").await;
    let ephemeral = format!("/v1/instances/{}/external-ips/ephemeral", id(&web));
    let selector = json!({"pool_selector": {"type": "explicit", "pool": "pool-b"}});
    red.post(&ephemeral, selector).await.refused(404, "not found: ip-pool with name \"pool-b\"");
    let body = with(
        nexus_tests::make::instance_body("other"),
        json!({"external_ips": [{"type": "ephemeral",
            "pool_selector": {"type": "explicit", "pool": "pool-b"}}]}),
    );
    let reply = red.post("/v1/instances?project=demo", body).await;
    reply.refused(404, "not found: ip-pool with name \"pool-b\"");
    // Of an address in a shared pool one learns that it is taken, and not by whom.
    blue.post(create, exactly("fd00:c::3")).await.expect(201);
    let taken = red.post(create, exactly("fd00:c::3")).await;
    taken.refused(400, "Requested external IP address not available");
}

/// AZ-03: whoever sees a pool in the list can look at it.
#[tokio::test]
async fn lists_and_views_of_pools_agree() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    rack.pool_of("red", "pool-a", "10.7.0.0", "10.7.0.9").await;
    rack.pool("pool-b", "10.8.0.0", "10.8.0.9").await;
    let viewer = rack.user("red", "viewer").await;
    red.grant("/v1/policy", &viewer, "viewer").await;
    let viewer = rack.login("red", "viewer").await;
    let listed = viewer.all("/v1/ip-pools").await;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        viewer.get(&format!("/v1/ip-pools/{}", id(&listed[0]))).await.expect(200),
        listed[0]
    );
    assert_eq!(rack.all(&format!("{SILOS}/red/ip-pools")).await, listed);
    rack.delete("/v1/system/ip-pools/pool-a/silos/red").await.expect(204);
    assert_eq!(viewer.all("/v1/ip-pools").await, Vec::<Value>::new());
    viewer.get("/v1/ip-pools/pool-a").await.refused(404, "not found: ip-pool with name \"pool-a\"");
}

/// AZ-04: what a user may begin is finished, also when the user's role is taken away meanwhile.
#[tokio::test]
async fn an_operation_outlives_the_role_that_allowed_it() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    rack.pool_of("red", "pool-a", "10.7.0.0", "10.7.0.99").await;
    red.project("demo").await;
    let user = rack.user("red", "worker").await;
    red.grant("/v1/projects/demo/policy", &user, "limited_collaborator").await;
    let worker = rack.login("red", "worker").await;
    let fip = worker.floating_ip("demo", "front").await;
    let web = worker.running_instance("demo", "web").await;
    let fault = json!({"operation": "*", "fault": "delay", "delay_ms": 500, "times": 0});
    for sled in rack.sleds() {
        sled.fault(fault.clone()).await;
    }
    let attach = {
        let (worker, web, fip) = (worker.clone(), web.clone(), fip.clone());
        let path = format!("/v1/floating-ips/{}/attach", id(&fip));
        tokio::spawn(async move { worker.post(&path, attach_body(&web)).await })
    };
    nexus_tests::eventually("the attach has begun", async || {
        match red.floating_ip_now(&fip).await["instance_id"].is_null() {
            false => Ok(()),
            true => Err("detached"),
        }
    })
    .await;
    red.put("/v1/projects/demo/policy", json!({"role_assignments": []})).await.expect(200);
    attach.await.expect("the request ends").expect(202);
    for sled in rack.sleds() {
        sled.clear_faults().await;
    }
    rack.delivered_to(&fip, &web).await;
    worker
        .get("/v1/floating-ips/front?project=demo")
        .await
        .refused_about(404, "not found: project");
    // Nor does taking the address away need a role of the one who gave it.
    red.stop_instance(&web).await;
    rack.not_delivered(&fip).await;
    red.start_instance(&web).await;
    rack.delivered_to(&fip, &web).await;
}

/// AZ-08: how much of a pool others use is the operators' to know.
#[tokio::test]
async fn tenants_do_not_see_what_others_use() {
    let rack = TestRack::start().await;
    let red = tenant(&rack, "red").await;
    let pool = rack.pool_of("red", "pool-a", "10.7.0.0", "10.7.0.9").await;
    for part in ["utilization", "ranges", "silos"] {
        for (name, by) in [("pool-a", "name"), (id(&pool), "id"), ("pool-x", "name")] {
            let missing = format!("not found: ip-pool with {by} \"{name}\"");
            let reply = red.get(&format!("/v1/system/ip-pools/{name}/{part}")).await;
            reply.refused(404, &missing);
        }
    }
}

/// Who links a pool to a silo finds the link, though the silo is one that lists leave out.
#[tokio::test]
async fn the_link_of_a_hidden_silo_is_shown() {
    let rack = TestRack::start().await;
    rack.pool("shared", "10.7.0.0", "10.7.0.9").await;
    let hidden = with(silo_body("hidden"), json!({"discoverable": false}));
    let hidden = rack.post(SILOS, hidden).await.expect(201);
    let links = "/v1/system/ip-pools/shared/silos";
    rack.post(links, json!({"silo": "hidden", "is_default": false})).await.expect(201);
    let find =
        async || rack.all(links).await.into_iter().find(|link| link["silo_id"] == hidden["id"]);
    assert_eq!(find().await.expect("the link")["is_default"], false);
    rack.put(&format!("{links}/hidden"), json!({"is_default": true})).await.expect(200);
    assert_eq!(find().await.expect("the link")["is_default"], true);
    rack.delete(&format!("{links}/hidden")).await.expect(204);
    assert_eq!(find().await, None);
}
