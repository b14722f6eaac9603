//! SPA 5.0: the axioms of the model file against a machine that runs ([`fencepost_reference::spa`]).
//!
//! Small random programs, in the seats that matter: CTAs apart, on one SM, threads of one CTA, a copy engine on another
//! channel or on the same, the host. Registers are stored at the end, so that outcomes are final states.

use crate::outcomes::final_block;
use crate::random::{self, Counts, Numbers, Plan, Suite};
use crate::run::{check_each_way, config, spa_model, verdict};
use fencepost::encode::Treatment;
use fencepost::verdict::{Property, Vacuity, Verdict};
use fencepost_dsl::SourceMap;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_reference::spa::{Op, Outcome, Path, Reading, Seat, Sketch, Value, outcomes};
use proptest::prelude::{Strategy, any};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A place to run: the launch, the condition or block of each thread, and where it sits.
pub struct Stage {
    /// What it is called.
    pub name: &'static str,
    launch: &'static str,
    heads: &'static [&'static str],
    seats: &'static [(usize, Option<usize>, u8)],
}

/// Where programs run.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "two SMs",
        launch: "ctas: 2",
        heads: &["if ctaid == 0", "if ctaid == 1"],
        seats: &[(0, Some(0), 2), (1, Some(1), 2)],
    },
    Stage {
        name: "one SM",
        launch: "ctas: 2, sms: 1",
        heads: &["if ctaid == 0", "if ctaid == 1"],
        seats: &[(0, Some(0), 2), (1, Some(0), 2)],
    },
    Stage {
        name: "one CTA",
        launch: "warps: 2",
        heads: &["if tid == 0", "if tid == 1"],
        seats: &[(0, Some(0), 2), (0, Some(0), 2)],
    },
    Stage {
        name: "host",
        launch: "host: true",
        heads: &["if tid == 0", "client host"],
        seats: &[(0, Some(0), 2), (1, None, 4)],
    },
    Stage {
        name: "copy engine",
        launch: "copy_engine: true",
        heads: &["if tid == 0", "client copy_engine"],
        seats: &[(0, Some(0), 2), (1, None, 3)],
    },
    Stage {
        name: "copy engine on the channel",
        launch: "copy_engine: same_channel",
        heads: &["if tid == 0", "client copy_engine"],
        seats: &[(0, Some(0), 2), (1, None, 2)],
    },
    Stage {
        name: "three SMs",
        launch: "ctas: 3",
        heads: &["if ctaid == 0", "if ctaid == 1", "if ctaid == 2"],
        seats: &[(0, Some(0), 2), (1, Some(1), 2), (2, Some(2), 2)],
    },
    Stage {
        name: "a CTA of two and another",
        launch: "ctas: 2, warps: 2",
        heads: &["if ctaid == 0 && tid == 0", "if ctaid == 0 && tid == 1", "if ctaid == 1 && tid == 0"],
        seats: &[(0, Some(0), 2), (0, Some(0), 2), (1, Some(1), 2)],
    },
    Stage {
        name: "two SMs and the host",
        launch: "ctas: 2, host: true",
        heads: &["if ctaid == 0", "if ctaid == 1", "client host"],
        seats: &[(0, Some(0), 2), (1, Some(1), 2), (2, None, 4)],
    },
];

/// A program on its stage.
#[derive(Clone, Debug)]
pub struct Play {
    /// The stage, by number.
    pub stage: usize,
    /// The program.
    pub sketch: Sketch,
}

impl Play {
    /// What each thread runs, on a stage.
    pub fn new(stage: usize, threads: Vec<Vec<Op>>, n_locations: usize) -> Self {
        let seat = |&(place, sm, reach): &(usize, Option<usize>, u8)| Seat { place, sm, reach };
        let seats = STAGES[stage].seats.iter().map(seat).collect();
        Self { stage, sketch: Sketch { seats, threads, n_locations } }
    }

    /// The kernel, without its final block and closing brace.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> String {
        let stage = &STAGES[self.stage];
        let mut text = format!("//! target spa_50\nkernel k {{\n    launch {{ {} }}\n", stage.launch);
        let mut add = |line: String| writeln!(text, "    {line}").expect("writing to a string cannot fail");
        let ops = || self.sketch.threads.iter().flatten();
        for location in 0..self.sketch.n_locations {
            add(format!("global x{location}: u32 = 0;"));
            if ops().any(|op| matches!(op, Op::Load(Path::Texture, _, own) if *own == location)) {
                add(format!("texture tex{location}: u32 alias x{location};"));
            }
        }
        let register = |op: &Op| match op {
            Op::Load(_, register, _) | Op::Exchange(register, ..) => Some(*register),
            _ => None,
        };
        for (thread, ops) in self.sketch.threads.iter().enumerate() {
            for register in ops.iter().filter_map(register) {
                add(format!("global t{thread}r{register}: u32 = 0;"));
            }
        }
        for (thread, (ops, head)) in self.sketch.threads.iter().zip(stage.heads).enumerate() {
            add(format!("{head} {{"));
            ops.iter().for_each(|op| add(format!("    {}", line(*op))));
            for register in ops.iter().filter_map(register) {
                add(format!("    ST [t{thread}r{register}], r{register};"));
            }
            add("}".to_owned());
        }
        text
    }
}

