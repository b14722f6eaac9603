//! One paragraph per kernel and launch: what is claimed, up to what, and which knob helps where nothing is.

use super::case::{Case, Style, wrap};
use super::wording;
use crate::check::split::VALUES_MAX;
use crate::encode::goal::GoalKind;
use crate::event::{AgentId, Because, Unknown, UnknownKind};
use crate::facts::Off;
use crate::facts::needs::Need;
use crate::findings::remark;
use crate::models;
use crate::verdict::{Limit, OpenLoop, Outcome, Property, Vacuity, Verdict, proxies};
use fencepost_dsl::kernel::program::{FinalKind, Instruction, InstructionKind, Kernel};
use fencepost_dsl::sorted::SortedSet;
use fencepost_dsl::vocabulary::Proxy;
use fencepost_dsl::{Diagnostic, SourceMap, Span};

/// The paragraph; its first line names kernel, launch and verdict.
pub fn summary(case: &Case<'_>, style: Style) -> String {
    let outcome = case.outcome;
    let (head, verdict, claim) = (head(case), verdict(case, style), claim(case));
    // Colours take no room, and a verdict is one word.
    let one_word = self::verdict(case, Style::PLAIN).replace(' ', "_");
    let first = wrap(&format!("{head}: {one_word}"), style.width).join("\n    ");
    let first = first.strip_suffix(&one_word).unwrap_or(&first).to_owned() + &verdict;
    let length: usize = [&head, &one_word, &claim].map(|part| part.chars().count()).iter().sum();
    let mut text = if claim.is_empty() {
        format!("{first}\n")
    } else if length + ":    ".len() <= style.width {
        format!("{first}   {claim}\n")
    } else {
        format!("{first}\n  {}\n", wrap(&claim, style.width - 2).join("\n  "))
    };
    for (_, text_of) in loops(case) {
        text += &format!("  {}\n", wrap(&text_of, style.width - 4).join("\n    "));
    }
    // What was found is there with a larger bound as well.
    if !outcome.open_loops.is_empty() && outcome.verdict != Verdict::Violated {
        text += if outcome.raise_limit.is_some() {
            // That was done, and is told below.
            if outcome.passes(true) { "  accept this bound with --allow-bounded\n" } else { "" }
        } else if outcome.passes(true) {
            "  raise --unroll-max for a larger bound, or accept this one with --allow-bounded\n"
        } else {
            "  raise --unroll-max for a larger bound\n"
        };
        text += &format!("  more: fencepost explain {}\n", remark::LOOP_CUT.code);
    }
    // A deadlock that was found says more than that nothing completes.
    let is_told = outcome.findings.iter().any(|finding| finding.property == Property::Deadlock)
        || is_cut_short(outcome);
    for vacuity in &outcome.vacuity {
        if is_told && *vacuity == Vacuity::NothingCompletes {
            continue;
        }
        let what = vacuous(case.sources, vacuity, !outcome.open_loops.is_empty());
        let code = vacuity.kind().code;
        text +=
            &format!("  {}\n  more: fencepost explain {code}\n", wrap(&what, style.width - 2).join("\n  "));
    }
    for note in notes(case) {
        text +=
            &format!("  note: {}\n", wrap(&note, style.width.saturating_sub(8).max(20)).join("\n        "));
    }
    if let Some(limit) = &outcome.limit {
        let (what, knob) = stopped(limit);
        let where_to = at_value(outcome).map_or_else(String::new, |value| format!("with {value}, "));
        let why = format!(
            "stopped: {where_to}{what}; {knob}{}{}{}",
            fix_one(case),
            elect_first(case),
            claim_less(case)
        );
        text += &format!("  {}\n", wrap(&why, style.width - 4).join("\n    "));
        if let Some(proved) = proved_values(outcome) {
            let proved = format!("proved: with {proved}; what was not decided is the rest");
            text += &format!("  {}\n", wrap(&proved, style.width - 4).join("\n    "));
        }
    }
    if let Some(limit) = &outcome.raise_limit {
        let (what, knob) = stopped(limit);
        let what =
            format!("the answer is that of bound {}; a larger one stopped: {what}; {knob}", outcome.unroll);
        text += &format!("  {}\n", wrap(&what, style.width - 2).join("\n  "));
    }
    if outcome.more_findings {
        text += &format!(
            "  only the first {} violations are listed; there may be more\n",
            outcome.findings.len()
        );
    }
    text
}

