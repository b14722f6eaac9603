//! The unroller on hand-built programs: what events there are, when they happen, and what is known of them.

#[path = "unroll/builder.rs"]
#[expect(dead_code, reason = "shared with another suite")]
mod builder;

use builder::*;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::*;
use fencepost_dsl::vocabulary::{Scope, Sem, Space};
use fencepost_engine::event::{
    AgentId, AtomicClass, EventGraph, EventKind, ObligationKind, Role, TermPool, UnknownKind,
};
use fencepost_engine::unroll::{UnrollError, UnrollOptions, dump};

const ONE: (u32, u32, u32) = (1, 1, 1);

fn single(builder: &Builder) -> EventGraph {
    builder.graph(&launch(ONE.0, ONE.1, ONE.2))
}

fn n_events(graph: &EventGraph, test: fn(&EventKind) -> bool) -> usize {
    graph.events.iter().filter(|event| test(&event.kind)).count()
}

#[test]
fn straight_line_code_keeps_program_order_and_values() {
    let mut b = Builder::new();
    let (x, y) = (b.global("x"), b.global("y"));
    let r = b.register("r", 32);
    b.kernel.body = vec![
        store(at(x, vec![]), int(7), Sem::Weak),
        load(r, at(y, vec![]), Sem::Acquire),
        store(at(y, vec![]), binary(BinaryOp::Add, get(r, 32), int(1)), Sem::Release),
    ];
    let graph = b.graph(&launch(1, 1, 2));
    assert_eq!(graph.events.len(), 6);
    let positions: Vec<_> = graph.events.iter().map(|e| (e.agent.unwrap().0, e.position)).collect();
    assert_eq!(positions, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    assert!(graph.events.iter().all(|e| e.guard == TermPool::TRUE));
    assert!(graph.completed.iter().all(|&c| c == TermPool::TRUE));
    let read = graph.events.ids().nth(4).unwrap();
    let read_value = graph.events[read].kind.access().unwrap().value;
    let unknown = mentioned(&graph.terms, read_value)[0];
    assert_eq!(graph.terms.unknown(unknown).kind, UnknownKind::Read(read));
    let last = graph.events.ids().nth(5).unwrap();
    let written = graph.events[last].kind.access().unwrap();
    assert_eq!(value(&graph.terms, written.value, &|_| 41), 42);
    assert_eq!(written.sem, Sem::Release);
    assert_eq!(graph.sites.len(), 3, "sites are shared by the threads");
    assert!(dump(&graph).contains("e1 T0 p1 R ld [y] loc y+0 w4 acquire.gpu"), "{}", dump(&graph));
}

#[test]
fn branches_join_into_choices_and_the_guard_comes_back() {
    let mut b = Builder::new();
    let x = b.global("x");
    let (r, v) = (b.register("r", 32), b.register("v", 32));
    b.kernel.body = vec![
        load(r, at(x, vec![]), Sem::Weak),
        assign(v, int(0)),
        if_else(
            equal(get(r, 32), int(1)),
            vec![assign(v, int(10)), store(at(x, vec![]), int(3), Sem::Weak)],
            vec![if_else(equal(get(r, 32), int(2)), vec![assign(v, int(20))], vec![])],
        ),
        store(at(x, vec![]), get(v, 32), Sem::Weak),
    ];
    let graph = single(&b);
    let events: Vec<_> = graph.events.iter().collect();
    assert_eq!(events.len(), 3);
    assert_eq!(events[2].guard, TermPool::TRUE);
    for (read, written, stored) in [(1, 10, 1), (2, 20, 0), (3, 0, 0)] {
        assert_eq!(value(&graph.terms, events[2].kind.access().unwrap().value, &|_| read), written);
        assert_eq!(value(&graph.terms, events[1].guard, &|_| read), stored);
    }
}

#[test]
fn branches_on_coordinates_take_one_side_only() {
    let mut b = Builder::new();
    let x = b.global("x");
    b.kernel.body = vec![if_else(
        tid_is(0),
        vec![store(at(x, vec![]), int(1), Sem::Weak), statement(StatementKind::Exit)],
        vec![],
    )];
    b.kernel.body.push(store(at(x, vec![]), int(2), Sem::Weak));
    let graph = b.graph(&launch(1, 1, 2));
    assert_eq!(graph.events.len(), 2);
    assert!(graph.events.iter().all(|e| e.guard == TermPool::TRUE));
    assert!(graph.completed.iter().all(|&c| c == TermPool::TRUE));
}

fn counting_for(b: &mut Builder, start: Expression, end: Expression) {
    let x = b.object(Space::Global, "a", 32, &[8]);
    let (i, id) = (b.register("i", 32), b.new_loop());
    let body = vec![store(at(x, vec![get(i, 32)]), get(i, 32), Sem::Weak)];
    b.kernel.body.push(statement(StatementKind::For { id, register: i, start, end, body }));
}

#[test]
fn constant_loops_unroll_fully_whatever_the_bound() {
    let mut b = Builder::new();
    counting_for(&mut b, int(2), int(7));
    let options = UnrollOptions { bound: 0, ..UnrollOptions::default() };
    let graph = b.unroll(&launch(1, 1, 1), &options).unwrap();
    assert_eq!(graph.events.len(), 5);
    assert!(graph.cuts.is_empty() && graph.obligations.is_empty());
    let iterations: Vec<_> = graph.events.iter().map(|e| e.iterations.clone()).collect();
    assert_eq!(iterations, [[0], [1], [2], [3], [4]]);
    assert_eq!(graph.completed[AgentId(0)], TermPool::TRUE);
}

#[test]
fn loops_over_a_parameter_end_by_its_range() {
    let mut b = Builder::new();
    let n = b.parameter("N", 0, 3);
    counting_for(&mut b, int(0), get(n, 32));
    let graph = b.graph(&launch(1, 1, 1));
    assert_eq!(graph.events.len(), 3);
    assert!(graph.cuts.is_empty());
    assert_eq!(graph.completed[AgentId(0)], TermPool::TRUE);
    for trips in 0..=3u128 {
        let there = graph.events.iter().filter(|e| value(&graph.terms, e.guard, &|_| trips) == 1).count();
        assert_eq!(there as u128, trips);
        assert!(admitted(&graph, &|_| trips));
    }
    assert!(!admitted(&graph, &|_| 4), "the parameter's range is stated");
    assert_eq!(graph.parameters[0].0, "N");
}

#[test]
fn loops_over_data_are_cut_at_the_bound() {
    let mut b = Builder::new();
    let (x, n) = (b.global("x"), b.register("n", 32));
    b.kernel.body = vec![load(n, at(x, vec![]), Sem::Weak)];
    counting_for(&mut b, int(0), get(n, 32));
    let graph = single(&b);
    assert_eq!(n_events(&graph, is_write), 2);
    assert_eq!(graph.cuts.len(), 1);
    for (read, cut) in [(0, 0), (2, 0), (3, 1), (100, 1)] {
        assert_eq!(value(&graph.terms, graph.cuts[0].guard, &|_| read), cut);
        assert_eq!(value(&graph.terms, graph.completed[AgentId(0)], &|_| read), 1 - cut);
    }
}

#[test]
fn breaks_leave_the_innermost_loop_with_their_registers() {
    let mut b = Builder::new();
    let (x, out) = (b.object(Space::Global, "a", 32, &[3]), b.global("out"));
    let (i, r, found) = (b.register("i", 32), b.register("r", 32), b.register("found", 32));
    let id = b.new_loop();
    let body = vec![
        load(r, at(x, vec![get(i, 32)]), Sem::Weak),
        if_else(
            equal(get(r, 32), int(5)),
            vec![assign(found, get(i, 32)), statement(StatementKind::Break)],
            vec![],
        ),
    ];
    b.kernel.body = vec![
        assign(found, int(99)),
        statement(StatementKind::For { id, register: i, start: int(0), end: int(3), body }),
        store(at(out, vec![]), get(found, 32), Sem::Weak),
    ];
    let graph = single(&b);
    let store = graph.events.iter().last().unwrap();
    assert_eq!(store.guard, TermPool::TRUE);
    let stored = store.kind.access().unwrap().value;
    for (reads, expected) in [([5, 5, 5], 0), ([1, 5, 5], 1), ([1, 2, 5], 2), ([1, 2, 3], 99)] {
        assert_eq!(value(&graph.terms, stored, &|u| reads[u.index()]), expected);
    }
}

/// `await atom.cas(lock, 0, 1) == 0`
fn cas_lock(b: &mut Builder, lock: ObjectId) -> Statement {
    let (old, id) = (b.register("%old", 32), b.new_loop());
    let cas =
        atomic(Some(old), AtomicOp::CompareAndSwap, at(lock, vec![]), vec![int(0), int(1)], Sem::Acquire);
    statement(StatementKind::Await { id, prelude: vec![cas], condition: equal(get(old, 32), int(0)) })
}

#[test]
fn a_cas_lock_is_a_spin_whose_failing_try_writes_nothing() {
    let mut b = Builder::new();
    let (lock, x) = (b.global("lock"), b.global("x"));
    let acquire = cas_lock(&mut b, lock);
    b.kernel.body = vec![acquire, store(at(x, vec![]), int(1), Sem::Weak)];
    let graph = single(&b);
    let kinds: Vec<_> = graph.events.iter().map(|e| (is_read(&e.kind), e.role)).collect();
    // Failing try (its write never happens, but is listed), final try, store.
    assert_eq!(kinds.len(), 5);
    assert!(matches!(kinds[0], (true, Role::Spin(_))) && matches!(kinds[1], (false, Role::Spin(_))));
    assert_eq!((kinds[2], kinds[3]), ((true, Role::Await), (false, Role::Await)));
    assert_eq!(kinds[4], (false, Role::Plain));
    assert!(graph.cuts.is_empty());
    let guard = |index: usize, u: &[u128]| {
        value(&graph.terms, graph.events.iter().nth(index).unwrap().guard, &|id| u[id.index()])
    };
    let mut seen = [0; 4];
    for u in assignments(&graph, 1) {
        if !admitted(&graph, &|id| u[id.index()]) {
            continue;
        }
        assert_eq!(guard(1, &u), 0, "a failing try has no write");
        assert_eq!(guard(3, &u), guard(2, &u), "the final try writes");
        assert_eq!(guard(4, &u), guard(3, &u), "only then the thread goes on");
        assert_eq!(value(&graph.terms, graph.completed[AgentId(0)], &|id| u[id.index()]), guard(4, &u));
        seen[(guard(0, &u) * 2 + guard(2, &u)) as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n > 0), "with and without failing try, blocked and not: {seen:?}");
    assert_eq!(graph.rmw.len(), 2);
}

#[test]
fn a_failed_exchange_is_a_try_as_far_as_it_writes_what_is_there() {
    let mut b = Builder::new();
    let lock = b.global("lock");
    let (old, id) = (b.register("%old", 32), b.new_loop());
    let exchange = atomic(Some(old), AtomicOp::Exchange, at(lock, vec![]), vec![int(1)], Sem::Acquire);
    let condition = equal(get(old, 32), int(0));
    b.kernel.body = vec![statement(StatementKind::Await { id, prelude: vec![exchange], condition })];
    let graph = single(&b);
    // Bound 2: a round that goes round again because it has overwritten something else than 0 or 1, another one, and a try
    // before each.
    assert_eq!(graph.rmw.len(), 4);
    assert_eq!(graph.cuts.len(), 1);
    let tries: Vec<_> = graph.events.iter().filter(|e| matches!(e.role, Role::Spin(_))).collect();
    assert_eq!(tries.len(), 4);
    let mut n_tries = 0;
    for u in assignments(&graph, 2) {
        let of = |id: fencepost_engine::event::UnknownId| u[id.index()];
        if !admitted(&graph, &of) {
            continue;
        }
        for event in tries.iter().filter(|event| value(&graph.terms, event.guard, &of) == 1) {
            let access = event.kind.access().unwrap();
            assert_eq!(value(&graph.terms, access.value, &of), 1, "it reads 1 and writes 1");
            n_tries += 1;
        }
    }
    assert!(n_tries > 0);
}

#[test]
fn a_test_and_test_and_set_loop_is_a_spin() {
    let mut b = Builder::new();
    let (lock, x) = (b.global("lock"), b.global("x"));
    let (seen, old) = (b.register("%seen", 32), b.register("old", 32));
    let (inner, outer) = (b.new_loop(), b.new_loop());
    let test = statement(StatementKind::Await {
        id: inner,
        prelude: vec![load(seen, at(lock, vec![]), Sem::Relaxed)],
        condition: equal(get(seen, 32), int(0)),
    });
    let cas =
        atomic(Some(old), AtomicOp::CompareAndSwap, at(lock, vec![]), vec![int(0), int(1)], Sem::Acquire);
    let leave = if_else(equal(get(old, 32), int(0)), vec![statement(StatementKind::Break)], vec![]);
    b.kernel.body = vec![
        statement(StatementKind::While {
            id: outer,
            prelude: vec![],
            condition: constant(1, 1),
            body: vec![test, cas, leave],
        }),
        store(at(x, vec![]), int(1), Sem::Weak),
    ];
    let graph = single(&b);
    assert!(graph.cuts.is_empty());
    assert_eq!(graph.rmw.len(), 2, "one failing and one final compare-and-swap");
    let written: Vec<_> =
        graph.events.iter().filter(|e| is_write(&e.kind) && matches!(e.role, Role::Spin(_))).collect();
    assert_eq!(written.len(), 1);
    let mut went_on = 0;
    for u in assignments(&graph, 1) {
        let of = |id: fencepost_engine::event::UnknownId| u[id.index()];
        if admitted(&graph, &of) {
            assert_eq!(value(&graph.terms, written[0].guard, &of), 0);
            went_on += value(&graph.terms, graph.completed[AgentId(0)], &of);
        }
    }
    assert!(went_on > 0);
}

fn polling_loop(b: &mut Builder, reads_old_value: bool) -> EventGraph {
    let (flag, data, out) = (b.global("flag"), b.global("data"), b.global("out"));
    let (f, last) = (b.register("f", 32), b.register("last", 32));
    let id = b.new_loop();
    let leave = if_else(equal(get(f, 32), int(1)), vec![statement(StatementKind::Break)], vec![]);
    let poll = load(last, at(data, vec![]), Sem::Relaxed);
    let test = load(f, at(flag, vec![]), Sem::Relaxed);
    let body = if reads_old_value { vec![test, leave, poll] } else { vec![poll, test, leave] };
    b.kernel.body = vec![
        assign(last, int(0)),
        statement(StatementKind::While { id, prelude: vec![], condition: constant(1, 1), body }),
        store(at(out, vec![]), get(last, 32), Sem::Weak),
    ];
    single(b)
}

#[test]
fn registers_assigned_anew_in_every_try_do_not_hinder_a_spin() {
    let graph = polling_loop(&mut Builder::new(), false);
    assert!(graph.cuts.is_empty());
    assert_eq!(n_events(&graph, is_read), 4);
}

#[test]
fn a_value_of_the_round_before_the_last_is_that_of_the_try() {
    let graph = polling_loop(&mut Builder::new(), true);
    assert!(graph.cuts.is_empty());
    assert_eq!(n_events(&graph, is_read), 4);
    assert!(!graph.events.iter().any(|e| matches!(e.role, Role::Spin(_))), "what is kept cannot be left out");
}

#[test]
fn vectors_share_a_position_and_weak_cells_are_two_accesses() {
    let mut b = Builder::new();
    let (v, cell) = (b.object(Space::Global, "v", 32, &[4]), b.object(Space::Global, "cell", 128, &[]));
    let (p, q, whole) = (b.register("p", 32), b.register("q", 32), b.register("whole", 128));
    let scope = Scope::Gpu;
    let destinations = vec![Some(p), None, Some(q), None];
    let address = at(v, vec![int(0)]);
    b.kernel.body = vec![
        instruction(
            "ld.v4",
            InstructionKind::Access(AccessOp::Load {
                destinations,
                address,
                sem: Sem::Weak,
                scope,
                non_coherent: false,
            }),
        ),
        load(whole, at(cell, vec![]), Sem::Weak),
        store(at(cell, vec![]), get(whole, 128), Sem::Weak),
        store(at(cell, vec![]), get(whole, 128), Sem::Relaxed),
    ];
    let graph = single(&b);
    let listed: Vec<_> = graph
        .events
        .iter()
        .map(|e| {
            let access = e.kind.access().unwrap();
            (e.position, graph.terms.constant_value(access.offset).unwrap(), access.width_bytes)
        })
        .collect();
    assert_eq!(
        listed,
        [(0, 0, 4), (0, 4, 4), (0, 8, 4), (0, 12, 4), (1, 0, 8), (1, 8, 8), (2, 0, 8), (2, 8, 8), (3, 0, 16)]
    );
    let events: Vec<_> = graph.events.iter().collect();
    let stored = |index: usize| events[index].kind.access().unwrap().value;
    let of = |id: fencepost_engine::event::UnknownId| 100 + id.index() as u128;
    assert_eq!(value(&graph.terms, stored(8), &of), (105 << 64) | 104);
    assert_eq!(value(&graph.terms, stored(6), &of), 104);
    assert_eq!(value(&graph.terms, stored(7), &of), 105);
}

#[test]
fn indices_give_obligations_only_where_they_are_not_plainly_inside() {
    let mut b = Builder::new();
    let (a, m) = (b.object(Space::Global, "a", 32, &[4]), b.object(Space::Global, "m", 32, &[2, 3]));
    let r = b.register("r", 32);
    b.kernel.body = vec![
        load(r, at(m, vec![int(1), int(2)]), Sem::Weak),
        store(at(a, vec![get(r, 32)]), int(1), Sem::Weak),
        store(at(a, vec![get(r, 32)]), int(2), Sem::Weak),
        store(at(a, vec![int(4)]), int(3), Sem::Weak),
        store(at(a, vec![int(0)]), int(4), Sem::Weak),
    ];
    let graph = single(&b);
    assert_eq!(graph.events.len(), 3, "after a certain violation nothing happens");
    assert_eq!(
        graph.terms.constant_value(graph.events.iter().next().unwrap().kind.access().unwrap().offset),
        Some(20)
    );
    assert_eq!(graph.obligations.len(), 2, "the second use of the index is known to be inside");
    let bounds = &graph.obligations[0];
    assert!(matches!(&bounds.kind, ObligationKind::Bounds { object, n_elements: 4, .. } if object == "a"));
    assert_eq!(value(&graph.terms, bounds.condition, &|_| 3), 1);
    assert_eq!(value(&graph.terms, bounds.condition, &|_| 4), 0);
    assert_eq!(graph.obligations[1].condition, TermPool::FALSE);
    assert_eq!(graph.completed[AgentId(0)], TermPool::FALSE);
}

#[test]
fn references_stand_for_elements_of_the_callers_object() {
    let mut b = Builder::new();
    let ring = b.object(Space::Shared, "ring", 32, &[4]);
    let references =
        IndexVecOf::from(vec![Reference { name: "slot".into(), width: 32, element: ElementKind::Data }]);
    let registers = IndexVecOf::from(vec![Register { name: "v".into(), width: 32 }]);
    let (v, slot) = (RegisterId(0), ReferenceId(0));
    let address = Address {
        span: span(),
        base: AddressBase::Reference(slot),
        indices: vec![int(1)],
        rank: None,
        device: None,
    };
    let function = b.functions.push(Function {
        name: "put".into(),
        values: vec![v],
        references,
        registers,
        body: vec![store(address, get(v, 32), Sem::Weak)],
        result: Some(binary(BinaryOp::Add, get(v, 32), int(1))),
        span: span(),
    });
    let out = b.register("out", 32);
    b.kernel.body = vec![
        statement(StatementKind::Call {
            function,
            values: vec![int(8)],
            references: vec![at(ring, vec![int(2)])],
            result: Some(out),
        }),
        store(at(ring, vec![int(0)]), get(out, 32), Sem::Weak),
    ];
    let graph = b.graph(&launch(2, 1, 1));
    let listed: Vec<_> = graph
        .events
        .iter()
        .map(|e| {
            let access = e.kind.access().unwrap();
            let constant = |term| graph.terms.constant_value(term).unwrap();
            (
                graph.locations[access.location].name.to_string(),
                constant(access.offset),
                constant(access.value),
            )
        })
        .collect();
    let of = |cta: u32, offset, value| (format!("ring of cta {cta}"), offset, value);
    assert_eq!(listed, [of(0, 12, 8), of(0, 0, 9), of(1, 12, 8), of(1, 0, 9)]);
}

type IndexVecOf<I, T> = fencepost_dsl::IndexVec<I, T>;

#[test]
fn atomics_split_their_sem_and_sinks_are_told_apart() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    let add = |destination, sem| atomic(destination, AtomicOp::Add, at(x, vec![]), vec![int(1)], sem);
    b.kernel.body = vec![add(Some(r), Sem::AcqRel), add(Some(r), Sem::Acquire), add(None, Sem::AcqRel)];
    let graph = single(&b);
    let sems: Vec<_> =
        graph.events.iter().map(|e| e.kind.access().map(|a| (a.sem, a.atomic)).unwrap()).collect();
    let (atom, sink) = (AtomicClass::Atom, AtomicClass::Sink);
    assert_eq!(
        sems,
        [
            (Sem::Acquire, atom),
            (Sem::Release, atom),
            (Sem::Acquire, atom),
            (Sem::Relaxed, atom),
            (Sem::Acquire, sink),
            (Sem::Release, sink)
        ]
    );
    assert_eq!(graph.rmw.len(), 3);
}

