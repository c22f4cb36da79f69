//! No answer may speak of a bug.

use super::Violation;
use crate::history::{Entry, Outcome};

/// Finds every 500.
pub fn check(entries: &[Entry]) -> Vec<Violation> {
    let of = |entry: &Entry| {
        let (request, outcome) = entry.request()?;
        let Outcome::Answer(500, _) = outcome else { return None };
        Some(Violation::new(request.objects(), entry.end, format!("an answer is 500: {entry}")))
    };
    entries.iter().filter_map(of).collect()
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::check::made::{beginning, done};
    use crate::request::Request;
    use serde_json::json;

    #[test]
    fn a_500_is_one_whatever_the_rest() {
        let mut entries = beginning();
        entries.push(done(3, 4, Request::Stop { instance: 0 }, 503, json!({})));
        assert_eq!(check(&entries), []);
        entries.push(done(5, 6, Request::Stop { instance: 0 }, 500, json!({})));
        assert_eq!(check(&entries).len(), 1);
    }
}
