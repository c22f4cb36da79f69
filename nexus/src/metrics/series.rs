//! A family of metrics of one name, one for each combination of its labels' values.

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge;
use prometheus_client::metrics::histogram;
use prometheus_client::registry::Registry;
use std::fmt::Debug;
use std::sync::atomic::AtomicU64;

/// What only grows.
pub type Counter = counter::Counter;
/// What goes up and down.
pub type Gauge = gauge::Gauge<f64, AtomicU64>;
/// How long something took.
pub type Histogram = histogram::Histogram;

/// From a statement to the longest that a caller waits for a saga, in seconds.
const DURATIONS: [f64; 12] =
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// A histogram of durations in seconds.
pub fn durations() -> Histogram {
    Histogram::new(DURATIONS)
}

type Labels<const N: usize> = [(&'static str, String); N];

/// Metrics of one name with `N` labels. Whoever gives a value sees to it that there are few: an
/// operation, a table, a switch; never an address or an id.
#[derive(Debug)]
pub struct Series<M, const N: usize> {
    labels: [&'static str; N],
    family: Family<Labels<N>, M>,
}

impl<M, const N: usize> Series<M, N>
where
    M: EncodeMetric + TypedMetric + Clone + Debug + Send + Sync + 'static,
{
    /// Registers a series whose metrics `make` makes. The name of a counter is without `_total`.
    pub fn register(
        registry: &mut Registry,
        name: &str,
        help: &str,
        labels: [&'static str; N],
        make: fn() -> M,
    ) -> Self {
        let family = Family::new_with_constructor(make);
        registry.register(name, help, family.clone());
        Series { labels, family }
    }

    /// The metric with these values of the labels, in their order.
    pub fn at(&self, values: [&str; N]) -> M {
        let mut values = values.into_iter();
        let with_value = |label| (label, values.next().unwrap_or_default().to_string());
        self.family.get_or_create_owned(&self.labels.map(with_value))
    }
}
