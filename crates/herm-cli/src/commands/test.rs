//! `test`: a live probe of servers.

use futures_util::StreamExt;
use futures_util::stream;
use herm_core::name::ServerName;
use herm_host::{Host, Probe};

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::settings;
use crate::show::probe::{self, TestDocument};
use crate::ui::Ui;
use crate::{select, session};

/// So many servers are probed at once.
const AT_ONCE: usize = 8;

/// Start or contact servers, and say how each phase went
///
/// Without names: all that are enabled. A disabled server is tested when it is named.
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Configured servers
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// All enabled servers
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

pub(crate) async fn run(args: &TestArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    settings::need_some(&settings)?;
    // Every name is known before anything is started.
    let names = match args.names.as_slice() {
        [] => settings.wanted(),
        names => select::servers(&settings, names)?,
    };
    let setup = session::setup(&settings, context.ui.look)?;
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        let probes = probe_all(host, &names).await;
        report(host, ui, &probes)
    };
    session::with_host(context, setup, work).await
}

async fn probe_all(host: &Host, names: &[ServerName]) -> Vec<Probe> {
    stream::iter(names).map(|name| host.probe(name)).buffered(AT_ONCE).collect().await
}

fn report(host: &Host, ui: &mut Ui, probes: &[Probe]) -> Result<Exit, CommandError> {
    let catalogue = host.catalogue();
    let tested: Vec<_> = probes
        .iter()
        .map(|probe| {
            let offered = catalogue.server(&probe.server).filter(|_| probe.failed.is_none());
            (probe, offered.map(|listing| &**listing))
        })
        .collect();
    if ui.look.json {
        ui.json(&TestDocument::new(&tested))?;
    } else {
        for one in &tested {
            probe::print(ui, *one)?;
        }
    }
    let failed = probes.iter().filter(|probe| probe.failed.is_some()).count();
    if failed > 0 {
        ui.note(format_args!("{failed} of {} servers failed", probes.len()))?;
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Done })
}
