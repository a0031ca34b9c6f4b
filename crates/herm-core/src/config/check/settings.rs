//! The keys that have nothing to do with the transport.

use std::time::Duration;

use super::block::{Block, names, short};
use super::report::Report;
use super::top::Defaults;
use crate::config::server::{
    Approve, Breaker, Limits, Protocol, Revision, Server, Supervision, ToolChoice, Trust, Upkeep,
};
use crate::config::tree::{Node, Value};
use crate::name::ServerName;

/// The least of the supervision's times, in seconds.
const SUPERVISION_FLOOR: f64 = 0.05;

/// All that is not about the transport.
pub(super) struct Settings {
    required: bool,
    lazy: bool,
    protocol: Protocol,
    trust: Trust,
    approve: Approve,
    expose_as: Option<String>,
    tools: ToolChoice,
    limits: Limits,
    upkeep: Upkeep,
    breaker: Breaker,
    supervision: Supervision,
    auth: Option<String>,
}

impl Settings {
    pub(super) fn read(block: &Block<'_>, defaults: &Defaults, report: &mut Report) -> Self {
        let written = block.get("protocol").map(|node| protocol(node, "protocol", report));
        let approve = [("writes", Approve::Writes), ("all", Approve::All)];
        Self {
            required: block.flag("required", report).unwrap_or(false),
            lazy: block.flag("lazy", report).unwrap_or(false),
            protocol: written.flatten().unwrap_or_else(|| defaults.protocol.clone()),
            trust: trust(block, report),
            approve: block.word("approve", &approve, report).unwrap_or_default(),
            expose_as: expose_as(block, report),
            tools: tools(block, report),
            limits: limits(block, defaults, report),
            upkeep: upkeep(block, report),
            breaker: breaker(block, report),
            supervision: supervision(block, &defaults.supervision, report),
            auth: auth(block, report),
        }
    }

    pub(super) fn put(self, server: &mut Server) {
        server.required = self.required;
        server.lazy = self.lazy;
        server.protocol = self.protocol;
        server.trust = self.trust;
        server.approve = self.approve;
        server.expose_as = self.expose_as;
        server.tools = self.tools;
        server.limits = self.limits;
        server.upkeep = self.upkeep;
        server.breaker = self.breaker;
        server.supervision = self.supervision;
        server.auth = self.auth;
    }
}

/// A protocol word or a date. A date pins, whatever era it belongs to.
pub(super) fn protocol(node: &Node, key: &str, report: &mut Report) -> Option<Protocol> {
    let Some(text) = node.text().map(str::trim) else {
        report.error(node.place, key, format!("should be text, is {}", node.kind()));
        return None;
    };
    match text.to_ascii_lowercase().as_str() {
        "auto" => Some(Protocol::Auto),
        "stateless" | "modern" => Some(Protocol::Stateless),
        "legacy" | "handshake" => Some(Protocol::Legacy),
        _ => {
            if let Ok(revision) = text.parse() {
                return Some(Protocol::Pinned(revision));
            }
            let known = ["auto", "stateless", "modern", "legacy", "handshake"];
            let dates = Revision::ALL.into_iter().map(Revision::as_str);
            let message = format!(
                "`{}` is none of `auto`, `stateless`, `legacy`, and no revision that herm speaks",
                short(text)
            );
            report.error(node.place, key, message).nearest(text, known.into_iter().chain(dates));
            None
        }
    }
}

/// Anything but `full` is `untrusted`: a typo must not grant trust.
fn trust(block: &Block<'_>, report: &mut Report) -> Trust {
    let Some(node) = block.get("trust") else { return Trust::Full };
    match node.text().map(str::trim).map(str::to_ascii_lowercase).as_deref() {
        Some("full") => Trust::Full,
        Some("untrusted") => Trust::Untrusted,
        _ => {
            report
                .warn(
                    node.place,
                    "trust",
                    "is neither `full` nor `untrusted`: taken as `untrusted`",
                )
                .nearest(node.text().unwrap_or_default(), ["full", "untrusted"].into_iter());
            Trust::Untrusted
        }
    }
}

fn expose_as(block: &Block<'_>, report: &mut Report) -> Option<String> {
    let (node, text) = block.text("expose_as", report)?;
    match text.parse::<ServerName>() {
        Ok(name) => Some(name.to_string()),
        Err(error) => {
            report.error(node.place, "expose_as", error.to_string());
            None
        }
    }
}

fn auth(block: &Block<'_>, report: &mut Report) -> Option<String> {
    let (node, text) = block.text("auth", report)?;
    if text.eq_ignore_ascii_case("oauth") {
        return Some("oauth".to_owned());
    }
    if !text.eq_ignore_ascii_case("none") {
        // Not repeated: it may be a token in the wrong place.
        report
            .warn(node.place, "auth", "means nothing here, only `oauth` does")
            .hint("a fixed token belongs in `headers`");
    }
    None
}

