//! The unroller on barriers: generations, completion, who takes part, and what is refused.

#[path = "unroll/builder.rs"]
#[expect(dead_code, reason = "shared with another suite")]
mod builder;

use builder::*;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::*;
use fencepost_dsl::vocabulary::{Sem, Space};
use fencepost_engine::event::{
    AgentId, BaseRelation, EventGraph, EventKind, Obligation, ObligationKind, TermPool, UnknownId,
};

fn waits(graph: &EventGraph) -> Vec<&fencepost_engine::event::Event> {
    graph.events.iter().filter(|e| matches!(e.kind, EventKind::BarrierWait)).collect()
}

/// Admitted assignments, with all unknowns in 0..=1.
fn executions(graph: &EventGraph) -> Vec<Vec<u128>> {
    let all = assignments(graph, 1);
    all.into_iter().filter(|u| admitted(graph, &|id: UnknownId| u[id.index()])).collect()
}

fn holds(graph: &EventGraph, term: fencepost_engine::event::TermRef, unknowns: &[u128]) -> bool {
    value(&graph.terms, term, &|id: UnknownId| unknowns[id.index()]) == 1
}

#[test]
fn two_warps_and_two_rounds_share_one_unknown_per_round() {
    let mut b = Builder::new();
    let x = b.global("x");
    b.kernel.body = vec![sync(), sync(), store(at(x, vec![]), int(1), Sem::Weak)];
    let graph = b.graph(&launch(1, 2, 2));
    assert_eq!(graph.terms.unknowns().len(), 2);
    let guards: Vec<_> = waits(&graph).iter().map(|e| e.guard).collect();
    assert_eq!(guards.len(), 8);
    assert!(guards.chunks(2).all(|pair| pair == &guards[..2]), "the same guards in all threads");
    assert_eq!(graph.edges.of(BaseRelation::BarrierSynchronization).count(), 2 * 4 * 4);
    assert!(
        graph.edges.of(BaseRelation::BarrierSynchronization).all(|edge| edge.condition == TermPool::TRUE)
    );
    // Everybody passes both, only the first, or none.
    let reached: Vec<_> = executions(&graph)
        .iter()
        .map(|u| guards[..2].iter().filter(|&&guard| holds(&graph, guard, u)).count())
        .collect();
    assert!([0, 1, 2].iter().all(|n| reached.contains(n)));
    assert!(graph.completed.iter().all(|&c| c == guards[1]));
}

#[test]
fn a_barrier_that_one_thread_may_skip_completes_only_with_it_or_after_its_exit() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    let early = if_else(equal(get(r, 32), int(1)), vec![statement(StatementKind::Exit)], vec![]);
    b.kernel.body = vec![if_else(tid_is(0), vec![load(r, at(x, vec![]), Sem::Weak), early], vec![]), sync()];
    let graph = b.graph(&launch(1, 2, 1));
    let by_other = waits(&graph).iter().find(|e| e.agent == Some(AgentId(1))).unwrap().guard;
    let mut passed_after = [false; 2];
    for u in executions(&graph) {
        // The only read is the first unknown.
        if holds(&graph, by_other, &u) {
            passed_after[u[0] as usize] = true;
        }
    }
    assert_eq!(passed_after, [true, true], "an exited thread is not waited for (BR-7)");
}

#[test]
fn a_barrier_with_a_count_waits_for_a_warp_that_exits() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    let early = if_else(equal(get(r, 32), int(1)), vec![statement(StatementKind::Exit)], vec![]);
    let two_warps = binary(BinaryOp::Less, coordinate(Coordinate::Warpid), int(2));
    b.kernel.body = vec![
        if_else(tid_is(0), vec![load(r, at(x, vec![]), Sem::Weak), early], vec![]),
        if_else(two_warps, vec![barrier(BarrierKind::Sync, 3, Some(64))], vec![]),
    ];
    let graph = b.graph(&launch(1, 3, 1));
    let by_other = waits(&graph).iter().find(|e| e.agent == Some(AgentId(1))).unwrap().guard;
    let passed: Vec<u128> =
        executions(&graph).iter().filter(|u| holds(&graph, by_other, u)).map(|u| u[0]).collect();
    // The only read is the first unknown, and 1 makes thread 0 exit: the count does not shrink (A-22).
    assert!(!passed.is_empty() && passed.iter().all(|&read| read == 0), "{passed:?}");
}

