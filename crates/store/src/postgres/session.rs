//! One connection to the database, with its prepared statements.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, CopyInSink, SimpleQueryMessage, Statement};

use super::failure::PostgresFailure;
use super::options::Address;
use super::pipeline::{self, Pipeline, Request};
use super::statement::{self, StatementKey};
use crate::row::{Answer, Row};
use crate::statement::Query;

/// Time limit for closing a connection.
const GOODBYE: Duration = Duration::from_secs(1);

/// The settings of each connection, independent of defaults of the server, database and user.
///
/// Like SQLite's `INDEXED BY`, `enable_seqscan = off` prevents plans that scan a whole table because of statistics from
/// when it was small. It adds a cost to such plans for which the server would compile them without `jit = off`. Searches
/// read in batches, for each of which starting parallel workers would take longer than the batch.
const SETTINGS: &str = "
    SET default_transaction_isolation = 'read committed';
    SET default_transaction_deferrable = off;
    SET enable_seqscan = off;
    SET jit = off;
    SET max_parallel_workers_per_gather = 0;
    SET tcp_keepalives_idle = 5;
    SET tcp_keepalives_interval = 2;
    SET tcp_keepalives_count = 3;
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

/// Marks the server's session. If a new connection finds a mark, it has another connection's session: a pooler assigns
/// sessions per transaction, so settings and prepared statements are lost.
const MARK: &str =
    "SELECT current_setting('usher.session', true); SELECT set_config('usher.session', 'marked', false);";

pub(super) struct Session {
    /// `None` only while closing.
    client: Option<Client>,
    statements: Mutex<HashMap<StatementKey, Statement>>,
    /// How long to wait for responses.
    patience: Duration,
    /// The task of the socket; ends when the client is dropped.
    connection: JoinHandle<()>,
}