#[test]
fn atomic_operations_compute_what_ptx_says() {
    let cases = [
        (AtomicOp::Inc, 4, 5, 5),
        (AtomicOp::Inc, 5, 5, 0),
        (AtomicOp::Dec, 0, 5, 5),
        (AtomicOp::Dec, 6, 5, 5),
        (AtomicOp::Dec, 3, 5, 2),
        (AtomicOp::Min, u128::from(u32::MAX), 5, 5),
        (AtomicOp::SignedMin, u128::from(u32::MAX), 5, u128::from(u32::MAX)),
        (AtomicOp::SignedMax, u128::from(u32::MAX), 5, 5),
        (AtomicOp::Max, 9, 5, 9),
        (AtomicOp::Exchange, 9, 5, 5),
    ];
    for (op, old, operand, new) in cases {
        let mut b = Builder::new();
        let x = b.global("x");
        b.kernel.body = vec![atomic(None, op, at(x, vec![]), vec![int(operand)], Sem::Relaxed)];
        let graph = single(&b);
        let write = graph.events.iter().last().unwrap().kind.access().unwrap().value;
        assert_eq!(value(&graph.terms, write, &|_| old), new, "{op:?} {old} {operand}");
    }
}

#[test]
fn properties_and_assumptions_are_recorded_with_their_guards() {
    let mut b = Builder::new();
    let x = b.global("x");
    let r = b.register("r", 32);
    b.kernel.body = vec![
        load(r, at(x, vec![]), Sem::Weak),
        statement(StatementKind::Assume(equal(get(r, 32), int(1)))),
        assert(equal(get(r, 32), int(2))),
        statement(StatementKind::Reachable(constant(1, 1))),
    ];
    let address = Box::new(at(x, vec![]));
    let value_of = Expression { span: span(), width: 32, kind: ExpressionKind::FinalValue(address) };
    let condition = equal(value_of, int(5));
    b.kernel.finals = vec![FinalCondition { span: span(), kind: FinalKind::Assert, condition }];
    let graph = single(&b);
    assert!(admitted(&graph, &|_| 1) && !admitted(&graph, &|_| 2));
    assert_eq!(graph.obligations[0].kind, ObligationKind::Assertion);
    assert_eq!(value(&graph.terms, graph.obligations[0].guard, &|_| 1), 1);
    assert_eq!(graph.obligations[0].condition, {
        let mut terms = graph.terms.clone();
        let read = graph.events.iter().next().unwrap().kind.access().unwrap().value;
        let two = terms.constant(2, 32);
        terms.equal(read, two)
    });
    assert_eq!(value(&graph.terms, graph.reachables[0].condition, &|_| 1), 1);
    assert_eq!(value(&graph.terms, graph.reachables[0].condition, &|_| 0), 0);
    let unknown = mentioned(&graph.terms, graph.finals[0].condition)[0];
    assert!(matches!(
        graph.terms.unknown(unknown).kind,
        UnknownKind::FinalValue { offset_bytes: 0, width_bytes: 4, .. }
    ));
}