#[test]
fn generations_under_data_dependent_branches_become_terms() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    b.kernel.body = vec![
        load(r, at(x, vec![]), Sem::Weak),
        if_else(equal(get(r, 32), int(1)), vec![sync()], vec![]),
        sync(),
    ];
    let graph = b.graph(&launch(1, 2, 1));
    // Both threads read alike: they pass as many barriers as each other. Otherwise the shorter one exits, which
    // releases the longer one.
    let done = |u: &[u128]| graph.completed.iter().all(|&c| holds(&graph, c, u));
    let reads: Vec<usize> = graph
        .terms
        .unknowns()
        .iter_enumerated()
        .filter(|(_, u)| matches!(u.kind, fencepost_engine::event::UnknownKind::Read(_)))
        .map(|(id, _)| id.index())
        .collect();
    let mut outcomes: Vec<(u128, u128)> =
        executions(&graph).iter().filter(|u| done(u)).map(|u| (u[reads[0]], u[reads[1]])).collect();
    outcomes.sort_unstable();
    outcomes.dedup();
    assert_eq!(outcomes, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert!(
        graph.edges.of(BaseRelation::BarrierSynchronization).any(|edge| edge.condition != TermPool::TRUE)
    );
}

#[test]
fn both_sides_of_a_branch_may_hold_the_same_generation() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    b.kernel.body = vec![
        load(r, at(x, vec![]), Sem::Weak),
        if_else(equal(get(r, 32), int(1)), vec![sync()], vec![sync()]),
        sync(),
    ];
    let graph = b.graph(&launch(1, 2, 1));
    let passes = graph
        .terms
        .unknowns()
        .iter()
        .filter(|u| u.kind == fencepost_engine::event::UnknownKind::Passes)
        .count();
    assert_eq!(passes, 2, "generations 0 and 1, both known");
    assert!(
        graph.edges.of(BaseRelation::BarrierSynchronization).all(|edge| edge.condition == TermPool::TRUE)
    );
}

/// The rules that some execution breaks.
fn misuses(graph: &EventGraph) -> Vec<&'static str> {
    let code = |obligation: &Obligation| match &obligation.kind {
        ObligationKind::Discipline(misuse) => Some(misuse.code()),
        ObligationKind::Assertion | ObligationKind::Bounds { .. } => None,
    };
    graph.obligations.iter().filter_map(code).collect()
}

#[test]
fn counts_and_forms_must_agree() {
    let with = |first: Statement, second: Statement| {
        let mut b = Builder::new();
        b.kernel.body = vec![if_else(tid_is(0), vec![first], vec![second])];
        let error = b.error(&launch(1, 2, 1));
        if error != "none" {
            return error;
        }
        misuses(&b.graph(&launch(1, 2, 1))).first().copied().unwrap_or("none")
    };
    let sync_of = |count| barrier(BarrierKind::Sync, 1, count);
    assert_eq!(with(sync_of(None), sync_of(Some(64))), "none");
    assert_eq!(with(sync_of(Some(32)), sync_of(Some(64))), "barrier::count-mismatch");
    assert_eq!(with(sync_of(Some(32)), sync_of(Some(32))), "none", "either meets nobody, in some order");
    assert_eq!(with(sync_of(Some(96)), sync_of(Some(96))), "barrier::bad-count");
    assert_eq!(with(sync_of(Some(48)), sync_of(Some(48))), "barrier::bad-count");
    let mut b = Builder::new();
    let destination = b.register("d", 32);
    let reduce = BarrierKind::Reduce { destination, op: BarrierReduction::Popc, predicate: tid_is(0) };
    b.kernel.body = vec![if_else(tid_is(0), vec![barrier(reduce, 1, None)], vec![sync_of(None)])];
    assert_eq!(misuses(&b.graph(&launch(1, 2, 1))), ["barrier::mixed-reduction"; 2], "for each of the two");
    let mut b = Builder::new();
    let (x, r) = (b.global("x"), b.register("r", 32));
    let kind = InstructionKind::Barrier {
        kind: BarrierKind::Sync,
        id: get(r, 32),
        count: None,
        aligned: false,
        instance: None,
    };
    b.kernel.body = vec![load(r, at(x, vec![]), Sem::Weak), instruction("barrier", kind)];
    assert_eq!(b.error(&launch(1, 1, 1)), "unsupported::barrier-operand");
}

