//! The requests that clients make, by the names of what they are about.
//!
//! Names are fixed, so a plan does not depend on what earlier requests were answered: `f3` is
//! whatever floating IP has that name when the request is made, or none.

use reqwest::Method;
use serde_json::{Value, json};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The project that everything is in.
pub const PROJECT: &str = "chaos";
/// The pool whose ranges and link stay.
pub const POOL: &str = "steady";
/// The pool whose ranges and link come and go.
pub const SPARE: &str = "spare";
/// The pool of IPv6 addresses.
pub const POOL_V6: &str = "steady-v6";
/// Floating IPs that there may be.
pub const FLOATING_IPS: usize = 12;
/// The first floating IPs are IPv4, this one and those after it IPv6.
pub const FIRST_V6: usize = 8;
/// Instances that there may be.
pub const INSTANCES: usize = 6;
/// Ranges that the spare pool may have.
pub const RANGES: usize = 2;
/// Addresses of the pool [`POOL`]: few, so that one that is released is soon somebody else's.
const POOL_SIZE: usize = 28;
/// Addresses of each range of the spare pool.
const RANGE_SIZE: usize = 8;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of operations and of what they are about say it")]
pub enum Request {
    FipCreate {
        fip: usize,
        spare: bool,
    },
    FipDelete {
        fip: usize,
    },
    FipView {
        fip: usize,
    },
    FipAttach {
        fip: usize,
        instance: usize,
    },
    FipDetach {
        fip: usize,
    },
    EphemeralAttach {
        instance: usize,
    },
    EphemeralDetach {
        instance: usize,
    },
    InstanceCreate {
        instance: usize,
        ephemeral: bool,
        fip: Option<usize>,
    },
    InstanceDelete {
        instance: usize,
    },
    InstanceView {
        instance: usize,
    },
    Addresses {
        instance: usize,
    },
    Start {
        instance: usize,
    },
    Stop {
        instance: usize,
    },
    Reboot {
        instance: usize,
    },
    /// The id of an instance, which the operator's API wants, and the index of a sled.
    Migrate {
        instance: usize,
        id: String,
        sled: usize,
        sled_id: String,
    },
    RangeAdd {
        range: usize,
    },
    RangeRemove {
        range: usize,
    },
    Ranges,
    Link,
    Unlink,
    Links,
}

/// The name of a floating IP.
pub fn fip_name(index: usize) -> String {
    format!("f{index}")
}

/// The name of an instance.
pub fn instance_name(index: usize) -> String {
    format!("i{index}")
}

/// The name under which histories speak of a range of the spare pool.
pub fn range_name(index: usize) -> String {
    format!("range{index}")
}

/// The name under which histories speak of the spare pool's link.
pub const LINK: &str = "link";

/// First and last address of the pool [`POOL`].
pub fn pool_range() -> (IpAddr, IpAddr) {
    (address(0), address(POOL_SIZE - 1))
}

/// First and last address of a range of the spare pool.
pub fn spare_range(index: usize) -> (IpAddr, IpAddr) {
    let first = POOL_SIZE + index * RANGE_SIZE;
    (address(first), address(first + RANGE_SIZE - 1))
}

/// First and last address of the pool [`POOL_V6`].
pub fn pool_v6_range() -> (IpAddr, IpAddr) {
    (address(ADDRESSES_V4), address(ADDRESSES - 1))
}

/// How many addresses the IPv4 pools can have.
const ADDRESSES_V4: usize = POOL_SIZE + RANGES * RANGE_SIZE;

/// How many addresses all pools can have. There is an IPv6 address for each floating IP that may
/// want one, so that one that is released is soon somebody else's.
pub const ADDRESSES: usize = ADDRESSES_V4 + FLOATING_IPS - FIRST_V6;

/// The address with this number, among those of all pools.
pub fn address(number: usize) -> IpAddr {
    match number.checked_sub(ADDRESSES_V4) {
        None => {
            let first = u32::from(Ipv4Addr::new(10, 77, 0, 0));
            Ipv4Addr::from(first + number as u32).into()
        }
        Some(number) => {
            let first = u128::from(Ipv6Addr::new(0x2001, 0xdb8, 77, 0, 0, 0, 0, 0));
            Ipv6Addr::from(first + number as u128).into()
        }
    }
}

