//! The exact relations of one execution: what a found execution is re-checked with.
//!
//! Shares the walk over the model with the bounds, and nothing with the encoder.

use super::algebra::Algebra;
use crate::bits::{BitMatrix, EventSet};
use fencepost_dsl::cat::memory_model::{BaseRelation, BaseSet};
use fencepost_dsl::sorted::SortedMap;

/// Base sets and relations of one execution, restricted to the events that happen in it.
#[derive(Clone, Debug)]
pub struct ExactBasis {
    /// The events that happen.
    pub executed: EventSet,
    /// By base set.
    pub sets: SortedMap<BaseSet, EventSet>,
    /// By base relation.
    pub relations: SortedMap<BaseRelation, BitMatrix>,
}

impl Algebra for ExactBasis {
    type Set = EventSet;
    type Relation = BitMatrix;

    fn base_set(&self, base: BaseSet) -> EventSet {
        self.sets[&base].clone()
    }
    fn set_empty(&self) -> EventSet {
        EventSet::empty(self.executed.universe())
    }
    fn set_union(&self, a: &EventSet, b: &EventSet) -> EventSet {
        a.union(b)
    }
    fn set_intersection(&self, a: &EventSet, b: &EventSet) -> EventSet {
        a.intersection(b)
    }
    fn set_difference(&self, a: &EventSet, b: &EventSet) -> EventSet {
        a.difference(b)
    }
    fn set_complement(&self, a: &EventSet) -> EventSet {
        self.executed.difference(a)
    }
    fn domain(&self, a: &BitMatrix) -> EventSet {
        a.domain()
    }
    fn range(&self, a: &BitMatrix) -> EventSet {
        a.range()
    }
    fn base_relation(&self, base: BaseRelation) -> BitMatrix {
        self.relations[&base].clone()
    }
    fn empty(&self) -> BitMatrix {
        BitMatrix::empty(self.executed.universe())
    }
    fn union(&self, a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
        a.union(b)
    }
    fn intersection(&self, a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
        a.intersection(b)
    }
    fn difference(&self, a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
        a.difference(b)
    }
    fn complement(&self, a: &BitMatrix) -> BitMatrix {
        BitMatrix::product(&self.executed, &self.executed).difference(a)
    }
    fn sequence(&self, a: &BitMatrix, b: &BitMatrix) -> BitMatrix {
        a.sequence(b)
    }
    fn inverse(&self, a: &BitMatrix) -> BitMatrix {
        a.inverse()
    }
    fn reflexive(&self, a: &BitMatrix) -> BitMatrix {
        a.union(&BitMatrix::identity(&self.executed))
    }
    fn transitive_closure(&self, a: &BitMatrix) -> BitMatrix {
        a.transitive_closure()
    }
    fn product(&self, a: &EventSet, b: &EventSet) -> BitMatrix {
        BitMatrix::product(a, b)
    }
    fn identity(&self, a: &EventSet) -> BitMatrix {
        BitMatrix::identity(a)
    }
}
