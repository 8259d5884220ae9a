use std::sync::Arc;

use super::damaged_rows::DamagedRowReader;
use super::id_generator::Ids;
use super::index::Index;
use super::input_queue::InputQueue;
use super::metrics::Metrics;
use super::recent_states::RecentStates;
use super::tasks::Tasks;
use super::timers::Timers;
use crate::ports::{Clock, Randomness, Store};

/// The store, the clock, and the parts that use no other part. Every part holds a copy.
#[derive(Clone)]
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) damaged_rows: Arc<DamagedRowReader>,
    pub(crate) index: Arc<Index>,
    pub(crate) recent_states: Arc<RecentStates>,
    pub(crate) timers: Arc<Timers>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) inputs: InputQueue,
    pub(crate) ids: Ids,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) tasks: Tasks,
}
