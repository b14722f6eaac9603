//! A kernel file as written: names are still text, sugar is still there, every node knows its place.
//!
//! Depth is computed as nodes are built, so that no later pass (nor the destructor) can overflow the stack.

use crate::span::Span;
use crate::vocabulary::{Proxy, Replication, Space};

/// The deepest nesting of expressions, statements or brackets that is accepted.
pub const MAX_DEPTH: u32 = 256;

/// A span that does not count when two trees are compared.
#[derive(Clone, Copy, Debug)]
pub struct Place(pub Span);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A whole file.
#[derive(Clone, Debug)]
pub struct File {
    /// In order of the text.
    pub items: Vec<Item>,
    /// In order of the text.
    pub comments: Vec<Comment>,
}

impl PartialEq for File {
    /// Equal up to places, layout and blank lines.
    fn eq(&self, other: &Self) -> bool {
        let texts = |file: &Self| -> Vec<String> {
            file.comments.iter().filter(|comment| !comment.text.is_empty()).map(|c| c.text.clone()).collect()
        };
        self.items == other.items && texts(self) == texts(other)
    }
}

/// A comment, or a run of blank lines.
#[derive(Clone, Debug)]
pub struct Comment {
    /// Where; for blank lines, the gap between two tokens.
    pub place: Place,
    /// With its `//`; empty for blank lines.
    pub text: String,
    /// Whether nothing stands before it on its line.
    pub own_line: bool,
    /// How many characters stand before it on its line.
    pub column: usize,
    /// The token before it.
    pub after: Place,
}

/// A name where it is written.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// A top-level item.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    /// All of it.
    pub place: Place,
    /// What it is.
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    /// `use "path";`
    Use(Name),
    /// `const NAME = value;`
    Constant {
        /// The name.
        name: Name,
        /// Its value.
        value: Expr,
    },
    /// `fn`
    Function(Function),
    /// `kernel`
    Kernel(Kernel),
    /// `program`: what the host does.
    Program(Kernel),
    /// `import`: a kernel of a PTX module.
    Import(Box<Import>),
    /// Memory that all kernels of the file have in common.
    Object(Object),
    /// Another view of it.
    View(View),
    /// Something that did not parse (and was reported).
    Error,
}

/// `import "k.ptx" entry NAME as k { … }`
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// The path.
    pub path: Name,
    /// `entry`.
    pub word: Name,
    /// What the module calls the kernel.
    pub entry: Name,
    /// What it is called here.
    pub name: Name,
    /// Launches, settings, assumptions and final blocks.
    pub body: Block,
}

/// `param 0 = &lock;`, `param 2 in 0..=3;`, `envreg 1..2 = &workspace;`, `shared dynamic 1024;`
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// `param`, `envreg`, `shared`.
    pub what: Name,
    /// Which, or `dynamic`.
    pub which: Name,
    /// The last one, if it is about several.
    pub last: Option<Name>,
    /// Where in it a field starts, in bytes: `param 0[16] = &x;`
    pub offset: Option<Expr>,
    /// What it is.
    pub value: SettingValue,
}

/// What a setting says.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    /// A number.
    Number(Expr),
    /// The address of an object.
    Address(Memory),
    /// Any number of a range.
    Range(Range),
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// The name.
    pub name: Name,
    /// In order.
    pub parameters: Vec<FunctionParameter>,
    /// Result type.
    pub result: Option<Name>,
    /// The body.
    pub body: Block,
}

/// `name: type` or `name: &type`.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionParameter {
    /// The name.
    pub name: Name,
    /// Whether there is a `&`.
    pub reference: bool,
    /// The type's name.
    pub ty: Name,
}

/// A kernel, or a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// The name.
    pub name: Name,
    /// Symbolic parameters.
    pub parameters: Vec<KernelParameter>,
    /// Launches, objects, statements and final blocks, as written.
    pub body: Block,
}

/// `N in 0..=3`.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelParameter {
    /// The name.
    pub name: Name,
    /// Its range.
    pub range: Range,
}

/// `a..b` or `a..=b`.
#[derive(Clone, PartialEq, Debug)]
pub struct Range {
    /// First value.
    pub start: Expr,
    /// Last value, or one past it.
    pub end: Expr,
    /// Whether `end` is included.
    pub inclusive: bool,
}

/// `{ … }`.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// With its braces.
    pub place: Place,
    /// In order.
    pub statements: Vec<Statement>,
}

impl Block {
    fn depth(&self) -> u32 {
        self.statements.iter().map(|statement| statement.depth).max().unwrap_or(0)
    }
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// All of it.
    pub place: Place,
    /// What it is.
    pub kind: StatementKind,
    /// Nesting of statements below it, itself included.
    pub depth: u32,
}

