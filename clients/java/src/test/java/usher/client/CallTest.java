package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import usher.client.UsherException.Code;
import usher.client.model.KeyHandshakeRequest;
import usher.client.model.KeyHandshakeStarted;
import usher.client.model.LoginStarted;
import usher.client.model.MintTicketRequest;
import usher.client.model.Ticket;

/** Single calls: retries, timeouts, cancellation, garbage. */
@Timeout(60)
class CallTest {
    private static final String STARTED = "{\"stream_id\":\"s\",\"url\":\"nostr:secret-url\",\"page_url\":\"http://localhost/secret-page\",\"later\":{\"x\":[1.5]}}";

    private static Usher client(ScriptedServer server) {
        return Usher.builder(server.url(), "the-token").versionCheck(false).build();
    }

    @Test
    void aLostResponseIsAskedForAgainWithTheSameKey() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server)) {
            server.respond(ScriptedServer.hangUp())
                    .respond(ScriptedServer.status(503, "text/plain", "starting"))
                    .respond(ScriptedServer.json(STARTED));
            KeyHandshakeStarted started = usher.api().createKeyHandshake(KeyHandshakeRequest.of()).await();
            assertEquals("s", started.streamId());
            assertFalse(started.toString().contains("secret-"), started.toString());
            LoginStarted login = new LoginStarted("s", "nostr:secret-url", "http://localhost/secret-page");
            assertFalse(login.toString().contains("secret-"), login.toString());
            assertEquals(1, server.requests.stream().map(r -> r.idempotencyKey()).distinct().count());
            assertEquals(36, server.requests.get(0).idempotencyKey().length());
            assertTrue(server.requests.size() >= 3);
            assertEquals("Bearer the-token", server.requests.get(0).authorization());
            server.respond(ScriptedServer.json(STARTED));
            usher.api().createKeyHandshake(KeyHandshakeRequest.of()).await();
            assertEquals(2, server.requests.stream().map(r -> r.idempotencyKey()).distinct().count(), "another intention");
            server.respond(ScriptedServer.json(STARTED));
            usher.api()
                    .createKeyHandshake(KeyHandshakeRequest.of(), CallOptions.DEFAULT.withIdempotencyKey("order-1"))
                    .await();
            assertEquals("order-1", server.requests.get(server.requests.size() - 1).idempotencyKey());
        }
    }

    @Test
    void fieldsThatOnlyAServiceForDevelopmentIgnoredAreAnError() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server)) {
            for (String mode : List.of("test", "")) {
                server.respond(exchange -> {
                    exchange.getResponseHeaders().set("Usher-Ignored", "/later");
                    exchange.getResponseHeaders().set("Usher-Mode", mode);
                    ScriptedServer.json(STARTED).to(exchange);
                });
            }
            UsherException error = assertThrows(UsherException.class, usher.login()::await);
            assertTrue(error.getMessage().contains("/later"), error.getMessage());
            usher.login().await();
            assertEquals(2, server.requests.size());
        }
    }

    private static ServerSocket silentService() throws IOException {
        return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static Usher connect(ServerSocket silent) {
        return Usher.connect("http://127.0.0.1:" + silent.getLocalPort(), "t");
    }

    private static void untilTheClientClosesIt(Socket accepted) throws IOException {
        accepted.getInputStream().readAllBytes();
    }

    @Test
    void aSilentServiceIsATimeoutAndTheConnectionIsClosed() throws Exception {
        CallOptions soon = CallOptions.DEFAULT.withTimeout(Duration.ofMillis(500));
        List<Function<Usher, Call<?>>> calls = List.of(
                usher -> usher.api().createKeyHandshake(KeyHandshakeRequest.of(), soon),
                usher -> {
                    Call<?> call = usher.login();
                    call.orTimeout(300, TimeUnit.MILLISECONDS);
                    return call;
                });
        for (Function<Usher, Call<?>> start : calls) {
            try (ServerSocket silent = silentService();
                    Usher usher = connect(silent)) {
                Call<?> call = start.apply(usher);
                try (Socket accepted = silent.accept()) {
                    assertEquals(Code.CONNECTION_TIMEOUT, assertThrows(UsherException.class, call::await).code());
                    untilTheClientClosesIt(accepted);
                }
            }
        }
    }

    @Test
    void aCancelledCallClosesItsConnection() throws Exception {
        try (ServerSocket silent = silentService();
                Usher usher = connect(silent)) {
            Call<?> call = usher.profile("00");
            try (Socket accepted = silent.accept()) {
                assertTrue(accepted.getInputStream().read() >= 0);
                assertTrue(call.cancel(true));
                assertThrows(CancellationException.class, call::await);
                untilTheClientClosesIt(accepted);
            }
        }
    }

    @Test
    void aTimeoutOfAResultHasACodeOfItsOwn() throws Exception {
        try (ServerSocket silent = silentService();
                Usher usher = connect(silent)) {
            Call<PaymentResult> call = usher.resume(OperationKind.PAYMENT, "s").result();
            LinkedBlockingQueue<UsherException> told = new LinkedBlockingQueue<>();
            call.onDone((value, error) -> told.add(error));
            call.orTimeout(300, TimeUnit.MILLISECONDS);
            assertEquals(Code.RESULT_TIMEOUT, assertThrows(UsherException.class, call::await).code());
            assertEquals(Code.RESULT_TIMEOUT, told.poll(60, TimeUnit.SECONDS).code());
        }
    }

    @Test
    void aServiceOfAnotherVersionIsWarnedOfOnce() throws Exception {
        LinkedBlockingQueue<String> logged = new LinkedBlockingQueue<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord entry) {
                logged.add(entry.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("usher.client");
        logger.addHandler(handler);
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = Usher.connect(server.url(), "t")) {
            server.respond(ScriptedServer.json(STARTED))
                    .respond(ScriptedServer.json("{\"version\":\"99.1.7\",\"commit\":\"c\"}"));
            usher.login().await();
            String warning = logged.poll(30, TimeUnit.SECONDS);
            assertTrue(warning != null && warning.contains("99.1.7") && warning.contains(Usher.clientVersion()), warning);
            server.respond(ScriptedServer.json(STARTED));
            usher.login().await();
            assertEquals(1, server.requests.stream().filter(request -> request.path().equals("/version")).count());
        } finally {
            logger.removeHandler(handler);
        }
    }

    @Test
    void anInterruptCancels() throws Exception {
        try (ServerSocket silent = silentService();
                Usher usher = connect(silent)) {
            Call<?> call = usher.login();
            Thread.currentThread().interrupt();
            assertThrows(CancellationException.class, call::await);
            assertTrue(Thread.interrupted());
            assertTrue(call.isCancelled());
        }
    }

    @Test
    void aServiceThatIsAwayIsNotConnected() throws Exception {
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        try (Usher usher = Usher.builder("http://127.0.0.1:" + port, "t").retries(1).build()) {
            LinkedBlockingQueue<Object> got = new LinkedBlockingQueue<>();
            usher.login().onDone((login, error) -> {
                assertNull(login);
                got.add(error == null ? "no error" : error);
            });
            UsherException error = (UsherException) got.poll(30, TimeUnit.SECONDS);
            assertNotNull(error);
            assertEquals(Code.NOT_CONNECTED, error.code());
        }
    }

    @Test
    void garbageIsAnErrorAndIsNotRepeated() throws Exception {
        byte[][] garbage = {
            "SSH-2.0-OpenSSH_9\r\n\r\n".getBytes(StandardCharsets.US_ASCII), new byte[] {0, 1, 2, (byte) 0xFF, '\r', '\n', '\r', '\n'}
        };
        for (byte[] bytes : garbage) {
            try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                    Usher usher = Usher.builder("http://127.0.0.1:" + socket.getLocalPort(), "t").retries(0).build()) {
                Thread server = new Thread(() -> {
                    try (Socket accepted = socket.accept();
                            OutputStream out = accepted.getOutputStream()) {
                        accepted.getInputStream().read();
                        out.write(bytes);
                    } catch (IOException error) {
                        // The test is over.
                    }
                });
                server.start();
                UsherException error = assertThrows(UsherException.class, () -> usher.api().getVersion().await());
                assertEquals(Code.UNEXPECTED_RESPONSE, error.code(), error.toString());
            }
        }
    }

    @Test
    void wrongShapesAreParseErrorsWithoutTheirContent() throws Exception {
        String[] bodies = {
            "{\"token\":7}", "{}", "{\"token\":null}", "[\"cashuSECRET\"]", "{\"token\":\"cashuSECRET\"", "{\"token\":\"cashuSECRET\"} x",
            "{\"a\":\"cashuSECRET\",\"a\":1}", "{\"token\":" + "[".repeat(100_000)
        };
        for (String body : bodies) {
            try (ScriptedServer server = new ScriptedServer();
                    Usher usher = client(server)) {
                server.respondAlways(ScriptedServer.json(body));
                UsherException error = assertThrows(UsherException.class, () -> usher.api()
                        .mintTicket(MintTicketRequest.of("https://mint.example", "sat", 1))
                        .await());
                assertEquals(Code.PARSE_ERROR, error.code(), error.toString());
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    assertFalse(cause.toString().contains("SECRET"), cause.toString());
                }
                assertEquals(1, server.requests.size());
            }
        }
        assertFalse(new Ticket("cashuSECRET").toString().contains("SECRET"));
    }

    @Test
    void closingTheClientEndsItsCallsAndLaterOnes() throws Exception {
        try (ServerSocket silent = silentService()) {
            Usher usher = connect(silent);
            CountDownLatch told = new CountDownLatch(3);
            usher.login().onDone((login, error) -> {
                if (error != null && error.code() == Code.NOT_CONNECTED) {
                    told.countDown();
                }
            });
            Call<?> waiting = usher.resume(OperationKind.PAYMENT, "s").result().onDone((paid, error) -> told.countDown());
            usher.close();
            usher.login().onDone((login, error) -> told.countDown());
            assertTrue(told.await(30, TimeUnit.SECONDS));
            assertEquals(Code.NOT_CONNECTED, assertThrows(UsherException.class, waiting::await).code());
            usher.close();
        }
    }

    @Test
    void aProfileThatIsNotThereIsEmpty() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = client(server)) {
            server.respond(ScriptedServer.status(
                    404,
                    "application/problem+json",
                    "{\"type\":\"urn:usher:error:profile_not_found\",\"title\":\"\",\"status\":404,\"detail\":\"\","
                            + "\"code\":\"profile_not_found\",\"request_id\":\"r\"}"));
            assertEquals(Optional.empty(), usher.profile("a b/../c").await());
            assertEquals("/profile/a%20b%2F..%2Fc", server.requests.get(0).path());
            assertThrows(IllegalArgumentException.class, () -> usher.profile(".."));
        }
    }

    @Test
    void settingsThatCannotBeRightAreRefused() {
        for (String url : new String[] {"127.0.0.1:3000", "ftp://x", "http://u:p@x", "http://x?y", "http://x#y", "http:///"}) {
            assertThrows(IllegalArgumentException.class, () -> Usher.connect(url, "t"), url);
        }
        assertThrows(IllegalArgumentException.class, () -> Usher.connect("http://x", ""));
        IllegalArgumentException error =
                assertThrows(IllegalArgumentException.class, () -> Usher.connect("http://x", "secret\r\nX: y"));
        assertFalse(error.getMessage().contains("secret"));
        HttpClient following = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.ALWAYS).build();
        assertThrows(IllegalArgumentException.class, () -> Usher.builder("http://x", "t").httpClient(following));
        assertThrows(IllegalArgumentException.class, () -> CallOptions.DEFAULT.withIdempotencyKey("a b"));
        assertThrows(IllegalArgumentException.class, () -> CallOptions.DEFAULT.withTimeout(Duration.ZERO));
    }
}
