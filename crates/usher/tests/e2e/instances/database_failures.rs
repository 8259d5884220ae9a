//! What PostgreSQL itself can meet: nothing is lost, and work goes on by itself.

use std::time::{Duration, Instant};

use usher_test_tools::PostgresServer;

use super::{Cluster, Load};
use crate::harness::{CallError, LONG};
use crate::webhooks::webhook_receiver::Reply;

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_at_a_promoted_replica() {
    let server = PostgresServer::start();
    let replica = server.start_replica();
    let database = server.database();
    // The replica has it when the next commit is acknowledged.
    server.psql("postgres", "CREATE TABLE replicated ()");
    let url = server.url(&database).replace("/test_", &format!(",127.0.0.1:{}/test_", replica.port()));
    // As operators of replicas write it.
    let url = format!("{url}&target_session_attrs=read-write");
    let mut cluster = Cluster::start_with(server, &url, 2, |_, _| Reply::Ok).await;
    let load = Load::start(&cluster, 2);
    load.goes_on(3).await;
    cluster.server.stop();
    replica.promote();
    load.goes_on(3).await;
    let done = load.stop().await;
    cluster.check(&done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_when_the_server_accepts_connections_again() {
    let server = PostgresServer::start();
    let database = server.database();
    // A limit of connections does not hold for administrators.
    server.psql("postgres", &format!("CREATE ROLE service LOGIN PASSWORD '{}'", server.password()));
    server.psql("postgres", &format!("ALTER DATABASE {database} OWNER TO service"));
    let url = server.url(&database).replace("usher:", "service:");
    let cluster = Cluster::start_with(server, &url, 2, |_, _| Reply::Ok).await;
    let load = Load::start(&cluster, 2);
    load.goes_on(3).await;
    let limit = |limit| format!("ALTER ROLE service CONNECTION LIMIT {limit}");
    cluster.server.psql("postgres", &limit(0));
    let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service'";
    cluster.server.psql("postgres", all);
    cluster.until_not_ready_because_of("too many connections").await;
    cluster.server.psql("postgres", &limit(-1));
    load.goes_on(3).await;
    let done = load.stop().await;
    cluster.check(&done).await;
}

impl Cluster {
    /// Waits until an instance says that the service is not ready, for this reason.
    async fn until_not_ready_because_of(&self, reason: &str) {
        let deadline = Instant::now() + LONG;
        loop {
            for instance in &self.instances {
                if let Err(CallError::Status(503, ready)) = instance.api().get("/health/ready").await
                    && ready.to_string().contains(reason)
                {
                    return;
                }
                assert!(Instant::now() < deadline, "{}", instance.log());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
