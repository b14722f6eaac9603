//! What a call's own operands make of the answer: the address and values of an atomic, the numbers of a barrier, how many
//! groups may be left. An answer with other numbers than the line has would say something else.

/// Behind lines whose number is one of groups; it goes where the call says the number.
const GROUPS_LEFT: &str = ", with the number of groups that may be left";

/// Scopes of CUDA's atomics.
const SCOPES: &[(&str, &str)] = &[("_block", ".relaxed.cta"), ("_system", ".relaxed.sys")];

/// Operations of CUDA's atomics, with their types and whether the operand is taken with the other sign.
const OPERATIONS: &[(&str, &str, &str, bool)] = &[
    ("Add", "add", "u32", false),
    ("Sub", "add", "u32", true),
    ("Min", "min", "u32", false),
    ("Max", "max", "u32", false),
    ("And", "and", "b32", false),
    ("Or", "or", "b32", false),
    ("Xor", "xor", "b32", false),
    ("Inc", "inc", "u32", false),
    ("Dec", "dec", "u32", false),
    ("Exch", "exch", "b32", false),
    ("CAS", "cas", "b32", false),
];

/// What stands between the parentheses that were just opened, at its commas.
pub fn split(rest: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut found = Vec::new();
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ')' => {
                found.push(rest[start..at].trim());
                return found;
            }
            ',' if depth == 0 => {
                found.push(rest[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(rest[start..].trim());
    found
}

/// Whether it is a number or a name, which is the same here.
pub fn is_plain(operand: &str) -> bool {
    let is_name = !operand.is_empty() && operand.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name && !operand.starts_with("memory_order")
}

/// A value that is the same here, without what C++ says of its type; whether it has 64 bits.
fn value(operand: &str) -> Option<(String, bool)> {
    let digits = operand.strip_prefix('-').unwrap_or(operand);
    if !is_plain(digits) {
        return is_expression(operand).then(|| (operand.to_owned(), false));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Some((operand.to_owned(), false));
    }
    let number = operand.trim_end_matches(['u', 'U', 'l', 'L']);
    let suffix = operand[number.len()..].to_lowercase();
    let is_number = !number.contains('f') || number.starts_with("0x");
    is_number.then(|| (number.to_owned(), suffix.contains('l')))
}

/// Whether an operand of several names and numbers is the same expression here.
fn is_expression(operand: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_ +-*/%&|^<>=!?:()".contains(c);
    let mut words =
        operand.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let is_number = |word: &str| {
        !word.starts_with(|c: char| c.is_ascii_digit()) || word.chars().all(|c| c.is_ascii_digit())
    };
    let is_call = operand
        .char_indices()
        .any(|(at, c)| c == '(' && operand[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'));
    let begins = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '(' || c == '~';
    operand.starts_with(begins)
        && operand.chars().all(is_part)
        && !operand.contains("::")
        && !is_call
        && words.all(is_number)
}

/// The address of an operand: `&x`, `x`, `&slot[i]`, `slot + i`.
fn address(operand: &str) -> Option<String> {
    let named = operand.trim_start_matches('&').trim();
    if let Some((array, index)) = named.split_once('+') {
        let (array, index) = (array.trim(), index.trim());
        return (is_plain(array) && is_plain(index)).then(|| format!("[{array}[{index}]]"));
    }
    let is_part = |c: char| c.is_alphanumeric() || "_[] +-*/%".contains(c);
    let is_name = named.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (is_name && named.chars().all(is_part)).then(|| format!("[{named}]"))
}

/// `atomicAdd(&x, 1)` and its like, with the operands that it has.
pub fn atomic_of_cuda(text: &str) -> Option<String> {
    let (name, rest) = text.split_once('(')?;
    let name = name.strip_prefix("atomic")?;
    let suffix = SCOPES.iter().find(|(suffix, _)| name.ends_with(suffix));
    let (name, sem) = suffix.map_or((name, ""), |(suffix, sem)| (name.trim_end_matches(suffix), *sem));
    let &(_, operation, of, is_negated) = OPERATIONS.iter().find(|(own, ..)| *own == name)?;
    let operands = split(rest);
    let (first, values) = operands.split_first()?;
    let address = address(first)?;
    let values: Vec<(String, bool)> = values.iter().map(|operand| value(operand)).collect::<Option<_>>()?;
    if values.len() != if operation == "cas" { 2 } else { 1 } {
        return None;
    }
    let is_wide = values.iter().any(|(_, is_wide)| *is_wide);
    let of = if is_wide { of.replace("32", "64") } else { of.to_owned() };
    let values: Vec<String> = values.into_iter().map(|(value, _)| value).collect();
    let values = if is_negated {
        match values[0].strip_prefix('-') {
            Some(positive) => positive.to_owned(),
            None if is_plain(&values[0]) => format!("-{}", values[0]),
            None => format!("-({})", values[0]),
        }
    } else {
        values.join(", ")
    };
    let whole = format!("`let old = atom.{operation}{sem}.{of} {address}, {values};`");
    if ["cas", "exch", "inc", "dec"].contains(&operation) {
        return Some(whole);
    }
    let reduction = if sem.is_empty() { String::new() } else { sem[1..].to_owned() + "." };
    let reduction = format!("red.{reduction}{operation}.{of} {address}, {values};");
    Some(format!("{whole}, or `{reduction}` if the old value is unused"))
}

/// `NamedBarrier::sync(n, id)`, whose operands stand the other way round here.
pub fn named_barrier(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("NamedBarrier::")?;
    let (name, rest) = rest.split_once('(')?;
    let opcode = match name {
        "sync" | "arrive_and_wait" => "bar.sync",
        "arrive" => "bar.arrive",
        _ => return None,
    };
    let operands = split(rest);
    let [threads, number] = operands.as_slice() else { return None };
    (is_plain(threads) && is_plain(number)).then(|| format!("`{opcode} {number}, {threads};`"))
}

/// A line of groups with the number that the call says, in its template arguments or in parentheses.
pub fn groups_left(help: &str, template: Option<&str>, arguments: Option<&str>) -> Option<String> {
    let lines = help.strip_suffix(GROUPS_LEFT)?;
    let digits = |text: &str| -> String {
        let own = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        own.chars().take_while(char::is_ascii_digit).collect()
    };
    // `n32_t<3>()` has its number behind the type's.
    let of_template = template.map(digits);
    let of_arguments = arguments.map(|text| digits(text.split_once('<').map_or(text, |(_, inner)| inner)));
    let number = of_template.or(of_arguments).filter(|number| !number.is_empty())?;
    let at = lines.find(['0', '1'])?;
    Some(format!("{}{number}{}", &lines[..at], &lines[at + 1..]))
}

/// A line about an mbarrier with the count or bytes that the call says last.
pub fn counted(help: &str, arguments: Option<&str>) -> Option<String> {
    let operands = split(arguments?);
    let (number, _) =
        value(operands.last()?).filter(|(number, _)| number.starts_with(|c: char| c.is_ascii_digit()))?;
    let (line, rest) = help.split_once("[bar], ")?;
    let is_one = ["`mbarrier.init ", "`mbarrier.arrive.expect_tx _, "].contains(&line);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_suffix(", with how many arrive").unwrap_or(rest);
    is_one.then(|| format!("{line}[bar], {number}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::{atomic_of_cuda, counted, groups_left, named_barrier};

    #[test]
    fn operands_are_those_of_the_line() {
        let cases = [
            ("atomicExch(&lock, 0u)", Some("`let old = atom.exch.b32 [lock], 0;`")),
            (
                "atomicAdd(&done[2], 0)",
                Some(
                    "`let old = atom.add.u32 [done[2]], 0;`, or `red.add.u32 [done[2]], 0;` if the old value is unused",
                ),
            ),
            (
                "atomicSub_system(count, n)",
                Some(
                    "`let old = atom.add.relaxed.sys.u32 [count], -n;`, or `red.relaxed.sys.add.u32 [count], -n;` if the old value is unused",
                ),
            ),
            (
                "atomicAdd(flags + rank, 1ull)",
                Some(
                    "`let old = atom.add.u64 [flags[rank]], 1;`, or `red.add.u64 [flags[rank]], 1;` if the old value is unused",
                ),
            ),
            ("atomicCAS_block(&x, 0, 1)", Some("`let old = atom.cas.relaxed.cta.b32 [x], 0, 1;`")),
            ("atomicInc(&x, n - 1)", Some("`let old = atom.inc.u32 [x], n - 1;`")),
            (
                "atomicExch(lock, i + 1 == n ? 0 : i + 1)",
                Some("`let old = atom.exch.b32 [lock], i + 1 == n ? 0 : i + 1;`"),
            ),
            (
                "atomicSub(&x, n + 1)",
                Some(
                    "`let old = atom.add.u32 [x], -(n + 1);`, or `red.add.u32 [x], -(n + 1);` if the old value is unused",
                ),
            ),
            ("atomicExch(&x, threadIdx.x)", None),
            ("atomicExch(&x, f(1))", None),
            ("atomicExch(&x, n + 1u)", None),
            ("atomicAdd(&f, 1.0f)", None),
            ("atomicAdd(&p->count, 1)", None),
        ];
        for (text, expected) in cases {
            assert_eq!(atomic_of_cuda(text).as_deref(), expected, "{text}");
        }
        assert_eq!(named_barrier("arch::NamedBarrier::sync(128, 2)").as_deref(), Some("`bar.sync 2, 128;`"));
        assert_eq!(named_barrier("NamedBarrier::sync(128)"), None);
        let help = "`mbarrier.init [bar], 4;`, with how many arrive";
        assert_eq!(counted(help, Some("&bar, 32")).as_deref(), Some("`mbarrier.init [bar], 32;`"));
        assert_eq!(counted(help, Some("&bar, blockDim.x")), None);
        assert_eq!(counted("`mbarrier.arrive _, [bar];`", Some("1")), None);
    }

    #[test]
    fn groups_left_are_those_of_the_line() {
        let help = "`cp.async.wait_group 1;`, with the number of groups that may be left";
        let told = |template, arguments| groups_left(help, template, arguments);
        assert_eq!(told(Some("<3>"), Some("")).as_deref(), Some("`cp.async.wait_group 3;`"));
        assert_eq!(told(None, Some("0")).as_deref(), Some("`cp.async.wait_group 0;`"));
        assert_eq!(told(None, Some("cuda::ptx::n32_t<2>()")).as_deref(), Some("`cp.async.wait_group 2;`"));
        assert_eq!(told(Some("<Stages>"), Some("")), None);
        assert_eq!(groups_left("`bar.sync 0;`", None, Some("1")), None);
    }
}
