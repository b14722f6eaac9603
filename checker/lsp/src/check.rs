//! Checks of saved files, on threads of their own.

use crate::documents::{Documents, name_of, range};
use crate::elsewhere;
use crate::front::Front;
use crate::project::{self, Known};
use fencepost::api::{Finding, InputProblem, Place, Region};
use fencepost::parallel::on_large_stack;
use fencepost::verdict::Verdict;
use fencepost::{Options, Source};
use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Checks that run at a time. One that nobody asks for any more cannot be stopped in the middle of a question to the solver;
/// the next one begins beside it.
const WORKERS: usize = 2;

/// A change that mends a finding.
#[derive(Clone, Debug)]
pub struct Fix {
    /// What it mends, in a line.
    pub title: String,
    /// Where it is offered, in bytes of the text: at the finding and at each line that it changes.
    pub places: Vec<Range<usize>>,
    /// The change, as the protocol has it.
    pub edit: Value,
    /// What it mends.
    pub diagnostic: Value,
}

/// What a check has found out about a text.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The number of the text.
    pub version: i64,
    /// As the protocol has them.
    pub diagnostics: Vec<Value>,
    /// Changes that were checked.
    pub fixes: Vec<Fix>,
    /// What is shown in compiled files that the text imports, by their names.
    pub elsewhere: BTreeMap<String, Vec<Value>>,
}

/// A file that is to be checked.
#[derive(Clone, Debug)]
struct Job {
    uri: String,
    version: i64,
    text: String,
    number: u64,
    /// Set once nobody asks for it any more.
    is_over: Arc<AtomicBool>,
}

/// What the threads have in common.
#[derive(Default)]
pub struct State {
    /// What is open.
    pub documents: Documents,
    /// What is known of it, by URI.
    pub found: BTreeMap<String, Found>,
    /// What is shown in compiled files, by URI.
    pub elsewhere: BTreeMap<String, Vec<Value>>,
    /// What waits, the oldest first; of one file the newest only.
    jobs: Vec<Job>,
    /// The newest check of each file, until it is done or nobody asks for it any more.
    wanted: BTreeMap<String, (u64, Arc<AtomicBool>)>,
    n_jobs: u64,
    has_progress: bool,
}

/// What the server has in common with its threads, and the way to the editor.
#[derive(Clone)]
pub struct Shared {
    state: Arc<(Mutex<State>, Condvar)>,
    send: Arc<dyn Fn(Message) + Send + Sync>,
}

impl Shared {
    /// With threads that wait for something to check.
    pub fn new(send: impl Fn(Message) + Send + Sync + 'static, has_progress: bool) -> Self {
        let state = State { has_progress, ..State::default() };
        let shared = Self { state: Arc::new((Mutex::new(state), Condvar::new())), send: Arc::new(send) };
        for _ in 0..WORKERS {
            let shared = shared.clone();
            thread::spawn(move || shared.work());
        }
        shared
    }

    /// What is known, for as long as the guard lives.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the editor.
    pub fn send(&self, message: Message) {
        (self.send)(message);
    }

    /// Has the text of a URI checked as it is now.
    pub fn check(&self, uri: &str) {
        let mut state = self.state();
        let Some(document) = state.documents.get(uri) else { return };
        let (version, text) = (document.version, document.text.clone());
        self.forget(&mut state, uri);
        state.n_jobs += 1;
        let number = state.n_jobs;
        let is_over = Arc::new(AtomicBool::new(false));
        state.wanted.insert(uri.to_owned(), (number, Arc::clone(&is_over)));
        state.jobs.push(Job { uri: uri.to_owned(), version, text, number, is_over });
        self.state.1.notify_one();
    }

    /// What was asked about a URI is not asked any more.
    pub fn cancel(&self, uri: &str) {
        self.forget(&mut self.state(), uri);
    }

    /// The same, by the number of its progress.
    pub fn cancel_progress(&self, token: &str) {
        let mut state = self.state();
        let uri = state
            .wanted
            .iter()
            .find(|(_, (number, _))| progress(*number) == token)
            .map(|(uri, _)| uri.clone());
        if let Some(uri) = uri {
            self.forget(&mut state, &uri);
        }
    }

    fn forget(&self, state: &mut State, uri: &str) {
        state.jobs.retain(|job| job.uri != uri);
        if let Some((number, is_over)) = state.wanted.remove(uri) {
            is_over.store(true, Ordering::Relaxed);
            self.tell_progress(state, number, &json!({ "kind": "end", "message": "cancelled" }));
        }
    }

