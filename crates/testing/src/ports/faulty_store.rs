//! A store that fails, panics or stalls on demand, and counts what it is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::in_time;
use super::intercepted_store::{InterceptedStore, Interceptor, Run, StoreCall};
use usher_engine::ports::StoreError;

pub type FaultyStore<S> = InterceptedStore<S, StoreFaults>;

/// Names of methods; see [`StoreCall::method`].
pub type Methods = &'static [&'static str];

/// Every transaction of operations.
pub const COMMITS: Methods = &["create", "commit_all"];

pub const CREATIONS: Methods = &["create"];

/// What goes wrong with a store.
pub struct StoreFaults(watch::Sender<State>);

#[derive(Default)]
struct State {
    calls: HashMap<&'static str, usize>,
    /// So many of these calls fail before one succeeds.
    fails: (Methods, usize),
    panics: Methods,
    /// These calls find a defect of the program.
    defective: Methods,
    /// These calls do not begin, after the first so many.
    held: (Methods, usize),
    /// These calls do not return.
    held_results: Methods,
    /// How many calls are held.
    holding: usize,
}

/// Takes one of these calls; whether there was one left.
fn take((methods, left): &mut (Methods, usize), method: &str) -> bool {
    let takes = methods.contains(&method) && *left > 0;
    *left -= usize::from(takes);
    takes
}

impl<S: ?Sized> FaultyStore<S> {
    /// This store, which works until a test says otherwise.
    pub fn on(store: Arc<S>) -> Arc<Self> {
        Arc::new(Self::new(store, StoreFaults(watch::Sender::default())))
    }
}

impl StoreFaults {
    fn set(&self, change: impl FnOnce(&mut State)) {
        self.0.send_modify(change);
    }

    pub fn work(&self) {
        self.set(|state| {
            *state = State { calls: std::mem::take(&mut state.calls), holding: state.holding, ..State::default() }
        });
    }

    /// The next so many of these calls fail.
    pub fn fail(&self, methods: Methods, times: usize) {
        self.set(|state| state.fails = (methods, times));
    }

    /// From now on these calls find a defect of the program.
    pub fn find_defects(&self, methods: Methods) {
        self.set(|state| state.defective = methods);
    }

    /// From now on these calls panic.
    pub fn panic(&self, methods: Methods) {
        self.set(|state| state.panics = methods);
    }

    /// From now on these calls do not begin until they are not held any more.
    pub fn hold(&self, methods: Methods) {
        self.hold_after(methods, 0);
    }

    pub fn hold_after(&self, methods: Methods, calls: usize) {
        self.set(|state| state.held = (methods, calls));
    }

    /// From now on these calls do what they are for but do not return until they are not held any more.
    pub fn hold_results(&self, methods: Methods) {
        self.set(|state| state.held_results = methods);
    }

    /// Returns when so many calls are held.
    pub async fn held(&self, count: usize) {
        in_time("held calls", self.until(|state| state.holding >= count)).await;
    }

    /// How many of these calls have been made.
    pub fn calls(&self, methods: Methods) -> usize {
        self.0.borrow().calls(methods)
    }

    pub async fn called_more_than(&self, methods: Methods, before: usize) {
        in_time("calls", self.until(|state| state.calls(methods) > before)).await;
    }

    async fn until(&self, holds: impl FnMut(&State) -> bool) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(holds).await;
    }

    async fn wait_while(&self, is_held: impl Fn(&State) -> bool) {
        if is_held(&self.0.borrow()) {
            self.set(|state| state.holding += 1);
            self.until(|state| !is_held(state)).await;
            self.set(|state| state.holding -= 1);
        }
    }
}

impl State {
    fn calls(&self, methods: Methods) -> usize {
        methods.iter().filter_map(|method| self.calls.get(method)).sum()
    }
}

impl Interceptor for StoreFaults {
    async fn around<T: Send>(&self, call: StoreCall, run: Run<'_, T>) -> Result<T, StoreError> {
        let method = call.method;
        let mut passes = false;
        self.set(|state| {
            *state.calls.entry(method).or_default() += 1;
            passes = take(&mut state.held, method);
        });
        if !passes {
            self.wait_while(|state| state.held.0.contains(&method)).await;
        }
        let (mut fails, mut panics, mut is_defective) = (false, false, false);
        self.set(|state| {
            fails = take(&mut state.fails, method);
            panics = state.panics.contains(&method);
            is_defective = state.defective.contains(&method);
        });
        assert!(!panics, "a bug with s3cret");
        if fails {
            return Err(StoreError::Failed("the disk is full of s3cret".into()));
        }
        if is_defective {
            return Err(StoreError::Unexpected("a test"));
        }
        let result = run.await;
        self.wait_while(|state| state.held_results.contains(&method)).await;
        result
    }
}