impl Statement {
    /// A statement with its depth computed.
    pub fn new(place: Place, kind: StatementKind) -> Self {
        use StatementKind::{Final, For, If, Loop, While};
        let below = match &kind {
            If { then, otherwise, .. } => then.depth().max(match otherwise {
                Some(Else::Block(block)) => block.depth(),
                Some(Else::If(statement)) => statement.depth,
                None => 0,
            }),
            For { body, .. } | While { body, .. } | Loop(body) | Final(body) => body.depth(),
            _ => 0,
        };
        Self { place, kind, depth: below + 1 }
    }
}

/// What a statement is.
#[derive(Clone, PartialEq, Debug)]
pub enum StatementKind {
    /// `launch NAME { field: value, … }`
    Launch {
        /// The name.
        name: Option<Name>,
        /// Dimensions.
        fields: Vec<(Name, Expr)>,
    },
    /// `global` / `shared` / `param`
    Object(Object),
    /// `view`
    View(View),
    /// `final { … }`
    Final(Block),
    /// `client NAME { … }`
    Client {
        /// Which.
        name: Name,
        /// What it does.
        body: Block,
    },
    /// `let`
    Let {
        /// What is bound.
        pattern: Pattern,
        /// Type, if written.
        ty: Option<Name>,
        /// The value.
        value: Expr,
    },
    /// `var`
    Var {
        /// The name.
        name: Name,
        /// Type, if written.
        ty: Option<Name>,
        /// The initial value.
        value: Expr,
    },
    /// `x = e;`, `x += e;`
    Assign {
        /// Target.
        name: Name,
        /// The operator before the `=`.
        op: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// An instruction or a call.
    Expr(Expr),
    /// `if`
    If {
        /// The condition.
        condition: Expr,
        /// Taken if so.
        then: Block,
        /// Taken if not.
        otherwise: Option<Else>,
    },
    /// `for name in range`
    For {
        /// The loop variable.
        name: Name,
        /// Its values.
        range: Range,
        /// The body.
        body: Block,
    },
    /// `while`
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Block,
    },
    /// `loop`
    Loop(Block),
    /// `break;`
    Break,
    /// `await COND;`
    Await(Expr),
    /// `assert COND;`
    Assert(Expr),
    /// `assume COND;`
    Assume(Expr),
    /// `reachable COND;`
    Reachable(Expr),
    /// `exit;`
    Exit,
    /// `return e;`
    Return(Option<Expr>),
    /// A call of the host's API, in a program.
    Host(HostCall),
    /// What an imported kernel is given.
    Setting(Setting),
    /// Something that did not parse (and was reported).
    Error,
}

/// `launch step(2) on main;`, `record done on main;`, `synchronize;`
#[derive(Clone, PartialEq, Debug)]
pub struct HostCall {
    /// `launch`, `stream`, `record`, …
    pub verb: Name,
    /// Streams, events, the kernel.
    pub operands: Vec<Name>,
    /// Of a kernel.
    pub arguments: Vec<Expr>,
    /// `on main`, `with programmatic_serialization`
    pub clauses: Vec<(Name, Name)>,
}

/// What follows `else`.
#[derive(Clone, PartialEq, Debug)]
pub enum Else {
    /// `else { … }`
    Block(Block),
    /// `else if …`
    If(Box<Statement>),
}

/// What a `let` binds; `None` is `_`.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// One name.
    One(Option<Name>),
    /// `{a, b}`
    Vector(Vec<Option<Name>>),
}

/// `global a[3]: u32 = …;`
#[derive(Clone, PartialEq, Debug)]
pub struct Object {
    /// The state space.
    pub space: Space,
    /// `symmetric` and `multimem` instead of `global`.
    pub replication: Replication,
    /// How it is accessed: `texture`, `surface` and `constant` instead of `global`.
    pub proxy: Proxy,
    /// The name.
    pub name: Name,
    /// Dimensions.
    pub dimensions: Vec<Expr>,
    /// The type's name.
    pub ty: Name,
    /// Its first value.
    pub initial: Option<Initial>,
    /// The object it is another address of.
    pub alias: Option<Name>,
    /// What a tensor map describes.
    pub tensor: Option<Tensor>,
}

/// `of src[4, 8]`
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// The object.
    pub of: Name,
    /// The sizes of a box, outermost first.
    pub box_dimensions: Vec<Expr>,
}

/// `view a[2]: u16 of x + 4;`
#[derive(Clone, PartialEq, Debug)]
pub struct View {
    /// The name.
    pub name: Name,
    /// Dimensions.
    pub dimensions: Vec<Expr>,
    /// The type's name.
    pub ty: Name,
    /// The object whose bytes it shows.
    pub of: Name,
    /// Byte offset.
    pub offset: Option<Expr>,
}