    fn tell_progress(&self, state: &State, number: u64, value: &Value) {
        if state.has_progress {
            let told = json!({ "token": progress(number), "value": value });
            self.send(Notification::new("$/progress".to_owned(), told).into());
        }
    }

    /// Shows what is known of a URI: what the front end says of the text, and what was found if it is the text that was
    /// checked.
    pub fn publish(&self, state: &State, uri: &str) {
        let Some(document) = state.documents.get(uri) else { return };
        if elsewhere::is_compiled(&name_of(uri)) {
            return self.show(uri, Some(document.version), elsewhere::diagnostics(state, uri));
        }
        let mut diagnostics = Front::of(&state.documents, uri).diagnostics;
        let found = state.found.get(uri).filter(|found| found.version == document.version);
        if let (true, Some(found)) = (diagnostics.is_empty(), found) {
            diagnostics = found.diagnostics.clone();
        }
        self.show(uri, Some(document.version), diagnostics);
    }

    /// Shows exactly this.
    pub fn show(&self, uri: &str, version: Option<i64>, diagnostics: Vec<Value>) {
        let mut told = json!({ "uri": uri, "diagnostics": diagnostics });
        if let Some(version) = version {
            told["version"] = json!(version);
        }
        self.send(Notification::new("textDocument/publishDiagnostics".to_owned(), told).into());
    }

