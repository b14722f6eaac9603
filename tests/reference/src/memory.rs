//! Bytes, at the grain the program's objects have: no access ever splits a granule.
//!
//! A torn value inside a granule would need a race; it is not told apart here (nor by the checker).

use fencepost_dsl::index::Id;
use fencepost_dsl::kernel::program::{ElementKind, InitialBytes, Kernel, Launch, Object};
use fencepost_dsl::vocabulary::{Replication, Space};
use std::collections::BTreeMap;

/// Stands for a value that may be any: what tensor memory and registers hold at the start, a product, an address. It is
/// passed on, and nothing is computed from it.
pub const ANYTHING: u64 = 0xA5A5_A5A5;

/// All granules of a launch.
pub struct Memory {
    /// Bytes per granule, by storage.
    pub grain: Vec<u32>,
    /// The granule at a storage, instance and offset.
    pub granules: BTreeMap<(u32, u32, u32), usize>,
    /// Initial value, by granule.
    pub initial: Vec<u64>,
}

impl Memory {
    /// Lays the kernel's storages out.
    pub fn new(kernel: &Kernel, launch: &Launch) -> Self {
        let mut memory = Self { grain: Vec::new(), granules: BTreeMap::new(), initial: Vec::new() };
        for (id, storage) in kernel.storages.iter_enumerated() {
            if kernel.objects.iter().any(|o| o.storage == id && o.element == ElementKind::Mbarrier) {
                // No data: its state is the business of `mbarrier`.
                memory.grain.push(8);
                continue;
            }
            let widths = kernel.objects.iter().filter(|o| o.storage == id).map(|o| u32::from(o.width) / 8);
            let grain = widths.min().expect("a storage is declared by an object");
            assert!(grain <= 8, "16-byte objects are unsupported by the twin");
            memory.grain.push(grain);
            let is_map =
                kernel.objects.iter().any(|o| o.storage == id && o.element == ElementKind::Tensormap);
            // What a tensor map holds means nothing here: only who has written it does.
            let nothing = vec![0; storage.size_bytes as usize];
            let anything = vec![0xA5; storage.size_bytes as usize];
            let has_none = matches!(storage.space, Space::Register | Space::Tensor);
            assert!(!has_none || grain == 4, "tensor memory has 32-bit elements for the twin");
            let bytes = match &storage.initial {
                InitialBytes::Known(bytes) => bytes,
                InitialBytes::Unknown if is_map => &nothing,
                InitialBytes::Unknown if has_none => &anything,
                InitialBytes::Unknown => panic!("memory without initialiser is unsupported by the twin"),
            };
            let n_instances = match storage.space {
                Space::Global if storage.is_symmetric => launch.gpus,
                Space::Global | Space::Param => 1,
                Space::Shared | Space::Tensor => launch.gpus * launch.ctas,
                Space::Register => launch.gpus * launch.ctas * launch.warps * launch.lanes,
            };
            for instance in 0..n_instances {
                for offset in (0..storage.size_bytes).step_by(grain as usize) {
                    let at = (id.0, instance, offset);
                    memory.granules.insert(at, memory.initial.len());
                    let bytes = &bytes[offset as usize..(offset + grain) as usize];
                    memory
                        .initial
                        .push(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
                }
            }
        }
        memory
    }
    /// The granules of an access, lowest address first.
    pub fn covered(&self, storage: u32, instance: u32, offset: u32, size: u32) -> Vec<usize> {
        let grain = self.grain[storage as usize] as usize;
        (offset..offset + size).step_by(grain).map(|at| self.granules[&(storage, instance, at)]).collect()
    }
    /// Bits per granule of a storage.
    pub fn granule_bits(&self, storage: u32) -> u32 {
        self.grain[storage as usize] * 8
    }
    /// The scalar made of granules, lowest address first.
    pub fn join(&self, storage: u32, values: &[u64]) -> u64 {
        let bits = self.granule_bits(storage);
        values.iter().rev().fold(0, |value, &part| if bits == 64 { part } else { value << bits | part })
    }
    /// The `n` granules of a scalar, lowest address first.
    pub fn split(&self, storage: u32, value: u64, n: usize) -> Vec<u64> {
        let bits = self.granule_bits(storage);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        (0..n)
            .map(|part| if part == 0 { value & mask } else { value >> (bits as usize * part) & mask })
            .collect()
    }
    /// Name, storage and granules of each element of a global object: `x`, `x[0]` and so on, or `peer(x, 0)`.
    pub fn elements(&self, object: &Object) -> Vec<(String, u32, Vec<usize>)> {
        let storage = object.storage.index() as u32;
        let size = u32::from(object.width) / 8;
        let names: Vec<String> = match object.dimensions[..] {
            [] => vec![object.name.clone()],
            [n] => (0..n).map(|i| format!("{}[{i}]", object.name)).collect(),
            _ => panic!("arrays of several dimensions are unsupported in the twin's outcomes"),
        };
        let mut elements = Vec::new();
        for (element, name) in (0u32..).zip(names) {
            let offset = object.offset_bytes + element * size;
            let covered = |instance: u32| self.covered(storage, instance, offset, size);
            match object.replication {
                Replication::Single => elements.push((name, storage, covered(0))),
                Replication::Symmetric => {
                    let instances =
                        (0u32..).take_while(|&i| self.granules.contains_key(&(storage, i, offset)));
                    elements.extend(instances.map(|i| (format!("peer({name}, {i})"), storage, covered(i))));
                }
                // Its bytes are those of the symmetric object.
                Replication::Multimem => {}
            }
        }
        elements
    }
}
