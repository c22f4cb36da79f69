//! Whether what was read of a value can be true, given all that was done to it.
//!
//! A value is anything of which one thing is true at a time: to which instance a floating IP
//! belongs, which object has a name. What is done takes effect at one moment between its beginning
//! and its end. A *certain* effect did; an *uncertain* one, that of a request whose outcome is not
//! known or that was undone, may have. A read is a certain effect too: at some moment, it was so.
//!
//! A read is possible if some effect of that value began before the read ended, and nothing
//! certain happened wholly between that effect and the read. This never rejects a history that can
//! be true.

use crate::history::Time;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// None.
    Absent,
    /// This.
    Is(String),
    /// The instance that has this name, whichever it was.
    Named(String),
    /// Some value that is not known.
    Any,
}

/// Something that was done to a value, or read of it.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The value then.
    pub value: Value,
    /// The first moment at which it may have come true.
    pub start: Time,
    /// The last one.
    pub latest: Time,
    /// Whether it did.
    pub certain: bool,
}

/// A read.
#[derive(Clone, Debug)]
pub struct Read {
    /// What was read.
    pub value: Value,
    /// When the read began.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

/// A value and its history.
#[derive(Clone, Debug, Default)]
pub struct Register {
    effects: Vec<Effect>,
    reads: Vec<Read>,
}

impl Register {
    /// Something that certainly came true within an interval.
    pub fn certain(&mut self, value: Value, start: Time, latest: Time) {
        self.effects.push(Effect { value, start, latest, certain: true });
    }

    /// Something that may have come true within an interval.
    pub fn uncertain(&mut self, value: Value, start: Time, latest: Time) {
        self.effects.push(Effect { value, start, latest, certain: false });
    }

    /// Something that was seen within an interval. It must be explained by what was done.
    pub fn read(&mut self, value: Value, start: Time, end: Time) {
        self.reads.push(Read { value: value.clone(), start, end });
    }

    /// The values of effects that may still have been true at some moment of an interval. `same`
    /// tells whether an effect's value can be what another effect, or a read, shows.
    pub fn possible(
        &self,
        (start, end): (Time, Time),
        same: impl Fn(&Value, &Value) -> bool,
    ) -> impl Iterator<Item = &Value> {
        // What came before a certain effect is over, whatever it was. A read only shows that other
        // values are.
        let certain = self.effects.iter().filter(|e| e.certain && e.latest < start);
        let last = certain.map(|effect| effect.start).max().unwrap_or_default();
        let seen: Vec<_> = self.reads.iter().filter(|read| read.end < start).collect();
        let stands = move |effect: &&Effect| {
            let denied =
                |read: &&Read| read.start > effect.latest && !same(&effect.value, &read.value);
            effect.start <= end && effect.latest >= last && !seen.iter().any(denied)
        };
        self.effects.iter().filter(stands).map(|effect| &effect.value)
    }

    /// The reads that nothing explains.
    pub fn unexplained(&self, same: impl Fn(&Value, &Value) -> bool) -> Vec<&Read> {
        let explained = |read: &Read| {
            self.possible((read.start, read.end), &same).any(|value| same(value, &read.value))
        };
        self.reads.iter().filter(|read| !explained(read)).collect()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn is(text: &str) -> Value {
        Value::Is(text.to_string())
    }

    fn unexplained(register: &Register) -> usize {
        register.unexplained(|effect, read| effect == read || *effect == Value::Any).len()
    }

    fn register() -> Register {
        let mut register = Register::default();
        register.certain(Value::Absent, 0, 0);
        register
    }

    #[test]
    fn what_was_done_is_read() {
        let mut register = register();
        register.certain(is("a"), 10, 20);
        register.read(is("a"), 21, 22);
        register.read(Value::Absent, 5, 15);
        register.read(is("a"), 15, 16);
        assert_eq!(unexplained(&register), 0);
    }

    #[test]
    fn what_was_certainly_done_is_not_forgotten() {
        let mut register = register();
        register.certain(is("a"), 10, 20);
        register.read(Value::Absent, 21, 22);
        assert_eq!(unexplained(&register), 1);
    }

    #[test]
    fn what_was_never_done_is_not_read() {
        let mut register = register();
        register.certain(is("a"), 10, 20);
        register.read(is("a"), 5, 9);
        register.read(is("b"), 30, 31);
        assert_eq!(unexplained(&register), 2);
    }

    #[test]
    fn what_may_have_been_done_explains_either() {
        let mut register = register();
        register.uncertain(is("a"), 10, 100);
        register.read(Value::Absent, 21, 22);
        register.read(is("a"), 30, 31);
        assert_eq!(unexplained(&register), 0);
    }

    #[test]
    fn what_has_been_seen_is_not_unseen() {
        let mut register = register();
        register.uncertain(is("a"), 10, 20);
        register.read(is("a"), 30, 31);
        register.read(Value::Absent, 40, 41);
        assert_eq!(unexplained(&register), 1);
        // Unless something put it back.
        register.uncertain(Value::Absent, 25, 35);
        assert_eq!(unexplained(&register), 0);
    }

    #[test]
    fn what_is_certain_ends_what_is_not_known() {
        let mut register = register();
        register.uncertain(Value::Any, 10, 20);
        register.read(is("a"), 21, 22);
        register.read(is("a"), 23, 24);
        assert_eq!(unexplained(&register), 0);
        register.certain(is("b"), 30, 40);
        register.read(is("a"), 41, 42);
        assert_eq!(unexplained(&register), 1);
    }

    #[test]
    fn what_is_read_twice_was_done_once() {
        let mut register = register();
        register.certain(is("a"), 10, 20);
        register.read(is("a"), 21, 22);
        register.read(is("a"), 31, 32);
        assert_eq!(unexplained(&register), 0);
    }

    #[test]
    fn what_overlaps_may_come_in_either_order() {
        let mut register = register();
        register.certain(is("a"), 10, 20);
        register.certain(is("b"), 15, 25);
        register.read(is("a"), 30, 31);
        assert_eq!(unexplained(&register), 0);
        register.read(is("b"), 40, 41);
        assert_eq!(unexplained(&register), 1);
    }
}
