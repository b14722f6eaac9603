//! "Did you mean": the known word nearest to a misspelt one.

use strsim::osa_distance;

/// The candidate with the fewest edits from `word`, if they are few for its length; the first of several. Of one letter
/// every other one is an edit away.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3).min(3);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= 6)
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|&(edits, _)| edits > 0 && edits <= limit && edits < word.chars().count())
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, candidate)| candidate)
}
