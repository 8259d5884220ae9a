package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import usher.client.model.Event;

/** Many events, removed events, and a listener that takes its time. */
@Timeout(60)
class SlowListenerTest {
    private static final int EVENTS = 5_000;
    private static final Pattern AFTER = Pattern.compile("after=([0-9]+)");

    /** Pages of a stream with many events; nothing else, so no WebSocket either. */
    private static void serve(ScriptedServer server, AtomicInteger highest) {
        server.respondAlways(exchange -> {
            String uri = exchange.getRequestURI().toString();
            Matcher asked = AFTER.matcher(uri);
            if (!uri.startsWith("/events/") || !asked.find()) {
                ScriptedServer.status(404, "text/plain", "").to(exchange);
                return;
            }
            int after = Integer.parseInt(asked.group(1));
            int end = uri.startsWith("/events/big") ? EVENTS : 1;
            int last = Math.min(after + 700, end);
            StringBuilder events = new StringBuilder();
            for (int index = after; index < last; index++) {
                events.append(events.isEmpty() ? "" : ",")
                        .append("{\"index\":" + index + ",\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\"paid\"}}");
            }
            highest.accumulateAndGet(uri.startsWith("/events/big") ? last : 0, Math::max);
            ScriptedServer.json("{\"events\":[" + events + "],\"next\":" + last + ",\"done\":" + (last == end) + "}").to(exchange);
        });
    }

    @Test
    void delaysNobodyElseFillsNothingAndGetsEverythingOnce() throws Exception {
        AtomicInteger highest = new AtomicInteger();
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = Usher.builder(server.url(), "t").versionCheck(false).build()) {
            serve(server, highest);
            Semaphore allowed = new Semaphore(0);
            BlockingQueue<Object> slow = new LinkedBlockingQueue<>();
            RealServiceTest.Recording recording = new RealServiceTest.Recording(slow);
            usher.watch("big", 0, new StreamListener() {
                @Override
                public void onEvent(Event event) {
                    allowed.acquireUninterruptibly();
                    recording.onEvent(event);
                }

                @Override
                public void onDone() {
                    recording.onDone();
                }
            });
            // Reading stops when enough waits for the listener, and other streams go on.
            RealServiceTest.until(() -> highest.get() > 1_000);
            usher.resume(OperationKind.PAYMENT, "small").result().await();
            assertTrue(highest.get() <= 2_800, "read ahead: " + highest);
            allowed.release(EVENTS);
            for (int index = 0; index < EVENTS; index++) {
                assertEquals(index, ((Event) RealServiceTest.take(slow)).index());
            }
            assertEquals("done", RealServiceTest.take(slow));
        }
    }

    /** Also with a checked exception, as from Kotlin: what came after the failed event would leave a gap. */
    @Test
    void hearsOnlyOfTheFailureAfterItHasThrown() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = Usher.builder(server.url(), "t").versionCheck(false).build()) {
            serve(server, new AtomicInteger());
            BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
            usher.watch("big", 0, new StreamListener() {
                @Override
                public void onEvent(Event event) {
                    heard.add(event);
                    SlowListenerTest.<RuntimeException>raise(new IOException("the database is away"));
                }

                @Override
                public void onError(UsherException error) {
                    heard.add(error);
                }
            });
            assertEquals(0, ((Event) RealServiceTest.take(heard)).index());
            assertTrue(RealServiceTest.take(heard) instanceof UsherException);
            assertNull(heard.poll(500, TimeUnit.MILLISECONDS));
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> void raise(Throwable error) throws E {
        throw (E) error;
    }

    @Test
    void removedEventsAreToldAndTheRestIsRead() throws Exception {
        try (ScriptedServer server = new ScriptedServer();
                Usher usher = Usher.builder(server.url(), "t").versionCheck(false).build()) {
            String gone = "{\"type\":\"urn:usher:error:events_removed\",\"title\":\"\",\"status\":410,\"detail\":\"\","
                    + "\"code\":\"events_removed\",\"request_id\":\"r\",\"first\":4000}";
            server.respond(ScriptedServer.status(404, "text/plain", ""))
                    .respond(ScriptedServer.status(410, "application/problem+json", gone));
            serve(server, new AtomicInteger());
            BlockingQueue<Object> heard = new LinkedBlockingQueue<>();
            usher.watch("big", 7, new StreamListener() {
                @Override
                public void onEvent(Event event) {
                    heard.add(event);
                }

                @Override
                public void onMissed(long first) {
                    heard.add(first);
                }
            });
            assertEquals(4000L, RealServiceTest.take(heard));
            assertEquals(4000, ((Event) RealServiceTest.take(heard)).index());
        }
    }
}
