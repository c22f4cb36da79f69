//! Instances: nothing of their own, but disks, interfaces and addresses in older forms.

use super::address::modernize_external_ip;
use super::disk::modernize_disk;
use super::network_interface::modernize_attachment;
use super::{Fields, OldSpellings};
use crate::types::{InstanceCreate, InstanceUpdate};
use dropshot::HttpError;
use nexus_common::NameOrId;
use serde_json::{Value, json};

impl OldSpellings for InstanceCreate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        fields.rewrite_each("external_ips", modernize_external_ip)?;
        fields.rewrite("network_interfaces", modernize_attachment)?;
        fields.rewrite("boot_disk", modernize_disk_attachment)?;
        fields.rewrite_each("disks", modernize_disk_attachment)?;
        modernize_multicast_groups(fields);
        Ok(None)
    }
}

/// What older bodies leave out was not there to be set, or `null`.
impl OldSpellings for InstanceUpdate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        for name in ["boot_disk", "auto_restart_policy", "cpu_platform"] {
            fields.set_if_absent(name, Value::Null);
        }
        fields.set_if_absent("enable_jumbo_frames", false);
        modernize_multicast_groups(fields);
        Ok(None)
    }
}

/// From when a group was joined by its name or id alone.
fn modernize_multicast_groups(fields: &mut Fields) {
    fields.replace_each("multicast_groups", |group| match group {
        Value::String(group) => json!({"group": group}),
        newest => newest,
    });
}

fn modernize_disk_attachment(fields: &mut Fields) -> Result<(), HttpError> {
    if fields.is("type", "create") { modernize_disk(fields) } else { Ok(()) }
}

#[cfg(test)]
mod test {
    use super::super::test_util::{assert_means, read};
    use super::*;

    fn body(more: Value) -> Value {
        let mut body = json!({
            "name": "i", "description": "", "ncpus": 2, "memory": 1 << 30, "hostname": "i",
        });
        let fields = body.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        body
    }

    #[test]
    fn every_part_of_an_older_instance_has_a_newest_form() {
        let floating = json!({"type": "floating", "floating_ip": "f"});
        let pool = json!({"type": "explicit", "pool": "p"});
        let v6 = json!({"type": "auto", "ip_version": "v6"});
        let disk = |name: &str, value: &Value| json!({"type": "create", "name": "d", "description": "", "size": 1 << 30, name: value});
        let source = json!({"type": "image", "image_id": uuid::Uuid::nil()});
        let backend = json!({"type": "distributed", "disk_source": source});
        assert_means::<InstanceCreate>(
            body(json!({
                "external_ips": [
                    {"type": "ephemeral"},
                    {"type": "ephemeral", "pool": null},
                    {"type": "ephemeral", "pool": "p"},
                    {"type": "ephemeral", "pool_name": "p"},
                    {"type": "ephemeral", "ip_version": "v6"},
                    {"type": "floating", "floating_ip_name": "f"},
                    floating,
                ],
                "network_interfaces": {"type": "default"},
                "boot_disk": disk("disk_source", &source),
                "disks": [disk("disk_source", &source), {"type": "attach", "name": "e"}],
                "multicast_groups": ["g", {"group": "h"}],
            })),
            body(json!({
                "external_ips": [
                    {"type": "ephemeral"},
                    {"type": "ephemeral"},
                    {"type": "ephemeral", "pool_selector": pool},
                    {"type": "ephemeral", "pool_selector": pool},
                    {"type": "ephemeral", "pool_selector": v6},
                    floating,
                    floating,
                ],
                "network_interfaces": {"type": "default_ipv4"},
                "boot_disk": disk("disk_backend", &backend),
                "disks": [disk("disk_backend", &backend), {"type": "attach", "name": "e"}],
                "multicast_groups": [{"group": "g"}, {"group": "h"}],
            })),
        );
    }

    #[test]
    fn an_older_update_sets_what_it_does_not_name_to_nothing() {
        assert_means::<InstanceUpdate>(
            json!({"ncpus": 2, "memory": 1 << 30, "boot_disk": "root"}),
            json!({
                "ncpus": 2, "memory": 1 << 30, "boot_disk": "root", "auto_restart_policy": null,
                "cpu_platform": null, "enable_jumbo_frames": false,
            }),
        );
        let newest = json!({"ncpus": 2, "memory": 1 << 30});
        serde_json::from_value::<InstanceUpdate>(newest).expect_err("a newest one names them");
    }

    #[test]
    fn contradictions_name_both_fields() {
        let auto = json!({"type": "auto"});
        for (external_ip, a, b) in [
            (json!({"type": "ephemeral", "pool": "p", "ip_version": "v4"}), "pool", "ip_version"),
            (
                json!({"type": "ephemeral", "pool_name": "p", "pool_selector": auto}),
                "pool_name",
                "pool_selector",
            ),
            (
                json!({"type": "floating", "floating_ip_name": "f", "floating_ip": "g"}),
                "floating_ip_name",
                "floating_ip",
            ),
        ] {
            let read = read::<InstanceCreate>(body(json!({"external_ips": [external_ip]})));
            let error = read.map(|_| ()).expect_err("a contradiction");
            assert!(error.starts_with(&format!("cannot specify both `{a}` and `{b}`")), "{error}");
        }
    }

    #[test]
    fn what_is_no_spelling_at_all_is_left_to_the_parser() {
        for broken in [
            json!({"external_ips": "ephemeral"}),
            json!({"external_ips": ["ephemeral"]}),
            json!({"network_interfaces": "default"}),
            json!({"disks": {"type": "create"}}),
        ] {
            read::<InstanceCreate>(body(broken.clone())).map(|_| ()).expect_err("not an instance");
        }
    }
}
