//! Addresses and pools: `ip`, `address`, `pool`, `pool_name`, `ip_version`, `address_selector`.

use super::fields::{DIFFER, both, both_since, parse_pool};
use super::{Fields, OldSpellings};
use crate::types::{EphemeralIpCreate, FloatingIpCreate};
use dropshot::HttpError;
use nexus_common::NameOrId;
use serde_json::{Value, json};
use std::net::IpAddr;

const IP_DECIDES: &str = "the IP version is determined by the explicit IP address";
const POOL_DECIDES: &str = "`ip_version` is only used when allocating from the default pool";

impl OldSpellings for FloatingIpCreate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        let mut allocator_name = "address_allocator";
        if let Some(selector) = fields.take("address_selector") {
            if fields.has("address_allocator") {
                return Err(both("address_selector", "address_allocator"));
            }
            fields.set("address_allocator", selector);
            allocator_name = "address_selector";
        }
        let ip_name = if fields.has("address") { "address" } else { "ip" };
        let ip = take_address(fields)?;
        let pool = fields.take("pool");
        let ip_version = fields.take("ip_version");

        if fields.has("address_allocator") {
            let given = [(ip_name, &ip), ("pool", &pool), ("ip_version", &ip_version)];
            if let Some((name, _)) = given.into_iter().find(|(_, value)| value.is_some()) {
                return Err(both(name, allocator_name));
            }
            return take_pool_beside_address(fields);
        }
        if let Some(ip) = ip {
            if ip_version.is_some() {
                return Err(both_since(ip_name, "ip_version", IP_DECIDES));
            }
            fields.set("address_allocator", json!({"type": "explicit", "ip": ip}));
            return pool.map(parse_pool).transpose();
        }
        if let Some(selector) = pool_selector("pool", pool, ip_version)? {
            fields.set("address_allocator", json!({"type": "auto", "pool_selector": selector}));
        }
        Ok(None)
    }
}

/// `address` and `ip` are the same address, if they are both there.
fn take_address(fields: &mut Fields) -> Result<Option<Value>, HttpError> {
    let parsed = |value: &Value| value.as_str().and_then(|ip| ip.parse::<IpAddr>().ok());
    match (fields.take("address"), fields.take("ip")) {
        (Some(a), Some(b)) if a != b && (parsed(&a).is_none() || parsed(&a) != parsed(&b)) => {
            Err(both_since("address", "ip", DIFFER))
        }
        (address, ip) => Ok(address.or(ip)),
    }
}

/// The explicit allocator had a pool too, for a while.
fn take_pool_beside_address(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
    let mut pool = None;
    fields.rewrite("address_allocator", |allocator| {
        if allocator.is("type", "explicit") {
            pool = allocator.take("pool").map(parse_pool).transpose()?;
        }
        Ok(())
    })?;
    Ok(pool)
}

/// The selector that a pool or an IP version stands for, if one of them was given.
fn pool_selector(
    pool_name: &str,
    pool: Option<Value>,
    ip_version: Option<Value>,
) -> Result<Option<Value>, HttpError> {
    match (pool, ip_version) {
        (None, None) => Ok(None),
        (Some(pool), None) => Ok(Some(json!({"type": "explicit", "pool": pool}))),
        (None, Some(version)) => Ok(Some(json!({"type": "auto", "ip_version": version}))),
        (Some(_), Some(_)) => Err(both_since(pool_name, "ip_version", POOL_DECIDES)),
    }
}

/// Puts `pool_selector` in the place of `pool`, `pool_name` and `ip_version`.
fn modernize_pool_selector(fields: &mut Fields) -> Result<(), HttpError> {
    let pool_name = if fields.has("pool_name") { "pool_name" } else { "pool" };
    let pool = fields.take_either("pool_name", "pool")?;
    let ip_version = fields.take("ip_version");

    if fields.has("pool_selector") {
        let given = [(pool_name, &pool), ("ip_version", &ip_version)];
        return match given.into_iter().find(|(_, value)| value.is_some()) {
            Some((name, _)) => Err(both(name, "pool_selector")),
            None => Ok(()),
        };
    }
    if let Some(selector) = pool_selector(pool_name, pool, ip_version)? {
        fields.set("pool_selector", selector);
    }
    Ok(())
}

impl OldSpellings for EphemeralIpCreate {
    fn modernize(fields: &mut Fields) -> Result<Option<NameOrId>, HttpError> {
        modernize_pool_selector(fields)?;
        Ok(None)
    }
}

/// Rewrites an entry of a new instance's `external_ips`.
pub fn modernize_external_ip(fields: &mut Fields) -> Result<(), HttpError> {
    if fields.is("type", "ephemeral") {
        modernize_pool_selector(fields)?;
    } else if fields.is("type", "floating")
        && let Some(floating_ip) = fields.take_either("floating_ip_name", "floating_ip")?
    {
        fields.set("floating_ip", floating_ip);
    }
    Ok(())
}

#[cfg(test)]
mod test {
    use super::super::test_util::{assert_means, read};
    use super::*;
    use crate::types::AddressAllocator;

    /// A floating IP to create, with these fields beside its name.
    fn body(more: &Value) -> Value {
        let mut body = json!({"name": "f", "description": ""});
        let fields = body.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        body
    }

    fn refusal(more: Value) -> String {
        let read = read::<FloatingIpCreate>(body(&more));
        read.map(|_| ()).expect_err(&more.to_string())
    }

