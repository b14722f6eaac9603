//! `mbarrier` instructions with their operands: results, counts, and which CTA the object is in (MB-2, MB-12, MB-13).

use super::super::ast::Operand;
use super::super::legality::{self, MbarrierOpcode, MbarrierVerb};
use super::super::opcode::Window;
use super::super::program::{
    Address, AddressBase, ElementKind, Expression, InstructionKind, MbarrierArrive, MbarrierOp,
    MbarrierPhase, MbarrierWait, RegisterId, Width,
};
use super::body::Body;
use super::calls::{Demand, Locality};
use super::expression::constant_value;
use super::instruction::{Parts, Results, Site, operand_span};
use super::{Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// The largest count of arrivals and the largest tx-count.
const MAX_COUNT: u128 = (1 << 20) - 1;

impl Body<'_> {
    pub(in crate::kernel) fn resolve_mbarrier(
        &mut self,
        site: &Site<'_>,
        opcode: MbarrierOpcode,
    ) -> Resolved<Parts> {
        match opcode.verb {
            MbarrierVerb::Init => self.resolve_mbarrier_init(site, opcode),
            MbarrierVerb::Inval => {
                self.expect_no_result(site)?;
                self.expect_operands(site, 1, 1, "an mbarrier")?;
                let (address, text) = self.mbarrier_operand(site, &site.operands[0], &opcode)?;
                Ok((text, InstructionKind::Mbarrier(MbarrierOp::Inval { address }), Vec::new()))
            }
            MbarrierVerb::ExpectTx | MbarrierVerb::CompleteTx => {
                self.expect_no_result(site)?;
                self.expect_operands(site, 2, 2, "an mbarrier and a number of bytes")?;
                let (address, text) = self.mbarrier_operand(site, &site.operands[0], &opcode)?;
                let tx = self.tx_operand(site, &site.operands[1])?;
                let scope = opcode.scope;
                let op = if opcode.verb == MbarrierVerb::ExpectTx {
                    MbarrierOp::ExpectTx { address, tx, scope }
                } else {
                    MbarrierOp::CompleteTx { address, tx, scope }
                };
                Ok((text, InstructionKind::Mbarrier(op), Vec::new()))
            }
            MbarrierVerb::Arrive | MbarrierVerb::ArriveDrop => self.resolve_arrive(site, opcode),
            MbarrierVerb::TestWait | MbarrierVerb::TryWait => self.resolve_wait(site, opcode),
            MbarrierVerb::PendingCount => {
                self.expect_operands(site, 1, 1, "a state")?;
                let state = self.state_operand(site, &site.operands[0])?;
                let destination = self.one_result(site, false, 32)?;
                let op = MbarrierOp::PendingCount { destination, state };
                Ok((opcode.text(None), InstructionKind::Mbarrier(op), vec![destination]))
            }
        }
    }

    fn resolve_mbarrier_init(&mut self, site: &Site<'_>, opcode: MbarrierOpcode) -> Resolved<Parts> {
        self.expect_no_result(site)?;
        self.expect_operands(site, 2, 2, "an mbarrier and the number of arrivals of a phase")?;
        let (address, text) = self.mbarrier_operand(site, &site.operands[0], &opcode)?;
        let count = self.value_operand(site, &site.operands[1], 32)?;
        self.check_count(&count, "UB-M5", "an mbarrier expects 1 to 1048575 arrivals")?;
        Ok((text, InstructionKind::Mbarrier(MbarrierOp::Init { address, count }), Vec::new()))
    }

    fn resolve_arrive(&mut self, site: &Site<'_>, opcode: MbarrierOpcode) -> Resolved<Parts> {
        let (is_sink, operands) = Self::without_sink(site);
        if is_sink && let Some(error) = self.checker.target.check("the sink `_`", (7, 1), 80, site.span) {
            return Err(self.report(error));
        }
        let (min, max, form) = if opcode.expect_tx {
            (2, 2, "an mbarrier and a number of bytes (the count is then 1)")
        } else if opcode.no_complete {
            (2, 2, "an mbarrier and a count")
        } else {
            (1, 2, "an mbarrier and maybe a count")
        };
        if !(min..=max).contains(&operands.len()) {
            return Err(self.operand_count(site, form, operands.len()));
        }
        let (address, text) = self.mbarrier_operand(site, &operands[0], &opcode)?;
        let mut count = Self::constant(site.opcode.span, 32, 1);
        let mut expect_tx = None;
        match operands.get(1) {
            Some(operand) if opcode.expect_tx => expect_tx = Some(self.tx_operand(site, operand)?),
            Some(operand) => {
                count = self.value_operand(site, operand, 32)?;
                self.check_count(&count, "UB-M6", "an arrive counts for 1 to 1048575 arrivals")?;
                let feature = "a count without `.noComplete`";
                if !opcode.no_complete
                    && let Some(error) = self.checker.target.check(feature, (7, 8), 90, count.span)
                {
                    return Err(self.report(error.with_rule("MB-13")));
                }
            }
            None => {}
        }
        let is_wanted = match site.results {
            Results::One(name) => name.is_some(),
            Results::Nothing | Results::Vector(_) => false,
        };
        if is_wanted && address.rank.is_some() {
            let message = format!("`{}` on a peer's mbarrier gives no state", site.opcode.text);
            let error =
                Diagnostic::new("validate::mbarrier-remote-state", message, site.span, "a state is bound")
                    .with_label(address.span, "in a peer CTA");
            let help = format!("write the sink: `{} _, …;`", site.opcode.text);
            return Err(self.report(error.with_help(help).with_rule("UB-M14")));
        }
        if is_wanted {
            self.note_local(&address, "UB-M14", "its state is bound here");
        }
        let destination = self.one_result(site, is_sink, 64)?;
        let arrive = MbarrierArrive {
            destination,
            address,
            count,
            expect_tx,
            no_complete: opcode.no_complete,
            drop: opcode.verb == MbarrierVerb::ArriveDrop,
            sem: opcode.sem,
            scope: opcode.scope,
        };
        Ok((text, InstructionKind::Mbarrier(MbarrierOp::Arrive(arrive)), vec![destination]))
    }

    fn resolve_wait(&mut self, site: &Site<'_>, opcode: MbarrierOpcode) -> Resolved<Parts> {
        let operands = site.operands;
        let is_try = opcode.verb == MbarrierVerb::TryWait;
        let phase = if opcode.parity { "parity" } else { "state" };
        let hint = if is_try { ", and maybe a time hint" } else { "" };
        if !(2..=2 + usize::from(is_try)).contains(&operands.len()) {
            let form = format!("an mbarrier and a {phase}{hint}");
            return Err(self.operand_count(site, &form, operands.len()));
        }
        let (address, text) = self.mbarrier_operand(site, &operands[0], &opcode)?;
        let phase = if opcode.parity {
            let parity = self.value_operand(site, &operands[1], 32)?;
            if let Some(value) = constant_value(&parity)
                && value > 1
            {
                let message = format!("{value} is not a parity");
                let error =
                    Diagnostic::new("validate::mbarrier-parity", message, parity.span, "neither 0 nor 1");
                return Err(self.report(
                    error.with_help("a phase has parity 0 or 1: write `(k / STAGES) & 1`").with_rule("MB-6"),
                ));
            }
            MbarrierPhase::Parity(parity)
        } else {
            MbarrierPhase::State(self.state_operand(site, &operands[1])?)
        };
        if let Some(hint) = operands.get(2) {
            // It bounds how long the thread sleeps, which no one can tell from outside.
            self.value_operand(site, hint, 32)?;
        }
        if matches!(site.results, Results::Nothing) {
            let message = format!("the result of `{}` is not looked at", site.opcode.text);
            let error = Diagnostic::new("validate::unbound-result", message, site.span, "waits for nothing");
            return Err(self.report(
                error
                    .with_help(format!("write `await {} …;` to wait until it is true", site.opcode.text))
                    .with_rule("MB-6"),
            ));
        }
        let destination = self.one_result(site, false, 1)?;
        let (sem, scope) = (opcode.sem, opcode.scope);
        let wait = MbarrierWait { destination, address, phase, is_try, sem, scope };
        Ok((text, InstructionKind::Mbarrier(MbarrierOp::Wait(wait)), vec![destination]))
    }

    /// A state is 64 bits; anything else is most likely a parity whose `.parity` was forgotten.
    fn state_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let Operand::Expr(expr) = operand else {
            return Err(self.wrong_operand(site, operand_span(operand, site.span), "a state"));
        };
        let state = self.resolve_expression(expr, Some(64))?;
        if state.width == 64 && constant_value(&state).is_none() {
            return Ok(state);
        }
        let message = format!("`{}` takes a state that an arrive returned", site.opcode.text);
        let label = if state.width == 64 { "a constant".to_owned() } else { format!("{} bits", state.width) };
        let error = Diagnostic::new("validate::mbarrier-state", message, state.span, label);
        let name = site.opcode.text.replacen("_wait", "_wait.parity", 1);
        Err(self.report(if name == site.opcode.text {
            error.with_help("write `let state = mbarrier.arrive.noComplete.shared::cta.b64 [bar], 1;`")
        } else {
            error.with_help(format!("write `{name}` to wait for a parity"))
        }))
    }

    fn tx_operand(&mut self, site: &Site<'_>, operand: &Operand) -> Resolved<Expression> {
        let tx = self.value_operand(site, operand, 32)?;
        match constant_value(&tx) {
            Some(value) if value > MAX_COUNT => {
                let message = format!("a tx-count of {value} does not fit an mbarrier");
                let error = Diagnostic::new("validate::mbarrier-tx", message, tx.span, "out of range");
                Err(self.report(error.with_help("the tx-count is at most 1048575").with_rule("UB-M7")))
            }
            _ => Ok(tx),
        }
    }

    fn check_count(&mut self, count: &Expression, rule: &'static str, help: &str) -> Resolved<()> {
        match constant_value(count) {
            Some(value) if value == 0 || value > MAX_COUNT => {
                let message = format!("{value} is not a number of arrivals");
                let error = Diagnostic::new("validate::mbarrier-count", message, count.span, "out of range");
                Err(self.report(error.with_help(help).with_rule(rule)))
            }
            _ => Ok(()),
        }
    }

    /// The object of an mbarrier operation, and the full spelling with its state space.
    fn mbarrier_operand(
        &mut self,
        site: &Site<'_>,
        operand: &Operand,
        opcode: &MbarrierOpcode,
    ) -> Resolved<(Address, String)> {
        let Operand::Memory(memory) = operand else {
            let span = operand_span(operand, site.span);
            return Err(self.wrong_operand(site, span, "an mbarrier in brackets, `[bar]`,"));
        };
        let (address, _) = self.resolve_address(memory)?;
        if self.element_of(address.base) != ElementKind::Mbarrier {
            let name = &memory.name.text;
            let message = format!("`{}` needs an mbarrier; `{name}` holds data", site.opcode.text);
            let error = Diagnostic::new("validate::not-mbarrier", message, address.span, "not an mbarrier");
            return Err(self.report(
                error
                    .with_help(format!(
                        "declare it as one: `shared {name}: mbarrier;`, or show its bytes as one: `view … : mbarrier of {name};`"
                    ))
                    .with_rule("UB-M15"),
            ));
        }
        if let Some(rule) = opcode.local_rule() {
            let name = legality::local_name(opcode);
            if address.rank.is_some() {
                return Err(self.report(legality::peer_object(&name, address.span, rule)));
            }
            self.note_local(&address, rule, "works on the own CTA's only");
        }
        let written = opcode.window;
        self.check_window(&address, written)?;
        let window = match (address.base, &address.rank, written) {
            (_, Some(_), _) => Some(Window::Cluster),
            (_, None, Some((window, _))) => Some(window),
            (AddressBase::Object(_), None, None) => Some(Window::Cta),
            (AddressBase::Reference(_), None, None) => None,
        };
        Ok((address, opcode.text(window)))
    }

    /// An address in a peer is not in `.shared::cta`.
    pub(in crate::kernel) fn check_window(
        &mut self,
        address: &Address,
        written: Option<(Window, Span)>,
    ) -> Resolved<()> {
        let Some((Window::Cta, span)) = written else { return Ok(()) };
        if address.rank.is_some() {
            let message = "an address that `mapa` gives is in `.shared::cluster`, not `.shared::cta`";
            let error = Diagnostic::new("validate::space-mismatch", message, span, "own CTA only")
                .with_label(address.span, "in a peer CTA")
                .with_help("write `.shared::cluster`, or leave the state space out");
            return Err(self.report(error.with_rule("AS-43")));
        }
        self.note_local(address, "AS-43", "accessed as `.shared::cta`");
        Ok(())
    }

    /// Remembers that a reference must stand for memory of the own CTA.
    pub(in crate::kernel) fn note_local(&mut self, address: &Address, rule: &'static str, why: &'static str) {
        if let (AddressBase::Reference(reference), Some(function), None) =
            (address.base, self.owner, &address.rank)
        {
            let use_of = Locality { span: address.span, rule, why };
            self.checker.calls.note(function, reference, Demand::OwnCta, use_of);
        }
    }

    /// The one result of an instruction.
    pub(in crate::kernel) fn one_result(
        &mut self,
        site: &Site<'_>,
        is_sink: bool,
        width: Width,
    ) -> Resolved<Option<RegisterId>> {
        let name = match site.results {
            Results::Nothing if is_sink => None,
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) => name,
            Results::Vector(_) => return Err(self.vector_count(site, 1)),
        };
        Ok(self.result_register(name, width))
    }

    pub(in crate::kernel) fn operand_count(&mut self, site: &Site<'_>, form: &str, n: usize) -> Reported {
        let message = format!("`{}` takes {form}; {n} given", site.opcode.text);
        self.report(Diagnostic::new(
            "validate::operand-count",
            message,
            site.span,
            "wrong number of operands",
        ))
    }
}
