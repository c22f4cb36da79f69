//! The connections of a server: a bounded number, shared fairly among clients.
//!
//! When the table is full, a newcomer takes the place of a connection of the client that has most
//! of them: the one of these that has been quiet for longest. So whoever opens connections without
//! end loses their own, and a client that makes a request at once is served. A connection whose
//! request is being worked on is safe, unless its client has more than the newcomer would.

use crate::config::LimitsConfig;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Time for an answer to get away that says that the client was too slow.
const GRACE: Duration = Duration::from_secs(2);

/// The client behind an address. Whoever has an IPv6 address has as many as they like.
pub(super) fn client_at(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64)).into(),
        ip => ip,
    }
}

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    begun: Instant,
    limits: LimitsConfig,
    seats: Mutex<HashMap<u64, Arc<State>>>,
    next: AtomicU64,
}

/// What is known of a connection.
#[derive(Debug)]
struct State {
    client: IpAddr,
    /// Requests that have come in and whose answers have not got away.
    exchanges: AtomicUsize,
    /// Those among them that are being worked on.
    working: AtomicUsize,
    /// Whether there has been a request.
    known: AtomicBool,
    /// When something last happened, in milliseconds since the table was made.
    moved: AtomicU64,
    evicted: CancellationToken,
}

/// The place of a connection in the table, as long as it lasts.
#[derive(Debug)]
pub(super) struct Seat {
    id: u64,
    state: Arc<State>,
    table: Arc<Connections>,
}

/// What a connection is in the middle of.
#[derive(Debug)]
pub(super) struct Doing {
    state: Arc<State>,
    table: Arc<Connections>,
    what: fn(&State) -> &AtomicUsize,
}

