//! The node that the endpoints are about.

use std::sync::Arc;

use usher_engine::ports::LightningNode;

use crate::ApiState;
use crate::problem::Problem;

/// The node.
pub(super) fn node(state: &ApiState) -> Result<Arc<dyn LightningNode>, Problem> {
    state.engine.lightning_node().ok_or_else(Problem::no_lightning_node)
}
