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
    insta::assert_snapshot!(table.join("\n"), @r#"
    text=5 -> {"text":"5"}
    text= -> {"text":""}
    text=a=b -> {"text":"a=b"}
    text="q" -> {"text":"\"q\""}
    n=1.50 -> {"n":1.50}
    n=x -> error: `n` must be a number, and `x` is none
    i=7 -> {"i":7}
    i=7.0 -> {"i":7.0}
    i=7.5 -> error: `i` must be an integer, and `7.5` is none
    i=123456789012345678901234567890 -> {"i":123456789012345678901234567890}
    b=true -> {"b":true}
    b=yes -> error: `b` must be `true` or `false`, and `yes` is none
    list=[1, 2] -> {"list":[1, 2]}
    list=1 -> error: `list` must be a JSON array, and `1` is none
    o={} -> {"o":{}}
    maybe=null -> {"maybe":null}
    maybe=3 -> {"maybe":3}
    maybe=x -> error: `maybe` must be an integer or null, and `x` is none
    mixed=3 -> {"mixed":"3"}
    size=4 -> {"size":4}
    size=big -> error: `size` must be an integer, and `big` is none
    loop=x -> {"loop":"x"}
    pick=a -> {"pick":"a"}
    any=1 -> {"any":"1"}
    unknown=1 -> {"unknown":"1"}
    odd=1 -> {"odd":1}
    n:="1" -> {"n":"1"}
    n:= -> error: `n:=` needs JSON: EOF while parsing a value at line 1 column 0
    text:={"z":1.10} -> {"text":{"z":1.10}}
    novalue -> error: `novalue` is no argument: write `key=value` or `key:=JSON`
    =1 -> error: `=1` is no argument: write `key=value` or `key:=JSON`
    :=1 -> error: `:=1` is no argument: write `key=value` or `key:=JSON`
    "#);
}

#[test]
fn pairs_win_over_the_object_and_the_rest_stays_as_written() {
    let whole = r#"{"z":1.10, "a":123456789012345678901, "text":"old", "m":{"y":1, "x":2}}"#;
    insta::assert_snapshot!(built(whole, &["text=new", "b=false"]), @r#"{"z":1.10,"a":123456789012345678901,"text":"new","m":{"y":1, "x":2},"b":false}"#);
    insta::assert_snapshot!(built("[1]", &[]), @"error: `--args` must be a JSON object: invalid type: sequence, expected a JSON object at line 1 column 0");
    insta::assert_snapshot!(built("{} x", &[]), @"error: `--args` must be a JSON object: trailing characters at line 1 column 4");
    insta::assert_snapshot!(built("{}", &["a=1", "a=2"]), @"error: the argument `a` is given twice");
}

#[test]
fn prompt_arguments_are_texts() {
    let words = ["n=5".to_owned(), "t=true".to_owned()];
    let raw = texts(&pairs(&words).unwrap()).unwrap().unwrap();
    assert_eq!(raw.get(), r#"{"n":"5","t":"true"}"#);
    assert!(texts(&pairs(&["n:=5".to_owned()]).unwrap()).is_err());
    assert!(texts(&[]).unwrap().is_none());
}
