//! Changes to a random program whose effect on the answers is known.
//!
//! Renaming, permuting, mirroring and adding a thread work on the printed text, which has one `if` block a thread;
//! strengthening works on the description.

use crate::generate::{Placement, Sketch, Step};
use std::fmt::Write;

/// Other names for everything a random program declares, in another alphabetical order.
pub fn renamed(text: &str) -> String {
    let mut renamed = String::with_capacity(text.len() * 2);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let of_kind = is_word(first);
        let end = rest.find(|c| is_word(c) != of_kind).unwrap_or(rest.len());
        let (part, tail) = rest.split_at(end);
        match new_name(part) {
            Some(name) => renamed.push_str(&name),
            None => renamed.push_str(part),
        }
        rest = tail;
    }
    renamed
}

fn new_name(word: &str) -> Option<String> {
    let named = match word {
        "x" => "third_object",
        "y" => "second_object",
        "z" => "first_object",
        "low" => "upper_part_or_not",
        "high" => "another_part",
        "other_x" => "a_mapping",
        _ => "",
    };
    if !named.is_empty() {
        return Some(named.into());
    }
    let number = |digits: &str| digits.parse::<usize>().ok();
    if let Some(n) = word.strip_prefix("out_r").and_then(number) {
        return Some(format!("b{}_result", 999 - n));
    }
    let n = word.strip_prefix('r').and_then(number)?;
    Some(format!("seen{}", 999 - n))
}

/// The lines ahead of the threads' blocks, and the blocks.
fn split(text: &str) -> (String, Vec<String>) {
    let (mut head, mut blocks) = (String::new(), Vec::<String>::new());
    for line in text.split_inclusive('\n') {
        if line.starts_with("    if ") {
            blocks.push(line.into());
        } else {
            blocks.last_mut().unwrap_or(&mut head).push_str(line);
        }
    }
    (head, blocks)
}

/// The same blocks in another order.
pub fn permuted(text: &str, choice: u64) -> String {
    let (head, mut blocks) = split(text);
    // Reversal and then a rotation that leaves some block elsewhere than it was.
    blocks.reverse();
    if blocks.len() > 2 {
        let by = usize::try_from(choice % blocks.len() as u64).expect("less than the number of blocks");
        blocks.rotate_left(by);
    }
    head + &blocks.concat()
}

/// The same threads at the launch's coordinates counted from the other end.
pub fn mirrored(placement: Placement, n_threads: usize, text: &str) -> String {
    let (head, blocks) = split(text);
    let last = match placement {
        Placement::Pairs | Placement::ClusterPairs => 3,
        _ => n_threads - 1,
    };
    let mut mirrored = head;
    for (thread, block) in blocks.iter().enumerate() {
        let (_, body) = block.split_once('\n').expect("a block has lines");
        let _ = write!(mirrored, "    if {} {{\n{body}", condition(placement, last - thread));
    }
    mirrored
}

fn condition(placement: Placement, thread: usize) -> String {
    let (first, second) = (thread / 2, thread % 2);
    match placement {
        Placement::Lanes | Placement::Warps => format!("tid == {thread}"),
        Placement::Ctas => format!("ctaid == {thread}"),
        Placement::Clusters => format!("clusterid == {thread}"),
        Placement::Gpus => format!("gpuid == {thread}"),
        Placement::Pairs => format!("ctaid == {first} && tid == {second}"),
        Placement::ClusterPairs => format!("clusterid == {first} && cluster_ctarank == {second}"),
    }
}

/// One CTA more, of which a thread is busy with an object of its own.
pub fn accompanied(placement: Placement, n_threads: usize, text: &str, choice: u64) -> String {
    let (_, blocks) = split(text);
    let (launch, its_place) = match placement {
        Placement::Lanes => {
            (format!("ctas: 2, cluster: 2, lanes: {n_threads}"), "ctaid == 1 && tid == 0".into())
        }
        Placement::Warps => {
            (format!("ctas: 2, cluster: 2, warps: {n_threads}"), "ctaid == 1 && tid == 0".into())
        }
        Placement::Ctas => {
            (format!("ctas: {0}, cluster: {0}", n_threads + 1), format!("ctaid == {n_threads}"))
        }
        Placement::Clusters => (format!("ctas: {}", n_threads + 1), format!("clusterid == {n_threads}")),
        Placement::Gpus => (format!("gpus: {}", n_threads + 1), format!("gpuid == {n_threads}")),
        Placement::Pairs => ("ctas: 3, cluster: 3, warps: 2".into(), "ctaid == 2 && tid == 1".into()),
        Placement::ClusterPairs => {
            ("ctas: 6, cluster: 2".into(), "clusterid == 2 && cluster_ctarank == 0".into())
        }
    };
    let body = [
        "st.weak [own], 1;\n        let q = ld.weak [own];",
        "st.release.gpu [own], 1;\n        fence.sc.sys;\n        let q = ld.acquire.sys [own];",
        "let q = atom.acq_rel.sys.add.u32 [own], 1;\n        membar.gl;\n        red.release.gpu.add.u32 [own], 1;",
        "fence.acq_rel.sys;\n        st.volatile [own], 7;\n        fence.proxy.alias;\n        fence.sc.gpu;",
        "let q = atom.relaxed.gpu.exch.b32 [own], 2;\n        if q == 0 {\n            st.weak [own], 3;\n        }",
    ];
    let body = body[usize::try_from(choice % 5).expect("less than 5")];
    let block = format!("    if {its_place} {{\n        {body}\n    }}\n");
    let mut accompanied = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("    launch ") {
            let _ = writeln!(accompanied, "    launch {{ {launch} }}\n    global own: u32 = 0;");
        } else if line.starts_with("    if tid ") {
            // Threads that were told apart by `tid` alone stay in the first CTA.
            accompanied.push_str(&line.replacen("if tid", "if ctaid == 0 && tid", 1));
        } else {
            accompanied.push_str(line);
        }
    }
    // Ahead of the others or behind them.
    if (choice / 5).is_multiple_of(2) {
        return accompanied + &block;
    }
    let (head, others) = split(&accompanied);
    assert_eq!(others.len(), blocks.len(), "each thread keeps its block");
    head + &block + &others.concat()
}

