//! Signals are logged, and then end the process as they would have, unless it is deaf.

use std::sync::Arc;

use herm_testkit::fake_log::Writer;
use serde_json::json;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

/// One thread for each signal: they wait and do nothing else.
pub(crate) fn watch(log: &Arc<Writer>, deaf: bool) {
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let log = Arc::clone(log);
        drop(std::thread::spawn(move || wait(kind, &log, deaf)));
    }
}

#[expect(clippy::exit, reason = "the end that the signal asks for, from a thread that only waits")]
fn wait(kind: SignalKind, log: &Writer, deaf: bool) {
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else { return };
    let number = kind.as_raw_value();
    runtime.block_on(async {
        let Ok(mut signals) = signal(kind) else { return };
        while signals.recv().await.is_some() {
            log.add("signal", json!({ "number": number }));
            if !deaf {
                log.add("exit", json!({ "code": 128 + number }));
                std::process::exit(128 + number);
            }
        }
    });
}
