//! A server of the modern era whose list of tools changes, over stdio and (through `http::listen`)
//! over HTTP. It tells of that on a subscription only.
//!
//! Tools: `t1` to `tN`. What `t1` is told in `s`: `grow` adds a tool and tells of it; `end` ends the
//! subscription with its result, `cancel` with a cancellation, `cut` with its connection (HTTP), and
//! each of these adds a tool afterwards that nobody hears of. Anything else is given back.

use serde_json::{Value, json};

use crate::message::{Message, error, result, text};
use crate::peer::Peer;

const VERSION: &str = "2026-07-28";

/// What becomes of a subscription.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum News {
    Changed,
    Ended,
    Cancelled,
    Cut,
}

/// How many tools there are.
#[derive(Debug)]
pub(crate) struct Shop {
    tools: usize,
}

impl Default for Shop {
    fn default() -> Self {
        Self { tools: 1 }
    }
}

impl Shop {
    /// The reply to anything but a subscription, and what happens on the latter.
    pub(crate) fn reply(&mut self, id: &str, message: &Message) -> (String, Option<News>) {
        match message.method.as_str() {
            "server/discover" => {
                let capabilities = json!({"tools": {"listChanged": true}});
                let opened = json!({
                    "resultType": "complete", "supportedVersions": [VERSION],
                    "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private",
                });
                (result(id, &opened.to_string()), None)
            }
            "tools/list" => (result(id, &self.list()), None),
            "tools/call" => {
                let said = message.argument("s");
                let news = match said {
                    "grow" => Some(News::Changed),
                    "end" => Some(News::Ended),
                    "cancel" => Some(News::Cancelled),
                    "cut" => Some(News::Cut),
                    _ => None,
                };
                self.tools += usize::from(news.is_some());
                (result(id, &text(said)), news)
            }
            _ => (error(id, -32601, "Method not found"), None),
        }
    }

    fn list(&self) -> String {
        let schema = json!({"type": "object", "properties": {"s": {"type": "string"}}});
        let tool = |n| json!({"name": format!("t{n}"), "inputSchema": schema});
        let tools: Vec<Value> = (1..=self.tools).map(tool).collect();
        json!({"resultType": "complete", "tools": tools, "ttlMs": 0}).to_string()
    }
}

/// A notification on the subscription with this id.
pub(crate) fn notice(method: &str, subscription: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}}}}}}"#
    )
}

/// What is said on the subscription; nothing if its connection just ends.
pub(crate) fn said(news: News, subscription: &str) -> Option<String> {
    match news {
        News::Changed => Some(notice("notifications/tools/list_changed", subscription)),
        News::Ended => Some(result(subscription, r#"{"resultType":"complete"}"#)),
        News::Cancelled => Some(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{subscription}}}}}"#
        )),
        News::Cut => None,
    }
}

pub(crate) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

pub(crate) fn run(peer: &mut Peer) -> u8 {
    serve(peer, true)
}

/// It announces changes and knows no subscription.
pub(crate) fn refusing(peer: &mut Peer) -> u8 {
    serve(peer, false)
}

fn serve(peer: &mut Peer, listens: bool) -> u8 {
    let mut shop = Shop::default();
    let mut subscription = None;
    while let Some(message) = peer.next() {
        let Some(id) = message.id.clone() else { continue };
        if listens && message.method == "subscriptions/listen" {
            peer.send(&notice(ACKNOWLEDGED, &id));
            subscription = Some(id);
            continue;
        }
        let (reply, news) = shop.reply(&id, &message);
        if let (Some(news), Some(of)) = (news, &subscription)
            && let Some(text) = said(news, of)
        {
            peer.send(&text);
            if news != News::Changed {
                subscription = None;
            }
        }
        peer.send(&reply);
    }
    0
}