#[test]
fn reductions_combine_the_predicates_of_all_participants() {
    for (op, width, expected) in
        [(BarrierReduction::Popc, 32, 2), (BarrierReduction::And, 1, 0), (BarrierReduction::Or, 1, 1)]
    {
        let mut b = Builder::new();
        let out = b.object(Space::Global, "out", 32, &[]);
        let destination = b.register("d", width);
        let predicate = binary(BinaryOp::Less, coordinate(Coordinate::Tid), int(2));
        let convert = Expression {
            span: span(),
            width: 32,
            kind: ExpressionKind::Convert(Box::new(get(destination, width))),
        };
        b.kernel.body = vec![
            barrier(BarrierKind::Reduce { destination, op, predicate }, 0, None),
            store(at(out, vec![]), convert, Sem::Relaxed),
        ];
        let graph = b.graph(&launch(1, 3, 1));
        let last = graph.events.iter().last().unwrap();
        let values: Vec<u128> = assignments(&graph, 3)
            .iter()
            .filter(|u| admitted(&graph, &|id: UnknownId| u[id.index()]) && holds(&graph, last.guard, u))
            .map(|u| value(&graph.terms, last.kind.access().unwrap().value, &|id: UnknownId| u[id.index()]))
            .collect();
        assert_eq!(values, [expected], "{op:?}");
    }
}

/// `rounds` of a one-slot queue: warp 0 produces, warp 1 consumes.
fn queue(rounds: u128, with_empty: bool) -> Builder {
    let mut b = Builder::new();
    let slot = b.object(Space::Shared, "slot", 32, &[]);
    let (i, j, v) = (b.register("i", 32), b.register("j", 32), b.register("v", 32));
    let (produce, consume) = (b.new_loop(), b.new_loop());
    let full = |kind| barrier(kind, 1, Some(64));
    let empty = |kind| barrier(kind, 2, Some(64));
    let mut producer = vec![store(at(slot, vec![]), get(i, 32), Sem::Weak), full(BarrierKind::Arrive)];
    let mut consumer = vec![full(BarrierKind::Sync), load(v, at(slot, vec![]), Sem::Weak)];
    let mut prime = vec![];
    if with_empty {
        producer.insert(0, empty(BarrierKind::Sync));
        consumer.push(empty(BarrierKind::Arrive));
        prime.push(empty(BarrierKind::Arrive));
    }
    let (start, end) = (int(0), int(rounds));
    let producing = StatementKind::For {
        id: produce,
        register: i,
        start: start.clone(),
        end: end.clone(),
        body: producer,
    };
    prime.push(statement(StatementKind::For { id: consume, register: j, start, end, body: consumer }));
    b.kernel.body =
        vec![if_else(equal(coordinate(Coordinate::Warpid), int(0)), vec![statement(producing)], prime)];
    b
}

