use serde_json::value::RawValue;

use super::{merge, object, pairs, texts};

const SCHEMA: &str = r##"{"type":"object","$defs":{"Size":{"type":"integer"},"Loop":{"$ref":"#/$defs/Loop"}},"properties":{
    "text":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},
    "list":{"type":"array"},"o":{"type":"object"},"maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},
    "mixed":{"type":["integer","string"]},"size":{"$ref":"#/$defs/Size"},"loop":{"$ref":"#/$defs/Loop"},
    "pick":{"enum":["a","b"]},"any":true,"odd":{"type":"quaternion"}}}"##;

fn built(args: &str, words: &[&str]) -> String {
    let schema: &RawValue = serde_json::from_str(SCHEMA).unwrap();
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    object(args)
        .and_then(|base| merge(base, &pairs(&words)?, Some(schema)))
        .map_or_else(|error| format!("error: {error}"), |raw| raw.get().to_owned())
}

#[test]
fn a_value_has_the_type_that_the_schema_names() {
    let words = [
        "text=5",
        "text=",
        "text=a=b",
        "text=\"q\"",
        "n=1.50",
        "n=x",
        "i=7",
        "i=7.0",
        "i=7.5",
        "i=123456789012345678901234567890",
        "b=true",
        "b=yes",
        "list=[1, 2]",
        "list=1",
        "o={}",
        "maybe=null",
        "maybe=3",
        "maybe=x",
        "mixed=3",
        "size=4",
        "size=big",
        "loop=x",
        "pick=a",
        "any=1",
        "unknown=1",
        "odd=1",
        "n:=\"1\"",
        "n:=",
        "text:={\"z\":1.10}",
        "novalue",
        "=1",
        ":=1",
    ];
    let table: Vec<String> =
        words.iter().map(|word| format!("{word} -> {}", built("{}", &[word]))).collect();
    insta::assert_snapshot!(table.join("\n"), @"");
}

#[test]
fn pairs_win_over_the_object_and_the_rest_stays_as_written() {
    let whole = r#"{"z":1.10, "a":123456789012345678901, "text":"old", "m":{"y":1, "x":2}}"#;
    insta::assert_snapshot!(built(whole, &["text=new", "b=false"]), @"");
    insta::assert_snapshot!(built("[1]", &[]), @"");
    insta::assert_snapshot!(built("{} x", &[]), @"");
    insta::assert_snapshot!(built("{}", &["a=1", "a=2"]), @"");
}

#[test]
fn prompt_arguments_are_texts() {
    let words = ["n=5".to_owned(), "t=true".to_owned()];
    let raw = texts(&pairs(&words).unwrap()).unwrap().unwrap();
    assert_eq!(raw.get(), r#"{"n":"5","t":"true"}"#);
    assert!(texts(&pairs(&["n:=5".to_owned()]).unwrap()).is_err());
    assert!(texts(&[]).unwrap().is_none());
}