/// An initialiser.
#[derive(Clone, PartialEq, Debug)]
pub enum Initial {
    /// One value, for all elements.
    Fill(Expr),
    /// `{ 1, 2 }`
    List(Vec<Initial>),
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Where.
    pub place: Place,
    /// What it is.
    pub kind: ExprKind,
    /// Nesting below it, itself included.
    pub depth: u32,
}

impl Expr {
    /// An expression with its depth computed.
    pub fn new(place: Place, kind: ExprKind) -> Self {
        let deepest = |exprs: &[Self]| exprs.iter().map(|expr| expr.depth).max().unwrap_or(0);
        let below = match &kind {
            ExprKind::Literal(_)
            | ExprKind::Bool(_)
            | ExprKind::Name(_)
            | ExprKind::Given(_)
            | ExprKind::Error => 0,
            ExprKind::List(parts) => deepest(parts),
            ExprKind::Element(memory) | ExprKind::Reference(memory) | ExprKind::Final(memory) => {
                memory.depth()
            }
            ExprKind::Call { arguments, .. } => deepest(arguments),
            ExprKind::Instruction { operands, .. } => operands
                .iter()
                .map(|operand| match operand {
                    Operand::Memory(memory) => memory.depth(),
                    Operand::Vector(elements) => deepest(elements),
                    Operand::Tensor(tensor) => tensor.map.depth().max(deepest(&tensor.coordinates)),
                    Operand::Expr(expr) => expr.depth,
                    Operand::Sink(_) => 0,
                })
                .max()
                .unwrap_or(0),
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand, _) => operand.depth,
            ExprKind::Binary(_, left, right) => left.depth.max(right.depth),
            ExprKind::Select(condition, then, otherwise) => {
                condition.depth.max(then.depth).max(otherwise.depth)
            }
        };
        Self { place, kind, depth: below + 1 }
    }
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A number as written.
    Literal(String),
    /// `true`, `false`
    Bool(bool),
    /// A name.
    Name(String),
    /// `a[i]`, as an argument.
    Element(Memory),
    /// `&a[i]`, as an argument.
    Reference(Memory),
    /// `[a[i]]` in a `final` block.
    Final(Memory),
    /// `f(…)`
    Call {
        /// Whom.
        function: Name,
        /// In order.
        arguments: Vec<Expr>,
    },
    /// An instruction.
    Instruction {
        /// As written.
        opcode: Name,
        /// In order.
        operands: Vec<Operand>,
    },
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e as u64`
    Cast(Box<Expr>, Name),
    /// `[32, 8]`, in a launch.
    List(Vec<Expr>),
    /// What an operand of imported PTX is, by its number among those of its instruction; no text says this.
    Given(usize),
    /// Something that did not parse (and was reported).
    Error,
}

/// An operand of an instruction.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// `[a[i]]`
    Memory(Memory),
    /// `{a, b}`
    Vector(Vec<Expr>),
    /// `[map, {x, y}]`
    Tensor(TensorOperand),
    /// `_`
    Sink(Place),
    /// A value.
    Expr(Expr),
}

/// A tensor map with the coordinates of a box.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorOperand {
    /// With its brackets.
    pub place: Place,
    /// The map.
    pub map: Memory,
    /// Innermost dimension first.
    pub coordinates: Vec<Expr>,
}

/// A name with indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    /// With its brackets.
    pub place: Place,
    /// The object or reference.
    pub name: Name,
    /// Outermost first.
    pub indices: Vec<Expr>,
    /// The second operand of `mapa`, if it is around the name.
    pub rank: Option<Box<Expr>>,
    /// The second operand of `peer`, if that is around the name.
    pub device: Option<Box<Expr>>,
}

impl Memory {
    fn depth(&self) -> u32 {
        self.indices
            .iter()
            .chain(self.rank.as_deref())
            .chain(self.device.as_deref())
            .map(|expr| expr.depth)
            .max()
            .unwrap_or(0)
    }
}

/// Prefix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `-`
    Negate,
}

/// Infix operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "C's operators")]
pub enum BinaryOp {
    LogicalOr,
    LogicalAnd,
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl BinaryOp {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::LogicalOr => "||",
            Self::LogicalAnd => "&&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::And => "&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
    /// Binding strength, larger binds tighter.
    pub fn precedence(self) -> u8 {
        match self {
            Self::LogicalOr => 2,
            Self::LogicalAnd => 3,
            Self::Or => 4,
            Self::Xor => 5,
            Self::And => 6,
            Self::Equal | Self::NotEqual => 7,
            Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 8,
            Self::ShiftLeft | Self::ShiftRight => 9,
            Self::Add | Self::Subtract => 10,
            Self::Multiply | Self::Divide | Self::Remainder => 11,
        }
    }
    /// Whether the result is a condition.
    pub fn is_comparison(self) -> bool {
        matches!(self.precedence(), 7 | 8)
    }
}
