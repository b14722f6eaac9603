//! Declarations: registers, variables, parameters.

use super::super::module::{Name, Operand, OperandKind, Registers, Type, Variable};
use super::super::token::Kind;
use super::scope::Scopes;
use super::{Parsed, Parser, number};
use crate::diagnostic::Diagnostic;

/// Whether a directive declares a variable: it is a state space.
pub(super) fn is_space(directive: &str) -> bool {
    matches!(directive, "global" | "shared" | "const" | "local" | "param" | "tex")
}

impl Parser<'_> {
    /// `.reg .b32 %r<8>, %x;`
    pub(super) fn registers(&mut self, found: &mut Vec<Registers>, scopes: &mut Scopes) -> Parsed<()> {
        self.at += 1;
        if let Some(vector @ ("v2" | "v4")) = self.directive() {
            let message = format!("registers that are vectors (`.{vector}`) are not checked by this version");
            return Err(Diagnostic::new("unsupported::ptx-declaration", message, self.here(), "a vector"));
        }
        let ty = self.ty()?;
        loop {
            let name = self.name("a register's name")?;
            let count = if self.eat(b'<') {
                let count = self.small()?;
                self.expect(b'>')?;
                Some(count)
            } else {
                None
            };
            match count {
                Some(count) => scopes.declare_range(&name.text, count),
                None => scopes.declare(&name.text),
            }
            found.push(Registers { name, count, ty, scope: scopes.current() });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b';')?;
        Ok(())
    }

    fn ty(&mut self) -> Parsed<Type> {
        match self.directive().and_then(Type::parse) {
            Some(ty) => {
                self.at += 1;
                Ok(ty)
            }
            None => Err(self.unexpected("a type, such as `.b32`")),
        }
    }

    /// Variables up to a semicolon.
    pub(super) fn variables(&mut self, found: &mut Vec<Variable>, scopes: &mut Scopes) -> Parsed<()> {
        let mut first = self.variable(scopes)?;
        loop {
            if self.eat(b'=') {
                self.initial(&mut first.initial, 0)?;
            }
            let next = Variable { initial: Vec::new(), ..first.clone() };
            found.push(first);
            if !self.eat(b',') {
                break;
            }
            let name = self.name("a variable's name")?;
            let element = u64::from(next.ty.width.div_ceil(8));
            first = Variable { bytes: element, is_array: false, name, ..next };
            scopes.declare(&first.name.text);
            self.dimensions(&mut first)?;
        }
        self.expect(b';')?;
        Ok(())
    }

    /// Parameters in parentheses.
    pub(super) fn parameters(&mut self, found: &mut Vec<Variable>, scopes: &mut Scopes) -> Parsed<()> {
        self.expect(b'(')?;
        if self.eat(b')') {
            return Ok(());
        }
        loop {
            // A function may take registers.
            if self.is_directive("reg") {
                let span = self.here();
                self.at += 1;
                let ty = self.ty()?;
                let name = self.name("a parameter's name")?;
                let element = u64::from(ty.width.div_ceil(8));
                scopes.declare(&name.text);
                found.push(Variable {
                    name: Name { span: name.span.to(span), ..name },
                    space: "reg".to_owned(),
                    is_extern: false,
                    align: element,
                    ty,
                    bytes: element,
                    is_array: false,
                    initial: Vec::new(),
                });
            } else {
                found.push(self.variable(scopes)?);
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(())
    }

    /// A variable without its initial value: space, alignment, type, name, dimensions, and attributes in any order.
    fn variable(&mut self, scopes: &mut Scopes) -> Parsed<Variable> {
        let (mut space, mut is_extern, mut align, mut ty, mut lanes) = (None, false, None, None, 1);
        while let Some(directive) = self.directive() {
            self.at += 1;
            match directive {
                "extern" => is_extern = true,
                "visible" | "weak" | "common" => {}
                "align" => align = Some(u64::from(self.small()?)),
                // What a pointer points to: its space and alignment, of which nothing follows for who trusts no promise.
                "ptr" => {
                    while matches!(
                        self.directive(),
                        Some("global" | "shared" | "const" | "local" | "generic")
                    ) {
                        self.at += 1;
                    }
                    if self.eat_directive("align") {
                        self.small()?;
                    }
                }
                "attribute" | "managed" | "unified" => {
                    if self.is(b'(') {
                        self.skip_group()?;
                    }
                }
                "v2" => lanes = 2,
                "v4" => lanes = 4,
                _ if is_space(directive) && space.is_none() => space = Some(directive),
                _ => match Type::parse(directive) {
                    Some(found) => ty = Some(found),
                    None => {
                        self.at -= 1;
                        return Err(self.unexpected("a state space, an alignment or a type"));
                    }
                },
            }
        }
        let (Some(space), Some(ty)) = (space, ty) else {
            return Err(self.unexpected("a state space and a type, such as `.global .u32`"));
        };
        let name = self.name("a variable's name")?;
        scopes.declare(&name.text);
        let element = u64::from(ty.width.div_ceil(8)) * lanes;
        let mut variable = Variable {
            name,
            space: space.to_owned(),
            is_extern,
            align: align.unwrap_or(element).max(1),
            ty,
            bytes: element,
            is_array: false,
            initial: Vec::new(),
        };
        self.dimensions(&mut variable)?;
        Ok(variable)
    }

    fn dimensions(&mut self, variable: &mut Variable) -> Parsed<()> {
        let mut sizes = Vec::new();
        while self.eat(b'[') {
            variable.is_array = true;
            match self.peek() {
                Some(token) if token.kind == Kind::Number => {
                    self.at += 1;
                    sizes.push(number::integer(self.text_of(token)).unwrap_or(u64::MAX));
                }
                _ => sizes.push(0),
            }
            self.expect(b']')?;
        }
        variable.bytes = sizes.into_iter().fold(variable.bytes, u64::saturating_mul);
        Ok(())
    }

    /// An initial value; lists are flattened.
    fn initial(&mut self, found: &mut Vec<Operand>, depth: usize) -> Parsed<()> {
        if depth > super::DEPTH_MAX {
            let message = format!("initial values are nested more than {} deep", super::DEPTH_MAX);
            return Err(Diagnostic::new("limit::nesting", message, self.here(), "too deep"));
        }
        if !self.eat(b'{') {
            let span = self.here();
            // `generic(a)+4`, `mask(…)` and texts have no meaning here but to be there.
            let mut parts = 0;
            let mut value = None;
            while self.peek().is_some() && !self.is(b',') && !self.is(b';') && !self.is(b'}') {
                if self.is(b'(') {
                    self.skip_group()?;
                } else {
                    let start = self.at;
                    if parts == 0 {
                        value = self.initial_number();
                    }
                    if self.at == start {
                        self.at += 1;
                    }
                }
                parts += 1;
            }
            let text = &self.text[span.start as usize..self.since(span).end as usize];
            let kind = match value {
                Some(value) if parts == 1 => value,
                _ => OperandKind::Name(text.to_owned()),
            };
            found.push(Operand { span: self.since(span), kind });
            return Ok(());
        }
        while !self.eat(b'}') {
            self.initial(found, depth + 1)?;
            if !self.eat(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        Ok(())
    }

    fn initial_number(&mut self) -> Option<OperandKind> {
        let is_negative = self.eat(b'-');
        let token = self.peek().filter(|token| token.kind == Kind::Number)?;
        let text = self.text_of(token);
        let kind = match number::float(text) {
            Some((bits, width)) => {
                let sign = if is_negative { 1_u64 << (width - 1) } else { 0 };
                OperandKind::Float(bits ^ sign, width)
            }
            None => {
                let value = i128::from(number::integer(text)?);
                OperandKind::Integer(if is_negative { -value } else { value })
            }
        };
        self.at += 1;
        Some(kind)
    }
}
