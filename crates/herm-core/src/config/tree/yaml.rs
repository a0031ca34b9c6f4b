//! YAML events to a tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Entry, Flaw, MAX_DEPTH, MAX_VALUES, Mapping, Node, Place, Repeat, Style, Value};

/// What anchors and aliases may copy, in the measure of [`measure`].
const COPIES: usize = 8 << 20;

pub(super) fn read(text: &str) -> Result<Node, Flaw> {
    let mut builder = Builder { spare: COPIES, ..Builder::default() };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            builder.unclosed(text, &error).unwrap_or_else(|| syntax(text, &error))
        })?;
        builder.take(event, place(span))?;
    }
    Ok(builder.root.unwrap_or_else(|| nothing(Place { line: 1, column: 1 })))
}

/// A syntax error, in words that name the most common cause of all: a tab.
fn syntax(text: &str, error: &ScanError) -> Flaw {
    let at = Place { line: error.marker().line().max(1), column: error.marker().col() + 1 };
    let tab = text.lines().take(at.line).enumerate().find_map(|(index, line)| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let column = line.get(..indent)?.find('\t')? + 1;
        (indent < line.len()).then_some(Place { line: index + 1, column })
    });
    match tab {
        Some(place) => {
            Flaw::new(place, "a tab in the indentation").hint("YAML is indented with spaces only")
        }
        None => {
            let flaw = Flaw::new(at, format!("the file is not valid YAML: {}", error.info()));
            let line = text.lines().nth(at.line - 1).unwrap_or_default();
            let bare = line.replacen("${", "", 1).contains(['{', '[']) && line.contains("${");
            if bare {
                flaw.hint("inside of `{}` and `[]` a text with `${NAME}` needs quotes")
            } else {
                flaw
            }
        }
    }
}

