//! What is going to happen, from a seed alone.
//!
//! Each client, the injector of faults and the prober draw from a stream of random numbers of
//! their own, so none depends on how fast another is: the same seed makes the same plan.

use crate::request::{ADDRESSES, FLOATING_IPS, INSTANCES, RANGES};
use nexus_dev::part::Part;
use rand::Rng;
use rand::SeedableRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_chacha::ChaCha12Rng;
use std::time::Duration;

/// Sleds of the rack.
pub const SLEDS: usize = 3;
/// Switches of the rack.
pub const SWITCHES: usize = 2;
/// Nexus servers of the rack.
pub const NEXUSES: usize = 2;

/// The stream of random numbers of somebody.
pub fn stream(seed: u64, of: Stream) -> ChaCha12Rng {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    rng.set_stream(match of {
        Stream::Faults => 0,
        Stream::Prober => 1,
        Stream::Client(index) => 2 + index as u64,
    });
    rng
}

/// Who draws random numbers.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// The injector of faults.
    Faults,
    /// The prober.
    Prober,
    /// The client with this index.
    Client(usize),
}

/// What a client does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// The Nexus that is asked.
    pub nexus: usize,
    /// How long the client thinks afterwards.
    pub pause: Duration,
}

/// What a client does: a request, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of operations and of what they are about say it")]
pub enum Action {
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
    Attach {
        fip: usize,
        instance: usize,
    },
    Detach {
        fip: usize,
    },
    /// A detach, and an attach elsewhere.
    Move {
        fip: usize,
        instance: usize,
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
    /// A stop, and a delete.
    InstanceDelete {
        instance: usize,
    },
    InstanceView {
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
    Migrate {
        instance: usize,
        sled: usize,
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
}

/// Everything that a client will do.
pub fn steps(seed: u64, client: usize) -> impl Iterator<Item = Step> {
    let mut rng = stream(seed, Stream::Client(client));
    std::iter::repeat_with(move || Step {
        action: action(&mut rng),
        nexus: rng.random_range(0..NEXUSES),
        pause: Duration::from_millis(rng.random_range(0..150)),
    })
}

fn action(rng: &mut ChaCha12Rng) -> Action {
    let fip = rng.random_range(0..FLOATING_IPS);
    let instance = rng.random_range(0..INSTANCES);
    let range = rng.random_range(0..RANGES);
    let sled = rng.random_range(0..SLEDS);
    let (spare, ephemeral) = (rng.random_bool(0.1), rng.random_bool(0.5));
    match rng.random_range(0..100) {
        0..12 => Action::FipCreate { fip, spare },
        12..15 => Action::FipDelete { fip },
        15..22 => Action::FipView { fip },
        22..38 => Action::Attach { fip, instance },
        38..45 => Action::Detach { fip },
        45..58 => Action::Move { fip, instance },
        58..64 => Action::EphemeralAttach { instance },
        64..68 => Action::EphemeralDetach { instance },
        68..76 => {
            let fip = rng.random_bool(0.3).then_some(fip);
            Action::InstanceCreate { instance, ephemeral, fip }
        }
        76..78 => Action::InstanceDelete { instance },
        78..81 => Action::InstanceView { instance },
        81..88 => Action::Start { instance },
        88..90 => Action::Stop { instance },
        90..91 => Action::Reboot { instance },
        91..94 => Action::Migrate { instance, sled },
        94..96 => Action::RangeAdd { range },
        96..97 => Action::RangeRemove { range },
        97..98 => Action::Ranges,
        98..99 => Action::Link,
        _ => Action::Unlink,
    }
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// How long it is quiet before.
    pub pause: Duration,
    /// What goes wrong.
    pub kind: TroubleKind,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The next calls of an operation of a simulator.
    Fault(Fault),
    /// Every fault is taken back.
    Clear,
    /// A process is killed, and started again after a time.
    #[allow(missing_docs, reason = "the fields are explained above")]
    Kill { part: Part, down: Duration },
    /// One of the VMMs on a sled crashes: the one with this number, counted around.
    #[allow(missing_docs, reason = "the fields are explained above")]
    Crash { sled: usize, number: usize },
}

/// A fault of a simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A switch or a sled.
    pub part: Part,
    /// The operation that is disturbed.
    pub operation: &'static str,
    /// `error`, `hang`, `disconnect` or `delay`.
    pub kind: &'static str,
    /// The length of a delay.
    pub delay: Duration,
    /// Whether the change is made and only its answer lost.
    pub after_apply: bool,
    /// How many calls are disturbed; 0: all until faults are taken back.
    pub times: u32,
}

/// Everything that will go wrong, in rounds. Each round kills a process of each kind.
pub fn rounds(seed: u64) -> impl Iterator<Item = Vec<Trouble>> {
    let mut rng = stream(seed, Stream::Faults);
    std::iter::repeat_with(move || round(&mut rng))
}

fn round(rng: &mut ChaCha12Rng) -> Vec<Trouble> {
    const FAULTS: usize = 12;
    const CLEARS: usize = 4;
    let mut kinds = vec![kill(rng, Part::Postgres), crash(rng), crash(rng)];
    for (part, count) in [(Part::Nexus as fn(usize) -> Part, NEXUSES), (Part::Dpd, SWITCHES)] {
        let part = part(rng.random_range(0..count));
        kinds.push(kill(rng, part));
    }
    if rng.random_bool(0.5) {
        let part = Part::SledAgent(rng.random_range(0..SLEDS));
        kinds.push(kill(rng, part));
    }
    kinds.extend(std::iter::repeat_with(|| TroubleKind::Fault(fault(rng))).take(FAULTS));
    kinds.extend(std::iter::repeat_n(TroubleKind::Clear, CLEARS));
    kinds.shuffle(rng);
    let mut pause = || Duration::from_millis(rng.random_range(50..1200));
    kinds.into_iter().map(|kind| Trouble { pause: pause(), kind }).collect()
}

fn kill(rng: &mut ChaCha12Rng, part: Part) -> TroubleKind {
    TroubleKind::Kill { part, down: Duration::from_millis(rng.random_range(0..1500)) }
}

fn crash(rng: &mut ChaCha12Rng) -> TroubleKind {
    TroubleKind::Crash { sled: rng.random_range(0..SLEDS), number: rng.random_range(0..64) }
}

fn fault(rng: &mut ChaCha12Rng) -> Fault {
    const OF_SWITCH: &[&str] = &[
        "nat_ipv4_create",
        "nat_ipv4_delete",
        "nat_ipv4_list",
        "nat_ipv4_addresses_list",
        "nat_ipv6_create",
        "nat_ipv6_delete",
        "nat_ipv6_list",
        "*",
    ];
    const OF_SLED: &[&str] = &[
        "vmm_put_external_ip",
        "vmm_delete_external_ip",
        "vmm_register",
        "vmm_put_state",
        "vmm_unregister",
        "set_v2p",
        "*",
    ];
    let (part, operations) = if rng.random_bool(0.4) {
        (Part::Dpd(rng.random_range(0..SWITCHES)), OF_SWITCH)
    } else {
        (Part::SledAgent(rng.random_range(0..SLEDS)), OF_SLED)
    };
    let kinds = ["error", "hang", "disconnect", "delay"];
    Fault {
        part,
        operation: operations.choose(rng).copied().unwrap_or("*"),
        kind: kinds.choose(rng).copied().unwrap_or("error"),
        delay: Duration::from_millis(rng.random_range(50..3000)),
        after_apply: rng.random_bool(0.5),
        times: rng.random_range(0..4),
    }
}

/// A packet: from outside, at a switch, for the address with a number; or from a guest on a sled,
/// the one with a number, counted around.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are explained above")]
pub enum Packet {
    In { switch: usize, address: usize },
    Out { sled: usize, number: usize },
}

/// All packets that the prober will send, and the pauses after them.
pub fn packets(seed: u64) -> impl Iterator<Item = (Packet, Duration)> {
    let mut rng = stream(seed, Stream::Prober);
    std::iter::repeat_with(move || {
        let packet = if rng.random_bool(0.85) {
            Packet::In {
                switch: rng.random_range(0..SWITCHES),
                address: rng.random_range(0..ADDRESSES),
            }
        } else {
            Packet::Out { sled: rng.random_range(0..SLEDS), number: rng.random_range(0..64) }
        };
        (packet, Duration::from_millis(rng.random_range(0..30)))
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_plan() {
        let plan = |seed| {
            let clients =
                (0..3).flat_map(|client| steps(seed, client).take(50)).collect::<Vec<_>>();
            let troubles = rounds(seed).take(2).flatten().collect::<Vec<_>>();
            (clients, troubles, packets(seed).take(50).collect::<Vec<_>>())
        };
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7), plan(8));
    }

    #[test]
    fn clients_differ() {
        let of = |client| steps(7, client).take(20).collect::<Vec<_>>();
        assert_ne!(of(0), of(1));
    }

    #[test]
    fn every_round_kills_each_kind() {
        for round in rounds(1).take(20) {
            let killed = |is: fn(&Part) -> bool| {
                round.iter().any(|t| matches!(&t.kind, TroubleKind::Kill { part, .. } if is(part)))
            };
            assert!(killed(|part| *part == Part::Postgres));
            assert!(killed(|part| matches!(part, Part::Nexus(_))));
            assert!(killed(|part| matches!(part, Part::Dpd(_))));
        }
    }
}
