//! Whether a call whose answer was lost may be sent once more.

use crate::config::Trust;
use crate::wire::view::ToolView;

/// True if running the tool twice does what running it once does, as far as its server is believed:
/// it says so, and nothing that it says contradicts it.
#[must_use]
pub fn may_repeat(trust: Trust, tool: &ToolView) -> bool {
    let says = tool.read_only == Some(true) || tool.idempotent == Some(true);
    trust == Trust::Full && says && tool.destructive != Some(true)
}

#[cfg(test)]
mod tests {
    use super::may_repeat;
    use crate::config::Trust;
    use crate::wire::view;

    fn tool(annotations: &str) -> view::ToolView {
        let raw = format!(r#"{{"name":"t","inputSchema":{{}},"annotations":{annotations}}}"#);
        view::tool(&serde_json::value::RawValue::from_string(raw).unwrap()).unwrap()
    }

    #[test]
    fn only_a_believed_tool_that_says_so_is_run_twice() {
        for (annotations, full) in [
            ("{}", false),
            (r#"{"readOnlyHint":true}"#, true),
            (r#"{"idempotentHint":true}"#, true),
            (r#"{"readOnlyHint":false,"idempotentHint":true}"#, true),
            (r#"{"readOnlyHint":true,"destructiveHint":true}"#, false),
            (r#"{"idempotentHint":true,"destructiveHint":true}"#, false),
            (r#"{"idempotentHint":"true"}"#, false),
            (r#"{"destructiveHint":false}"#, false),
        ] {
            assert_eq!(may_repeat(Trust::Full, &tool(annotations)), full, "{annotations}");
            assert!(!may_repeat(Trust::Untrusted, &tool(annotations)), "{annotations}");
        }
    }
}
