//! What a file says of its variants, in comments that start with two stars:
//!
//! ```text
//! (** Variant "name" (A-4): what is so with it. *)
//! (** Variant "name" (A-17) orders more; with it, what is so then. *)
//! (** Variant "name" (A-38) orders less; without it, what is so else. *)
//! ```
//!
//! To the herd tools these are comments as others; so is, here, one that has none of these forms.

use super::memory_model::{Effect, Variant};

/// The variant that a comment describes, delimiters included, if it describes one.
pub(super) fn described(comment: &str) -> Option<Variant> {
    let text = comment.strip_prefix("(**")?.strip_suffix("*)")?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (name, rest) = text.strip_prefix("Variant \"")?.split_once("\" (")?;
    let (rule, rest) = rest.split_once(')')?;
    let forms = [
        (": ", Effect::Other),
        (" orders more; with it, ", Effect::OrdersMore),
        (" orders less; without it, ", Effect::OrdersLess),
    ];
    let (effect, what) =
        forms.into_iter().find_map(|(form, effect)| Some((effect, rest.strip_prefix(form)?)))?;
    let what = what.strip_suffix('.').unwrap_or(what);
    Some(Variant { name: name.to_owned(), rule: rule.to_owned(), effect, what: what.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Effect, described};

    #[test]
    fn a_description_has_a_name_a_rule_and_a_sentence() {
        let text = "(** Variant \"wide\" (A-17) orders more; with it,\n   a fence\n   counts everywhere. *)";
        let variant = described(text).expect("it is one");
        assert_eq!((variant.name.as_str(), variant.rule.as_str()), ("wide", "A-17"));
        assert_eq!(
            (variant.effect, variant.what.as_str()),
            (Effect::OrdersMore, "a fence counts everywhere")
        );
        assert_eq!(described("(** Variant \"x\" (A-4): y. *)").map(|one| one.effect), Some(Effect::Other));
        for other in ["(* Variant \"x\" (A-4): y. *)", "(** Variant \"x\": y. *)", "(**)", "(** A-4 *)"] {
            assert_eq!(described(other), None, "{other}");
        }
    }
}
