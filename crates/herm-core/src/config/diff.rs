//! What a new configuration changes about a server that runs.

use super::server::Server;

/// What has to be done about it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing.
    Nothing,
    /// Other filters, time-outs, trust: taken up in place.
    Update,
    /// What defines the connection, or is fixed with it: stop the old one, then start the new one.
    Restart,
}

/// Compares two entries of one name as written; values of variables are another matter.
#[must_use]
pub fn diff(old: &Server, new: &Server) -> Change {
    let fixed = |server: &Server| {
        (
            server.enabled,
            server.transport.clone(),
            server.protocol.clone(),
            server.auth.clone(),
            server.expose_as.clone(),
            server.limits.concurrent_calls,
            server.limits.message_bytes,
            server.limits.queue,
        )
    };
    if fixed(old) != fixed(new) {
        return Change::Restart;
    }
    let soft = |server: &Server| {
        (
            (server.required, server.lazy, server.trust, server.approve),
            server.tools.clone(),
            server.limits.clone(),
            server.upkeep.clone(),
            server.breaker.clone(),
            server.supervision.clone(),
        )
    };
    if soft(old) == soft(new) { Change::Nothing } else { Change::Update }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Change, diff};
    use crate::config::{Server, Stdio, Template, Transport, Trust};

    fn server(args: &[&str]) -> Server {
        let args = args.iter().map(|arg| Template((*arg).to_owned())).collect();
        let stdio = Stdio { args, ..Stdio::default() };
        Server::new("s".parse().unwrap(), Transport::Stdio(stdio))
    }

    #[test]
    fn one_argument_more_is_another_process() {
        assert_eq!(diff(&server(&["a"]), &server(&["a"])), Change::Nothing);
        assert_eq!(diff(&server(&["a"]), &server(&["a", "b"])), Change::Restart);
    }

    #[test]
    fn filters_limits_and_trust_are_taken_up_in_place() {
        let old = server(&[]);
        let mut new = server(&[]);
        new.tools.include = Some(vec!["read_*".to_owned()]);
        assert_eq!(diff(&old, &new), Change::Update);
        let mut new = server(&[]);
        new.limits.call_idle = Duration::from_secs(5);
        assert_eq!(diff(&old, &new), Change::Update);
        let mut new = server(&[]);
        new.trust = Trust::Untrusted;
        assert_eq!(diff(&old, &new), Change::Update);
    }

    #[test]
    fn a_server_that_is_disabled_is_stopped() {
        let mut new = server(&[]);
        new.enabled = false;
        assert_eq!(diff(&server(&[]), &new), Change::Restart);
    }
}
