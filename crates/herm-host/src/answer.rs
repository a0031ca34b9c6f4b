//! Who answers what a server asks: sampling, elicitation, roots.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use herm_core::elicit::{self, Elicitation};
use herm_core::name::ServerName;
use herm_core::wire::Raw;

/// The one place where all questions of servers go, legacy requests and `input_required` rounds
/// alike. What it can answer is what is declared (R-2).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Answerer {
    /// Nobody: nothing is declared.
    #[default]
    None,
    /// Declares form elicitation and declines each.
    Decline,
    /// Declares form elicitation and accepts each that can be filled from its defaults.
    AcceptDefaults,
    /// Asks a callback.
    Callback(Arc<dyn Answer>),
}

/// A callback that answers.
pub trait Answer: fmt::Debug + Send + Sync {
    /// `clientCapabilities` as a JSON object: declare only what [`Answer::answer`] can serve.
    fn capabilities(&self) -> String;

    /// Answers one question with the JSON of its result, or refuses.
    fn answer(&self, ask: Ask) -> Answering;
}

/// The future of an answer.
pub type Answering = Pin<Box<dyn Future<Output = Result<String, NoAnswer>> + Send>>;

/// One question of a server.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Who asks.
    pub server: ServerName,
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// Its params as sent: untrusted.
    pub params: Option<Raw>,
    /// Which round of the call this is, from 1; 0 for a legacy request.
    pub round: u32,
}

/// A question that is not answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoAnswer {
    /// Not one of the declared kinds.
    #[error("not declared")]
    NotDeclared,
    /// A person said no (for sampling; elicitation has `action: decline`).
    #[error("rejected by the user")]
    Rejected,
    /// The one who answers broke down.
    #[error("nobody could answer")]
    Failed,
}

const FORMS: &str = r#"{"elicitation":{"form":{}}}"#;

impl Answerer {
    /// True if anything is declared.
    pub(crate) fn answers(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// `clientCapabilities`, a JSON object (I-1: declared only where it can be served).
    pub(crate) fn capabilities(&self) -> String {
        match self {
            Self::None => "{}".to_owned(),
            Self::Decline | Self::AcceptDefaults => FORMS.to_owned(),
            Self::Callback(answer) => answer.capabilities(),
        }
    }

    /// Answers one question.
    pub(crate) async fn answer(&self, ask: Ask) -> Result<String, NoAnswer> {
        match self {
            Self::None => Err(NoAnswer::NotDeclared),
            Self::Decline if ask.method == ELICIT => Ok(elicit::decline()),
            Self::AcceptDefaults if ask.method == ELICIT => Ok(from_defaults(&ask)),
            Self::Decline | Self::AcceptDefaults => Err(NoAnswer::NotDeclared),
            Self::Callback(answer) => {
                // A panic in an embedder's callback costs that question only.
                let answering = AssertUnwindSafe(async { answer.answer(ask).await });
                answering.catch_unwind().await.unwrap_or(Err(NoAnswer::Failed))
            }
        }
    }
}

const ELICIT: &str = "elicitation/create";

/// A form whose required fields all have defaults is accepted, anything else declined.
fn from_defaults(ask: &Ask) -> String {
    match ask.params.as_ref().map(|params| Elicitation::read(params)) {
        Some(Ok(Elicitation::Form(form))) => match form.defaults() {
            Ok(content) => elicit::accept(Some(&content)),
            Err(_) => elicit::decline(),
        },
        _ => elicit::decline(), // no form: nothing that could be filled
    }
}
