//! Servers that must not run: known by name, and why, and never silent.

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use herm_core::name::ServerName;

use crate::refusal::Refusal;

/// One such server.
#[derive(Clone, Debug)]
pub(super) struct Blocked {
    pub(super) name: ServerName,
    /// What is wrong with its entry.
    pub(super) why: String,
    /// When that was first found.
    pub(super) since: SystemTime,
}

impl Blocked {
    /// What whoever wants it is told.
    pub(super) fn refusal(&self) -> Refusal {
        Refusal::Blocked { server: self.name.clone(), why: self.why.clone() }
    }
}

/// All of them, in the order of the configuration.
#[derive(Debug, Default)]
pub(super) struct BlockList(ArcSwap<Vec<Blocked>>);

impl BlockList {
    /// Takes up what a configuration says, and gives back what is new in it. One that was blocked for
    /// the same reason before keeps its time.
    pub(super) fn replace(
        &self,
        now_blocked: Vec<(ServerName, String)>,
        now: SystemTime,
    ) -> Vec<Blocked> {
        let before = self.0.load_full();
        let known = |name: &ServerName, why: &str| {
            before.iter().find(|old| old.name == *name && old.why == why).map(|old| old.since)
        };
        let (mut all, mut new) = (Vec::new(), Vec::new());
        for (name, why) in now_blocked {
            let known = known(&name, &why);
            let blocked = Blocked { name, why, since: known.unwrap_or(now) };
            if known.is_none() {
                new.push(blocked.clone());
            }
            all.push(blocked);
        }
        self.0.store(Arc::new(all));
        new
    }

    /// The one of this name.
    pub(super) fn get(&self, name: &ServerName) -> Option<Blocked> {
        self.0.load().iter().find(|blocked| blocked.name == *name).cloned()
    }

    /// All.
    pub(super) fn all(&self) -> Arc<Vec<Blocked>> {
        self.0.load_full()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::BlockList;

    #[test]
    fn what_was_known_before_is_neither_new_nor_younger() {
        let list = BlockList::default();
        let of = |name: &str, why: &str| (name.parse().unwrap(), why.to_owned());
        let at = |s| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
        assert_eq!(list.replace(vec![of("a", "x"), of("b", "x")], at(1)).len(), 2);
        let new = list.replace(vec![of("a", "x"), of("b", "y"), of("c", "x")], at(2));
        let names: Vec<&str> = new.iter().map(|blocked| blocked.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
        let since: Vec<SystemTime> = list.all().iter().map(|blocked| blocked.since).collect();
        assert_eq!(since, [at(1), at(2), at(2)]);
        list.replace(Vec::new(), at(3));
        assert!(list.get(&"a".parse().unwrap()).is_none());
    }
}