#[test]
fn final_values_of_shared_memory_need_a_single_cta() {
    let mut b = Builder::new();
    let tile = b.object(Space::Shared, "tile", 32, &[2]);
    let address = Box::new(at(tile, vec![int(1)]));
    let value_of = Expression { span: span(), width: 32, kind: ExpressionKind::FinalValue(address) };
    let condition = equal(value_of, int(5));
    b.kernel.finals = vec![FinalCondition { span: span(), kind: FinalKind::Assert, condition }];
    assert_eq!(b.error(&launch(2, 1, 1)), "unsupported::final-shared");
    assert_eq!(b.error(&launch(1, 1, 1)), "none");
}

#[test]
fn every_limit_is_named() {
    let mut b = Builder::new();
    counting_for(&mut b, int(0), int(8));
    let limited = |max_events, max_steps| {
        let options =
            UnrollOptions { bound: 2, max_events, max_steps, hangs: true, ..UnrollOptions::default() };
        match b.unroll(&launch(1, 1, 1), &options) {
            Err(UnrollError::TooLarge { limit, value, .. }) => (limit, value),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(limited(4, 1000), ("events", 4));
    assert_eq!(limited(1000, 5), ("steps", 5));
    assert_eq!(b.error(&launch(4096, 32, 32)), "threads");
    let mut endless = Builder::new();
    let id = endless.new_loop();
    let x = endless.global("x");
    let body = vec![store(at(x, vec![]), int(1), Sem::Weak)];
    let condition = constant(1, 1);
    endless.kernel.body = vec![statement(StatementKind::While { id, prelude: vec![], condition, body })];
    let graph = single(&endless);
    assert_eq!((graph.events.len(), graph.cuts.len()), (2, 1), "an endless loop is cut at the bound");
    assert_eq!(graph.completed[AgentId(0)], TermPool::FALSE);
}

#[test]
fn an_await_in_a_loop_is_a_spin_in_every_iteration() {
    let mut b = Builder::new();
    let a = b.object(Space::Global, "a", 32, &[2]);
    let (i, seen) = (b.register("i", 32), b.register("%seen", 32));
    let (outer, inner) = (b.new_loop(), b.new_loop());
    let prelude = vec![load(seen, at(a, vec![get(i, 32)]), Sem::Acquire)];
    let condition = equal(get(seen, 32), int(1));
    let body = vec![statement(StatementKind::Await { id: inner, prelude, condition })];
    b.kernel.body =
        vec![statement(StatementKind::For { id: outer, register: i, start: int(0), end: int(2), body })];
    let graph = single(&b);
    assert!(graph.cuts.is_empty());
    let listed: Vec<_> = graph.events.iter().map(|e| (e.iterations.clone(), e.role == Role::Await)).collect();
    assert_eq!(listed, [(vec![0], false), (vec![0], true), (vec![1], false), (vec![1], true)]);
}

#[test]
fn a_round_that_violates_bounds_is_none_that_goes_round_again() {
    let mut b = Builder::new();
    let (a, n) = (b.object(Space::Global, "a", 32, &[2]), b.global("n"));
    let (index, seen, id) = (b.register("%i", 32), b.register("%seen", 32), b.new_loop());
    let prelude =
        vec![load(index, at(n, vec![]), Sem::Relaxed), load(seen, at(a, vec![get(index, 32)]), Sem::Relaxed)];
    let condition = equal(get(seen, 32), int(1));
    b.kernel.body = vec![statement(StatementKind::Await { id, prelude, condition })];
    let graph = single(&b);
    let violated = |obligation: &fencepost_engine::event::Obligation| {
        assignments(&graph, 2).iter().any(|u| {
            let of = |id: fencepost_engine::event::UnknownId| u[id.index()];
            admitted(&graph, &of)
                && value(&graph.terms, obligation.guard, &of) == 1
                && value(&graph.terms, obligation.condition, &of) == 0
        })
    };
    assert_eq!(graph.obligations.iter().map(violated).collect::<Vec<_>>(), [true]);
}

#[test]
fn an_empty_loop_without_end_blocks_the_thread() {
    let mut b = Builder::new();
    let id = b.new_loop();
    b.kernel.body = vec![statement(StatementKind::While {
        id,
        prelude: vec![],
        condition: constant(1, 1),
        body: vec![],
    })];
    let graph = single(&b);
    assert!(graph.events.is_empty() && graph.cuts.is_empty());
    assert_eq!(graph.completed[AgentId(0)], TermPool::FALSE);
}

#[test]
fn an_exit_under_a_data_dependent_branch_completes_the_thread_all_the_same() {
    let mut b = Builder::new();
    let (x, r) = (b.global("x"), b.register("r", 32));
    let leave = if_else(equal(get(r, 32), int(1)), vec![statement(StatementKind::Exit)], vec![]);
    b.kernel.body = vec![load(r, at(x, vec![]), Sem::Weak), leave, store(at(x, vec![]), int(2), Sem::Weak)];
    let graph = single(&b);
    assert_eq!(graph.completed[AgentId(0)], TermPool::TRUE);
    let store = graph.events.iter().last().unwrap().guard;
    assert_eq!((value(&graph.terms, store, &|_| 1), value(&graph.terms, store, &|_| 0)), (0, 1));
}

#[test]
fn deep_nesting_needs_no_deep_stack() {
    let mut b = Builder::new();
    let (x, r) = (b.global("x"), b.register("r", 32));
    let mut inner = store(at(x, vec![]), int(1), Sem::Weak);
    for depth in 0..256 {
        let not = binary(BinaryOp::NotEqual, get(r, 32), int(depth));
        inner = if_else(not, vec![inner], vec![]);
    }
    b.kernel.body = vec![load(r, at(x, vec![]), Sem::Weak), inner];
    let graph = single(&b);
    assert_eq!(graph.completed[AgentId(0)], TermPool::TRUE);
    let store = graph.events.iter().last().unwrap().guard;
    assert_eq!((value(&graph.terms, store, &|_| 9), value(&graph.terms, store, &|_| 300)), (0, 1));
}
