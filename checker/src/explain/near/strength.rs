//! Near-steps that pass a value on, and carry no order: the sem or the scope is not enough, or a fence is missing.

use super::super::search::{Near, Relaxed, Search, Way};
/// The way with as few values passed on as possible, and what is missing at the first of them.
pub fn near(search: &Search<'_>, way: &Way<'_, '_>) -> Vec<Near> {
    let ends = (way.earlier, way.later);
    let Some(links) = search.links() else { return Vec::new() };
    let Some(mut chain) = links.chain(ends.0, ends.1) else { return Vec::new() };
    let Some(reason) = links.broken_link(&mut chain) else { return Vec::new() };
    let relaxed = if links.passes_data(&chain) { Relaxed::Data } else { Relaxed::Strength };
    let gap = u32::try_from(chain.n_attempts()).unwrap_or(u32::MAX);
    vec![Near { gap, chain: Some(chain), ..Near::new(ends, relaxed, vec![reason]) }]
}
