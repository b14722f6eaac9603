//! Atomic operations of libcu++, as they are called: in PTX, with the order and the scope that the line names. To write
//! a stronger order than the code has would prove too much.
//!
//! Source: CCCL libcudacxx/include/cuda/std/__atomic/functions/cuda_ptx_generated.h.

use crate::operands::{is_plain, split};

/// Members of `cuda::atomic_ref` and `cuda::atomic`.
const MEMBERS: &[(&str, Operation)] = &[
    (".load(", Operation::Load),
    (".store(", Operation::Store),
    (".fetch_add(", Operation::Update { name: "add", of: "u32", negated: false }),
    (".fetch_sub(", Operation::Update { name: "add", of: "u32", negated: true }),
    (".fetch_min(", Operation::Update { name: "min", of: "u32", negated: false }),
    (".fetch_max(", Operation::Update { name: "max", of: "u32", negated: false }),
    (".fetch_and(", Operation::Update { name: "and", of: "b32", negated: false }),
    (".fetch_or(", Operation::Update { name: "or", of: "b32", negated: false }),
    (".fetch_xor(", Operation::Update { name: "xor", of: "b32", negated: false }),
    (".exchange(", Operation::Update { name: "exch", of: "b32", negated: false }),
    (".compare_exchange(", Operation::CompareExchange),
    (".compare_exchange_weak(", Operation::CompareExchange),
    (".compare_exchange_strong(", Operation::CompareExchange),
    ("atomic_thread_fence(", Operation::Fence),
];

#[derive(Clone, Copy)]
enum Operation {
    Load,
    Store,
    Update {
        name: &'static str,
        of: &'static str,
        /// It is given with the other sign.
        negated: bool,
    },
    CompareExchange,
    Fence,
}

/// What a line that calls one of them is here.
pub fn translated(line: &str) -> Option<String> {
    let (at, operation) = MEMBERS.iter().find_map(|&(name, operation)| {
        let at = line.find(name)?;
        Some((at + name.len(), operation))
    })?;
    let named = named(line, "memory_order").or_else(|| of_rust(line));
    let order = named.unwrap_or("seq_cst");
    let scope = match named_scope(line) {
        Some("thread") => {
            return Some("nothing: the scope `thread` orders nothing between threads".to_owned());
        }
        Some("block") => "cta",
        Some("cluster") => "cluster",
        Some("system") => "sys",
        // Their default; of an object whose declaration is elsewhere it is not known.
        None if is_of_default_scope(line, operation) => "sys",
        _ => "gpu",
    };
    let operands = split(&line[at..]);
    let operand = |number: usize, other: &str| {
        let own = operands.get(number).filter(|own| is_plain(own));
        own.map_or_else(|| other.to_owned(), |own| (*own).to_owned())
    };
    // What stands before an operation of one total order, and the order that is left for itself.
    let (fence, sem) = match (order, operation) {
        ("seq_cst", Operation::Store) => (true, "relaxed"),
        ("seq_cst", _) => (true, "acquire"),
        ("consume", _) => (false, "acquire"),
        (order @ ("relaxed" | "acquire" | "release" | "acq_rel"), _) => (false, order),
        _ => return None,
    };
    let itself = match operation {
        Operation::Load => format!("let v = ld.{sem}.{scope} [x];"),
        Operation::Store => format!("st.{sem}.{scope} [x], {};", operand(0, "1")),
        Operation::Update { name, of, negated } => {
            let sign = if negated { "-" } else { "" };
            format!("let old = atom.{name}.{sem}.{scope}.{of} [x], {sign}{};", operand(0, "1"))
        }
        Operation::CompareExchange => format!(
            "let old = atom.cas.{sem}.{scope}.b32 [x], {}, {};",
            operand(0, "expected"),
            operand(1, "desired")
        ),
        Operation::Fence => match order {
            "relaxed" => return Some("nothing: a relaxed fence orders nothing".to_owned()),
            "seq_cst" => format!("fence.sc.{scope};"),
            // libcu++ makes one for both of it.
            "acquire" | "release" | "consume" => {
                let sem = if order == "release" { "release" } else { "acquire" };
                return Some(format!(
                    "`fence.{sem}.{scope};`, or `fence.acq_rel.{scope};` as it is compiled"
                ));
            }
            _ => format!("fence.acq_rel.{scope};"),
        },
    };
    let unused = match operation {
        Operation::Update { name, of, negated }
            if name != "exch" && ["relaxed", "release"].contains(&sem) && !fence =>
        {
            let sign = if negated { "-" } else { "" };
            let reduction = format!("red.{sem}.{scope}.{name}.{of} [x], {sign}{};", operand(0, "1"));
            format!(", or `{reduction}` if the old value is unused")
        }
        _ => String::new(),
    };
    let is_fence = matches!(operation, Operation::Fence);
    let fence = if fence && !is_fence { format!("fence.sc.{scope}; ") } else { String::new() };
    let is_told = named_scope(line).is_some() || is_of_default_scope(line, operation);
    let by_default = match (named, is_told) {
        (None, true) if !is_fence => ", since an order that is not named is `seq_cst`",
        (None, false) if !is_fence => {
            ", since an order that is not named is `seq_cst`; with the scope of the `atomic_ref`"
        }
        (_, false) if of_rust(line).is_none() => ", with the scope of the `atomic_ref`",
        _ => "",
    };
    Some(format!("`{fence}{itself}`{unused}{by_default}"))
}

