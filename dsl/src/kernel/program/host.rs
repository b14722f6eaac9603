//! What a program does around its kernels: the launches, and which of them come after which.
//!
//! Streams and events are gone here. What they say is in the order of the tasks (MM-38).

use super::{Expression, Launch, PartId, TaskId};
use crate::span::Span;

/// A launch of a kernel by a program. On several devices, each has its own order of tasks, since a stream belongs to one.
#[derive(Clone, Debug)]
pub struct Task {
    /// `consume`; from its second launch on `consume #2`.
    pub name: String,
    /// What is launched.
    pub kernel: PartId,
    /// Its shape.
    pub launch: Launch,
    /// One for each parameter of the kernel, over the program's registers.
    pub arguments: Vec<Expression>,
    /// For which values of the program's parameters it is launched (1 bit); `None` if for all.
    pub when: Option<Expression>,
    /// Tasks that are complete before this one starts; those that they follow themselves are left out.
    pub after: Vec<TaskId>,
    /// With programmatic stream serialization: the task on whose `griddepcontrol.launch_dependents` this one may start,
    /// and for whose completion its `griddepcontrol.wait` waits (AS-40).
    pub prerequisite: Option<TaskId>,
    /// The call.
    pub span: Span,
}

/// A wait for an event that nothing records, neither before it nor after it: it lets everything through.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnrecordedWait {
    /// The event, in the call.
    pub span: Span,
    /// Its name.
    pub event: String,
}

/// A call of the host's API.
#[derive(Clone, Debug)]
pub enum HostCall {
    /// Enqueues a task.
    Launch(TaskId),
    /// Waits for tasks, and with them for all that they follow.
    Synchronize(Vec<TaskId>),
}
