//! Concrete evaluation of expressions, with the reads their values come from.

use super::interpreter::Thread;
use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{
    BinaryOp, Coordinate, Expression, ExpressionKind, UnaryOp, VectorRegister,
};
use std::collections::{BTreeMap, BTreeSet};

/// A value, and the positions of the reads it was computed from.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Datum {
    /// At most 64 bits.
    pub value: u64,
    /// Reads of the run.
    pub reads: BTreeSet<usize>,
}

/// Registers by index.
pub type Registers = BTreeMap<usize, Datum>;

/// Keeps the low `width` bits.
pub fn truncate(value: u64, width: u8) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

/// Whether the thread's place alone says what the value is.
pub fn is_known(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Constant(_) | ExpressionKind::Coordinate(_) => true,
        ExpressionKind::Unary(_, inner) | ExpressionKind::Convert(inner) => is_known(inner),
        ExpressionKind::Binary(_, left, right) => is_known(left) && is_known(right),
        _ => false,
    }
}

/// Evaluates an expression.
pub fn evaluate(expression: &Expression, registers: &Registers, thread: &Thread) -> Datum {
    let eval = |inner: &Expression| evaluate(inner, registers, thread);
    let mut datum = match &expression.kind {
        ExpressionKind::Constant(value) => {
            Datum { value: u64::try_from(*value).expect("at most 64 bits"), reads: BTreeSet::new() }
        }
        ExpressionKind::Register(register) => {
            registers.get(&register.index()).expect("assigned before it is read").clone()
        }
        ExpressionKind::Coordinate(which) => {
            Datum { value: u64::from(coordinate(*which, thread)), reads: BTreeSet::new() }
        }
        ExpressionKind::Unary(op, inner) => {
            let inner = eval(inner);
            let value = match op {
                UnaryOp::Not => !inner.value,
                UnaryOp::Negate => inner.value.wrapping_neg(),
            };
            Datum { value, reads: inner.reads }
        }
        ExpressionKind::Binary(op, left, right) => {
            let (left_datum, right_datum) = (eval(left), eval(right));
            let value = binary(*op, left_datum.value, right_datum.value, left.width);
            Datum { value, reads: left_datum.reads.union(&right_datum.reads).copied().collect() }
        }
        ExpressionKind::Select(condition, then, otherwise) => {
            let condition = eval(condition);
            assert!(condition.reads.is_empty(), "selects on read values are unsupported by the twin");
            eval(if condition.value == 1 { then } else { otherwise })
        }
        ExpressionKind::Convert(inner) => eval(inner),
        ExpressionKind::FinalValue(_) | ExpressionKind::FinalRegister(..) => {
            panic!("final values are unsupported by the twin")
        }
        ExpressionKind::Uncomputed { .. } => panic!("imported PTX is unsupported by the twin"),
    };
    datum.value = truncate(datum.value, expression.width);
    datum
}

fn binary(op: BinaryOp, a: u64, b: u64, width: u8) -> u64 {
    match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Subtract => a.wrapping_sub(b),
        BinaryOp::Multiply => a.wrapping_mul(b),
        BinaryOp::Divide => a.checked_div(b).unwrap_or(u64::MAX),
        BinaryOp::Remainder => a.checked_rem(b).unwrap_or(a),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::ShiftLeft => {
            if b >= u64::from(width) {
                0
            } else {
                a << b
            }
        }
        BinaryOp::ShiftRight => {
            if b >= u64::from(width) {
                0
            } else {
                a >> b
            }
        }
        BinaryOp::Equal => u64::from(a == b),
        BinaryOp::NotEqual => u64::from(a != b),
        BinaryOp::Less => u64::from(a < b),
        BinaryOp::LessEqual => u64::from(a <= b),
        BinaryOp::Greater => u64::from(a > b),
        BinaryOp::GreaterEqual => u64::from(a >= b),
    }
}

/// Counts through axes, the first one fastest, one by one.
fn counted(index: u32, sizes: [u32; 3]) -> [u32; 3] {
    let mut place = [0; 3];
    for _ in 0..index {
        for (digit, size) in place.iter_mut().zip(sizes) {
            *digit = (*digit + 1) % size;
            if *digit > 0 {
                break;
            }
        }
    }
    place
}

fn coordinate(which: Coordinate, thread: &Thread) -> u32 {
    let launch = &thread.launch;
    match which {
        Coordinate::Tid => thread.warp * launch.lanes + thread.lane,
        Coordinate::Ntid => launch.warps * launch.lanes,
        Coordinate::Along(register, axis) => {
            let is_of_block = matches!(register, VectorRegister::Tid | VectorRegister::Ntid);
            let sizes = if is_of_block { launch.block() } else { launch.grid() };
            let index = coordinate(if is_of_block { Coordinate::Tid } else { Coordinate::Ctaid }, thread);
            let (place, axis) = (counted(index, sizes), axis as usize);
            let of_cluster = launch.cluster()[axis];
            match register {
                VectorRegister::Tid | VectorRegister::Ctaid => place[axis],
                VectorRegister::Ntid | VectorRegister::Nctaid => sizes[axis],
                VectorRegister::ClusterCtaid => place[axis] % of_cluster,
                VectorRegister::ClusterNctaid => of_cluster,
                VectorRegister::Clusterid => place[axis] / of_cluster,
                VectorRegister::Nclusterid => sizes[axis] / of_cluster,
            }
        }
        Coordinate::Laneid => thread.lane,
        Coordinate::Warpid => thread.warp,
        Coordinate::Nwarpid => launch.warps,
        Coordinate::Ctaid => {
            // Where the cluster is, and the CTA in it, along each axis.
            let (grid, sizes) = (launch.grid(), launch.cluster());
            let clusters = [0, 1, 2].map(|axis| grid[axis] / sizes[axis].max(1));
            let (of_cluster, own) = (counted(thread.cluster, clusters), counted(thread.rank, sizes));
            let place = [0, 1, 2].map(|axis| of_cluster[axis] * sizes[axis] + own[axis]);
            (place[2] * grid[1] + place[1]) * grid[0] + place[0]
        }
        Coordinate::Nctaid => launch.ctas,
        Coordinate::Clusterid => thread.cluster,
        Coordinate::Nclusterid => launch.ctas / launch.cluster,
        Coordinate::ClusterCtarank => thread.rank,
        Coordinate::ClusterNctarank => launch.cluster,
        Coordinate::Gpuid => thread.gpu,
        Coordinate::Ngpuid => launch.gpus,
        Coordinate::Client => 0,
        Coordinate::Thread => panic!("litmus threads are unsupported by the twin"),
    }
}