/// Whether no scope is named where one would be.
fn is_of_default_scope(line: &str, operation: Operation) -> bool {
    let is_here =
        matches!(operation, Operation::Fence) || line.contains("atomic_ref<") || line.contains("atomic<");
    is_here && named_scope(line).is_none()
}

/// Atomics of Triton, whose order is `acq_rel` and whose scope is the device where they name none.
pub fn of_triton(line: &str) -> Option<String> {
    let (name, rest) = line.split_once("tl.atomic_")?.1.split_once('(')?;
    let text = |key: &str| rest.split_once(key)?.1.trim_start_matches([' ', '=']).split(['"', '\'']).nth(1);
    let sem = text("sem").unwrap_or("acq_rel");
    let scope = text("scope").unwrap_or("gpu");
    let operands = split(rest);
    let operand = |number: usize, other: &'static str| {
        operands.get(number).filter(|own| is_plain(own)).map_or(other, |own| *own)
    };
    let line = match name {
        "cas" => format!("atom.cas.{sem}.{scope}.b32 [x], {}, {}", operand(1, "0"), operand(2, "1")),
        "xchg" => format!("atom.exch.{sem}.{scope}.b32 [x], {}", operand(1, "1")),
        "and" | "or" | "xor" => format!("atom.{name}.{sem}.{scope}.b32 [x], {}", operand(1, "1")),
        "add" | "min" | "max" => format!("atom.{name}.{sem}.{scope}.u32 [x], {}", operand(1, "1")),
        _ => return None,
    };
    Some(format!("`let old = {line};`"))
}

/// The rest of the last name that begins so: `relaxed` of `cuda::memory_order_relaxed` and of `memory_order::relaxed`. Of
/// the two orders of a compare-and-swap the first is the one of success.
fn named<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(prefix)?;
    let rest = rest.strip_prefix("::").or_else(|| rest.strip_prefix('_'))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end])
}

/// The first order that a line names as Rust does.
fn of_rust(line: &str) -> Option<&'static str> {
    const ORDERS: &[(&str, &str)] = &[
        ("Relaxed", "relaxed"),
        ("Acquire", "acquire"),
        ("Release", "release"),
        ("AcqRel", "acq_rel"),
        ("SeqCst", "seq_cst"),
    ];
    let (_, rest) = line.split_once("Ordering::")?;
    ORDERS.iter().find(|(name, _)| rest.starts_with(name)).map(|(_, order)| *order)
}

fn named_scope(line: &str) -> Option<&str> {
    named(line, "thread_scope")
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn orders_and_scopes_are_those_of_the_line() {
        let cases = [
            (
                "let now = 1 + ref(epoch).fetch_add(1, cuda::memory_order_relaxed);",
                "`let old = atom.add.relaxed.gpu.u32 [x], 1;`, or `red.relaxed.gpu.add.u32 [x], 1;` if the old value is unused, \
                 with the scope of the `atomic_ref`",
            ),
            (
                "cuda::atomic_ref<int, cuda::thread_scope_block>(x).load(cuda::std::memory_order::acquire);",
                "`let v = ld.acquire.cta [x];`",
            ),
            (
                "cuda::atomic_ref<int, cuda::thread_scope_system>{*x}.store(v, cuda::std::memory_order_release);",
                "`st.release.sys [x], v;`",
            ),
            (
                "x.store(1);",
                "`fence.sc.gpu; st.relaxed.gpu [x], 1;`, since an order that is not named is `seq_cst`; with the scope \
                 of the `atomic_ref`",
            ),
            (
                "if (x.compare_exchange_strong(e, 1, memory_order_acquire, memory_order_relaxed)) {",
                "`let old = atom.cas.acquire.gpu.b32 [x], e, 1;`, with the scope of the `atomic_ref`",
            ),
            (
                "x.fetch_sub(n, memory_order_acq_rel);",
                "`let old = atom.add.acq_rel.gpu.u32 [x], -n;`, with the scope of the `atomic_ref`",
            ),
            ("cuda::atomic_thread_fence(memory_order_seq_cst, thread_scope_device);", "`fence.sc.gpu;`"),
            (
                "cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);",
                "`fence.release.sys;`, or `fence.acq_rel.sys;` as it is compiled",
            ),
            ("cuda::atomic_thread_fence(memory_order_relaxed);", "nothing: a relaxed fence orders nothing"),
            // The scope that is not named is the system's.
            (
                "cuda::std::atomic_thread_fence(cuda::std::memory_order_acquire);",
                "`fence.acquire.sys;`, or `fence.acq_rel.sys;` as it is compiled",
            ),
            ("cuda::atomic_ref<int>(x).load(memory_order_acquire);", "`let v = ld.acquire.sys [x];`"),
            (
                "cuda::std::atomic_ref<int>{*x}.store(0);",
                "`fence.sc.sys; st.relaxed.sys [x], 0;`, since an order that is not named is `seq_cst`",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(translated(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(translated("bar.arrive();"), None);
    }
}
