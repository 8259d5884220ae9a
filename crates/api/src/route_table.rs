//! Finds the endpoint of a request.

use std::collections::HashMap;

use http::Method;

use crate::endpoint_group::EndpointGroup;
use crate::route::Route;

/// All endpoints, by path and method.
#[derive(Default)]
pub(crate) struct RouteTable(HashMap<String, Vec<(Method, Route)>>);

impl RouteTable {
    pub(crate) fn of(groups: &[EndpointGroup]) -> Self {
        let mut table = Self::default();
        for (method, path, route) in groups.iter().flat_map(EndpointGroup::routes) {
            table.0.entry(path.to_owned()).or_default().push((method.clone(), route.clone()));
        }
        table
    }

    pub(crate) fn methods(&self, path: &str) -> Option<String> {
        let methods: Vec<_> = self.0.get(path)?.iter().map(|(method, _)| method.as_str()).collect();
        Some(methods.join(" or "))
    }

    /// The endpoint for a request to this path; `None` if there is none.
    pub(crate) fn get(&self, method: &Method, path: &str) -> Option<&Route> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let (_, route) = self.0.get(path)?.iter().find(|(of, _)| of == method)?;
        Some(route)
    }
}