#[test]
fn double_buffering_by_arrive_and_sync_is_accepted() {
    let b = queue(3, true);
    assert_eq!(b.error(&launch(1, 2, 1)), "none");
    let graph = b.graph(&launch(1, 2, 2));
    assert!(
        graph.edges.of(BaseRelation::BarrierSynchronization).all(|edge| edge.condition == TermPool::TRUE)
    );
    let all = executions(&graph);
    assert!(all.iter().any(|u| graph.completed.iter().all(|&c| holds(&graph, c, u))));
}

#[test]
fn an_arrive_that_may_be_repeated_before_completion_breaks_a_rule() {
    let of = |builder: Builder| misuses(&builder.graph(&launch(1, 2, 1)));
    assert_eq!(of(queue(2, false)), ["barrier::reuse-before-reset"]);
    assert!(of(queue(1, false)).is_empty());
    assert!(of(queue(3, true)).is_empty(), "visibly fine, without asking the solver");
}

#[test]
fn a_count_below_the_warps_that_come_leaves_open_who_meets() {
    let mut b = Builder::new();
    b.kernel.body = vec![barrier(BarrierKind::Sync, 3, Some(64))];
    let graph = b.graph(&launch(1, 3, 1));
    assert!(
        graph.edges.of(BaseRelation::BarrierSynchronization).any(|edge| edge.condition != TermPool::TRUE)
    );
    assert!(graph.edges.of(BaseRelation::BarrierOrder).next().is_some(), "generations are ordered");
    let all = executions(&graph);
    let n_passed = |u: &Vec<u128>| waits(&graph).iter().filter(|e| holds(&graph, e.guard, u)).count();
    assert!(all.iter().any(|u| n_passed(u) == 2));
    assert!(all.iter().all(|u| n_passed(u) <= 2), "two of three, whichever they are");
}

fn warp_sync(mask: u128) -> Statement {
    instruction("bar.warp.sync", InstructionKind::WarpSync { mask: int(mask) })
}

#[test]
fn warp_sync_waits_for_the_lanes_of_its_mask() {
    let mut b = Builder::new();
    let mask_of = |mask| {
        if_else(binary(BinaryOp::Less, coordinate(Coordinate::Laneid), int(2)), vec![warp_sync(mask)], vec![])
    };
    b.kernel.body = vec![mask_of(3)];
    let graph = b.graph(&launch(1, 2, 3));
    assert_eq!(waits(&graph).len(), 4);
    assert_eq!(
        graph.edges.of(BaseRelation::BarrierSynchronization).count(),
        2 * 2 * 2,
        "lanes of one warp only"
    );
    let all = executions(&graph);
    assert!(all.iter().any(|u| graph.completed.iter().all(|&c| holds(&graph, c, u))));
    // A lane of the mask that never comes.
    b.kernel.body = vec![mask_of(7)];
    let graph = b.graph(&launch(1, 1, 3));
    let guards: Vec<_> = waits(&graph).iter().map(|e| e.guard).collect();
    assert!(executions(&graph).iter().all(|u| guards.iter().all(|&guard| !holds(&graph, guard, u))));
    // A lane outside the mask.
    b.kernel.body = vec![mask_of(1)];
    assert_eq!(misuses(&b.graph(&launch(1, 1, 3))), ["barrier::lane-not-in-mask"]);
}

#[test]
fn many_threads_and_rounds_stay_cheap() {
    let mut b = Builder::new();
    let a = b.object(Space::Shared, "a", 32, &[256]);
    for _ in 0..8 {
        b.kernel.body.push(store(at(a, vec![coordinate(Coordinate::Tid)]), int(1), Sem::Weak));
        b.kernel.body.push(sync());
    }
    let graph = b.graph(&launch(1, 8, 32));
    assert_eq!(graph.edges.of(BaseRelation::BarrierSynchronization).count(), 256 * 256 * 8);
    assert_eq!(graph.events.len(), 256 * 8 * 3);
    assert!(graph.terms.n_terms() < 2000, "{} terms", graph.terms.n_terms());
}