pub(super) enum TransactionFailure {
    /// It was rolled back.
    RolledBack(PostgresFailure),
    /// It was committed or rolled back.
    Unknown(PostgresFailure),
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// [`PostgresFailure::Connect`], and failures of the first statements.
    pub(super) async fn connect(address: &Address) -> Result<Self, PostgresFailure> {
        let connecting = address.config.connect(address.tls.clone());
        // The library's own time limit covers only the socket, not the server's responses.
        let (client, connection) = tokio::time::timeout(address.timeout, connecting)
            .await
            .map_err(|_| PostgresFailure::Connect("no answer in time".to_owned()))?
            .map_err(|error| PostgresFailure::connect(&error))?;
        #[expect(clippy::disallowed_methods, reason = "the session owns the task, and ends it")]
        let connection = tokio::spawn(async move {
            // The waiting requests receive its error.
            drop(connection.await);
        });
        let patience = address.timeout.saturating_add(address.timeout / 2);
        let session = Self { client: Some(client), statements: Mutex::default(), patience, connection };
        let limit = address.timeout.as_millis().max(1);
        let settings = format!(
            "{MARK} SET statement_timeout = {limit}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = {};
             {SETTINGS}",
            (limit / 2).max(1),
            // A transaction is sent in one piece; a partially received one blocks other instances from taking the
            // lease.
            (limit / 5).max(500),
        );
        let said = session.in_time("configure a connection", session.client()?.simple_query(&settings)).await?;
        let first = said.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0) == Some("marked")),
            _ => None,
        });
        if first == Some(true) { Err(PostgresFailure::SharedSession) } else { Ok(session) }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// Closes the connection in an orderly way.
    pub(super) async fn close(mut self) {
        self.client = None;
        // An error means a time-out; it is then aborted.
        drop(tokio::time::timeout(GOODBYE, &mut self.connection).await);
    }

    /// Sends all statements at once, each in its own transaction.
    ///
    /// # Errors
    /// The failure of the first one that fails.
    pub(super) async fn run(&self, queries: &[&Query]) -> Result<Vec<Answer>, PostgresFailure> {
        let statements = self.prepare(queries).await?;
        let client = self.client()?;
        let requests =
            queries.iter().zip(&statements).map(|(query, statement)| execute(client, query, statement.as_ref()));
        self.patiently("wait for the database", pipeline::run(requests.collect())).await?.into_iter().collect()
    }

    /// Sends one statement.
    pub(super) async fn one(&self, query: &Query) -> Result<Answer, PostgresFailure> {
        let answers = self.run(&[query]).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// Runs any number of statements without results, outside or inside a transaction.
    pub(super) async fn script(&self, during: &'static str, sql: &str) -> Result<(), PostgresFailure> {
        // Scripts on large tables may take long; a lost connection is still detected.
        self.client()?.batch_execute(sql).await.map_err(|error| PostgresFailure::new(during, &error))
    }

    /// Streams the rows of a statement without parameters, which may exceed memory. Only the server's time limit
    /// applies.
    pub(super) async fn stream(
        &self,
        during: &'static str,
        sql: &str,
    ) -> Result<impl Stream<Item = Result<Row, PostgresFailure>> + use<>, PostgresFailure> {
        let none: [&(dyn ToSql + Sync); 0] = [];
        let failed = move |error| PostgresFailure::new(during, &error);
        let rows = self.client()?.query_raw(sql, none).await.map_err(failed)?;
        Ok(rows.map_ok(|row| statement::row(&row)).map_err(failed))
    }

    /// The sink for the rows of a `COPY … FROM STDIN`.
    pub(super) async fn copy_in(&self, during: &'static str, sql: &str) -> Result<CopyInSink<Bytes>, PostgresFailure> {
        self.client()?.copy_in(sql).await.map_err(|error| PostgresFailure::new(during, &error))
    }

    /// Sends a whole transaction, from BEGIN to COMMIT, and queries that run after it, in one round trip. Returns the
    /// answers of the statements, and those of the queries unless one failed.
    ///
    /// # Errors
    /// [`TransactionFailure`]: the error of the first failed statement, if any.
    pub(super) async fn transact(
        &self,
        queries: &[&Query],
        afterwards: &[&Query],
    ) -> Result<(Vec<Answer>, Option<Vec<Answer>>), TransactionFailure> {
        let all: Vec<_> = queries.iter().chain(afterwards).copied().collect();
        let prepared = self.prepare(&all).await.map_err(TransactionFailure::RolledBack)?;
        let client = self.client().map_err(TransactionFailure::RolledBack)?;
        let answers = self.patiently("commit a transaction", async {
            let mut pipeline = Pipeline::new(all.len().saturating_add(2));
            pipeline.send(simple(client, "begin a transaction", "BEGIN")).await;
            let mut requests =
                all.iter().zip(&prepared).map(|(query, statement)| execute(client, query, statement.as_ref()));
            for request in requests.by_ref().take(queries.len()) {
                pipeline.send(request).await;
            }
            // The others still run if a statement could not be sent.
            let is_sent = !pipeline.has_failed();
            let end = if is_sent { "COMMIT" } else { "ROLLBACK" };
            pipeline.send(simple(client, "commit a transaction", end)).await;
            for request in requests {
                pipeline.send(request).await;
            }
            (is_sent, pipeline.results().await)
        });
        let (is_sent, answers) = answers.await.map_err(TransactionFailure::Unknown)?;
        // After a failed statement, COMMIT rolls back. So a transaction with an unknown end may be committed only if no
        // statement was refused.
        let mut answers = answers.into_iter();
        let mut results = Vec::with_capacity(queries.len().saturating_add(2));
        for answer in answers.by_ref().take(queries.len().saturating_add(2)) {
            match answer {
                Ok(answer) => results.push(answer),
                Err(failure @ PostgresFailure::Lost { .. }) if is_sent => {
                    return Err(TransactionFailure::Unknown(failure));
                }
                Err(failure) => return Err(TransactionFailure::RolledBack(failure)),
            }
        }
        results.pop();
        Ok((results.into_iter().skip(1).collect(), answers.collect::<Result<_, _>>().ok()))
    }

    /// The prepared statements, most of them cached. One that runs for an empty list is not prepared.
    async fn prepare(&self, queries: &[&Query]) -> Result<Vec<Option<Statement>>, PostgresFailure> {
        let client = self.client()?;
        let mut new: Vec<&Query> = Vec::new();
        {
            let known = self.statements.lock();
            for query in queries.iter().filter(|query| !query.is_nothing()) {
                let key = statement::key(query);
                if !known.contains_key(&key) && !new.iter().any(|other| statement::key(other) == key) {
                    new.push(query);
                }
            }
        }
        if !new.is_empty() {
            let requests = new.iter().map(|query| {
                Box::pin(async move {
                    let prepared = client.prepare(&statement::text(query)).await;
                    prepared.map_err(|error| PostgresFailure::new(query.statement.during, &error))
                }) as Request<'_, _>
            });
            let prepared = self.patiently("prepare a statement", pipeline::run(requests.collect())).await?;
            for (query, prepared) in new.into_iter().zip(prepared) {
                self.statements.lock().insert(statement::key(query), prepared?);
            }
        }
        let known = self.statements.lock();
        Ok(queries.iter().map(|query| known.get(&statement::key(query)).cloned()).collect())
    }

    fn client(&self) -> Result<&Client, PostgresFailure> {
        self.client.as_ref().ok_or_else(|| PostgresFailure::Connect("the connection is closed".to_owned()))
    }

    async fn in_time<T>(
        &self,
        during: &'static str,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresFailure> {
        self.patiently(during, request).await?.map_err(|error| PostgresFailure::new(during, &error))
    }

    /// Drops the connection if there is no response in time: a late response must not be matched to another request.
    async fn patiently<T>(&self, during: &'static str, answer: impl Future<Output = T>) -> Result<T, PostgresFailure> {
        tokio::time::timeout(self.patience, answer).await.map_err(|_| {
            self.connection.abort();
            PostgresFailure::Lost { during, reason: "no answer in time".to_owned() }
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

fn execute<'a>(
    client: &'a Client,
    query: &'a Query,
    prepared: Option<&'a Statement>,
) -> Request<'a, Result<Answer, PostgresFailure>> {
    Box::pin(async move {
        let during = query.statement.during;
        if query.is_nothing() {
            return Ok(Answer::default());
        }
        let not_prepared = || PostgresFailure::Lost { during, reason: "its statement is not prepared".to_owned() };
        let prepared = prepared.ok_or_else(not_prepared)?;
        let fetched = async {
            let params = statement::bound(query);
            let params = params.iter().map(|param| param as &(dyn ToSql + Sync));
            let mut stream = std::pin::pin!(client.query_raw(prepared, params).await?);
            let mut rows = Vec::new();
            while let Some(row) = stream.try_next().await? {
                rows.push(statement::row(&row));
            }
            let changed = stream.rows_affected().unwrap_or_default();
            Ok(Answer { rows, changed: usize::try_from(changed).unwrap_or(usize::MAX) })
        };
        fetched.await.map_err(|error| PostgresFailure::new(during, &error))
    })
}

fn simple<'a>(
    client: &'a Client,
    during: &'static str,
    sql: &'static str,
) -> Request<'a, Result<Answer, PostgresFailure>> {
    Box::pin(async move {
        let done = client.batch_execute(sql).await;
        done.map(|()| Answer::default()).map_err(|error| PostgresFailure::new(during, &error))
    })
}
