//! What the walk finds: a silo with one of everything, another silo, and a user for every role.

use super::requests::Ids;
use nexus_tests::make::{attach_body, image_body, with};
use nexus_tests::tenants::silo_body;
use nexus_tests::{Client, TestRack};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The columns of the table in the documentation: users of the silo `red`, each with one role.
pub const ROLES: [&str; 12] = [
    "none",
    "project viewer",
    "project limited_collaborator",
    "project collaborator",
    "project admin",
    "silo viewer",
    "silo limited_collaborator",
    "silo collaborator",
    "silo admin",
    "fleet viewer",
    "fleet collaborator",
    "fleet admin",
];

pub struct World {
    /// By role; and `blue admin`, the administrator of another silo.
    pub clients: BTreeMap<&'static str, Client>,
    admin: Client,
    /// The administrator of `red`.
    owner: Client,
    ids: Ids,
}

/// A name that nothing else has.
fn fresh() -> String {
    format!("n{}", &Uuid::new_v4().simple().to_string()[..12])
}

fn id(view: &Value) -> String {
    view["id"].as_str().expect("an id").to_string()
}

impl World {
    pub async fn new(rack: &TestRack) -> Self {
        let red = with(silo_body("red"), json!({"admin_group_name": "red-admins"}));
        let red = rack.post("/v1/system/silos", red).await.expect(201);
        let mut clients = BTreeMap::new();
        // Whoever makes what the others then look at.
        let owner = rack.user("red", "owner").await;
        rack.grant("/v1/system/silos/red/policy", &owner, "admin").await;
        let owner = rack.login("red", "owner").await;
        let ids = make(rack, &owner, &red).await;
        for role in ROLES {
            let name = role.replace([' ', '_'], "-");
            let user = rack.user("red", &name).await;
            match role.split_once(' ') {
                Some(("fleet", role)) => rack.grant("/v1/system/policy", &user, role).await,
                Some(("silo", role)) => owner.grant("/v1/policy", &user, role).await,
                Some((_, role)) => owner.grant("/v1/projects/demo/policy", &user, role).await,
                None => {}
            }
            clients.insert(role, rack.login("red", &name).await);
        }
        rack.silo("blue").await;
        rack.pool_of("blue", "blue-pool", "10.8.0.0", "10.8.0.9").await;
        let blue = rack.user("blue", "admin").await;
        rack.grant("/v1/system/silos/blue/policy", &blue, "admin").await;
        clients.insert("blue admin", rack.login("blue", "admin").await);
        let mut world = World { clients, admin: rack.nexus(0), owner, ids };
        for (key, client, path) in [
            ("fleet_policy", &world.admin, "/v1/system/policy"),
            ("silo_policy", &world.owner, "/v1/policy"),
            ("project_policy", &world.owner, "/v1/projects/demo/policy"),
        ] {
            let policy = client.get(path).await.expect(200);
            world.ids.set(key, policy.to_string());
        }
        world
    }

    /// The ids of what there is, for a request of this client: some operations use up what they
    /// are about.
    pub async fn ids_for(&self, operation: &str, client: &Client) -> Ids {
        let mut ids = self.ids.clone();
        match operation {
            "local_idp_user_delete" => {
                let path = "/v1/system/identity-providers/local/users?silo=red";
                let password = json!({"mode": "login_disallowed"});
                let body = json!({"external_id": fresh(), "password": password});
                ids.set("fresh_user", id(&self.admin.post(path, body).await.expect(201)));
            }
            "image_delete" | "image_promote" => {
                let snapshot = json!({"id": ids.get("snapshot")});
                let image = self.owner.image("demo", &fresh(), &snapshot).await;
                ids.set("fresh_image", id(&image));
            }
            "image_demote" => {
                let body = image_body(&fresh(), &json!({"id": ids.get("snapshot")}));
                let image = self.owner.post("/v1/images", body).await.expect(201);
                ids.set("fresh_silo_image", id(&image));
            }
            "snapshot_delete" => {
                let snapshot = self.owner.snapshot("demo", &fresh(), "disk").await;
                ids.set("fresh_snapshot", id(&snapshot));
            }
            "current_user_ssh_key_view" | "current_user_ssh_key_delete" => {
                let body = json!({"name": fresh(), "description": "", "public_key": "k"});
                let key = client.post("/v1/me/ssh-keys", body).await.expect(201);
                ids.set("own_key", id(&key));
            }
            "device_auth_confirm" => {
                let (_, codes) = client.device_auth(None).await;
                ids.set("fresh_code", codes["user_code"].as_str().expect("a code").to_string());
            }
            "current_user_access_token_delete" => {
                let (program, codes) = client.device_auth(None).await;
                let body = json!({"user_code": codes["user_code"]});
                client.post("/device/confirm", body).await.expect(204);
                let token = client.device_token(&program, &codes).await.expect(200);
                ids.set("own_token", token["token_id"].as_str().expect("an id").to_string());
            }
            _ => {}
        }
        ids
    }
}

/// Makes one of everything in the silo `red`. What is deleted in the walk is in use, so that it
/// stays.
async fn make(rack: &TestRack, owner: &Client, red: &Value) -> Ids {
    let pool = rack.pool_of("red", "red-pool", "10.7.0.0", "10.7.0.99").await;
    let project = owner.project("demo").await;
    let fip = owner.floating_ip("demo", "front").await;
    let loose = owner.floating_ip("demo", "loose").await;
    let disk = owner.disk("demo", "disk").await;
    let snapshot = owner.snapshot("demo", "snapshot", "disk").await;
    let image = owner.image("demo", "image", &snapshot).await;
    let disks = json!({"disks": [{"type": "attach", "name": "disk"}]});
    let web = owner.instance_with("demo", "web", disks).await;
    owner.state_reached(&web, "running").await;
    let moving = owner.running_instance("demo", "moving").await;
    let attach = format!("/v1/floating-ips/{}/attach", id(&fip));
    owner.post(&attach, attach_body(&web)).await.expect(202);
    let carl = rack.user("red", "carl").await;
    let first = |page: Value| page["items"][0].clone();
    let nic = owner.get(&format!("/v1/network-interfaces?instance={}", id(&web))).await.expect(200);
    let vpc = owner.get("/v1/vpcs/default?project=demo").await.expect(200);
    let subnet = owner.get("/v1/vpc-subnets?project=demo&vpc=default").await.expect(200);
    let group = owner.get("/v1/groups").await.expect(200);
    let mut ids = Ids::random();
    for (key, view) in [
        ("silo", red),
        ("pool", &pool),
        ("project", &project),
        ("floating_ip", &fip),
        ("loose_ip", &loose),
        ("disk", &disk),
        ("instance", &web),
        ("moving_instance", &moving),
        ("user_id", &carl),
        ("interface", &first(nic)),
        ("vpc", &vpc),
        ("subnet", &first(subnet)),
        ("group_id", &first(group)),
        ("snapshot", &snapshot),
        ("image", &image),
    ] {
        ids.set(key, id(view));
    }
    ids.set("sled_id", rack.ready().sled_agents[0].id.to_string());
    ids
}
