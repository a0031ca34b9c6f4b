//! Which tools of a server are offered, and why the others are not.

use super::pattern::Pattern;
use crate::config::ToolChoice;
use crate::name::{NamedTool, Utility};

/// What `tools.*` makes of a server's tools.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// For each tool in the order given: `None` if it is offered, else why not.
    pub hidden: Vec<Option<Hidden>>,
    /// What is odd about the entries, for a person.
    pub warnings: Vec<String>,
}

/// Why a tool is not offered.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Hidden {
    /// `tools.include` is there, and has no entry for it.
    #[error("not in `tools.include`")]
    NotIncluded,
    /// An entry of `tools.exclude` matches it.
    #[error("left out by `{pattern}` in `tools.exclude`")]
    Excluded {
        /// The entry.
        pattern: String,
    },
}

/// Decides on every tool. Patterns match raw names; an entry in exposed form (`mcp__s__read_*`) is
/// understood too, with a warning.
#[must_use]
pub fn select(tools: &[NamedTool], choice: &ToolChoice) -> Selection {
    let mut warnings = Vec::new();
    let hidden = match &choice.include {
        Some(include) => {
            if !choice.exclude.is_empty() {
                warnings.push("`tools.exclude` has no effect beside `tools.include`".to_owned());
            }
            let hits = hits("tools.include", include, tools, &mut warnings);
            hits.iter().map(|hit| hit.is_none().then_some(Hidden::NotIncluded)).collect()
        }
        None => hits("tools.exclude", &choice.exclude, tools, &mut warnings)
            .into_iter()
            .map(|hit| hit.map(|pattern| Hidden::Excluded { pattern: pattern.to_owned() }))
            .collect(),
    };
    Selection { hidden, warnings }
}

/// For each tool the first entry that matches it.
fn hits<'a>(
    key: &str,
    entries: &'a [String],
    tools: &[NamedTool],
    warnings: &mut Vec<String>,
) -> Vec<Option<&'a str>> {
    let mut hits = vec![None; tools.len()];
    for entry in entries {
        let pattern = Pattern::new(entry);
        let mut matched = false;
        let mut exposed = None;
        for (tool, hit) in tools.iter().zip(&mut hits) {
            let by_raw = pattern.matches(&tool.raw);
            let by_exposed =
                !by_raw && entry.starts_with("mcp__") && pattern.matches(&tool.exposed);
            if by_exposed {
                exposed = exposed.or(Some(tool.raw.as_str()));
            }
            if by_raw || by_exposed {
                matched = true;
                hit.get_or_insert(entry.as_str());
            }
        }
        if let Some(raw) = exposed {
            warnings.push(format!(
                "`{entry}` in `{key}` is an exposed name: write the server's own, such as `{raw}`"
            ));
        }
        // Of a server without tools nothing can be said.
        if !matched && !tools.is_empty() {
            warnings.push(no_match(key, entry, tools));
        }
    }
    hits
}

fn no_match(key: &str, entry: &str, tools: &[NamedTool]) -> String {
    let near = tools
        .iter()
        .filter(|tool| tool.raw.len() <= 128 && entry.len() <= 128)
        .map(|tool| (strsim::damerau_levenshtein(entry, &tool.raw), tool.raw.as_str()))
        .min()
        .filter(|(distance, _)| *distance <= (entry.len() / 3).max(1));
    match near {
        Some((_, raw)) => {
            format!("`{entry}` in `{key}` matches no tool of the server: did you mean `{raw}`?")
        }
        None => format!("`{entry}` in `{key}` matches no tool of the server"),
    }
}

/// What a server says that it has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Advertised {
    /// `capabilities.resources`
    pub resources: bool,
    /// `capabilities.prompts`
    pub prompts: bool,
}

/// Why a utility is not offered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HiddenUtility {
    /// `tools.resources` or `tools.prompts` is false.
    #[error("switched off by `tools.resources` or `tools.prompts`")]
    Off,
    /// The server has none of the kind.
    #[error("the server does not advertise any")]
    NotAdvertised,
    /// A tool of the server has the name.
    #[error("a tool of the server has this name")]
    Shadowed,
}

