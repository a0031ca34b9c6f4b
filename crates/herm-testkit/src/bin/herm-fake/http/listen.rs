//! The server of `crate::listen` over HTTP: a subscription is the stream of its POST.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Site;
use super::request::Request;
use super::response::Reply;
use crate::listen::{ACKNOWLEDGED, News, Shop, notice, said};

const HEARTBEAT: Duration = Duration::from_millis(200);

#[derive(Default)]
pub(crate) struct Listen {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shop: Shop,
    streams: Vec<SyncSender<News>>,
}

impl Listen {
    fn subscribe(&self, id: &str, reply: &mut Reply<'_>) {
        let (to, news) = sync_channel(64);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).streams.push(to);
        reply.stream(&[]);
        let event = |text: &str| format!("event: message\ndata: {text}\n\n");
        reply.raw(event(&notice(ACKNOWLEDGED, id)).as_bytes());
        loop {
            match news.recv_timeout(HEARTBEAT) {
                Ok(news) => {
                    let Some(text) = said(news, id) else { return };
                    reply.raw(event(&text).as_bytes());
                    if news != News::Changed {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) if reply.raw(b": hb\n\n") => {}
                Err(_) => return,
            }
        }
    }
}

impl Site for Listen {
    fn answer(&self, request: &Request, reply: &mut Reply<'_>) {
        let message = request.message().filter(|_| request.method == "POST");
        let Some(message) = message else { return reply.empty(405) };
        let Some(id) = message.id.as_deref() else { return reply.empty(202) };
        if message.method == "subscriptions/listen" {
            return self.subscribe(id, reply);
        }
        let body = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let (body, news) = state.shop.reply(id, &message);
            if let Some(news) = news {
                state.streams.retain(|stream| stream.try_send(news).is_ok());
            }
            body
        };
        reply.json(200, &body);
    }
}