fn line(op: Op) -> String {
    let value = |value: Value| match value {
        Value::Constant(value) => value.to_string(),
        Value::Sum(register, more) => format!("r{register} + {more}"),
    };
    match op {
        Op::Load(Path::Past, register, x) => format!("let r{register} = LD.CV [x{x}];"),
        Op::Load(Path::Data, register, x) => format!("let r{register} = LD [x{x}];"),
        Op::Load(Path::Texture, register, x) => format!("let r{register} = TLD [tex{x}];"),
        Op::Store(x, stored) => format!("ST [x{x}], {};", value(stored)),
        Op::StoreIf(register, x, stored) => {
            format!("if r{register} != 0 {{ ST [x{x}], {}; }}", value(stored))
        }
        Op::Exchange(register, x, stored) => format!("let r{register} = ATOM.EXCH [x{x}], {stored};"),
        Op::Membar(level, data, texture) => {
            let level = ["CTA", "VC", "GL", "SYS"][usize::from(level) - 1];
            let suffix = match (data, texture) {
                (false, false) => "",
                (true, false) => ".IVALLD",
                (false, true) => ".IVALLT",
                (true, true) => ".IVALLTD",
            };
            format!("MEMBAR.{level}{suffix};")
        }
        Op::InvalidateLine(x) => format!("CCTL.IV [x{x}];"),
        Op::InvalidateAll(true, _) => "CCTL.D.IVALL;".to_owned(),
        Op::InvalidateAll(false, _) => "CCTLT.IVALL;".to_owned(),
        Op::Barrier => "BAR.SYNC 0;".to_owned(),
    }
}

/// How the machine and the model compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same outcomes, so many of them.
    Same(usize),
    /// The model has more, so many more.
    More(usize),
    /// Too much to enumerate.
    TooLarge,
}

/// The variants of the model that say the same as a reading.
pub fn variants(reading: Reading) -> Vec<&'static str> {
    let all = [
        (reading.store_load, "membar-orders-store-load"),
        (reading.cumulative, "cumulative"),
        (reading.sm_shares_nothing, "sm-shares-nothing"),
        (reading.bar_orders_nothing, "bar-orders-nothing"),
    ];
    all.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect()
}

/// Why the model may allow more than the machine does, if a program has what it takes.
///
/// * An invalidation happens at one moment. The document says of a `MEMBAR` at a low level only what its pool sees, so the
///   model does not conclude from an invalidation at that level what a load finds of stores from further away.
/// * A store goes through the data L1 of its SM, so in the machine whoever finds it behind L1 finds it there, too. Of L1 the
///   document says when a line may be stale, and not when it cannot be.
/// * A load of the machine is covered by a `MEMBAR` for what it has found so far, even if it then finds something else.
pub fn expected_surplus(play: &Play, reading: Reading) -> Option<&'static str> {
    let ops = || play.sketch.threads.iter().flatten();
    let reaches: Vec<u8> = play.sketch.seats.iter().map(|seat| seat.reach).collect();
    let farthest = reaches.into_iter().max().unwrap_or(1);
    let is_low = |op: &Op| matches!(op, Op::Membar(level, ..) if *level < farthest);
    let invalidates = |op: &Op| {
        matches!(op, Op::InvalidateLine(_) | Op::InvalidateAll(..) | Op::Exchange(..))
            || matches!(op, Op::Membar(_, data, texture) if *data || *texture)
    };
    if ops().any(is_low) && ops().any(invalidates) {
        return Some("an invalidation at a low level");
    }
    let loads = |thread: usize, path: Path, place: usize| {
        let is_one = |op: &Op| matches!(op, Op::Load(by, _, of) if *by == path && *of == place);
        play.sketch.threads[thread].iter().any(is_one)
    };
    let sm = |thread: usize| play.sketch.seats[thread].sm;
    let finds_behind_its_cache = |writer: usize, place: usize| {
        let threads = (0..play.sketch.threads.len()).filter(|&reader| reader != writer);
        let mut on_its_sm = threads.filter(|&reader| sm(writer).is_some() && sm(reader) == sm(writer));
        on_its_sm.any(|reader| loads(reader, Path::Past, place) && loads(reader, Path::Data, place))
    };
    let stores = play.sketch.threads.iter().enumerate().flat_map(|(thread, ops)| {
        ops.iter().filter_map(move |op| match *op {
            Op::Store(place, _) | Op::StoreIf(_, place, _) | Op::Exchange(_, place, _) => {
                Some((thread, place))
            }
            _ => None,
        })
    });
    if stores.into_iter().any(|(thread, place)| finds_behind_its_cache(thread, place)) {
        return Some("a store found behind the L1 that it went through");
    }
    (reading.cumulative && play.sketch.seats.len() > 2).then_some("a load covered for what it found first")
}