/// The values of the parameters that were not decided, if each was checked alone and they are what is shown.
fn at_value(outcome: &Outcome) -> Option<String> {
    let split = outcome.split.as_ref()?;
    (outcome.verdict == Verdict::Inconclusive).then(|| values(&split.shown))
}

/// The values for which everything is proved, where others were not decided.
fn proved_values(outcome: &Outcome) -> Option<String> {
    let split = outcome.split.as_ref().filter(|_| outcome.verdict == Verdict::Inconclusive)?;
    let (first, others) = split.proved.split_first()?;
    let mut text = values(first);
    for other in others {
        match other.as_slice() {
            // `n = 1, 2, 3`
            [(_, value)] => text += &format!(", {value}"),
            several => text += &format!("; {}", values(several)),
        }
    }
    Some(text)
}

/// `N = 2, M = 0`
pub(super) fn values(shown: &[(String, u64)]) -> String {
    let shown: Vec<String> = shown.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    shown.join(", ")
}

/// What makes less of a launch with a range that was taken as a whole.
fn fix_one(case: &Case<'_>) -> String {
    let widest =
        case.kernel.parameters.iter().filter(|own| own.max > own.min).max_by_key(|own| own.max - own.min);
    match widest {
        Some(own) if case.outcome.split.is_none() => {
            format!(
                "; or fix `{name}`, which may be anything here: -D {name}={value}, or a range of at most {VALUES_MAX} \
                 values, which are checked one by one",
                name = own.name,
                value = own.min
            )
        }
        _ => String::new(),
    }
}

