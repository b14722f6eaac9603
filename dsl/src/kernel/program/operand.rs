//! What an instruction names: its addresses and values, for those who need not know which instruction it is.

use super::{
    Address, AsyncOp, BarrierKind, BulkCompletion, BulkCopy, BulkEnd, Expression, InstructionKind,
    MbarrierOp, MbarrierPhase, MultimemOp, ProxyFenceKind, SpaOp, TensorOp,
};

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Named<'a> {
    /// In memory, or registers that are objects.
    Address(&'a Address),
    /// A value.
    Value(&'a Expression),
}

impl<'a> From<&'a Address> for Named<'a> {
    fn from(address: &'a Address) -> Self {
        Self::Address(address)
    }
}

impl<'a> From<&'a Expression> for Named<'a> {
    fn from(value: &'a Expression) -> Self {
        Self::Value(value)
    }
}

impl InstructionKind {
    /// The address that a reader knows the instruction by, if it has one.
    pub fn address(&self) -> Option<&Address> {
        self.named().into_iter().find_map(|named| match named {
            Named::Address(address) => Some(address),
            Named::Value(_) => None,
        })
    }

    /// All it names but results; the address that it is known by before the others.
    pub fn named(&self) -> Vec<Named<'_>> {
        match self {
            Self::Load { address, .. } | Self::GetCtaRank { address, .. } => vec![address.into()],
            Self::Store { values, address, .. } | Self::Atomic { operands: values, address, .. } => {
                with_values(address, values)
            }
            Self::Reduction { operand, address, .. } => vec![address.into(), operand.into()],
            Self::Multimem(operation) => match operation {
                MultimemOp::LoadReduce { address, .. } => vec![address.into()],
                MultimemOp::Store { values, address, .. }
                | MultimemOp::Reduction { operands: values, address, .. } => with_values(address, values),
            },
            Self::Mbarrier(operation) => of_mbarrier(operation),
            Self::ProxyFence(ProxyFenceKind::TensormapAcquire { address, .. })
            | Self::Spa(SpaOp::InvalidateLine(address)) => vec![address.into()],
            Self::TensormapCopyFence { destination, source, .. } => vec![destination.into(), source.into()],
            Self::Barrier { kind, id, count, .. } => {
                let predicate = match kind {
                    BarrierKind::Reduce { predicate, .. } => Some(predicate),
                    BarrierKind::Sync | BarrierKind::Arrive => None,
                };
                [id].into_iter().chain(count).chain(predicate).map(Named::Value).collect()
            }
            Self::WarpSync { mask } | Self::ElectSync { mask, .. } => vec![mask.into()],
            Self::Async(operation) => of_operation(operation),
            Self::Hint { address, .. } => address.iter().map(Named::Address).collect(),
            Self::Fence { .. }
            | Self::MbarrierInitFence
            | Self::AliasFence
            | Self::ProxyFence(_)
            | Self::ClusterArrive { .. }
            | Self::ClusterWait { .. }
            | Self::GridDependency(_)
            | Self::SetMaxRegisters { .. }
            | Self::Spa(_) => Vec::new(),
        }
    }
}

fn with_values<'a>(address: &'a Address, values: &'a [Expression]) -> Vec<Named<'a>> {
    std::iter::once(address.into()).chain(values.iter().map(Named::Value)).collect()
}

fn of_mbarrier(operation: &MbarrierOp) -> Vec<Named<'_>> {
    match operation {
        MbarrierOp::Inval { address } => vec![address.into()],
        MbarrierOp::Init { address, count: value }
        | MbarrierOp::ExpectTx { address, tx: value, .. }
        | MbarrierOp::CompleteTx { address, tx: value, .. } => vec![address.into(), value.into()],
        MbarrierOp::Arrive(arrive) => {
            let values = [&arrive.count].into_iter().chain(&arrive.expect_tx).map(Named::Value);
            std::iter::once(Named::Address(&arrive.address)).chain(values).collect()
        }
        MbarrierOp::Wait(wait) => {
            let (MbarrierPhase::State(phase) | MbarrierPhase::Parity(phase)) = &wait.phase;
            vec![Named::Address(&wait.address), phase.into()]
        }
        MbarrierOp::PendingCount { state, .. } => vec![state.into()],
    }
}

fn of_operation(operation: &AsyncOp) -> Vec<Named<'_>> {
    match operation {
        AsyncOp::Copy(copy) => {
            let mut named = vec![Named::Address(&copy.destination), Named::Address(&copy.source)];
            named.extend(copy.source_bytes.iter().chain(&copy.ignore_source).map(Named::Value));
            named
        }
        AsyncOp::CopyArrive { mbarrier, .. } => vec![mbarrier.into()],
        AsyncOp::Bulk(copy) => of_bulk_copy(copy),
        AsyncOp::Prefetch { source } => of_end(source).collect(),
        AsyncOp::Store(store) => {
            let mut named = with_values(&store.address, &store.values);
            named.extend(store.mbarrier.iter().map(Named::Address));
            named
        }
        AsyncOp::TryCancel { response, mbarrier, .. } => vec![response.into(), mbarrier.into()],
        AsyncOp::QueryCancel { response, .. } => vec![response.into()],
        AsyncOp::TensormapReplace { map } => vec![map.into()],
        AsyncOp::Matrix(matrix) => {
            [&matrix.accumulator, &matrix.a, &matrix.b].into_iter().map(Named::Address).collect()
        }
        AsyncOp::Tensor(operation) => of_tensor(operation),
        AsyncOp::MatrixFence | AsyncOp::Commit(_) | AsyncOp::Wait { .. } => Vec::new(),
    }
}

fn of_bulk_copy(copy: &BulkCopy) -> Vec<Named<'_>> {
    let mut named: Vec<Named<'_>> = of_end(&copy.destination).chain(of_end(&copy.source)).collect();
    named.extend(copy.bytes.iter().chain(&copy.multicast).map(Named::Value));
    if let BulkCompletion::Mbarrier(mbarrier) = &copy.completion {
        named.push(mbarrier.into());
    }
    named
}

fn of_end(end: &BulkEnd) -> impl Iterator<Item = Named<'_>> {
    let (address, coordinates) = match end {
        BulkEnd::Memory(address) => (address, &[][..]),
        BulkEnd::Tensor(tensor) => (&tensor.map, &tensor.coordinates[..]),
    };
    std::iter::once(address.into()).chain(coordinates.iter().map(Named::Value))
}

fn of_tensor(operation: &TensorOp) -> Vec<Named<'_>> {
    match operation {
        TensorOp::Multiply(product) => {
            let elements = [&product.accumulator, &product.a, &product.b];
            let addresses = elements.into_iter().map(|elements| Named::Address(&elements.address));
            addresses.chain(product.accumulates.iter().map(Named::Value)).collect()
        }
        TensorOp::Copy { destination, source } => {
            vec![Named::Address(&destination.address), Named::Address(&source.address)]
        }
        TensorOp::Load { destination, source } => vec![source.into(), destination.into()],
        TensorOp::Store { destination, value } => vec![destination.into(), value.into()],
        TensorOp::Commit { mbarrier, multicast } => {
            std::iter::once(mbarrier.into()).chain(multicast.iter().map(Named::Value)).collect()
        }
        TensorOp::Allocate { slot, .. } => vec![slot.into()],
        TensorOp::Free { object, .. } => vec![Named::Address(&object.address)],
        TensorOp::Wait { .. } | TensorOp::Fence { .. } | TensorOp::Relinquish => Vec::new(),
    }
}