    fn work(&self) {
        loop {
            let (job, documents) = {
                let mut state = self.state();
                while state.jobs.is_empty() {
                    state = self.state.1.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                let job = state.jobs.remove(0);
                if state.has_progress {
                    let token = json!({ "token": progress(job.number) });
                    let id = progress(job.number).into();
                    self.send(Request::new(id, "window/workDoneProgress/create".to_owned(), token).into());
                }
                let title = name_of(&job.uri).rsplit('/').next().unwrap_or_default().to_owned();
                let begin =
                    json!({ "kind": "begin", "title": format!("checking {title}"), "cancellable": true });
                self.tell_progress(&state, job.number, &begin);
                (job, state.documents.clone())
            };
            let is_over = Arc::clone(&job.is_over);
            let options = Options::default().while_wanted(move || !is_over.load(Ordering::Relaxed));
            let found = on_large_stack(|| examine(&documents, &job, &options))
                .unwrap_or_else(|message| broken(&job, &message));
            let mut state = self.state();
            if state.wanted.get(&job.uri).map(|(number, _)| *number) != Some(job.number) {
                continue;
            }
            state.wanted.remove(&job.uri);
            self.tell_progress(&state, job.number, &json!({ "kind": "end" }));
            state.found.insert(job.uri.clone(), found);
            self.publish(&state, &job.uri);
            elsewhere::publish(self, &mut state);
        }
    }
}

fn progress(number: u64) -> String {
    format!("fencepost-{number}")
}

/// What a panic of the checker leaves: it is said, and the server goes on.
fn broken(job: &Job, message: &str) -> Found {
    let message =
        format!("{message}\nthis is a bug of Fencepost, not of the kernel, and there is no verdict");
    let told = json!({ "range": range(&job.text, &(0..0)), "severity": 1, "source": "fencepost", "message": message });
    Found { version: job.version, diagnostics: vec![told], ..Found::default() }
}

fn examine(documents: &Documents, job: &Job, options: &Options) -> Found {
    let name = name_of(&job.uri);
    let overlay = documents.clone();
    let own = (name.clone(), job.text.clone());
    let source =
        Source::reader(
            &name,
            move |wanted| {
                if wanted == own.0 { Ok(own.1.clone()) } else { overlay.read(wanted) }
            },
        );
    let known = Known::of(&name);
    let mut found =
        Found { version: job.version, diagnostics: known.diagnostics().collect(), ..Found::default() };
    let options = match &known.project {
        Some(project) => options.clone().of_project(Arc::new(project.clone())),
        None => options.clone(),
    };
    let report = match fencepost::check(source, &options) {
        Ok(report) => report,
        Err(error) => {
            found
                .diagnostics
                .extend(error.problems().iter().map(|problem| problem_told(problem, job, &name)));
            return found;
        }
    };
    for launch in report.launches() {
        let of = format!("{} ({})", launch.kernel, launch.name);
        for (finding, is_known) in launch.findings.iter().zip(known.findings(&name, launch)) {
            let mut diagnostic = finding_told(finding, &of, job, &name);
            if is_known {
                diagnostic["severity"] = json!(project::INFORMATION);
            }
            if let Some((file, told)) = elsewhere::told(documents, finding, &diagnostic, &name) {
                found.elsewhere.entry(file).or_default().push(told);
            }
            found.fixes.extend(fix(documents, finding, &diagnostic, job, &name));
            found.diagnostics.push(diagnostic);
        }
        if let Some(problem) = &launch.unsupported {
            found.diagnostics.push(problem_told(problem, job, &name));
        } else if !matches!(launch.verdict, Verdict::Proved | Verdict::Violated) {
            let mut message = format!("{of}: {}\n{}", words(launch.verdict), launch.notes.join("\n"));
            let accepted =
                known.accepts(&name, launch).filter(|_| launch.verdict == Verdict::ProvedUpToBound);
            let severity = if accepted.is_some() { project::INFORMATION } else { project::WARNING };
            message.extend(accepted.map(|why| format!("\n{why}")));
            let place = launch.open_loops.iter().find(|region| region.file == name);
            found.diagnostics.push(json!({
                "range": place_of(place, job, &name),
                "severity": severity,
                "source": "fencepost",
                "message": message.trim_end(),
            }));
        }
    }
    for (warning, severity) in known.warnings(&report).filter(|(warning, _)| warning.region.file == name) {
        found.diagnostics.push(json!({
            "range": range(&job.text, &warning.region.bytes),
            "severity": severity,
            "code": warning.code,
            "source": "fencepost",
            "message": format!("{}\nhelp: {}", warning.message, warning.help),
        }));
    }
    found
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proved => "proved",
        Verdict::Violated => "violated",
        Verdict::ProvedUpToBound => "proved up to the bound",
        Verdict::Vacuous => "vacuous: nothing gets to its end",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The range of a region of the text, or its beginning.
fn place_of(region: Option<&Region>, job: &Job, name: &str) -> Value {
    let own = region.filter(|region| region.file == name);
    range(&job.text, &own.map_or(0..0, |region| region.bytes.clone()))
}

fn problem_told(problem: &InputProblem, job: &Job, name: &str) -> Value {
    let help = problem.help.as_ref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    json!({
        "range": place_of(problem.region.as_ref(), job, name),
        "severity": 1,
        "code": problem.code,
        "source": "fencepost",
        "message": format!("{}{help}", problem.message),
    })
}

fn finding_told(finding: &Finding, of: &str, job: &Job, name: &str) -> Value {
    let mut message = format!("{}\nin {of}", finding.message);
    for why in &finding.why {
        message += &format!("\n{why}");
    }
    if let Some(help) = &finding.help {
        message += &format!("\nhelp: {help}");
    }
    let related = finding.others.iter().filter(|place| place.region.file == name).map(|place| {
        let thread = place.thread.as_deref().unwrap_or_default();
        json!({
            "location": { "uri": job.uri, "range": range(&job.text, &place.region.bytes) },
            "message": format!("{} {thread}", place.text).trim_end(),
        })
    });
    // What happens in a function of another file is shown where it is called.
    let own = |place: &Place| {
        let mut regions = [&place.region].into_iter().chain(place.calls.iter().rev());
        regions.find(|region| region.file == name).cloned()
    };
    let region = finding.place.as_ref().and_then(own);
    json!({
        "range": place_of(region.as_ref(), job, name),
        "severity": 1,
        "code": finding.code,
        "source": "fencepost",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

/// The change that mends a finding, if one was found and all of it is in this text, or in a compiled one that it imports.
fn fix(documents: &Documents, finding: &Finding, diagnostic: &Value, job: &Job, name: &str) -> Option<Fix> {
    if finding.edits.is_empty() {
        return None;
    }
    let line_of = |bytes: &Range<usize>| {
        let start = job.text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
        let end = job.text[bytes.end..].find('\n').map_or(job.text.len(), |at| bytes.end + at);
        start..end
    };
    // What was found elsewhere is shown where the text begins.
    let place = finding.place.as_ref().filter(|place| place.region.file == name);
    let mut places = vec![line_of(&place.map_or(0..0, |place| place.region.bytes.clone()))];
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for edit in &finding.edits {
        let (file, bytes) = (&edit.region.file, &edit.region.bytes);
        let (uri, range) = if file == name {
            places.push(line_of(bytes));
            (job.uri.clone(), range(&job.text, bytes))
        } else if elsewhere::is_compiled(file) {
            (documents.uri_of(file), range(&documents.read(file).ok()?, bytes))
        } else {
            return None;
        };
        changes.entry(uri).or_default().push(json!({ "range": range, "newText": edit.text }));
    }
    let what = finding.help.as_deref().unwrap_or("make the change that mends it");
    Some(Fix {
        title: format!("{}: {what}", finding.code),
        places,
        edit: json!({ "changes": changes }),
        diagnostic: diagnostic.clone(),
    })
}
