//! Stand-ins until the parts land.
use herm_core::config::Server;
pub(crate) fn fingerprint(server: &Server) -> String {
    format!("{}", server.name)
}
pub(crate) fn nearest<'a>(_wanted: &str, _known: impl Iterator<Item = &'a str>) -> Option<String> {
    None
}
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
pub(crate) fn select_tool(_: &Server, _: &str) -> Result<(), String> {
    Ok(())
}
pub(crate) fn select_warnings(_: &Server, _: &[&str]) -> Vec<String> {
    Vec::new()
}
pub(crate) fn decline() -> String {
    r#"{"action":"decline"}"#.to_owned()
}
