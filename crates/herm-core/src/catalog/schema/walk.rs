//! Walking a schema: every subschema has the shape of one, every reference leads to one.
//!
//! Invariants: no recursion over the document (a work list instead), each object is visited once,
//! only keywords that hold schemas are followed.

use std::collections::BTreeMap;

use url::Url;

use super::json::{Node, Object};
use crate::gate::clean;

/// Longest `$id` and `$ref`, and longest URI they may join to, bytes.
const MAX_URI: usize = 1024;

/// How many different URIs a document may use. Joining one costs far more than reading it.
const MAX_URIS: usize = 512;

/// How many references and combinations in a row are followed from the root.
const MAX_HOPS: usize = 128;

/// What a document without `$id` is called: references are resolved against it.
const NAMELESS: &str = "schema:///";

/// The dialects whose keywords are judged, as `$schema` names them behind the host.
const DIALECTS: [&str; 5] =
    ["draft/2020-12/schema", "draft/2019-09/schema", "draft-07/schema", "draft-06/schema", DRAFT_4];
const DRAFT_4: &str = "draft-04/schema";

/// What a keyword holds.
enum Holds {
    /// A schema; under `items` perhaps several.
    One,
    /// Schemas by name.
    Named,
    /// Schemas in order.
    Several,
    /// No schema.
    Else,
}

fn holds(keyword: &str) -> Holds {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::One,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
        | "properties" => Holds::Named,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::Several,
        _ => Holds::Else,
    }
}

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const ANCHORS: [&str; 2] = ["$anchor", "$dynamicAnchor"];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// A schema whose references all resolve.
#[derive(Debug)]
pub(super) struct Document<'a> {
    /// By object: where its references lead.
    targets: BTreeMap<usize, Vec<&'a Node<'a>>>,
    objects: usize,
}

impl<'a> Document<'a> {
    /// Walks the schema `root`, which has so many objects.
    pub(super) fn read(root: &'a Node<'a>, objects: usize) -> Result<Self, String> {
        let mut walk = Walk::new(root, objects);
        walk.run()?;
        // References may lead to places that are no keyword's: those are walked as they turn up.
        let mut targets: BTreeMap<usize, Vec<&Node<'_>>> = BTreeMap::new();
        while let Some(reference) = walk.references.pop() {
            let target = walk.resolve(&reference)?;
            targets.entry(reference.from).or_default().push(target);
            walk.todo.push(Visit {
                node: target,
                resource: reference.resource,
                place: "",
                name: "",
            });
            walk.run()?;
        }
        Ok(Self { targets, objects })
    }

    /// False if it is certain that `node` accepts no object.
    pub(super) fn accepts_an_object(&self, node: &Node<'_>) -> bool {
        self.accepts(node, &mut vec![None; self.objects], MAX_HOPS)
    }

    /// A schema that leads back to itself, or too far, accepts nothing by that way.
    fn accepts(&self, node: &Node<'_>, known: &mut [Option<bool>], hops: usize) -> bool {
        let schema = match node {
            Node::Bool(accepts) => return *accepts,
            Node::Object(schema) => schema,
            _ => return false,
        };
        let Some(hops) = hops.checked_sub(1) else { return false };
        if let Some(accepts) = known.get(schema.id).copied().flatten() {
            return accepts;
        }
        note(known, schema.id, false);
        let targets = self.targets.get(&schema.id).map(Vec::as_slice).unwrap_or_default();
        let accepts = accepts_by_itself(schema)
            && targets.iter().all(|target| self.accepts(target, known, hops))
            && items(schema, "allOf")
                .is_none_or(|all| all.iter().all(|part| self.accepts(part, known, hops)))
            && ["anyOf", "oneOf"].iter().all(|key| {
                items(schema, key)
                    .is_none_or(|any| any.iter().any(|part| self.accepts(part, known, hops)))
            });
        note(known, schema.id, accepts);
        accepts
    }
}

fn note(known: &mut [Option<bool>], id: usize, accepts: bool) {
    if let Some(slot) = known.get_mut(id) {
        *slot = Some(accepts);
    }
}

/// What the keywords that need no other schema say of objects.
fn accepts_by_itself(schema: &Object<'_>) -> bool {
    let by_type = match schema.get("type") {
        None => true,
        Some(Node::Array(types)) => types.iter().any(|one| one.text() == Some("object")),
        Some(one) => one.text() == Some("object"),
    };
    let by_enum = items(schema, "enum").is_none_or(|all| all.iter().any(|v| v.object().is_some()));
    let by_const = schema.get("const").is_none_or(|value| value.object().is_some());
    let by_not = match schema.get("not") {
        Some(Node::Bool(all)) => !all,
        Some(Node::Object(not)) => {
            let only_type = not.iter().all(|(key, _)| key == "type");
            !(only_type && accepts_by_itself(not))
        }
        _ => true,
    };
    by_type && by_enum && by_const && by_not
}

fn items<'n, 'a>(schema: &'n Object<'a>, key: &str) -> Option<&'n [Node<'a>]> {
    if let Some(Node::Array(items)) = schema.get(key) { Some(items) } else { None }
}

