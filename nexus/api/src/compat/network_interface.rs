//! Network interfaces: `ip` and `transit_ips`, from when an interface had one address.

use super::fields::{both, parse};
use super::{Fields, OldSpellings};
use crate::types::InstanceNetworkInterfaceCreate;
use dropshot::HttpError;
use nexus_common::{Error, IpVersion, NameOrId};
use oxnet::IpNet;
use serde_json::{Value, json};
use std::net::IpAddr;

impl OldSpellings for InstanceNetworkInterfaceCreate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        modernize_interface(fields)?;
        Ok(None)
    }
}

/// Rewrites the interfaces that a new instance gets.
pub fn modernize_attachment(fields: &mut Fields) -> Result<(), HttpError> {
    if fields.is("type", "default") {
        // From when there was only one IP version.
        fields.set("type", "default_ipv4");
    }
    if fields.is("type", "create") {
        fields.rewrite_each("params", modernize_interface)?;
    }
    Ok(())
}

/// Rewrites an interface to create. One with nothing of an older form has what the newest form
/// has by default: an address of each version.
fn modernize_interface(fields: &mut Fields) -> Result<(), HttpError> {
    let ip = fields.take("ip");
    let transit_ips = fields.take("transit_ips");
    if fields.has("ip_config") {
        let given = [("ip", &ip), ("transit_ips", &transit_ips)];
        return match given.into_iter().find(|(_, value)| value.is_some()) {
            Some((name, _)) => Err(both(name, "ip_config")),
            None => Ok(()),
        };
    }
    if ip.is_some() || transit_ips.is_some() {
        fields.set("ip_config", ip_config(ip, transit_ips)?);
    }
    Ok(())
}

/// The addresses that an address and networks of one version stand for; IPv4 if there are none.
fn ip_config(ip: Option<Value>, transit_ips: Option<Value>) -> Result<Value, HttpError> {
    let ip: Option<IpAddr> = ip.map(|ip| parse("ip", ip)).transpose()?;
    let transit_ips: Vec<IpNet> =
        transit_ips.map(|nets| parse("transit_ips", nets)).transpose()?.unwrap_or_default();

    let has_v4 = transit_ips.iter().any(IpNet::is_ipv4);
    let has_v6 = transit_ips.iter().any(IpNet::is_ipv6);
    let version = match ip.map(IpVersion::of) {
        Some(IpVersion::V4) if has_v6 => {
            return Err(mixed("Cannot specify IPv6 transit IPs with an IPv4 address"));
        }
        Some(IpVersion::V6) if has_v4 => {
            return Err(mixed("Cannot specify IPv4 transit IPs with an IPv6 address"));
        }
        None if has_v4 && has_v6 => {
            return Err(mixed("Cannot specify both IPv4 and IPv6 transit IPs"));
        }
        Some(version) => version,
        None if has_v6 => IpVersion::V6,
        None => IpVersion::V4,
    };
    let ip = match ip {
        Some(ip) => json!({"type": "explicit", "value": ip}),
        None => json!({"type": "auto"}),
    };
    Ok(json!({"type": version, "value": {"ip": ip, "transit_ips": transit_ips}}))
}

fn mixed(message: &str) -> HttpError {
    Error::invalid(message).into()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::compat::OldSpellings;
    use crate::compat::test_util::read;
    use crate::types::{InstanceCreate, InstanceNetworkInterfaceAttachment, PrivateIpStackCreate};

    /// The interfaces of an instance whose `network_interfaces` are these.
    fn interfaces(value: Value) -> Result<InstanceNetworkInterfaceAttachment, String> {
        let body = json!({
            "name": "i", "description": "", "ncpus": 2, "memory": 1 << 30, "hostname": "i",
            "network_interfaces": value,
        });
        read::<InstanceCreate>(body).map(|(instance, _)| instance.network_interfaces)
    }

    fn ip_config_of(more: Value) -> Result<Value, String> {
        let mut interface =
            json!({"name": "n", "description": "", "vpc_name": "v", "subnet_name": "s"});
        let fields = interface.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        let read = interfaces(json!({"type": "create", "params": [interface]}))?;
        let InstanceNetworkInterfaceAttachment::Create(mut params) = read else {
            panic!("the interfaces are to be created");
        };
        Ok(json!(params.remove(0).ip_config))
    }

    #[test]
    fn the_older_default_is_ipv4() {
        let v4 = InstanceNetworkInterfaceAttachment::DefaultIpv4;
        assert_eq!(interfaces(json!({"type": "default"})), Ok(v4));
        let none = InstanceNetworkInterfaceAttachment::None;
        assert_eq!(interfaces(json!({"type": "none"})), Ok(none));
    }

    #[test]
    fn every_older_interface_has_a_newest_form() {
        let stack = |version: &str, ip: Value, transit_ips: Value| json!({"type": version, "value": {"ip": ip, "transit_ips": transit_ips}});
        let auto = json!({"type": "auto"});
        let v4 = json!({"type": "explicit", "value": "172.30.0.9"});
        let v6 = json!({"type": "explicit", "value": "fd00::9"});
        for (old, new) in [
            (json!({}), json!(PrivateIpStackCreate::default())),
            (json!({"ip": null}), json!(PrivateIpStackCreate::default())),
            (json!({"transit_ips": []}), stack("v4", auto.clone(), json!([]))),
            (json!({"ip": "172.30.0.9"}), stack("v4", v4, json!([]))),
            (
                json!({"ip": "fd00::9", "transit_ips": ["fd01::/64"]}),
                stack("v6", v6, json!(["fd01::/64"])),
            ),
            (
                json!({"transit_ips": ["10.1.0.0/16"]}),
                stack("v4", auto.clone(), json!(["10.1.0.0/16"])),
            ),
            (json!({"transit_ips": ["fd01::/64"]}), stack("v6", auto, json!(["fd01::/64"]))),
        ] {
            assert_eq!(ip_config_of(old.clone()), Ok(new), "{old}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        for (old, message) in [
            (
                json!({"ip": "172.30.0.9", "transit_ips": ["fd01::/64"]}),
                "Cannot specify IPv6 transit IPs with an IPv4 address",
            ),
            (
                json!({"ip": "fd00::9", "transit_ips": ["10.1.0.0/16"]}),
                "Cannot specify IPv4 transit IPs with an IPv6 address",
            ),
            (
                json!({"transit_ips": ["10.1.0.0/16", "fd01::/64"]}),
                "Cannot specify both IPv4 and IPv6 transit IPs",
            ),
            (
                json!({"ip": "fd00::9", "ip_config": PrivateIpStackCreate::default()}),
                "cannot specify both `ip` and `ip_config`",
            ),
        ] {
            assert_eq!(ip_config_of(old), Err(message.to_string()));
        }
    }

    #[test]
    fn an_instance_without_older_forms_is_left_alone() {
        let mut fields = Fields::default();
        assert_eq!(InstanceCreate::modernize(&mut fields).expect("nothing to do"), None);
        assert_eq!(fields, Fields::default());
    }
}
