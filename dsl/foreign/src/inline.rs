//! What is worked out of the text of a line: the instruction in inline assembly, the wait that a loop without body is, an
//! atomic with its order and scope.

use crate::chain::Chain;
use crate::libcu;
use crate::origin::Origin;

/// Types of C++, as casts name them.
pub const TYPES: &[&str] = &[
    "int",
    "unsigned",
    "signed",
    "long",
    "short",
    "char",
    "bool",
    "float",
    "double",
    "size_t",
    "uint",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "uintptr_t",
    "uint2",
    "uint4",
    "int2",
    "int4",
    "float2",
    "float4",
    "half",
    "void",
];

/// Atomics of libcu++ and Triton, which name their order.
pub fn atomic(chain: &Chain<'_>) -> Option<(Origin, String)> {
    if let Some(help) = libcu::of_triton(chain.text) {
        return Some((Origin::Triton, help));
    }
    libcu::translated(chain.text).map(|help| (Origin::Libcu, help))
}

/// The headline of an `asm`.
pub fn assembly_title(text: &str) -> String {
    let word = text.split(['(', ' ']).next().unwrap_or("asm");
    if text.contains("volatile") { format!("{word} volatile(…)") } else { format!("{word}(…)") }
}

/// What to write for an `asm` of these literals.
pub fn assembly<'t>(literals: impl Iterator<Item = &'t str>) -> String {
    let pieces = literals.flat_map(|literal| literal.trim_matches('"').split([';', '{', '}']));
    let clean = |piece: &str| piece.replace("\\n", " ").replace("\\t", " ").trim().to_owned();
    let mut written = pieces.map(clean).filter(|piece| {
        piece.starts_with(|c: char| c.is_ascii_lowercase()) && piece.contains('.') || piece == "trap"
    });
    match written.next() {
        None => "nothing: it orders for the compiler only".to_owned(),
        Some(one) if one.contains(['%', '$']) => {
            format!(
                "write the instruction itself, with names for the operands and a result in front: `{one};`"
            )
        }
        Some(one) => format!("write the instruction itself: `{one};`"),
    }
}

/// The wait that a loop is which tests the result of a line as `test` says, such as `== 0`.
pub fn wait(help: &str, test: &str, is_negated: bool) -> Option<String> {
    const OTHER: &[(&str, &str)] =
        &[("==", "!="), ("!=", "=="), ("<=", ">"), (">=", "<"), ("<", ">="), (">", "<=")];
    let (line, rest) = help.strip_prefix('`')?.split_once('`')?;
    let line = line.strip_suffix(';')?;
    if line.contains(';') {
        return None;
    }
    let (_, instruction) = line.strip_prefix("let ")?.split_once(" = ")?;
    let test = test.trim();
    let until = match OTHER.iter().find(|(own, _)| test.starts_with(own)) {
        Some((own, other)) => format!("{other} {}", test[own.len()..].trim()),
        None if test.is_empty() && is_negated => "!= 0".to_owned(),
        None if test.is_empty() => "== 0".to_owned(),
        None => return None,
    };
    let value = if instruction.contains(", ") { format!("({instruction})") } else { instruction.to_owned() };
    // What was said of the old value does not matter here.
    let rest = if rest.starts_with(", with the scope") { rest } else { "" };
    Some(format!("`await {value} {until};`{rest}"))
}

#[cfg(test)]
mod tests {
    use super::{assembly, wait};

    #[test]
    fn assembly_is_its_first_instruction() {
        let cases = [
            (vec!["\"bar.sync 0;\"", "\"memory\""], "write the instruction itself: `bar.sync 0;`"),
            (vec!["\"\"", "\"memory\""], "nothing: it orders for the compiler only"),
            (
                vec!["\"{\\n\\t.reg .pred p;\\n\\t\"", "\"mbarrier.try_wait.parity.b64 p, [%0], %1;\\n\\t\""],
                "write the instruction itself, with names for the operands and a result in front: \
                 `mbarrier.try_wait.parity.b64 p, [%0], %1;`",
            ),
        ];
        for (literals, expected) in cases {
            assert_eq!(assembly(literals.into_iter()), expected);
        }
    }

    #[test]
    fn a_loop_without_body_waits_for_the_opposite() {
        let load = "`let v = ld.acquire.gpu [x];`, with the scope of the `atomic_ref`";
        let told = wait(load, " == 0", false);
        assert_eq!(
            told.as_deref(),
            Some("`await ld.acquire.gpu [x] != 0;`, with the scope of the `atomic_ref`")
        );
        let swap = "`let old = atom.cas.b32 [x], 0, 1;`";
        assert_eq!(wait(swap, "!= 0", false).as_deref(), Some("`await (atom.cas.b32 [x], 0, 1) == 0;`"));
        assert_eq!(wait(swap, "", true).as_deref(), Some("`await (atom.cas.b32 [x], 0, 1) != 0;`"));
        assert_eq!(wait("`fence.sc.gpu; let v = ld.acquire.gpu [x];`", "== 0", false), None);
    }
}
