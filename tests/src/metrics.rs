//! The metrics of a Nexus, as a Prometheus server would read them.

use crate::rack::TestRack;
use prometheus_parse::{Scrape, Value};
use reqwest::header::CONTENT_TYPE;

/// One reading of a Nexus's metrics.
#[derive(Debug)]
pub struct Metrics {
    scrape: Scrape,
    /// The text.
    pub text: String,
}

impl Metrics {
    /// The sum of all metrics of this name that have these labels; none if there is none.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let samples = self.scrape.samples.iter().filter(|sample| sample.metric == name);
        samples
            .filter(|sample| {
                labels.iter().all(|(key, value)| sample.labels.get(key) == Some(value))
            })
            .filter_map(|sample| match &sample.value {
                Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => Some(*value),
                Value::Histogram(buckets) => buckets.last().map(|bucket| bucket.count),
                Value::Summary(_) => None,
            })
            .reduce(|sum, value| sum + value)
    }

    /// As [`Metrics::get`]; zero if there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.get(name, labels).unwrap_or_default()
    }
}

impl TestRack {
    /// The metrics of the Nexus with this index, now.
    pub async fn metrics(&self, index: usize) -> Metrics {
        let nexus = self.internal().at(&self.ready().internal_api[index]).without_version();
        let reply = nexus.get("/metrics").await;
        let kind = reply.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
        let body = reply.expect(200);
        let text = body.as_str().expect("text, not JSON").to_string();
        let lines = text.lines().map(|line| Ok(line.to_string()));
        let scrape = Scrape::parse(lines).expect("the text format of Prometheus");
        Metrics { scrape, text }
    }
}