/// A subschema to look at: it stands under `name` (may be empty) of the keyword `place`.
struct Visit<'a> {
    node: &'a Node<'a>,
    resource: usize,
    place: &'a str,
    name: &'a str,
}

/// A reference to resolve: the object it stands in, the resource around it, its text.
struct Reference<'a> {
    from: usize,
    resource: usize,
    to: &'a str,
}

/// A schema with a URI of its own: the document, or a part with an `$id`.
struct Resource<'a> {
    /// That of the document is made when the first other one is met: most have none.
    uri: Option<Url>,
    root: &'a Node<'a>,
}

struct Walk<'a> {
    todo: Vec<Visit<'a>>,
    seen: Vec<bool>,
    resources: Vec<Resource<'a>>,
    by_uri: BTreeMap<Url, usize>,
    /// What was joined before: a document repeats its references.
    joined: BTreeMap<(usize, &'a str), Option<Url>>,
    anchors: BTreeMap<(usize, &'a str), &'a Node<'a>>,
    references: Vec<Reference<'a>>,
    id_key: &'static str,
    known_dialect: bool,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Node<'a>, objects: usize) -> Self {
        let dialect = root.object().and_then(|root| root.get("$schema")).and_then(Node::text);
        let dialect = dialect.map(|uri| {
            let uri = uri.trim_end_matches('#');
            let path = uri.split_once("://json-schema.org/");
            path.map_or("", |(_, path)| path)
        });
        Self {
            todo: vec![Visit { node: root, resource: 0, place: "", name: "" }],
            seen: vec![false; objects],
            resources: vec![Resource { uri: None, root }],
            by_uri: BTreeMap::new(),
            joined: BTreeMap::new(),
            anchors: BTreeMap::new(),
            references: Vec::new(),
            id_key: if dialect == Some(DRAFT_4) { "id" } else { "$id" },
            known_dialect: dialect.is_none_or(|path| DIALECTS.contains(&path)),
        }
    }

    /// Visits all that is to do.
    fn run(&mut self) -> Result<(), String> {
        while let Some(visit) = self.todo.pop() {
            match visit.node {
                Node::Object(schema) => self.visit(&visit, schema)?,
                Node::Bool(_) => {}
                other if self.known_dialect => return Err(no_schema(&visit, other)),
                _ => {}
            }
        }
        Ok(())
    }

    fn visit(&mut self, visit: &Visit<'a>, schema: &'a Object<'a>) -> Result<(), String> {
        match self.seen.get_mut(schema.id) {
            Some(seen) if !*seen => *seen = true,
            _ => return Ok(()),
        }
        let resource = self.named(visit, schema)?;
        if self.known_dialect {
            well_formed(schema)?;
        }
        // Few schemas have any of these.
        let references = if has_dollar(schema) { &REFERENCES[..] } else { &[] };
        for key in references {
            match schema.get(key) {
                None => {}
                Some(Node::Text(to)) => {
                    self.references.push(Reference { from: schema.id, resource, to });
                }
                Some(_) if !self.known_dialect => {}
                Some(other) => return Err(format!("`{key}` is {}, not a text", other.what())),
            }
        }
        self.children(schema, resource)
    }

    /// Notes `$id` and anchors; answers which resource the schema belongs to.
    fn named(&mut self, visit: &Visit<'a>, schema: &'a Object<'a>) -> Result<usize, String> {
        let mut resource = visit.resource;
        match schema.get(self.id_key).and_then(Node::text) {
            None => {}
            Some(id) => {
                let (uri, fragment) = id.split_once('#').unwrap_or((id, ""));
                if !uri.is_empty() {
                    resource = self.add_resource(visit, uri)?;
                }
                if !fragment.is_empty() {
                    self.anchors.insert((resource, fragment), visit.node);
                }
            }
        }
        let anchors = if has_dollar(schema) { &ANCHORS[..] } else { &[] };
        for key in anchors {
            if let Some(anchor) = schema.get(key).and_then(Node::text) {
                self.anchors.insert((resource, anchor), visit.node);
            }
        }
        Ok(resource)
    }

    fn add_resource(&mut self, visit: &Visit<'a>, uri: &'a str) -> Result<usize, String> {
        let Some(uri) = self.joined(visit.resource, uri)? else { return Ok(visit.resource) };
        if let Some(known) = self.by_uri.get(&uri) {
            return Ok(*known);
        }
        let index = self.resources.len();
        self.by_uri.insert(uri.clone(), index);
        self.resources.push(Resource { uri: Some(uri), root: visit.node });
        Ok(index)
    }

    /// Gives the document a URI, unless it has one.
    fn name_document(&mut self) {
        if self.by_uri.is_empty()
            && let (Ok(uri), Some(document)) = (Url::parse(NAMELESS), self.resources.first_mut())
        {
            self.by_uri.insert(uri.clone(), 0);
            document.uri = Some(uri);
        }
    }

    /// `uri` seen from a resource; `None` if it is no URI.
    fn joined(&mut self, resource: usize, uri: &'a str) -> Result<Option<Url>, String> {
        if let Some(known) = self.joined.get(&(resource, uri)) {
            return Ok(known.clone());
        }
        if self.joined.len() >= MAX_URIS {
            return Err(format!("the schema uses more than {MAX_URIS} different URIs"));
        }
        if uri.len() > MAX_URI {
            return Err(format!("a URI of the schema has over {MAX_URI} bytes"));
        }
        self.name_document();
        let base = self.resources.get(resource).and_then(|base| base.uri.as_ref());
        let joined = base.and_then(|base| base.join(uri).ok());
        if joined.as_ref().is_some_and(|uri| uri.as_str().len() > MAX_URI) {
            return Err(format!("a URI of the schema has over {MAX_URI} bytes"));
        }
        self.joined.insert((resource, uri), joined.clone());
        Ok(joined)
    }

    /// Adds the subschemas of `schema` to what is to do.
    fn children(&mut self, schema: &'a Object<'a>, resource: usize) -> Result<(), String> {
        for (place, value) in schema.iter() {
            let visit = |node, name| Visit { node, resource, place, name };
            match (holds(place), value) {
                (Holds::Else, _) => {}
                (Holds::One, Node::Array(items)) if place == "items" => {
                    self.todo.extend(items.iter().map(|node| visit(node, "")));
                }
                (Holds::One, node) => self.todo.push(visit(node, "")),
                (Holds::Named, Node::Object(members)) => {
                    let schemas = members.iter().filter(|(_, node)| {
                        place != "dependencies" || !matches!(node, Node::Array(_))
                    });
                    self.todo.extend(schemas.map(|(name, node)| visit(node, name)));
                }
                (Holds::Several, Node::Array(items)) => {
                    self.todo.extend(items.iter().map(|node| visit(node, "")));
                }
                (Holds::Named | Holds::Several, _) if !self.known_dialect => {}
                (Holds::Named, other) => {
                    return Err(format!("`{place}` is {}, not an object", other.what()));
                }
                (Holds::Several, other) => {
                    return Err(format!("`{place}` is {}, not an array", other.what()));
                }
            }
        }
        Ok(())
    }

    fn resolve(&mut self, reference: &Reference<'a>) -> Result<&'a Node<'a>, String> {
        let (uri, fragment) = reference.to.split_once('#').unwrap_or((reference.to, ""));
        let resource = if uri.is_empty() {
            reference.resource
        } else {
            let leaves = || format!("`$ref` `{}` leaves the schema", shown(reference.to));
            let uri = self.joined(reference.resource, uri)?.ok_or_else(leaves)?;
            *self.by_uri.get(&uri).ok_or_else(leaves)?
        };
        self.fragment(resource, fragment)
            .filter(|node| matches!(node, Node::Object(_) | Node::Bool(_)))
            .ok_or_else(|| format!("`$ref` `{}` leads to no schema", shown(reference.to)))
    }

    /// Follows a JSON pointer or an anchor, both percent-encoded.
    fn fragment(&self, resource: usize, fragment: &str) -> Option<&'a Node<'a>> {
        let fragment = percent_decoded(fragment)?;
        let root = self.resources.get(resource)?.root;
        if fragment.is_empty() {
            return Some(root);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return self.anchors.get(&(resource, fragment.as_str())).copied();
        };
        pointer.split('/').try_fold(root, |node, step| match node {
            Node::Object(object) => object.get(&unescaped(step)?),
            Node::Array(items) if step == "0" || !step.starts_with('0') => {
                items.get(step.parse::<usize>().ok()?)
            }
            _ => None,
        })
    }
}

