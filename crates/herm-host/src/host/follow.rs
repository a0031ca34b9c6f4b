//! Takes up what other programs of this home learn of servers that are not connected here: a
//! person's test that went well, another host's failure.

use std::sync::Arc;
use std::time::Duration;

use herm_core::lifecycle::Input;

use crate::context::Context;
use crate::status::State;
use crate::store::ledgers::Found;
use crate::supervise::Instance;

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Looks until it is dropped.
pub(super) async fn follow(context: Arc<Context>, all: impl Fn() -> Vec<Arc<Instance>>) {
    if !context.ledgers.are_kept() {
        return;
    }
    let mut seen = context.ledgers.stamp();
    loop {
        tokio::time::sleep(LOOK).await;
        let now = context.ledgers.stamp();
        if now == seen {
            continue;
        }
        seen = now;
        let resting: Vec<Arc<Instance>> = all().into_iter().filter(rests).collect();
        let world = context.world();
        let entries: Vec<_> =
            resting.iter().map(|instance| world.entry(instance.server())).collect();
        let found = context.with_ledgers(move |ledgers| ledgers.look_up(&entries)).await;
        for (instance, found) in resting.iter().zip(found.unwrap_or_default()) {
            match found {
                Found::Known(ledger) => instance.order(Input::Adopt(ledger)),
                Found::Proven(at) if at > instance.window.borrow().since => {
                    instance.order(Input::Proven);
                }
                Found::Gone => instance.order(Input::Proven),
                Found::Proven(_) | Found::Nothing => {}
            }
        }
    }
}

/// True if it is not connected for what it failed in.
fn rests(instance: &Arc<Instance>) -> bool {
    matches!(instance.window.borrow().state, State::Backoff | State::Parked | State::NeedsLogin)
}