    #[test]
    fn every_older_floating_ip_has_a_newest_form() {
        let explicit = json!({"type": "explicit", "ip": "10.0.0.1"});
        let pool = json!({"type": "auto", "pool_selector": {"type": "explicit", "pool": "p"}});
        let v6 = json!({"type": "auto", "pool_selector": {"type": "auto", "ip_version": "v6"}});
        let auto = json!({"type": "auto"});
        for (old, new) in [
            (json!({}), &auto),
            (json!({"address": null, "ip": null, "pool": null, "ip_version": null}), &auto),
            (json!({"address": "10.0.0.1"}), &explicit),
            (json!({"ip": "10.0.0.1"}), &explicit),
            (json!({"address": "10.0.0.1", "ip": "10.0.0.1"}), &explicit),
            (json!({"pool": "p"}), &pool),
            (json!({"ip": null, "pool": "p"}), &pool),
            (json!({"ip_version": "v6"}), &v6),
            (json!({"address_selector": explicit}), &explicit),
            (json!({"address_selector": pool}), &pool),
            (json!({"address_allocator": v6}), &v6),
            (json!({"address_allocator": v6, "pool": null}), &v6),
        ] {
            assert_means::<FloatingIpCreate>(
                body(&old),
                body(&json!({"address_allocator": new.clone()})),
            );
        }
    }

    #[test]
    fn a_pool_beside_an_address_is_not_lost() {
        let in_allocator = json!({"type": "explicit", "ip": "10.0.0.1", "pool": "p"});
        for old in [
            json!({"ip": "10.0.0.1", "pool": "p"}),
            json!({"address": "10.0.0.1", "pool": "p"}),
            json!({"address_selector": in_allocator}),
            json!({"address_allocator": in_allocator}),
        ] {
            let (floating_ip, pool) = read::<FloatingIpCreate>(body(&old)).expect("a floating IP");
            assert!(matches!(floating_ip.address_allocator, AddressAllocator::Explicit { .. }));
            assert_eq!(pool, Some("p".parse().expect("a name")), "{old}");
        }
        assert_eq!(
            refusal(json!({"ip": "10.0.0.1", "pool": "A_B"})),
            "unable to parse JSON body: pool: data did not match any variant of untagged enum \
             NameOrId"
        );
    }

    #[test]
    fn contradictions_name_both_fields() {
        let auto = json!({"type": "auto"});
        for (body, message) in [
            (
                json!({"ip": "10.0.0.1", "ip_version": "v4"}),
                "cannot specify both `ip` and `ip_version`; the IP version is determined by the \
                 explicit IP address",
            ),
            (
                json!({"pool": "p", "ip_version": "v4"}),
                "cannot specify both `pool` and `ip_version`; `ip_version` is only used when \
                 allocating from the default pool",
            ),
            (
                json!({"address": "10.0.0.1", "ip": "10.0.0.2"}),
                "cannot specify both `address` and `ip`; they are two names of one field, and the \
                 values differ",
            ),
            (
                json!({"address": "10.0.0.1", "address_allocator": auto}),
                "cannot specify both `address` and `address_allocator`",
            ),
            (
                json!({"pool": "p", "address_allocator": auto}),
                "cannot specify both `pool` and `address_allocator`",
            ),
            (
                json!({"ip_version": "v4", "address_selector": auto}),
                "cannot specify both `ip_version` and `address_selector`",
            ),
            (
                json!({"address_selector": auto, "address_allocator": auto}),
                "cannot specify both `address_selector` and `address_allocator`",
            ),
        ] {
            assert_eq!(refusal(body), message);
        }
    }

    #[test]
    fn a_misspelling_is_no_older_spelling() {
        for (body, name) in [
            (json!({"address_allocator": {"type": "auto", "pool_selecter": {}}}), "pool_selecter"),
            (json!({"address_allocater": {"type": "auto"}}), "address_allocater"),
            (json!({"pool_selector": {"type": "auto"}}), "pool_selector"),
            (json!({"pool_name": "p"}), "pool_name"),
            (json!({"address_allocator": {"type": "auto", "pool": "p"}}), "pool"),
        ] {
            let error = refusal(body);
            assert!(error.starts_with(&format!("unknown field `{name}`")), "{error}");
        }
    }

    #[test]
    fn every_older_ephemeral_address_has_a_newest_form() {
        let pool = json!({"pool_selector": {"type": "explicit", "pool": "p"}});
        let v4 = json!({"pool_selector": {"type": "auto", "ip_version": "v4"}});
        for (old, new) in [
            (json!({}), &json!({})),
            (json!({"pool": null}), &json!({})),
            (json!({"pool": "p"}), &pool),
            (json!({"pool_name": "p"}), &pool),
            (json!({"ip_version": "v4"}), &v4),
            (v4.clone(), &v4),
        ] {
            assert_means::<EphemeralIpCreate>(old, new.clone());
        }
    }

    #[test]
    fn contradictions_of_an_ephemeral_address_name_both_fields() {
        let auto = json!({"type": "auto"});
        for (body, a, b) in [
            (json!({"pool": "p", "ip_version": "v4"}), "pool", "ip_version"),
            (json!({"pool": "p", "pool_selector": auto}), "pool", "pool_selector"),
            (json!({"ip_version": "v4", "pool_selector": auto}), "ip_version", "pool_selector"),
            (json!({"pool_name": "p", "pool": "q"}), "pool_name", "pool"),
        ] {
            let error = read::<EphemeralIpCreate>(body).map(|_| ()).expect_err("a contradiction");
            assert!(error.starts_with(&format!("cannot specify both `{a}` and `{b}`")), "{error}");
        }
    }
}
