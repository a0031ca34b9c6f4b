//! Signals are logged, and then end the process as they would have.

use std::sync::Arc;

use herm_testkit::fake_log::Writer;
use serde_json::json;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

/// One thread for each signal: they wait and do nothing else.
pub(crate) fn watch(log: &Arc<Writer>) {
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let log = Arc::clone(log);
        drop(std::thread::spawn(move || wait(kind, &log)));
    }
}

#[expect(clippy::exit, reason = "the end that the signal asks for, from a thread that only waits")]
fn wait(kind: SignalKind, log: &Writer) {
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_all().build() else { return };
    let came = runtime.block_on(async { signal(kind).ok()?.recv().await });
    if came.is_some() {
        let number = kind.as_raw_value();
        log.add("signal", json!({ "number": number }));
        log.add("exit", json!({ "code": 128 + number }));
        std::process::exit(128 + number);
    }
}