impl Connections {
    /// An empty table.
    pub fn new(limits: LimitsConfig) -> Arc<Self> {
        Arc::new(Connections {
            begun: Instant::now(),
            limits,
            seats: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<u64, Arc<State>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the table was made.
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// A place for a new connection, at the cost of another if the table is full; none if there is
    /// none to be had.
    pub fn admit(self: &Arc<Self>, client: IpAddr) -> Option<Seat> {
        let mut seats = self.seats();
        if seats.len() >= self.limits.connections {
            let victim = least_deserving(&seats, client)?;
            if let Some(state) = seats.remove(&victim) {
                state.evicted.cancel();
            }
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(State {
            client,
            exchanges: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
            known: AtomicBool::new(false),
            moved: AtomicU64::new(self.now()),
            evicted: CancellationToken::new(),
        });
        seats.insert(id, state.clone());
        Some(Seat { id, state, table: self.clone() })
    }
}

/// Whose place a newcomer takes.
fn least_deserving(seats: &HashMap<u64, Arc<State>>, newcomer: IpAddr) -> Option<u64> {
    let mut counts: HashMap<IpAddr, usize> = HashMap::new();
    for state in seats.values() {
        *counts.entry(state.client).or_default() += 1;
    }
    let (crowd, most) = counts.iter().max_by_key(|(_, count)| **count)?;
    let more_than_newcomer = *most > counts.get(&newcomer).map_or(1, |count| count + 1);
    seats
        .iter()
        .filter(|(_, state)| state.client == *crowd)
        .map(|(id, state)| (state.working.load(Ordering::Relaxed) > 0, state, id))
        .filter(|(works, _, _)| !works || more_than_newcomer)
        .min_by_key(|(works, state, _)| (*works, state.moved.load(Ordering::Relaxed)))
        .map(|(_, _, id)| *id)
}

impl Seat {
    /// A request has come in.
    pub fn exchange(&self) -> Doing {
        self.state.known.store(true, Ordering::Relaxed);
        self.begin(|state| &state.exchanges)
    }

    /// A request is being worked on.
    pub fn work(&self) -> Doing {
        self.begin(|state| &state.working)
    }

    fn begin(&self, what: fn(&State) -> &AtomicUsize) -> Doing {
        what(&self.state).fetch_add(1, Ordering::Relaxed);
        self.state.moved.store(self.table.now(), Ordering::Relaxed);
        Doing { state: self.state.clone(), table: self.table.clone(), what }
    }

    /// Waits until another connection takes this one's place.
    pub async fn evicted(&self) {
        self.state.evicted.cancelled().await;
    }

    /// How long this connection may go on if nothing happens; zero: it has been for too long.
    pub fn patience(&self) -> Duration {
        let limits = &self.table.limits;
        let (header, body, idle) = (
            Duration::from_millis(limits.header_timeout_ms),
            Duration::from_millis(limits.body_timeout_ms) + GRACE,
            Duration::from_millis(limits.idle_timeout_ms),
        );
        if self.state.working.load(Ordering::Relaxed) > 0 {
            // That is on us; it is looked at again when a client might be slow.
            return header.min(body).min(idle);
        }
        let bound = if self.state.exchanges.load(Ordering::Relaxed) > 0 {
            body
        } else if self.state.known.load(Ordering::Relaxed) {
            idle
        } else {
            header
        };
        let moved = self.state.moved.load(Ordering::Relaxed);
        bound.saturating_sub(Duration::from_millis(self.table.now() - moved))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.table.seats().remove(&self.id);
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.state.moved.store(self.table.now(), Ordering::Relaxed);
        (self.what)(&self.state).fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn table(connections: usize) -> Arc<Connections> {
        Connections::new(LimitsConfig { connections, ..LimitsConfig::default() })
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_evicted(seat: &Seat) -> bool {
        seat.state.evicted.is_cancelled()
    }

    /// A seat whose connection moved last at this time.
    fn seat(table: &Arc<Connections>, last: u8, moved: u64) -> Seat {
        let seat = table.admit(ip(last)).expect("a place");
        seat.state.moved.store(moved, Ordering::Relaxed);
        seat
    }

    #[test]
    fn who_has_most_makes_room_with_the_quietest() {
        let table = table(4);
        let friend = seat(&table, 1, 0);
        let crowd: Vec<_> = [7, 3, 5].map(|moved| seat(&table, 2, moved)).into();
        let newcomer = table.admit(ip(3)).expect("a place");
        assert_eq!(crowd.iter().map(is_evicted).collect::<Vec<_>>(), [false, true, false]);
        assert!(!is_evicted(&friend) && !is_evicted(&newcomer));
        assert_eq!(table.seats().len(), 4);
        drop((friend, crowd, newcomer));
        assert_eq!(table.seats().len(), 0);
    }

    #[test]
    fn work_goes_on_unless_its_client_has_more_than_others() {
        let table = table(3);
        let seats: Vec<_> = [1, 2, 3].map(|moved| seat(&table, 1, moved)).into();
        let mut work: Vec<_> = seats.iter().map(Seat::work).collect();
        assert!(table.admit(ip(1)).is_none(), "a client's own work is safe from it");
        work.remove(1);
        let own = table.admit(ip(1)).expect("the quiet one's place");
        assert!(is_evicted(&seats[1]));
        let own_work = own.work();
        for (moved, seat) in (1..).zip([&seats[0], &seats[2], &own]) {
            seat.state.moved.store(moved, Ordering::Relaxed);
        }
        let other = table.admit(ip(2)).expect("a place, for its client has fewer");
        assert_eq!([&seats[0], &seats[2], &own].map(is_evicted), [true, false, false]);
        drop((other, own_work, work));
    }

    #[test]
    fn patience_depends_on_what_is_waited_for() {
        let table = table(1);
        let limits = LimitsConfig::default();
        let seat = table.admit(ip(1)).expect("a place");
        let near = |bound: u64| {
            let (left, bound) = (seat.patience(), Duration::from_millis(bound));
            left <= bound && left + Duration::from_secs(1) > bound
        };
        assert!(near(limits.header_timeout_ms), "the first request");
        let exchange = seat.exchange();
        assert!(near(limits.body_timeout_ms + 2_000), "its body, or that the answer is taken");
        drop(exchange);
        assert!(near(limits.idle_timeout_ms), "the next request");
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let client = |ip: &str| client_at(ip.parse().expect("an address"));
        assert_eq!(client("2001:db8::1"), client("2001:db8::2:0:0:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), ip(1));
    }
}