fn place(span: Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn nothing(place: Place) -> Node {
    Node { place, value: Value::Scalar { text: String::new(), style: Style::Plain } }
}

/// A list or mapping that has not ended yet.
struct Open {
    place: Place,
    anchor: usize,
    kind: Kind,
}

enum Kind {
    Sequence(Vec<Node>),
    Mapping(OpenMapping),
}

#[derive(Default)]
struct OpenMapping {
    done: Mapping,
    /// Where each key was first.
    seen: HashMap<String, Place>,
    /// The key whose value comes next.
    key: Option<(String, Place, Style)>,
    /// Values of merge keys.
    merges: Vec<Node>,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    spare: usize,
    values: usize,
    documents: usize,
    root: Option<Node>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), Flaw> {
        match event {
            Event::DocumentStart(_) => self.document(place),
            Event::Scalar(text, style, anchor, tag) => {
                let text_tag = tag.as_deref().is_some_and(is_text_tag);
                let plain = style == ScalarStyle::Plain && !text_tag;
                let style = if plain { Style::Plain } else { Style::Quoted };
                let value = Value::Scalar { text: text.into_owned(), style };
                self.finish(Node { place, value }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                self.begin(place, anchor, Kind::Sequence(Vec::new()))
            }
            Event::MappingStart(anchor, _) => {
                self.begin(place, anchor, Kind::Mapping(OpenMapping::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// At the end of the file, the bracket that is still open: the fault is there.
    fn unclosed(&self, text: &str, error: &ScanError) -> Option<Flaw> {
        let at = error.marker();
        let rest = text.lines().skip(at.line().saturating_sub(1)).collect::<Vec<_>>().join("\n");
        if !rest.chars().skip(at.col()).all(char::is_whitespace) {
            return None;
        }
        let bracket = |open: &Open| {
            let line = text.lines().nth(open.place.line.checked_sub(1)?)?;
            let found = line.chars().nth(open.place.column.checked_sub(1)?)?;
            matches!(found, '[' | '{').then_some((found, open.place))
        };
        let (found, place) = self.open.iter().rev().find_map(bracket)?;
        Some(Flaw::new(place, format!("the file is not valid YAML: this `{found}` is not closed")))
    }

    fn document(&mut self, place: Place) -> Result<(), Flaw> {
        self.documents += 1;
        if self.documents > 1 {
            return Err(Flaw::new(place, "a second YAML document begins here")
                .hint("keep one document in the file"));
        }
        Ok(())
    }

    fn begin(&mut self, place: Place, anchor: usize, kind: Kind) -> Result<(), Flaw> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        if self.awaits_key() {
            return Err(Flaw::new(place, "a list or mapping cannot be a key")
                .hint("quote the key if it is text"));
        }
        self.open.push(Open { place, anchor, kind });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Flaw> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.kind {
            Kind::Sequence(items) => Value::Sequence(items),
            Kind::Mapping(mapping) => Value::Mapping(mapping.close()?),
        };
        self.finish(Node { place: open.place, value }, open.anchor)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Flaw> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(Flaw::new(place, "an alias inside of what it stands for"));
        };
        let (weight, depth) = measure(node);
        if self.open.len() + depth > MAX_DEPTH {
            return Err(too_deep(place));
        }
        let node = node.clone();
        self.charge(weight, place)?;
        self.finish(node, 0)
    }

    /// Storing an anchor and following an alias both copy; together they have a budget.
    fn charge(&mut self, weight: usize, place: Place) -> Result<(), Flaw> {
        self.spare = self.spare.checked_sub(weight).ok_or_else(|| {
            Flaw::new(place, "the aliases of this file expand to too much")
                .hint("write the values out instead of repeating them by alias")
        })?;
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { kind: Kind::Mapping(m), .. }) if m.key.is_none())
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Flaw> {
        self.values += 1;
        if self.values > MAX_VALUES {
            let message = format!("the file has more than {MAX_VALUES} values");
            return Err(Flaw::new(node.place, message).hint("is this the right file?"));
        }
        if anchor > 0 {
            self.charge(measure(&node).0, node.place)?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { kind: Kind::Sequence(items), .. }) => items.push(node),
            Some(Open { kind: Kind::Mapping(mapping), .. }) => mapping.put(node)?,
        }
        Ok(())
    }
}

impl OpenMapping {
    fn put(&mut self, node: Node) -> Result<(), Flaw> {
        let Some((key, place, style)) = self.key.take() else {
            let Value::Scalar { text, style } = node.value else {
                return Err(Flaw::new(node.place, "a list or mapping cannot be a key"));
            };
            self.key = Some((text, node.place, style));
            return Ok(());
        };
        if key == "<<" && style == Style::Plain {
            self.merges.push(node);
            return Ok(());
        }
        if let Some(first) = self.seen.get(&key) {
            self.done.repeats.push(Repeat { key, first: *first, again: place });
        } else {
            self.seen.insert(key.clone(), place);
            self.done.entries.push(Entry { key, place, value: node });
        }
        Ok(())
    }

    /// The mapping with what its merge keys bring: own keys win, then the earlier merge.
    fn close(mut self) -> Result<Mapping, Flaw> {
        for merge in std::mem::take(&mut self.merges) {
            let sources = match merge.value {
                Value::Sequence(items) => items,
                _ => vec![merge],
            };
            for source in sources {
                let Value::Mapping(mapping) = source.value else {
                    return Err(Flaw::new(source.place, "`<<` takes a mapping or a list of them"));
                };
                self.merge(mapping);
            }
        }
        Ok(self.done)
    }

    fn merge(&mut self, mapping: Mapping) {
        for entry in mapping.entries {
            if !self.seen.contains_key(&entry.key) {
                self.seen.insert(entry.key.clone(), entry.place);
                self.done.entries.push(entry);
            }
        }
    }
}

fn too_deep(place: Place) -> Flaw {
    Flaw::new(place, format!("values are nested more than {MAX_DEPTH} deep"))
}

fn is_text_tag(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

/// What a copy costs (about its bytes) and how deep it is. No node is deeper than [`MAX_DEPTH`].
fn measure(node: &Node) -> (usize, usize) {
    const VALUE: usize = 64;
    let add = |(weight, depth): (usize, usize), (more, deep): (usize, usize)| {
        (weight.saturating_add(more), depth.max(deep))
    };
    match &node.value {
        Value::Scalar { text, .. } => (VALUE + text.len(), 0),
        Value::Sequence(items) => {
            let (weight, depth) = items.iter().map(measure).fold((VALUE, 0), add);
            (weight, depth + 1)
        }
        Value::Mapping(mapping) => {
            let parts = mapping.entries.iter().map(|entry| {
                let (weight, depth) = measure(&entry.value);
                (weight + entry.key.len(), depth)
            });
            let (weight, depth) = parts.fold((VALUE, 0), add);
            (weight, depth + 1)
        }
    }
}