impl Request {
    /// The word under which it is counted.
    pub fn operation(&self) -> &'static str {
        match self {
            Request::FipCreate { .. } => "floating-ip create",
            Request::FipDelete { .. } => "floating-ip delete",
            Request::FipView { .. } => "floating-ip view",
            Request::FipAttach { .. } => "floating-ip attach",
            Request::FipDetach { .. } => "floating-ip detach",
            Request::EphemeralAttach { .. } => "ephemeral attach",
            Request::EphemeralDetach { .. } => "ephemeral detach",
            Request::InstanceCreate { .. } => "instance create",
            Request::InstanceDelete { .. } => "instance delete",
            Request::InstanceView { .. } => "instance view",
            Request::Addresses { .. } => "instance addresses",
            Request::Start { .. } => "instance start",
            Request::Stop { .. } => "instance stop",
            Request::Reboot { .. } => "instance reboot",
            Request::Migrate { .. } => "instance migrate",
            Request::RangeAdd { .. } => "range add",
            Request::RangeRemove { .. } => "range remove",
            Request::Ranges => "range list",
            Request::Link => "pool link",
            Request::Unlink => "pool unlink",
            Request::Links => "pool link list",
        }
    }

    /// The names of what it is about.
    pub fn objects(&self) -> Vec<String> {
        match self {
            Request::FipCreate { fip, .. }
            | Request::FipDelete { fip }
            | Request::FipView { fip }
            | Request::FipDetach { fip } => vec![fip_name(*fip)],
            Request::FipAttach { fip, instance } => vec![fip_name(*fip), instance_name(*instance)],
            Request::InstanceCreate { instance, fip, .. } => {
                let fip = fip.iter().map(|fip| fip_name(*fip));
                std::iter::once(instance_name(*instance)).chain(fip).collect()
            }
            Request::EphemeralAttach { instance }
            | Request::EphemeralDetach { instance }
            | Request::InstanceDelete { instance }
            | Request::InstanceView { instance }
            | Request::Addresses { instance }
            | Request::Start { instance }
            | Request::Stop { instance }
            | Request::Reboot { instance }
            | Request::Migrate { instance, .. } => vec![instance_name(*instance)],
            Request::RangeAdd { range } | Request::RangeRemove { range } => {
                vec![range_name(*range)]
            }
            Request::Ranges => (0..RANGES).map(range_name).collect(),
            Request::Link | Request::Unlink | Request::Links => vec![LINK.to_string()],
        }
    }

    /// Whether it is one for the operator's API.
    pub fn is_operators(&self) -> bool {
        matches!(self, Request::Migrate { .. })
    }

    /// What is sent: method, path and body.
    pub fn http(&self) -> (Method, String, Option<Value>) {
        match self {
            Request::RangeAdd { .. }
            | Request::RangeRemove { .. }
            | Request::Ranges
            | Request::Link
            | Request::Unlink
            | Request::Links => self.http_of_pool(),
            Request::FipCreate { .. }
            | Request::FipDelete { .. }
            | Request::FipView { .. }
            | Request::FipAttach { .. }
            | Request::FipDetach { .. } => self.http_of_fip(),
            _ => self.http_of_instance(),
        }
    }

    fn http_of_fip(&self) -> (Method, String, Option<Value>) {
        let of = |fip: &usize, action: &str| {
            format!("/v1/floating-ips/{}{action}?project={PROJECT}", fip_name(*fip))
        };
        match self {
            Request::FipCreate { fip, spare } => {
                let selector = pool_selector(match spare {
                    _ if *fip >= FIRST_V6 => POOL_V6,
                    true => SPARE,
                    false => POOL,
                });
                let allocator = json!({"type": "auto", "pool_selector": selector});
                let body = json!({"name": fip_name(*fip), "description": "an address",
                    "address_allocator": allocator});
                (Method::POST, format!("/v1/floating-ips?project={PROJECT}"), Some(body))
            }
            Request::FipDelete { fip } => (Method::DELETE, of(fip, ""), None),
            Request::FipAttach { fip, instance } => {
                let body = json!({"kind": "instance", "parent": instance_name(*instance)});
                (Method::POST, of(fip, "/attach"), Some(body))
            }
            Request::FipDetach { fip } => (Method::POST, of(fip, "/detach"), None),
            Request::FipView { fip } => (Method::GET, of(fip, ""), None),
            _ => self.http_of_instance(),
        }
    }

    fn http_of_instance(&self) -> (Method, String, Option<Value>) {
        let of = |instance: &usize, action: &str| {
            format!("/v1/instances/{}{action}?project={PROJECT}", instance_name(*instance))
        };
        const EPHEMERAL: &str = "/external-ips/ephemeral";
        match self {
            Request::InstanceCreate { instance, ephemeral, fip } => {
                let body = Some(instance_body(*instance, *ephemeral, *fip));
                (Method::POST, format!("/v1/instances?project={PROJECT}"), body)
            }
            Request::InstanceDelete { instance } => (Method::DELETE, of(instance, ""), None),
            Request::EphemeralAttach { instance } => {
                let body = json!({"pool_selector": pool_selector(POOL)});
                (Method::POST, of(instance, EPHEMERAL), Some(body))
            }
            Request::EphemeralDetach { instance } => {
                (Method::DELETE, of(instance, EPHEMERAL), None)
            }
            Request::Addresses { instance } => (Method::GET, of(instance, "/external-ips"), None),
            Request::Start { instance } => (Method::POST, of(instance, "/start"), None),
            Request::Stop { instance } => (Method::POST, of(instance, "/stop"), None),
            Request::Reboot { instance } => (Method::POST, of(instance, "/reboot"), None),
            Request::Migrate { id, sled_id, .. } => {
                let body = json!({"dst_sled_id": sled_id});
                (Method::POST, format!("/instances/{id}/migrate"), Some(body))
            }
            Request::InstanceView { instance } => (Method::GET, of(instance, ""), None),
            _ => self.http_of_pool(),
        }
    }

    fn http_of_pool(&self) -> (Method, String, Option<Value>) {
        let pool = format!("/v1/system/ip-pools/{SPARE}");
        match self {
            Request::RangeAdd { range } => {
                (Method::POST, format!("{pool}/ranges/add"), Some(range_body(spare_range(*range))))
            }
            Request::RangeRemove { range } => {
                let body = Some(range_body(spare_range(*range)));
                (Method::POST, format!("{pool}/ranges/remove"), body)
            }
            Request::Link => {
                let body = json!({"silo": nexus_dev::rack::SILO, "is_default": false});
                (Method::POST, format!("{pool}/silos"), Some(body))
            }
            Request::Unlink => {
                (Method::DELETE, format!("{pool}/silos/{}", nexus_dev::rack::SILO), None)
            }
            Request::Links => (Method::GET, format!("{pool}/silos"), None),
            _ => (Method::GET, format!("{pool}/ranges"), None),
        }
    }
}

/// The body that names a range.
pub fn range_body((first, last): (IpAddr, IpAddr)) -> Value {
    json!({"first": first, "last": last})
}

fn pool_selector(pool: &str) -> Value {
    json!({"type": "explicit", "pool": pool})
}

fn instance_body(instance: usize, ephemeral: bool, fip: Option<usize>) -> Value {
    let mut external = Vec::new();
    if ephemeral {
        external.push(json!({"type": "ephemeral", "pool_selector": pool_selector(POOL)}));
    }
    if let Some(fip) = fip {
        external.push(json!({"type": "floating", "floating_ip": fip_name(fip)}));
    }
    let mut body = nexus_tests::make::instance_body(&instance_name(instance));
    body["external_ips"] = Value::Array(external);
    body
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.operation(), self.objects().join(" "))?;
        match self {
            Request::FipCreate { spare: true, fip } if *fip < FIRST_V6 => {
                f.write_str(" from the spare pool")
            }
            Request::InstanceCreate { ephemeral: true, .. } => f.write_str(" with an ephemeral IP"),
            Request::Migrate { sled, .. } => write!(f, " to sled {sled}"),
            _ => Ok(()),
        }
    }
}