/// Compares the outcomes of a program.
///
/// # Errors
/// What the machine can do and the model forbids.
pub fn compare(play: &Play, reading: Reading, model: &MemoryModel) -> Result<Comparison, String> {
    let open_text = play.text();
    let Some(expected) = outcomes(&play.sketch, reading) else { return Ok(Comparison::TooLarge) };
    let (unreachable, other) = ask(&open_text, &expected, model)?;
    if !unreachable.is_empty() {
        return Err(format!("only the machine has\n{}\n{open_text}}}", unreachable.join("\n")));
    }
    if !other {
        return Ok(Comparison::Same(expected.len()));
    }
    Ok(Comparison::More(expected.len()))
}

/// Which outcomes the model forbids, and whether it allows others.
fn ask(
    open_text: &str,
    expected: &BTreeSet<Outcome>,
    model: &MemoryModel,
) -> Result<(Vec<String>, bool), String> {
    let final_block = final_block(expected, usize::MAX).replace("[x] != [x]", "[x0] != [x0]");
    let text = format!("{open_text}{final_block}}}\n");
    let program =
        load(&mut SourceMap::default(), "spa.fence", &mut |_| Ok(text.clone()), &LoadOptions::default())
            .map_err(|errors| format!("{:#?}\n{text}", errors.first()))?;
    let mut config = config(Treatment::DEFAULT);
    config.properties = vec![Property::Assert, Property::Reachable];
    let outcome =
        check_each_way((&program, &text), model, &config).map_err(|error| format!("{error}\n{text}"))?;
    let unreachable = outcome.vacuity.iter().map(|vacuity| match vacuity {
        Vacuity::Unreachable(span) => {
            text[span.start as usize..].lines().next().unwrap_or_default().to_owned()
        }
        Vacuity::NothingCompletes | Vacuity::FilteredOut(_) => "some outcome".to_owned(),
    });
    Ok((unreachable.collect(), verdict(&outcome, Property::Assert) == Verdict::Violated))
}

/// The model with the variants of a reading.
pub fn model(reading: Reading) -> MemoryModel {
    spa_model(&variants(reading))
}

/// Shapes in which order shows: per thread, what is stored (`W`) and loaded (`R`) where.
const SHAPES: &[&[&str]] = &[
    &["Wx Wy", "Ry Rx"],
    &["Wx Ry", "Wy Rx"],
    &["Rx Wy", "Ry Wx"],
    &["Wx Wy", "Ry Wx"],
    &["Wx Wy", "Wy Rx"],
    &["Wx Wy", "Wy Wx"],
    &["Wx", "Rx Rx"],
    &["Wx Rx", "Wx Rx"],
    &["Wx", "Rx Wy", "Ry Rx"],
    &["Wx Wy", "Ry Wx", "Rx Rx"],
    &["Wx", "Wy", "Rx Ry"],
    &["Wx Wy", "Wy", "Ry Rx"],
    &["Wx", "Rx Ry", "Wy Rx"],
];

/// The programs of the quick mode, per reading. How many accesses they have is said here.
const PLAN: Plan = Plan { n_programs: 75, first_seed: 0, salt: 10, n_memory_max: 9, progress: false };

/// Which programs are compared, and what they must show: every stage is played.
pub fn suite() -> Suite {
    let some = STAGES.iter().map(|stage| stage.name).collect();
    Suite { some, set_aside_max: 20, ..Suite::new("oracle_spa", PLAN, &[], &[]) }
}

/// Compares random programs: how many have the same outcomes (`compared`, and `same`), or more for a listed reason.
///
/// # Errors
/// What the machine can do and the model forbids, or the other way round without such a reason.
pub fn compare_random(reading: Reading, plan: Plan) -> Result<Counts, Vec<String>> {
    let model = model(reading);
    let plays = || any::<u64>().no_shrink().prop_map(|seed| random_play(&mut Numbers(seed)));
    random::run_over(plan, plays, |play, _, counts| {
        let comparison = compare(play, reading, &model)?;
        counts.add("too large", comparison == Comparison::TooLarge);
        counts.add("compared", comparison != Comparison::TooLarge);
        counts.add("same", matches!(comparison, Comparison::Same(_)));
        counts.add(STAGES[play.stage].name, true);
        if let Comparison::More(_) = comparison {
            let unexpected = || format!("only the model has more\n{}}}", play.text());
            counts.add(expected_surplus(play, reading).ok_or_else(unexpected)?, true);
        }
        Ok(())
    })
}