fn tools(block: &Block<'_>, report: &mut Report) -> ToolChoice {
    let defaults = ToolChoice::default();
    let Some(node) = block.get("tools").filter(|node| !node.is_null()) else { return defaults };
    if !matches!(node.value, Value::Mapping(_)) {
        return ToolChoice { include: names(node, "tools", report), ..defaults };
    }
    let tools = block.block("tools", report);
    tools.unknown(report);
    ToolChoice {
        include: tools.names("include", report),
        exclude: tools.names("exclude", report).unwrap_or_default(),
        resources: tools.flag("resources", report).unwrap_or(defaults.resources),
        prompts: tools.flag("prompts", report).unwrap_or(defaults.prompts),
    }
}

fn limits(block: &Block<'_>, defaults: &Defaults, report: &mut Report) -> Limits {
    let base = Limits::default();
    let mut time = |key| block.seconds(key, 0.0, report);
    let connect = time("connect_timeout").unwrap_or(base.connect);
    let list = time("list_timeout").unwrap_or(connect);
    let start = time("start_timeout").unwrap_or(connect + list);
    let call_idle = time("timeout").or(defaults.call_idle).unwrap_or(base.call_idle);
    let call_absolute = time("max_timeout").unwrap_or(base.call_absolute.max(call_idle));
    let queue = time("queue_timeout").unwrap_or(base.queue);
    let mut count = |key, bounds, default: usize| {
        let written = block.count(key, bounds, report);
        written.and_then(|n| usize::try_from(n).ok()).unwrap_or(default)
    };
    Limits {
        connect,
        list,
        start,
        call_idle,
        call_absolute,
        queue,
        concurrent_calls: count("max_concurrent_calls", (1, 4096), base.concurrent_calls),
        message_bytes: count("max_message_bytes", (4096, 1 << 30), base.message_bytes),
        result_chars: count("max_result_chars", (100, 1 << 30), base.result_chars),
    }
}

fn upkeep(block: &Block<'_>, report: &mut Report) -> Upkeep {
    let keepalive = block.seconds("keepalive_interval", 0.5, report);
    let often = keepalive.filter(|interval| *interval < Duration::from_secs(5));
    if let (Some(_), Some(node)) = (often, block.get("keepalive_interval")) {
        report
            .warn(
                node.place,
                "keepalive_interval",
                "is under 5 seconds: that is a load on the server",
            )
            .hint("the default is 180");
    }
    let lifecycle = block.block("lifecycle", report);
    lifecycle.unknown(report);
    let mut either = |key| {
        let inner = lifecycle.off_or_seconds(key, report);
        if block.get(key).is_some() { block.off_or_seconds(key, report) } else { inner }
    };
    Upkeep {
        keepalive: keepalive.unwrap_or(Upkeep::default().keepalive),
        idle: either("idle_timeout_seconds"),
        lifetime: either("max_lifetime_seconds"),
    }
}

fn breaker(block: &Block<'_>, report: &mut Report) -> Breaker {
    let base = Breaker::default();
    let breaker = block.block("breaker", report);
    breaker.unknown(report);
    let threshold = breaker.count("threshold", (1, 1_000_000), report);
    Breaker {
        threshold: threshold.and_then(|n| u32::try_from(n).ok()).unwrap_or(base.threshold),
        cooldown: breaker
            .seconds("cooldown_seconds", SUPERVISION_FLOOR, report)
            .unwrap_or(base.cooldown),
    }
}

/// The block `supervision` of `block`, over `base`.
pub(super) fn supervision(
    block: &Block<'_>,
    base: &Supervision,
    report: &mut Report,
) -> Supervision {
    let block = block.block("supervision", report);
    block.unknown(report);
    let mut count = |key, least, default| {
        let written = block.count(key, (least, 1_000_000), report);
        written.and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
    };
    let park_after = count("park_after", 1, base.park_after);
    let allowance = count("allowance", 0, base.allowance);
    let mut time = |key, default| block.seconds(key, SUPERVISION_FLOOR, report).unwrap_or(default);
    let backoff_initial = time("backoff_initial", base.backoff_initial);
    let park_interval = time("park_interval", base.park_interval);
    Supervision {
        backoff_initial,
        backoff_max: time("backoff_max", base.backoff_max).max(backoff_initial),
        park_after,
        park_interval,
        park_max: time("park_max", base.park_max).max(park_interval),
        proof: time("proof", base.proof),
        allowance,
        allowance_refill: time("allowance_refill", base.allowance_refill),
        allowance_earn: time("allowance_earn", base.allowance_earn),
        probe_timeout: time("probe_timeout", base.probe_timeout),
        spawn_timeout: time("spawn_timeout", base.spawn_timeout),
        stop_grace: time("stop_grace", base.stop_grace),
        term_grace: time("term_grace", base.term_grace),
    }
}
