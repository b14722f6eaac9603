//! Launches: which kernel, in which shape, with which arguments, behind what in which stream.

use super::*;

impl Host<'_, '_> {
    pub(super) fn launch(&mut self, call: &Call, kernel: &ast::Name, span: Span) -> Resolved<()> {
        let [stream, shape, with] = self.clauses(call, ["on", "shape", "with"])?;
        let Some(&part) = self.parts.names.get(&kernel.text) else {
            // What is wrong with one that is declared has been said.
            if self.parts.known.contains(&kernel.text) {
                return Err(super::super::Reported);
            }
            let message = format!("there is no kernel `{}`", kernel.text);
            let error = Diagnostic::new("resolve::unknown-name", message, kernel.place.0, "not declared");
            let known = self.parts.known.iter().map(String::as_str);
            return Err(self.body.report(match suggest(&kernel.text, known) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => {
                    error.with_help("it stands before the program: `kernel name { launch { ctas: 2 } … }`")
                }
            }));
        };
        let launch = self.shape(part, kernel, shape)?;
        let arguments = self.arguments(part, &call.arguments, kernel)?;
        if self.tasks.len() >= MAX_TASKS {
            let message = format!("a program launches at most {MAX_TASKS} kernels");
            let error = Diagnostic::new("limit::host-loop", message, span, "one more");
            return Err(self.body.report(error.with_help("two or three launches show what any more do")));
        }
        let (after, prerequisite) = self.enqueue(stream, with, launch.gpus)?;
        let n_before = self.launched.iter().filter(|&&task| self.tasks[task].kernel == part).count();
        let name = match n_before {
            0 => kernel.text.clone(),
            n => format!("{} #{}", kernel.text, n + 1),
        };
        let when = self.when.clone();
        let task = Task { name, kernel: part, launch, arguments, when, after, prerequisite, span };
        let task = self.tasks.push(task);
        self.launched.push(task);
        self.note(task, stream);
        self.body.push(span, StatementKind::Host(HostCall::Launch(task)));
        Ok(())
    }

    pub(super) fn shape(
        &mut self,
        part: PartId,
        kernel: &ast::Name,
        shape: Option<&ast::Name>,
    ) -> Resolved<Launch> {
        let launches = &self.parts.kernels[part].launches;
        let error = match (shape, launches.as_slice()) {
            (None, [only]) => return Ok(only.clone()),
            (None, _) => {
                let message = format!("`{}` can be launched in several shapes", kernel.text);
                Diagnostic::new("resolve::host-call", message, kernel.place.0, "which shape?")
            }
            (Some(name), all) => match all.iter().find(|launch| launch.name == name.text) {
                Some(launch) => return Ok(launch.clone()),
                None => {
                    let message = format!("`{}` has no launch `{}`", kernel.text, name.text);
                    Diagnostic::new("resolve::unknown-name", message, name.place.0, "no such shape")
                }
            },
        };
        let names: Vec<String> = launches.iter().map(|launch| format!("`{}`", launch.name)).collect();
        let help = format!("write `launch {} shape …`, with one of {}", kernel.text, names.join(", "));
        Err(self.body.report(error.with_help(help)))
    }

    /// The values of a kernel's parameters: constants, or parameters of the program, within the declared ranges.
    pub(super) fn arguments(
        &mut self,
        part: PartId,
        given: &[Expr],
        kernel: &ast::Name,
    ) -> Resolved<Vec<Expression>> {
        let parts = self.parts;
        let wanted = &parts.kernels[part].parameters;
        if wanted.len() != given.len() {
            let (n, s) = (wanted.len(), if wanted.len() == 1 { "" } else { "s" });
            let message = format!("`{}` takes {n} argument{s}, and {} are given", kernel.text, given.len());
            let error =
                Diagnostic::new("validate::launch-argument", message, kernel.place.0, "launched here");
            let error = match wanted.first() {
                Some(first) => error.with_label(first.span, "its parameters"),
                None => error,
            };
            let help = "numbers are given for parameters, `kernel k(N in 0..=3)`; memory has a name, `global x: u32 = 0;`";
            return Err(self.body.report(error.with_help(help)));
        }
        let mut arguments = Vec::with_capacity(given.len());
        for (expr, parameter) in given.iter().zip(wanted) {
            let value = self.body.resolve_exact(expr, 32)?;
            let range = match (constant_value(&value), &value.kind) {
                (Some(value), _) => u64::try_from(value).ok().map(|value| (value, value)),
                (None, ExpressionKind::Register(register)) => {
                    let own = self.parameters.iter().find(|own| own.register == *register);
                    own.map(|own| (own.min, own.max))
                }
                _ => None,
            };
            let place = expr.place.0;
            let error = match range {
                Some((min, max)) if min >= parameter.min && max <= parameter.max => {
                    arguments.push(value);
                    continue;
                }
                Some(_) => {
                    let (name, min, max) = (&parameter.name, parameter.min, parameter.max);
                    let message = format!("`{name}` of `{}` is in {min}..={max}", kernel.text);
                    Diagnostic::new("validate::launch-argument", message, place, "outside of this range")
                        .with_label(parameter.span, "declared here")
                }
                None => {
                    let message = "an argument of a launch is a constant or a parameter of the program";
                    Diagnostic::new("validate::launch-argument", message, place, "neither")
                        .with_help("let the program write the value to global memory and the kernel read it")
                }
            };
            return Err(self.body.report(error));
        }
        Ok(arguments)
    }

    /// What the next task of a stream follows.
    pub(super) fn enqueue(
        &mut self,
        stream: Option<&ast::Name>,
        with: Option<&ast::Name>,
        gpus: u32,
    ) -> Resolved<(Vec<TaskId>, Option<TaskId>)> {
        if let Some(with) = with
            && with.text != PROGRAMMATIC
        {
            let message = format!("a launch has no attribute `{}`", with.text);
            let error = Diagnostic::new("resolve::host-call", message, with.place.0, "unknown attribute");
            return Err(self.body.report(error.with_help(format!("write `with {PROGRAMMATIC}`"))));
        }
        let Some(name) = stream else {
            if let Some(with) = with {
                let message = format!("`{PROGRAMMATIC}` needs a stream");
                let error = Diagnostic::new("resolve::host-call", message, with.place.0, "in which stream?");
                return Err(self.body.report(error.with_help("declare one, and write `on` before `with`")));
            }
            // The legacy default stream waits for all blocking streams, and they for it.
            let blocking = self.streams.values().filter(|stream| stream.is_blocking);
            let before = blocking.flat_map(|stream| stream.before.iter().copied());
            let before: SortedSet<TaskId> = before.chain(self.default_stream.iter().copied()).collect();
            return Ok((self.latest(&before), None));
        };
        let stream = self.stream(name)?;
        let stream = &self.streams[stream];
        // On a device that the one before is not on, there is nothing to overlap with.
        let is_wide = |last: &TaskId| self.tasks[*last].launch.gpus >= gpus;
        match stream.last.filter(|_| with.is_some()).filter(is_wide) {
            Some(last) => {
                // What was complete when the task before started is complete now.
                Ok((self.tasks[last].after.clone(), Some(last)))
            }
            None => Ok((self.latest(&stream.before), None)),
        }
    }

    /// Makes a task the last of its stream.
    pub(super) fn note(&mut self, task: TaskId, stream: Option<&ast::Name>) {
        match stream.and_then(|name| self.streams.get_mut(&name.text)) {
            Some(stream) => {
                stream.before.insert(task);
                stream.last = Some(task);
            }
            None => {
                self.default_stream.insert(task);
                for stream in self.streams.values_mut().filter(|stream| stream.is_blocking) {
                    stream.before.insert(task);
                    stream.last = None;
                }
            }
        }
    }
}