/// A random program: a shape, or two or three accesses per thread, with what may stand between them.
pub fn random_play(numbers: &mut Numbers) -> Play {
    let stage = usize::try_from(numbers.below(STAGES.len() as u64)).unwrap_or(0);
    let n_threads = STAGES[stage].seats.len();
    let places: Vec<usize> = STAGES[stage].seats.iter().map(|seat| seat.0).collect();
    let shares_cta = |thread: usize| places.iter().filter(|&&place| place == places[thread]).count() > 1;
    let with_barrier = numbers.is_one_in(3);
    // Stores of one thread and texture loads of the same bytes are not compared.
    let texture_of = numbers.is_one_in(5).then(|| numbers.index(n_threads));
    let shapes: Vec<&[&str]> = SHAPES.iter().copied().filter(|shape| shape.len() == n_threads).collect();
    let shape = (!numbers.is_one_in(3)).then(|| numbers.of(&shapes));
    let mut stored = 0;
    let mut threads = Vec::new();
    for thread in 0..n_threads {
        let planned: Vec<&str> = shape.map_or(Vec::new(), |shape| shape[thread].split(' ').collect());
        let n_free = if n_threads == 2 { 2 + numbers.below(2) } else { 2 };
        let n_accesses = if planned.is_empty() { n_free } else { planned.len() as u64 };
        let is_client = STAGES[stage].seats[thread].1.is_none();
        let barrier_after =
            (with_barrier && shares_cta(thread)).then(|| numbers.below((n_accesses - 1).max(1)));
        let mut ops: Vec<Op> = Vec::new();
        let mut registers: Vec<usize> = Vec::new();
        for access in 0..n_accesses {
            let plan = planned.get(usize::try_from(access).unwrap_or(0)).copied();
            let location = match plan {
                Some(plan) => usize::from(plan.ends_with('y')),
                None => usize::try_from(numbers.below(2)).unwrap_or(0),
            };
            let reads_texture = texture_of == Some(thread);
            let op = loop {
                let op =
                    random_access(numbers, location, &registers, &mut stored, (is_client, reads_texture));
                let is_as_planned = match (plan, op) {
                    (None, _) | (Some(_), Op::Exchange(..)) => true,
                    (Some(plan), Op::Load(..)) => plan.starts_with('R') || reads_texture,
                    (Some(plan), _) => plan.starts_with('W'),
                };
                if is_as_planned {
                    break op;
                }
            };
            if let Op::Load(_, register, _) | Op::Exchange(register, ..) = op {
                registers.push(register);
            }
            ops.push(op);
            if access + 1 < n_accesses {
                random_between(numbers, &mut ops, is_client);
            }
            if barrier_after == Some(access) {
                ops.push(Op::Barrier);
                if numbers.is_one_in(3) {
                    random_between(numbers, &mut ops, is_client);
                }
            }
        }
        threads.push(ops);
    }
    Play::new(stage, threads, 2)
}

fn random_access(
    numbers: &mut Numbers,
    location: usize,
    registers: &[usize],
    stored: &mut u64,
    (is_client, reads_texture): (bool, bool),
) -> Op {
    let register = registers.len();
    *stored += 1;
    let value = match registers.last() {
        // Tells stores apart whatever is added.
        Some(&register) if numbers.is_one_in(3) => Value::Sum(register, *stored * 1000),
        _ => Value::Constant(*stored),
    };
    match numbers.below(10) {
        _ if reads_texture && !is_client => Op::Load(Path::Texture, register, location),
        0..=3 => Op::Store(location, value),
        4 if !registers.is_empty() => Op::StoreIf(registers[registers.len() - 1], location, value),
        5 => Op::Exchange(register, location, *stored),
        6 | 7 => Op::Load(Path::Past, register, location),
        _ if is_client => Op::Load(Path::Past, register, location),
        _ => Op::Load(Path::Data, register, location),
    }
}

fn random_between(numbers: &mut Numbers, ops: &mut Vec<Op>, is_client: bool) {
    let level = u8::try_from(1 + numbers.below(4)).unwrap_or(1);
    match numbers.below(10) {
        0 => {}
        1 if !is_client => {
            ops.push(Op::InvalidateAll(true, false));
        }
        2 if !is_client => {
            ops.push(Op::Membar(level, false, false));
            ops.push(Op::InvalidateLine(usize::try_from(numbers.below(2)).unwrap_or(0)));
        }
        3 | 4 if !is_client => ops.push(Op::Membar(level, !numbers.is_one_in(4), numbers.is_one_in(2))),
        _ => ops.push(Op::Membar(level, false, false)),
    }
}
