//! Random programs that mean something: two threads that hand something on, in many dresses, now and then with a flaw.

use super::{Form, LoopStep, Use, Wait, seldom};
use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

fn load_of(word: usize) -> BoxedStrategy<LoopStep> {
    let then = prop_oneof![2 => Just(Use::Nothing), 2 => Just(Use::Stored), 2 => Just(Use::Asserted(1))];
    (prop_oneof![4 => Just(0usize), 1 => Just(1)], then)
        .prop_map(move |(sem, then)| LoopStep::Load { word, sem, then })
        .boxed()
}

fn store_of(word: usize, value: u8) -> BoxedStrategy<LoopStep> {
    prop_oneof![1 => Just(0usize), 2 => Just(1), 4 => Just(2)]
        .prop_map(move |sem| LoopStep::Store { word, sem, value })
        .boxed()
}

/// A wait in one of these forms for a word to be 1.
fn wait_for(
    form: impl Strategy<Value = Form> + 'static,
    word: usize,
    before: impl Strategy<Value = Vec<LoopStep>> + 'static,
    leaving: impl Strategy<Value = Vec<LoopStep>> + 'static,
) -> BoxedStrategy<LoopStep> {
    (form, prop_oneof![1 => Just(1usize), 4 => Just(2)], before, leaving, seldom(4))
        .prop_map(move |(form, sem, before, leaving, exits)| {
            LoopStep::Wait(Wait { form, word, sem, value: 1, before, after: Vec::new(), leaving, exits })
        })
        .boxed()
}

fn maybe(step: BoxedStrategy<LoopStep>) -> BoxedStrategy<Vec<LoopStep>> {
    prop_oneof![1 => Just(Vec::new()), 2 => vec(step, 1)].boxed()
}

/// Two threads that mean something by what they do: data behind a flag, a flag that is taken back, data in a lock, data
/// behind an mbarrier, several flags. Something may be missing.
pub(super) fn story() -> BoxedStrategy<Vec<Vec<LoopStep>>> {
    const DATA: usize = 0;
    let simple = || {
        prop_oneof![
            2 => Just(Form::Loop), 1 => Just(Form::While), 1 => Just(Form::Await), 1 => Just(Form::Cache),
            1 => Just(Form::Function)
        ]
    };
    let store = store_of(DATA, 1);
    let seen = |word: usize, then: BoxedStrategy<LoopStep>| {
        let then = vec(then, 1);
        (Just(word), Just(2usize), then, seldom(8))
            .prop_map(|(word, sem, then, exits)| LoopStep::If { word, sem, value: 1, then, exits })
            .boxed()
    };
    let look = || prop_oneof![2 => Just(Vec::new()), 1 => vec(seen(1, load_of(DATA)), 1)];
    let flag = (
        (store.clone(), store_of(1, 1)).prop_map(|(data, flag)| vec![data, flag]),
        (wait_for(simple(), 1, look(), maybe(load_of(DATA))), maybe(load_of(DATA))),
    );
    let flag = flag.prop_map(|(one, (wait, after))| vec![one, [vec![wait], after].concat()]);
    let inner = prop_oneof![
        3 => wait_for(simple(), 2, Just(Vec::new()), Just(Vec::new())),
        1 => wait_for(Just(Form::Phase { is_await: true, parity: 0 }), 2, Just(Vec::new()), Just(Vec::new())),
        1 => wait_for(Just(Form::Swap), 2, Just(Vec::new()), Just(Vec::new())),
        1 => Just(LoopStep::Bar),
    ]
    .boxed();
    let release =
        prop_oneof![1 => store_of(2, 1), 1 => Just(LoopStep::Arrive), 1 => Just(LoopStep::Bar)].boxed();
    let taken_back = (
        (store_of(1, 1), maybe(release), store_of(1, 0), store_of(DATA, 1)),
        wait_for(
            prop_oneof![Just(Form::Loop), Just(Form::While)],
            DATA,
            vec(seen(1, inner), 1),
            Just(Vec::new()),
        ),
    );
    let taken_back = taken_back.prop_map(|((set, release, back, end), wait)| {
        vec![[vec![set], release, vec![back, end]].concat(), vec![wait]]
    });
    let locked = || {
        let form = prop_oneof![
            1 => Just(Form::Swap), 1 => any::<bool>().prop_map(|is_await| Form::Exchange { is_await })
        ];
        let unlock = prop_oneof![5 => Just(vec![LoopStep::Unlock]), 1 => Just(Vec::new())];
        let inside = prop_oneof![store_of(DATA, 1), load_of(DATA)];
        (wait_for(form, 0, Just(Vec::new()), Just(Vec::new())), inside, unlock)
            .prop_map(|(wait, inside, unlock)| [vec![wait, inside], unlock].concat())
    };
    let lock = (locked(), locked()).prop_map(|(one, other)| vec![one, other]);
    let phase = any::<bool>().prop_map(|is_await| Form::Phase { is_await, parity: 0 });
    let arrival = (
        (store.clone(), prop_oneof![5 => Just(vec![LoopStep::Arrive]), 1 => Just(Vec::new())]),
        (wait_for(phase, 0, look(), maybe(load_of(DATA))), load_of(DATA)),
    );
    let arrival = arrival
        .prop_map(|((data, arrive), (wait, load))| vec![[vec![data], arrive].concat(), vec![wait, load]]);
    let scan = any::<bool>().prop_map(|is_for| Form::Scan { is_for });
    let flags = (
        (store, store_of(1, 1), maybe(store_of(2, 1))),
        (wait_for(scan, 1, look(), maybe(load_of(DATA))), maybe(load_of(DATA))),
    );
    let flags = flags.prop_map(|((data, one, other), (wait, load))| {
        vec![[vec![data, one], other].concat(), [vec![wait], load].concat()]
    });
    prop_oneof![3 => flag, 2 => taken_back, 2 => lock, 2 => arrival, 2 => flags].boxed()
}
