//! Tensor memory that is allocated and given back (§5.8).
//!
//! Cannot: allocate an object again; wait for columns that others hold.

use super::log::Allocation;
use crate::event::{
    AgentId, CtaId, GraphBuilder, GraphError, Misuse, Obligation, ObligationKind, TermPool, TermRef,
};
use crate::findings;
use fencepost_dsl::Span;
use fencepost_dsl::kernel::program::{BinaryOp, StorageId};
use fencepost_dsl::sorted::SortedMap;

/// Columns of the tensor memory of a CTA.
const COLUMNS: u32 = 512;
/// Bits of a number of columns.
const COLUMNS_WIDTH: u8 = 32;

/// Every CTA gives back what it has allocated (UB-A8).
pub fn finish(graph: &mut GraphBuilder, log: &[Allocation]) -> Result<(), GraphError> {
    let mut by_cta: SortedMap<CtaId, Vec<Allocation>> = SortedMap::new();
    for &allocation in log {
        by_cta.entry(allocation.cta).or_default().push(allocation);
    }
    for (cta, all) in by_cta {
        refuse_again(&all)?;
        let threads: Vec<AgentId> = graph.hierarchy.threads_of_cta(cta).collect();
        let ended: Vec<TermRef> = threads.iter().map(|&agent| graph.completed[agent]).collect();
        let ended = graph.terms.and_all(ended);
        let taken = columns(&mut graph.terms, all.iter().filter(|one| one.freed.is_none()));
        let given = columns(&mut graph.terms, all.iter().filter(|one| one.freed.is_some()));
        let balanced = graph.terms.equal(taken, given);
        for one in all.iter().filter(|one| one.freed.is_none()) {
            let guard = graph.terms.and(one.guard, ended);
            let misuse = match (graph.terms.constant_value(taken), graph.terms.constant_value(given)) {
                (Some(taken), Some(given)) => {
                    Misuse::new(&findings::asynchronous::TENSOR_MEMORY_COLUMNS_LEFT)
                        .with("taken", taken)
                        .with("given", given)
                }
                _ => Misuse::new(&findings::asynchronous::TENSOR_MEMORY_LEFT),
            };
            graph.obligations.push(Obligation {
                kind: ObligationKind::Discipline(misuse),
                agent: one.agent,
                guard,
                condition: balanced,
                span: one.span,
                iterations: Vec::new(),
                calls: Vec::new(),
                position: one.position,
            });
        }
    }
    Ok(())
}

/// Objects that are allocated again, and allocations that may have to wait, are not told apart here.
fn refuse_again(all: &[Allocation]) -> Result<(), GraphError> {
    let taken: Vec<&Allocation> = all.iter().filter(|one| one.freed.is_none()).collect();
    let mut freed = all.iter().filter(|one| one.freed.is_some());
    let n_objects = all.first().map_or(0, |one| one.n_objects);
    let refuse = |message: &str, span: Span| {
        Err(GraphError::unsupported(
            "unsupported::tensor-allocation",
            message,
            span,
            "not told apart from earlier ones",
        ))
    };
    let mut objects: Vec<StorageId> = Vec::new();
    let again = freed.find(|one| {
        let Some(storage) = one.freed else { return false };
        let known = objects.contains(&storage);
        objects.push(storage);
        known
    });
    if let (Some(again), true) = (again, taken.len() > 1) {
        return refuse(
            "tensor memory that is allocated again after a `tcgen05.dealloc` is not checked",
            again.span,
        );
    }
    if let Some(last) = taken.get(n_objects) {
        return refuse("more allocations of tensor memory than `tmem` objects are not checked", last.span);
    }
    let total: u32 = taken.iter().map(|one| one.columns).sum();
    match taken.last() {
        Some(last) if total > COLUMNS => refuse(
            "an allocation that may have to wait for columns is not checked: tensor memory has 512",
            last.span,
        ),
        _ => Ok(()),
    }
}

fn columns<'a>(terms: &mut TermPool, some: impl Iterator<Item = &'a Allocation>) -> TermRef {
    let zero = terms.constant(0, COLUMNS_WIDTH);
    some.fold(zero, |sum, one| {
        let columns = terms.constant(u128::from(one.columns), COLUMNS_WIDTH);
        let counted = terms.if_then_else(one.guard, columns, zero);
        terms.binary(BinaryOp::Add, sum, counted)
    })
}