/// At most two programs that differ from `sketch` in one instruction, which is stronger.
pub fn strengthened(sketch: &Sketch, choice: u64) -> Vec<Sketch> {
    let mut all = Vec::new();
    for (t, steps) in sketch.threads.iter().enumerate() {
        for (s, step) in steps.iter().enumerate() {
            all.extend(stronger(step).into_iter().map(|step| (t, s, step)));
        }
    }
    let n_all = all.len() as u64;
    let mut picked: Vec<usize> = [choice, choice >> 32]
        .iter()
        .filter_map(|choice| choice.checked_rem(n_all))
        .map(|pick| usize::try_from(pick).expect("less than a length"))
        .collect();
    picked.dedup();
    let with = |&pick: &usize| {
        let (t, s, step) = &all[pick];
        let mut strong = sketch.clone();
        strong.threads[*t][*s] = step.clone();
        strong
    };
    picked.iter().map(with).collect()
}

/// The next stronger sems of a load or store, with scope: weak, volatile, relaxed, then acquire or release.
fn stronger_access(sem: usize, scope: usize) -> Vec<(usize, usize)> {
    let mut all = match sem {
        0 => vec![(2, scope), (1, scope)],
        // MM-12: volatile is relaxed at system scope.
        1 => vec![(4, 3)],
        2..=3 => vec![(4, scope), (1, scope)],
        _ => vec![],
    };
    if sem >= 2 && scope < 3 {
        all.push((sem, scope + 1));
    }
    all
}

/// The same for atomics: relaxed, acquire, release, acq_rel.
fn stronger_atomic(sem: usize, scope: usize) -> Vec<(usize, usize)> {
    let sems: &[usize] = match sem % 4 {
        0 => &[1, 2],
        1 | 2 => &[3],
        _ => &[],
    };
    let mut all: Vec<(usize, usize)> = sems.iter().map(|&sem| (sem, scope)).collect();
    if scope < 3 {
        all.push((sem, scope + 1));
    }
    all
}

/// The next stronger instructions; none for those that are the strongest or have nothing to strengthen.
fn stronger(step: &Step) -> Vec<Step> {
    match *step {
        Step::Load { place, sem, scope } => stronger_access(sem, scope)
            .into_iter()
            .map(|(sem, scope)| Step::Load { place, sem, scope })
            .collect(),
        Step::Store { place, sem, scope, value } => stronger_access(sem, scope)
            .into_iter()
            .map(|(sem, scope)| Step::Store { place, sem, scope, value })
            .collect(),
        Step::Forward { place, sem, scope, add } => stronger_access(sem, scope)
            .into_iter()
            .map(|(sem, scope)| Step::Forward { place, sem, scope, add })
            .collect(),
        Step::Await { place, sem, scope, value, swap } => {
            let pairs = if swap { stronger_atomic(sem, scope) } else { stronger_access(sem, scope) };
            pairs.into_iter().map(|(sem, scope)| Step::Await { place, sem, scope, value, swap }).collect()
        }
        Step::Atomic { place, sem, scope, op, sink } => stronger_atomic(sem, scope)
            .into_iter()
            .map(|(sem, scope)| Step::Atomic { place, sem, scope, op, sink })
            .collect(),
        Step::Reduction { place, sem, scope } => {
            let mut all = Vec::new();
            if sem % 2 == 0 {
                all.push(Step::Reduction { place, sem: 1, scope });
            }
            if scope < 3 {
                all.push(Step::Reduction { place, sem, scope: scope + 1 });
            }
            all
        }
        Step::Fence { sem, scope } => {
            // In order: sc, acq_rel, acquire, release, membar.
            let mut all = match sem {
                1 => vec![Step::Fence { sem: 0, scope }],
                2 | 3 => vec![Step::Fence { sem: 1, scope }],
                _ => vec![],
            };
            if scope < 3 {
                all.push(Step::Fence { sem, scope: scope + 1 });
            }
            all
        }
        Step::If { value, ref then } => {
            stronger(then).into_iter().map(|then| Step::If { value, then: Box::new(then) }).collect()
        }
        Step::ProxyFence { .. } | Step::Barrier { .. } | Step::WarpBarrier | Step::Exit { .. } => vec![],
    }
}