/// Decides on every utility. `shadowed` says whether a tool of the server has its name. Filters
/// (`tools.include`, `tools.exclude`) are about the server's own tools and say nothing of these.
pub fn utilities(
    choice: &ToolChoice,
    advertised: Advertised,
    shadowed: impl Fn(Utility) -> bool,
) -> [(Utility, Option<HiddenUtility>); 4] {
    Utility::ALL.map(|utility| {
        let (wanted, there) = match utility {
            Utility::ListResources | Utility::ReadResource => {
                (choice.resources, advertised.resources)
            }
            Utility::ListPrompts | Utility::GetPrompt => (choice.prompts, advertised.prompts),
        };
        let hidden = match (wanted, there) {
            (false, _) => Some(HiddenUtility::Off),
            (true, false) => Some(HiddenUtility::NotAdvertised),
            (true, true) => shadowed(utility).then_some(HiddenUtility::Shadowed),
        };
        (utility, hidden)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(raws: &[&str]) -> Vec<NamedTool> {
        let tool = |(index, raw): (usize, &&str)| NamedTool {
            index,
            raw: (*raw).to_owned(),
            exposed: format!("mcp__s__{}", raw.replace(['.', '-'], "_")),
        };
        raws.iter().enumerate().map(tool).collect()
    }

    fn choice(include: Option<&[&str]>, exclude: &[&str]) -> ToolChoice {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        ToolChoice { include: include.map(own), exclude: own(exclude), ..ToolChoice::default() }
    }

    fn offered(raws: &[&str], choice: &ToolChoice) -> (Vec<String>, Vec<String>) {
        let tools = tools(raws);
        let selection = select(&tools, choice);
        let kept = tools.iter().zip(&selection.hidden).filter(|(_, hidden)| hidden.is_none());
        (kept.map(|(tool, _)| tool.raw.clone()).collect(), selection.warnings)
    }

    const RAWS: [&str; 4] = ["read.file", "write.file", "list", "mcp__s__odd"];

    #[test]
    fn an_empty_include_means_none_and_an_absent_one_all() {
        assert_eq!(offered(&RAWS, &choice(None, &[])), (RAWS.map(str::to_owned).into(), vec![]));
        assert_eq!(offered(&RAWS, &choice(Some(&[]), &[])), (vec![], vec![]));
    }

    #[test]
    fn include_wins_over_exclude_and_says_so() {
        let (kept, warnings) = offered(&RAWS, &choice(Some(&["*.file"]), &["read.file"]));
        assert_eq!(kept, ["read.file", "write.file"]);
        assert_eq!(warnings.len(), 1);
        let (kept, _) = offered(&RAWS, &choice(None, &["*.file"]));
        assert_eq!(kept, ["list", "mcp__s__odd"]);
    }

    #[test]
    fn an_entry_that_matches_nothing_is_told_with_the_nearest_name() {
        let (kept, warnings) = offered(&RAWS, &choice(Some(&["lst", "nothing_like_it"]), &[]));
        assert!(kept.is_empty());
        assert!(warnings[0].contains("did you mean `list`?"), "{warnings:?}");
        assert!(warnings[1].ends_with("matches no tool of the server"));
        assert!(offered(&[], &choice(Some(&["x"]), &[])).1.is_empty());
    }

    #[test]
    fn an_entry_in_exposed_form_is_understood_and_reported() {
        let (kept, warnings) = offered(&RAWS, &choice(Some(&["mcp__s__read_*"]), &[]));
        assert_eq!(kept, ["read.file"]);
        assert!(warnings[0].contains("`read.file`"), "{warnings:?}");
        let (kept, warnings) = offered(&RAWS, &choice(Some(&["mcp__s__odd"]), &[]));
        assert_eq!((kept, warnings), (vec!["mcp__s__odd".to_owned()], vec![]));
    }

    #[test]
    fn every_hidden_tool_has_its_reason() {
        let tools = tools(&RAWS);
        let hidden = select(&tools, &choice(None, &["x", "wr*"])).hidden;
        let why = hidden[1].as_ref().map(ToString::to_string);
        assert_eq!(why.as_deref(), Some("left out by `wr*` in `tools.exclude`"));
        assert_eq!(hidden[0], None);
    }

    #[test]
    fn utilities_are_offered_only_when_wanted_there_and_free() {
        let mut choice = choice(None, &[]);
        choice.prompts = false;
        let there = Advertised { resources: true, prompts: true };
        let found = utilities(&choice, there, |utility| utility == Utility::ReadResource);
        let why = found.map(|(_, hidden)| hidden);
        let off = Some(HiddenUtility::Off);
        assert_eq!(why, [None, Some(HiddenUtility::Shadowed), off, off]);
        let none = utilities(&choice, Advertised::default(), |_| false);
        assert_eq!(none[0].1, Some(HiddenUtility::NotAdvertised));
    }
}
