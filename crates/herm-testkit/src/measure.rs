//! What the benchmarks have in common: times of many round trips, the CPU and the memory of this
//! process. Linux only where `/proc` is read; elsewhere those figures are 0.

use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Takes times one by one.
#[derive(Debug)]
pub struct Run {
    times: Vec<Duration>,
    started: Instant,
    cpu: Duration,
}

impl Run {
    /// Starts now; room for `n` times.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { times: Vec::with_capacity(n), started: Instant::now(), cpu: cpu() }
    }

    /// Takes the time since `since`.
    pub fn took(&mut self, since: Instant) {
        self.times.push(since.elapsed());
    }

    /// Takes times that somebody else measured.
    pub fn add(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.times.extend(times);
    }

    /// How many times were taken.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Ends now. Without a single time every figure is 0.
    #[must_use]
    pub fn end(mut self) -> Figures {
        let (wall, cpu) = (self.started.elapsed(), cpu().saturating_sub(self.cpu));
        let n = u32::try_from(self.times.len()).unwrap_or(u32::MAX);
        self.times.sort_unstable();
        let at = |percent: usize| {
            let place = self.times.len().saturating_sub(1) * percent / 100;
            self.times.get(place).copied().unwrap_or_default()
        };
        Figures {
            n,
            min: at(0),
            p50: at(50),
            p99: at(99),
            max: at(100),
            cpu: cpu / n.max(1),
            per_second: f64::from(n) / wall.as_secs_f64().max(f64::EPSILON),
        }
    }
}

/// The figures of one run. Its text is one line, times in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// How many times were taken.
    pub n: u32,
    /// The shortest.
    pub min: Duration,
    /// The median.
    pub p50: Duration,
    /// One in a hundred is longer.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
    /// CPU time of this process, per time taken.
    pub cpu: Duration,
    /// Times taken in each second of the run.
    pub per_second: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        write!(
            f,
            "min {:>8.1}  p50 {:>8.1}  p99 {:>8.1}  max {:>9.1} us | own CPU {:>7.1} us each | {:>8.0}/s | n {}",
            us(self.min),
            us(self.p50),
            us(self.p99),
            us(self.max),
            us(self.cpu),
            self.per_second,
            self.n,
        )
    }
}

/// CPU time of this process so far, all its threads, user and system.
#[must_use]
pub fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// CPU time of another process so far; of none, and where `/proc` does not tell, nothing.
#[must_use]
pub fn cpu_of(pid: Option<u32>) -> Duration {
    let text = pid.and_then(|pid| std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok());
    let nanoseconds = text.and_then(|text| text.split(' ').next()?.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Memory of this process in KiB: resident, and the private part of it.
#[must_use]
pub fn memory() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    (field("VmRSS:"), field("RssAnon:"))
}
