package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import usher.client.UsherException.Code;
import usher.client.model.AuthenticateKeyRequest;
import usher.client.model.Event;
import usher.client.model.KeyHandshakeRequest;
import usher.client.model.SinglePaymentRequest;

/** Waiting for events while connections break, the service is killed, or no WebSocket passes. */
@EnabledIf(value = "usher.client.RunningUsher#hasProgram", disabledReason = "no program: set USHER_BINARY")
@Timeout(240)
class BrokenConnectionsTest {
    private RunningUsher service;

    @BeforeEach
    void start() throws Exception {
        service = new RunningUsher();
    }

    @AfterEach
    void stop() throws Exception {
        service.close();
    }

    @Test
    void theServiceIsKilledAndStartedAgainInMidOperation() throws Exception {
        try (Usher usher = service.client().retries(20).build()) {
            LoginOperation login = usher.login().await();
            Call<LoginResult> result = login.result();
            BlockingQueue<Object> events = new LinkedBlockingQueue<>();
            login.onEvent(new RealServiceTest.Recording(events));
            service.wallet("open", login.url());
            assertEquals(0, ((Event) RealServiceTest.take(events)).index());
            service.kill();
            service.start();
            service.wallet("approve");
            LoginResult.Approved approved = assertInstanceOf(LoginResult.Approved.class, result.await());
            assertEquals("StatusUpdate", ((Event) RealServiceTest.take(events)).type());
            assertEquals("done", RealServiceTest.take(events));

            Operation<PaymentResult> payment =
                    usher.requestPayment(SinglePaymentRequest.of("Tea", 5_000).withMainKey(approved.mainKey())).await();
            Call<PaymentResult> paid = payment.result();
            service.kill();
            // A call that begins while the service is away is carried out when it is back.
            Call<LoginOperation> other = usher.login();
            service.start();
            service.wallet("approve");
            assertInstanceOf(PaymentResult.Paid.class, paid.await());
            assertFalse(other.await().streamId().isEmpty());
        }
    }

    @Test
    void aServiceThatStaysAwayEndsTheWaitingWithNotConnected() throws Exception {
        try (Usher usher = service.client().reconnectTimeout(Duration.ofSeconds(1)).retries(0).build()) {
            Call<LoginResult> result = usher.login().await().result();
            service.kill();
            UsherException error = assertThrows(UsherException.class, result::await);
            assertEquals(Code.NOT_CONNECTED, error.code());
            service.start();
        }
    }

    @Test
    void aReusableHandshakeIsReadOnOverBrokenConnectionsWithoutGapOrRepetition() throws Exception {
        try (CountingProxy proxy = new CountingProxy(service.port(), true);
                Usher usher = Usher.connect(proxy.url(), service.token)) {
            String stream = usher.api()
                    .createKeyHandshake(KeyHandshakeRequest.of().withStaticToken("door"))
                    .await()
                    .streamId();
            String url = usher.api().createKeyHandshake(KeyHandshakeRequest.of().withStaticToken("door")).await().url();
            BlockingQueue<Object> all = new LinkedBlockingQueue<>();
            WatchHandle watch = usher.watch(stream, 0, new RealServiceTest.Recording(all));
            service.wallet("open", url);
            assertEquals(0, ((Event) RealServiceTest.take(all)).index());
            proxy.breakAll();
            // Another reader of the same stream, from the start.
            BlockingQueue<Object> late = new LinkedBlockingQueue<>();
            usher.watch(stream, 0, new RealServiceTest.Recording(late));
            assertEquals(0, ((Event) RealServiceTest.take(late)).index());
            usher.api().closeKeyHandshake(stream).await();
            assertEquals("done", RealServiceTest.take(all));
            assertEquals("done", RealServiceTest.take(late));
            watch.close();
            assertTrue(proxy.count("GET /ws ") >= 2);
            assertEquals(0, proxy.count("GET /events"));
        }
    }

    @Test
    void whereNoWebSocketPassesEventsComeByLongPolls() throws Exception {
        try (CountingProxy proxy = new CountingProxy(service.port(), false);
                Usher usher = Usher.connect(proxy.url(), service.token)) {
            List<LoginOperation> logins = new ArrayList<>();
            List<Call<LoginResult>> results = new ArrayList<>();
            for (int number = 0; number < 3; number++) {
                logins.add(usher.login().await());
                results.add(logins.get(number).result());
            }
            service.wallet("login", logins.get(1).url());
            assertInstanceOf(LoginResult.Approved.class, results.get(1).await());
            assertTrue(proxy.count("GET /events/") >= 3 && proxy.count("GET /events/") < 20, proxy.requests.toString());
            assertEquals(1, proxy.count("GET /ws "));
            assertFalse(results.get(0).isDone());
        }
    }

    @Test
    void aThousandOperationsAreAwaitedOverOneConnection() throws Exception {
        service.close();
        service = new RunningUsher("challenge_ttl_seconds = 15");
        try (CountingProxy proxy = new CountingProxy(service.port(), true);
                Usher usher = Usher.connect(proxy.url(), service.token)) {
            LoginOperation login = usher.login().await();
            Call<LoginResult> result = login.result();
            service.wallet("login", login.url());
            String user = assertInstanceOf(LoginResult.Approved.class, result.await()).mainKey();
            List<Call<LoginResult>> all = new ArrayList<>();
            for (int number = 0; number < 1000; number++) {
                all.add(usher.authenticate(AuthenticateKeyRequest.of(user), CallOptions.DEFAULT.withTimeout(Duration.ofMinutes(2)))
                        .then(Operation::result));
            }
            for (Call<LoginResult> one : all) {
                OperationFailedException error = assertThrows(OperationFailedException.class, one::await);
                assertTrue(error.timedOut());
            }
            assertEquals(1, proxy.count("GET /ws "), "one connection");
            assertEquals(0, proxy.count("GET /events"), "no polls");
            // The requests themselves: the login, a thousand challenges, the version.
            assertTrue(proxy.requests.size() <= 1005, "requests: " + proxy.requests.size());
        }
    }
}
