-- For the removal of finished operations that have no event: strangers can begin logins, and nothing tells the app of them.
CREATE INDEX operations_eventless ON operations (kind, finished_at) WHERE finished_at IS NOT NULL AND next_index = 0;