/// What makes less of a launch of which only what is claimed of the end is open.
fn claim_less(case: &Case<'_>) -> &'static str {
    let claims = case.kernel.finals.iter().any(|own| own.kind == FinalKind::Assert);
    let is_open = |&(property, verdict): &(Property, Verdict)| {
        verdict == if property == Property::Assert { Verdict::Inconclusive } else { Verdict::Proved }
    };
    match claims && case.outcome.properties.iter().all(is_open) {
        true => {
            "; only `final` is open, the rest is proved without it: claim less in it, such as one word whose value few \
             threads have had a part in"
        }
        false => "",
    }
}

/// What makes less of a launch in which any lane may be elected.
fn elect_first(case: &Case<'_>) -> &'static str {
    const VARIANT: &str = "elects-first";
    let is_elected = |unknown: &Unknown| unknown.kind == UnknownKind::Elected;
    let is_any = !case.variants.iter().any(|own| own == VARIANT)
        && (case.outcome.leaders.is_empty() || case.outcome.graph.terms.unknowns().iter().any(is_elected));
    let elects = |own: &Instruction| matches!(own.kind, InstructionKind::ElectSync { .. });
    let is_open = case.outcome.verdict == Verdict::Inconclusive;
    match is_open && is_any && case.program.any_instruction(case.kernel, elects) {
        true => {
            "; or let `elect.sync`, which elects any lane here, elect the first one: `--variant elects-first` (A-57)"
        }
        false => "",
    }
}

/// The loops that can run past the bound, with a sentence each.
pub(super) fn loops(case: &Case<'_>) -> Vec<(Span, String)> {
    let text = |open: &OpenLoop| {
        format!(
            "loop at {} can run more than {} times: {}",
            place(case.sources, open.span),
            case.outcome.unroll,
            more_than_a_wait(case, &open.because)
        )
    };
    case.outcome.open_loops.iter().map(|open| (open.span, text(open))).collect()
}

/// Why the number of rounds of a loop matters.
fn more_than_a_wait(case: &Case<'_>, because: &Because) -> String {
    let sources = case.sources;
    let is_model = |off: &Off| off.need == Need::ReadsThroughUpdates;
    match because {
        Because::TripCount => "how often it does is not known before the kernel runs".into(),
        Because::Unwound => {
            "loops are unwound here, not taken for waits: `--without waits` was given, or the model does not allow it \
             (`--stats` says why)"
                .into()
        }
        Because::WritesBack(span) if case.outcome.statistics.off.iter().any(is_model) => format!(
            "a round can write back at {} what it has read, which the model does not allow to leave out (`--stats` says \
             why), so each round counts: wait with a load",
            place(sources, *span)
        ),
        Because::WritesBack(span) => format!(
            "a round can write back at {} what it has read, and others may race for that word, so each round counts: wait \
             with a load, or make every access of the word strong and in scope",
            place(sources, *span)
        ),
        Because::Meets(span) => format!("each round executes what is at {}", place(sources, *span)),
        Because::Writes(span) => {
            format!("a round that does not leave can write at {}", place(sources, *span))
        }
        Because::ReadsOwnWrites(span) => format!(
            "whether it goes round for ever is not settled, since it reads weakly at {} what it writes itself: a strong \
             load there says",
            place(sources, *span)
        ),
        Because::Carries { register: Some(name) } => {
            format!("`{name}` goes from one round into the next")
        }
        Because::Carries { register: None } => "a value goes from one round into the next".into(),
    }
}

/// Input, kernel, launch, verdict and the codes of all findings, on one line.
pub fn line(case: &Case<'_>) -> String {
    let mut codes: Vec<&str> = Vec::new();
    for explanation in case.explanations {
        if !codes.contains(&explanation.code) {
            codes.push(explanation.code);
        }
    }
    let verdict = case.outcome.told(case.outcome.verdict).name().replace('_', " ");
    let codes = if codes.is_empty() { String::new() } else { format!(": {}", codes.join(", ")) };
    format!("{}: {}: {verdict}{codes}{}", case.file, head(case), standing_suffix(case))
}

/// Input and first error of a file that was rejected, on one line.
pub fn rejected_file(sources: &SourceMap, file: &str, errors: &[Diagnostic]) -> String {
    let Some(first) = errors.first() else { return String::new() };
    let span = first.span();
    let (name, line) = (&sources.file(span.file).name, sources.line_column(span).line);
    let place = if name == file { format!("line {line}") } else { format!("{name}, line {line}") };
    let more = match errors.len() {
        1 => String::new(),
        n => format!(" ({} more)", n - 1),
    };
    format!("{file}: rejected: {}: {place}: {}{more}\n", first.code, first.message)
}

/// The line of a run that rejected something, as in `2 errors in 1 input; rejected input was not checked`.
pub fn rejected(n_errors: usize, n_inputs: usize) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!("{} in {}; rejected input was not checked", count(n_errors, "error"), count(n_inputs, "input"))
}

/// The last line of a run, as in `3 launches checked: 2 proved, 1 violated; 1 warning`.
pub fn counts(verdicts: &[Verdict], n_warnings: usize) -> String {
    let kinds = [
        (Verdict::Proved, "proved"),
        (Verdict::ProvedUpToBound, "proved up to a bound"),
        (Verdict::Vacuous, "vacuous"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Violated, "violated"),
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .map(|(kind, name)| (verdicts.iter().filter(|&&verdict| verdict == kind).count(), name))
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{n} {name}"))
        .collect();
    let n = verdicts.len();
    let warnings = match n_warnings {
        0 => String::new(),
        1 => "; 1 warning".to_owned(),
        n => format!("; {n} warnings"),
    };
    format!("{n} launch{} checked: {}{warnings}", if n == 1 { "" } else { "es" }, parts.join(", "))
}

/// What the verdict takes for granted.
pub fn notes(case: &Case<'_>) -> Vec<String> {
    let assumptions = case.outcome.assumptions.iter().map(|reading| {
        format!(
            "this rests on an assumption ({}): {}; with `--variant {}`, under which it does not, it is violated",
            reading.rule, reading.what, reading.name
        )
    });
    let (conditions, unstated): (Vec<Property>, Vec<Property>) =
        case.outcome.unstated.iter().partition(|&&property| property == Property::Condition);
    let no_condition = conditions.first().map(|_| {
        "`condition` was asked for, which is what a litmus test ends with: a kernel has none, so nothing is claimed \
         of it"
            .to_owned()
    });
    let unstated = Some(unstated).filter(|unstated| !unstated.is_empty()).map(|unstated| {
        let names: Vec<&str> = unstated.iter().map(|property| property.name()).collect();
        format!(
            "model `{}` says nothing about {}, so nothing is claimed of {}; a model says it with flags",
            case.model,
            names.join(" and "),
            if names.len() == 1 { "it" } else { "them" }
        )
    });
    assumptions
        .chain(about_other_values(case))
        .chain(about_other_leaders(case))
        .chain(about_unasked(case))
        .chain(no_condition)
        .chain(unstated)
        .chain(about_target(case))
        .chain(about_proxies(case))
        .chain(about_uncomputed(case))
        .chain(about_following(case))
        .collect()
}

/// Other values than those that are shown, if only others break a property.
fn elsewhere(outcome: &Outcome, property: Property) -> Option<&[(String, u64)]> {
    let split = outcome.split.as_ref()?;
    let found = split.elsewhere.iter().find(|(own, _)| *own == property);
    found.map(|(_, value)| value.as_slice())
}

/// … about values of the parameters that break what those that are shown do not.
fn about_other_values(case: &Case<'_>) -> Option<String> {
    let split = case.outcome.split.as_ref().filter(|split| !split.elsewhere.is_empty())?;
    let others = split.elsewhere.iter().map(|(property, value)| {
        let defines: Vec<String> = value.iter().map(|(name, value)| format!("-D {name}={value}")).collect();
        format!("`{}` with {} ({})", property.name(), values(value), defines.join(" "))
    });
    Some(format!(
        "what is shown is for {}; violated, too: {}",
        values(&split.shown),
        others.collect::<Vec<_>>().join(", ")
    ))
}

/// … about leaders with which something is broken that is not with those that are shown.
fn about_other_leaders(case: &Case<'_>) -> Option<String> {
    let outcome = case.outcome;
    let others = outcome.other_leaders.iter().map(|(property, leaders)| {
        let mut elected =
            leaders.iter().filter(|&(election, lane)| outcome.leaders.get(election) != Some(lane));
        let of = elected.next().map_or_else(String::new, |(&(warp, _), &lane)| leader(outcome, warp, lane));
        format!("`{}` where {of} is", property.name())
    });
    let others: Vec<String> = others.collect();
    let shown: Vec<String> =
        outcome.leaders.iter().map(|(&(warp, _), &lane)| leader(outcome, warp, lane)).collect();
    (!others.is_empty()).then(|| {
        format!(
            "what is shown is where {} is elected; violated, too: {}",
            shown.join(" and "),
            others.join(", ")
        )
    })
}

/// A lane of a warp of the launch.
fn leader(outcome: &Outcome, warp: u32, lane: u32) -> String {
    let hierarchy = &outcome.graph.hierarchy;
    let is_it = |&agent: &AgentId| hierarchy.warp_of(agent) == warp && hierarchy.threads[agent].lane == lane;
    let mut agents = hierarchy.agents();
    agents.find(is_it).map_or_else(|| format!("lane {lane}"), |agent| hierarchy.describe(agent))
}

/// … about a rule that nobody asked for, and that is broken.
fn about_unasked(case: &Case<'_>) -> Option<String> {
    let outcome = case.outcome;
    let is_open = |&(_, verdict): &(Property, Verdict)| verdict == Verdict::Inconclusive;
    let unasked = outcome.unasked.as_ref().filter(|_| outcome.properties.iter().any(is_open))?;
    let (finding, code) = (&unasked.finding, unasked.code);
    let (span, follows) = match finding.witness.claim {
        GoalKind::Obligation(index) => {
            (Some(outcome.graph.obligations[index].span), ", and threads are not followed there")
        }
        GoalKind::Flag { pair: (first, second), .. } => {
            let site = [second, first].into_iter().find_map(|event| outcome.graph.events[event].site);
            (site.map(|site| outcome.graph.sites[site].span), "")
        }
        _ => return None,
    };
    let place = span.map_or_else(|| "an initial value".to_owned(), |span| place(case.sources, span));
    Some(format!(
        "{place} can break a rule of `{property}` ({code}), which was not asked for. Nothing is promised of what comes after \
         that{follows}, so the rest is not proved; ask for `{property}`, too, or leave --property out",
        property = finding.property.name(),
    ))
}

/// … about the architecture, if the file names none and something depends on it.
fn about_target(case: &Case<'_>) -> Option<String> {
    let target = case.program.assumed_target.as_ref()?;
    let specific = |instruction: &Instruction| instruction.is_specific();
    case.program.any_instruction(case.kernel, specific).then(|| {
        format!(
            "the file names no target, and has instructions that not all later architectures have; `{target}` was \
             taken: write `//! target {target}` at its top to say so"
        )
    })
}

/// … about the solver's answers, where they were to be followed.
fn about_following(case: &Case<'_>) -> Option<String> {
    let followed = case.outcome.statistics.followed?;
    let answers = if followed == 1 { "answer" } else { "answers" };
    let told = match (&case.outcome.limit, followed) {
        (Some(Limit::Budget { .. }), n) => format!(
            "{n} {answers} of the solver had been followed when the budget ended; that takes steps of it, too, so the run \
             goes further without --self-check"
        ),
        (_, 0) => "the solver has refuted nothing, so there was nothing to follow".to_owned(),
        (_, n) => format!("what the solver has refuted, in {n} {answers}, was followed to a contradiction"),
    };
    Some(format!("self-check: {told}"))
}

/// … about values that nobody computes: what is shown to be possible may need a certain one.
fn about_uncomputed(case: &Case<'_>) -> Option<String> {
    let graph = &case.outcome.graph;
    let asks =
        !graph.reachables.is_empty() || graph.finals.iter().any(|goal| goal.kind == FinalKind::Reachable);
    let unknowns = graph.terms.unknowns().iter();
    let sites = unknowns.filter_map(|unknown| match unknown.kind {
        UnknownKind::Uncomputed(site) => Some(&graph.sites[site].text),
        _ => None,
    });
    let texts: SortedSet<String> = sites.map(|text| format!("`{text}`")).collect();
    (asks && !texts.is_empty()).then(|| {
        format!(
            "the result of {} is not computed: what is `reachable` was looked for with any value, which the hardware may \
             never give",
            texts.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}

/// … about proxies.
fn about_proxies(case: &Case<'_>) -> Vec<String> {
    let list = |proxies: &[Proxy]| proxies.iter().map(Proxy::to_string).collect::<Vec<_>>().join(" and ");
    let ignored = &case.outcome.ignored_proxies;
    if !ignored.is_empty() {
        return vec![format!(
            "model `{}` knows nothing of the {} proxy: such accesses were taken as plain ones; check with `ptx` or \
             `ptx-7.5`, which know it",
            case.model,
            list(ignored)
        )];
    }
    let mut used: Vec<Proxy> = proxies(&case.outcome.graph).into_iter().collect();
    used.retain(|&proxy| proxy != Proxy::Generic);
    // SPA machines have a texture path of their own.
    if used.is_empty() || case.kernel.condition.is_some() || case.outcome.launch.spa.is_some() {
        return Vec::new();
    }
    vec![format!(
        "PTX's memory model does not cover {} accesses; they were checked as in the formal model of PTX 7.5",
        list(&used)
    )]
}

/// `k (launch big, grid of 4 CTAs of 2 threads, N in 0..=3)`: all that the verdict is about.
pub(super) fn head(case: &Case<'_>) -> String {
    let launch = match case.outcome.launch.name.as_str() {
        "default" => String::new(),
        name => format!("launch {name}, "),
    };
    let mut model = String::new();
    let is_usual = case.model == if case.outcome.launch.spa.is_some() { models::SPA } else { models::PTX };
    if !is_usual {
        model += &format!(", model {}", case.model);
    }
    if !case.variants.is_empty() {
        model += &format!(", variant {}", case.variants.join(" + "));
    }
    let ranges = case.kernel.parameters.iter();
    let mut ranges: String =
        ranges.map(|own| format!(", {} in {}..={}", own.name, own.min, own.max)).collect();
    if case.outcome.split.is_some() {
        ranges += ", each value";
    }
    format!("{} ({launch}{}{ranges}{model})", case.kernel.name, shape(case))
}

/// `grid of 2 CTAs of 1 thread`; of what is no grid, or one of a single CTA, the number of threads.
fn shape(case: &Case<'_>) -> String {
    let hierarchy = &case.outcome.graph.hierarchy;
    let launch = &case.outcome.launch;
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    if hierarchy.host().is_some() {
        return format!("{} and the host", counted(hierarchy.n_threads() - 1, "thread"));
    }
    let is_grid = launch.placement.is_none() && launch.spa.is_none();
    if !is_grid || launch.ctas * launch.gpus == 1 {
        return counted(hierarchy.n_threads(), "thread");
    }
    let clusters = match launch.cluster {
        1 => String::new(),
        size if size == launch.ctas => " in one cluster,".to_owned(),
        size => format!(" in clusters of {size},"),
    };
    let gpus = if launch.gpus > 1 { format!(" on each of {} GPUs", launch.gpus) } else { String::new() };
    format!(
        "{}grid of {}{clusters} of {}{gpus}",
        if launch.cooperative { "cooperative " } else { "" },
        counted(launch.ctas as usize, "CTA"),
        counted((launch.warps * launch.lanes) as usize, "thread"),
    )
}

fn verdict(case: &Case<'_>, style: Style) -> String {
    match case.outcome.told(case.outcome.verdict) {
        Verdict::Proved => style.paint("1;32", "proved"),
        Verdict::ProvedUpToBound => {
            style.paint("1;33", &format!("proved up to bound {}", case.outcome.unroll))
        }
        Verdict::Vacuous => style.paint("1;33", "vacuous"),
        Verdict::Inconclusive => style.paint("1;33", "inconclusive"),
        Verdict::Violated => style.paint("1;31", "violated"),
    }
}

/// What the verdict says, property by property where they differ.
fn claim(case: &Case<'_>) -> String {
    let properties = &case.outcome.properties;
    let is_spa = case.outcome.launch.spa.is_some();
    let is_uniform = properties.iter().all(|&(_, verdict)| verdict == case.outcome.verdict);
    let is_proof = matches!(case.outcome.verdict, Verdict::Proved | Verdict::ProvedUpToBound);
    let split = case.outcome.split.iter();
    let of_values = split.flat_map(|split| &split.elsewhere).map(|&(property, _)| property);
    let of_leaders = case.outcome.other_leaders.iter().map(|&(property, _)| property);
    let mut elsewhere = of_values.chain(of_leaders);
    let is_cut = case.outcome.findings.iter().any(|finding| finding.ends_thread(&case.outcome.graph))
        || elsewhere.any(|property| matches!(property, Property::Barrier | Property::Bounds));
    let parts: Vec<String> = if is_cut {
        let is_open = |verdict| verdict == Verdict::Inconclusive;
        let told = properties.iter().filter(|&&(_, verdict)| !is_open(verdict));
        let rest = properties.iter().any(|&(_, verdict)| is_open(verdict));
        let told = told.map(|&(property, verdict)| one_property(case, property, verdict));
        told.chain(rest.then(|| "the rest is open until that is mended".to_owned())).collect()
    } else if is_uniform && is_proof {
        properties.iter().map(|&(property, _)| wording::proved(property, is_spa).to_owned()).collect()
    } else {
        properties.iter().map(|&(property, verdict)| one_property(case, property, verdict)).collect()
    };
    parts.join(", ")
}

/// Whether the bound was not raised, since something was found: then it says nothing that no execution ends within it.
fn is_cut_short(outcome: &Outcome) -> bool {
    !outcome.findings.is_empty() && !outcome.open_loops.is_empty()
}

fn one_property(case: &Case<'_>, property: Property, verdict: Verdict) -> String {
    let is_spa = case.outcome.launch.spa.is_some();
    let name = wording::property(property, is_spa);
    let hangs = case.outcome.properties.contains(&(Property::Deadlock, Verdict::Violated));
    match verdict {
        // Beside a hang it is no more than that.
        Verdict::Proved if hangs && property == Property::Reachable => "some executions end".to_owned(),
        Verdict::Vacuous if hangs && case.outcome.vacuity.as_slice() == [Vacuity::NothingCompletes] => {
            "no execution ends".to_owned()
        }
        Verdict::Vacuous if case.outcome.told(verdict) != verdict => {
            let nothing_ends = case.outcome.vacuity.as_slice() == [Vacuity::NothingCompletes];
            let what = if nothing_ends {
                "no execution ends within the bound".to_owned()
            } else {
                format!("{name}: not within the bound")
            };
            // Of the end nobody asked; what is claimed of it says nothing yet.
            if property == Property::Reachable {
                what
            } else {
                format!("{} up to the bound, though {what}", wording::proved(property, is_spa))
            }
        }
        Verdict::Proved => wording::proved(property, is_spa).to_owned(),
        Verdict::ProvedUpToBound => format!("{} up to the bound", wording::proved(property, is_spa)),
        Verdict::Vacuous => format!("{name}: vacuous"),
        Verdict::Inconclusive => format!("{name}: undecided"),
        Verdict::Violated if property == Property::Condition => "the condition does not hold".to_owned(),
        Verdict::Violated => {
            if let Some(value) = elsewhere(case.outcome, property) {
                return format!("{name}: violated with {}", values(value));
            }
            if case.outcome.other_leaders.iter().any(|&(own, _)| own == property) {
                return format!("{name}: violated with another leader");
            }
            let n = case.outcome.findings.iter().filter(|finding| finding.property == property).count();
            format!("{name}: {n} violation{}", if n == 1 { "" } else { "s" })
        }
    }
}

pub(super) fn vacuous(sources: &SourceMap, vacuity: &Vacuity, bounded: bool) -> String {
    let within = if bounded { " within the bound" } else { "" };
    match vacuity {
        Vacuity::NothingCompletes => format!(
            "no execution{within} runs every thread to its end, so what is proved says little; look for a wait \
             that nothing ends, or an `assume` that is never true"
        ),
        Vacuity::FilteredOut(span) => format!(
            "no execution{within} that completes passes the `filter` at {}, so the condition is about nothing",
            place(sources, *span)
        ),
        Vacuity::Unreachable(span) => format!(
            "no execution{within} reaches the `reachable` at {} with its condition true",
            place(sources, *span)
        ),
    }
}

/// Why nothing is known of a launch.
pub(super) fn undecided(outcome: &Outcome, kernel: &Kernel) -> String {
    match &outcome.limit {
        Some(limit) => {
            let (what, knob) = stopped(limit);
            format!("{}: not decided: {what}; {knob}", kernel.name)
        }
        None => format!("{}: not decided", kernel.name),
    }
}

/// What stopped a run, and the knob that helps.
pub fn stopped(limit: &Limit) -> (String, &'static str) {
    match limit {
        Limit::Interrupt => ("the run was interrupted".to_owned(), "run it again and let it end"),
        Limit::Deadline => {
            ("the time is up".to_owned(), "raise --timeout, lower --unroll, or choose a smaller launch")
        }
        Limit::Budget { limit } => (
            format!("the budget of {} million steps is used up", limit / 1_000_000),
            "raise --budget, lower --unroll, or choose a smaller launch",
        ),
        Limit::Rest { limit } => (
            format!(
                "what was found was found a few threads at a time; whatever else goes wrong was looked for in {} million steps",
                limit / 1_000_000
            ),
            "mend what was found and check again, check `--without slices`, or choose a smaller launch",
        ),
        Limit::OneExecution { what, limit } => (
            format!(
                "what was found was found with all threads in turns; nothing else was looked for, since the launch has more than {limit} {what}"
            ),
            "mend what was found and check again, or choose a smaller launch",
        ),
        Limit::Unroll { what: "events", limit } => (
            format!("the launch has more than {limit} events"),
            "raise --max-events, lower --unroll, or choose a smaller launch",
        ),
        Limit::Unroll { what: "steps", limit } => (
            format!("unrolling takes more than {limit} steps"),
            "shorten constant loops, lower --unroll, or choose a smaller launch",
        ),
        Limit::Unroll { what, limit } => {
            (format!("the launch has more than {limit} {what}"), "choose a smaller launch")
        }
        Limit::Clauses { limit } => (
            format!("the formula has more than {limit} clauses"),
            "raise --max-clauses, lower --unroll, or choose a smaller launch",
        ),
        Limit::Recursion { relation } => (
            format!(
                "the model takes pairs of its recursive relation `{relation}` away from another, or claims them"
            ),
            "define it without `let rec`: `r+` and `r*` are no recursion",
        ),
        Limit::Cells { location, limit } => (
            format!("a symbolic index can reach more than {limit} cells of `{location}`"),
            "declare a smaller array, or narrow the index",
        ),
    }
}

fn place(sources: &SourceMap, span: Span) -> String {
    let own = format!("{}:{}", sources.file(span.file).name, sources.line_column(span).line);
    match sources.origin(span) {
        Some(origin) => format!("{}:{} ({own})", origin.name, origin.line),
        None => own,
    }
}

/// Sizes and times of one launch, as a small table.
pub fn statistics(case: &Case<'_>) -> String {
    let statistics = &case.outcome.statistics;
    let mut text = format!("{}:\n", head(case));
    let counts: [(&str, u64); 7] = [
        ("events", statistics.events as u64),
        ("open goals", statistics.open_goals as u64),
        ("variables", statistics.variables as u64),
        ("clauses", statistics.clauses as u64),
        ("proof clauses", statistics.conflicts),
        ("solver calls", statistics.solver_calls),
        ("steps", statistics.steps),
    ];
    for (name, count) in counts {
        text += &format!("  {name:<14}{count:>12}\n");
    }
    if let Some(followed) = statistics.followed {
        text += &format!("  {:<14}{followed:>12}\n", "followed");
    }
    for (pass, microseconds) in &statistics.microseconds {
        text += &format!("  {pass:<14}{:>9}.{:03} ms\n", microseconds / 1000, microseconds % 1000);
    }
    for off in &statistics.off {
        text += &format!("  off: {} (needs {}: {})\n", off.deduction, off.need, off.because);
    }
    text
}

/// What a project knows of a launch already, behind its line.
fn standing_suffix(case: &Case<'_>) -> String {
    let standing = &case.standing;
    let n_known = standing.known.iter().filter(|known| **known).count();
    match (n_known, standing.accepted) {
        (0, None) => String::new(),
        (0, Some(_)) => " (accepted)".to_owned(),
        (known, _) if known == case.outcome.findings.len() => " (known)".to_owned(),
        (known, _) => format!(" ({known} of {} known)", case.outcome.findings.len()),
    }
}
