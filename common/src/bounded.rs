//! Lists that a request may not make longer than so many items.

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

struct Bounded<T> {
    max: usize,
    what: &'static str,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {} {}", self.max, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        let mut length = 0;
        while let Some(next) = seq.next_element()? {
            length += 1;
            if length <= self.max {
                found.push(next);
            }
        }
        if length > self.max {
            return Err(de::Error::invalid_length(length, &self));
        }
        Ok(found)
    }
}

/// Reads a list of at most `max` items, called `what` in the refusal of a longer one.
pub fn at_most<'de, D, T>(
    deserializer: D,
    max: usize,
    what: &'static str,
) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(Bounded { max, what, item: PhantomData })
}

struct Nullable<T>(Bounded<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Nullable<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)?;
        f.write_str(", or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self.0).map(Some)
    }
}

/// The same, where null stands for no list.
pub fn at_most_or_null<'de, D, T>(
    deserializer: D,
    max: usize,
    what: &'static str,
) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_option(Nullable(Bounded { max, what, item: PhantomData }))
}

#[cfg(test)]
mod test {
    use super::*;

    fn two(json: &str) -> Result<Vec<u8>, String> {
        at_most(&mut serde_json::Deserializer::from_str(json), 2, "numbers")
            .map_err(|error| error.to_string())
    }

    fn two_or_null(json: &str) -> Result<Option<Vec<u8>>, String> {
        at_most_or_null(&mut serde_json::Deserializer::from_str(json), 2, "numbers")
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_longer_list_is_refused() {
        assert_eq!(two("[1, 2]"), Ok(vec![1, 2]));
        let refusal = "invalid length 3, expected a list of at most 2 numbers";
        assert!(two("[1, 2, 3]").expect_err("too long").starts_with(refusal));
        assert_eq!(two_or_null("null"), Ok(None));
        assert_eq!(two_or_null("[1]"), Ok(Some(vec![1])));
        assert!(two_or_null("[1, 2, 3]").expect_err("too long").starts_with(refusal));
    }
}