/// True if a key begins with `$`.
fn has_dollar(schema: &Object<'_>) -> bool {
    schema.iter().any(|(key, _)| key.starts_with('$'))
}

/// The shape of keywords that hold no schema but decide what a model may send.
fn well_formed(schema: &Object<'_>) -> Result<(), String> {
    let is_type = |node: &Node<'_>| node.text().is_some_and(|name| TYPES.contains(&name));
    match schema.get("type") {
        None => {}
        Some(Node::Array(types)) if !types.is_empty() && types.iter().all(is_type) => {}
        Some(Node::Text(name)) if !TYPES.contains(&name.as_ref()) => {
            return Err(format!("`{}` is no type", shown(name)));
        }
        Some(Node::Text(_)) => {}
        Some(_) => return Err("`type` is neither a type nor a list of types".to_owned()),
    }
    match schema.get("required") {
        None => Ok(()),
        Some(Node::Array(names)) if names.iter().all(|name| name.text().is_some()) => Ok(()),
        Some(_) => Err("`required` is not a list of names".to_owned()),
    }
}

fn no_schema(visit: &Visit<'_>, found: &Node<'_>) -> String {
    let dot = if visit.name.is_empty() { "" } else { "." };
    format!("`{}{dot}{}` is {}, not a schema", visit.place, shown(visit.name), found.what())
}

/// A server's words in a message of ours: clean, one line, bounded.
fn shown(text: &str) -> String {
    clean::line(text, 64)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// One step of a JSON pointer: `~1` is `/`, `~0` is `~`.
fn unescaped(step: &str) -> Option<String> {
    let mut text = String::with_capacity(step.len());
    let mut chars = step.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}
