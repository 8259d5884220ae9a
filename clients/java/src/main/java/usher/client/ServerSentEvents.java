package usher.client;

import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import usher.client.UsherException.Code;
import usher.client.internal.Events;
import usher.client.internal.Json;
import usher.client.internal.Request;
import usher.client.model.WebhookEvent;

/** Reads the server-sent events of {@code GET /events}. */
final class ServerSentEvents implements WatchHandle {
    private final LiveListener listener;
    private final CompletableFuture<HttpResponse<Void>> exchange;
    private volatile boolean closed;
    private volatile Runnable stop = () -> {};

    ServerSentEvents(Transport transport, LiveListener listener) {
        this.listener = listener;
        HttpRequest request = HttpRequest.newBuilder(transport.uri("/events"))
                .header("Authorization", transport.authorization)
                .header("Accept", "text/event-stream")
                .build();
        Request named = Request.of("GET", "/events");
        exchange = transport.client.sendAsync(request, info -> {
            if (info.statusCode() == 200) {
                return HttpResponse.BodySubscribers.fromLineSubscriber(new Lines());
            }
            return HttpResponse.BodySubscribers.mapping(new LimitedBody(), bytes -> {
                throw Failures.ofResponse(info.statusCode(), info.headers(), bytes, named);
            });
        });
        exchange.whenCompleteAsync(
                (response, error) -> end(
                        error == null
                                ? new UsherException(Code.CONNECTION_CLOSED, "the service has ended the feed")
                                : Failures.ofConnection(error)),
                transport.executor);
    }

    @Override
    public void close() {
        closed = true;
        stop.run();
        exchange.cancel(true);
    }

    private void end(UsherException error) {
        if (!closed) {
            closed = true;
            listener.onEnd(error);
        }
    }

    /** Takes the feed line by line. */
    private final class Lines implements Flow.Subscriber<String> {
        private String type = "";
        private final StringBuilder data = new StringBuilder();

        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            stop = subscription::cancel;
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(String line) {
            if (closed) {
                return;
            }
            if (line.isEmpty()) {
                if (!data.isEmpty()) {
                    dispatch(data.toString().getBytes(StandardCharsets.UTF_8));
                }
                type = "";
                data.setLength(0);
            } else if (line.startsWith("event:")) {
                type = line.substring("event:".length()).strip();
            } else if (line.startsWith("data:")) {
                data.append(line.substring("data:".length()));
                if (data.length() > EventSocket.LONGEST_MESSAGE) {
                    end(new UsherException(Code.UNEXPECTED_RESPONSE, "an event is too large"));
                    close();
                }
            }
        }

        private void dispatch(byte[] bytes) {
            try {
                if (type.equals("missed")) {
                    listener.onMissed(Json.member(Json.object(bytes, "a line of the feed"), "missed", Long.class));
                } else {
                    WebhookEvent event = Events.webhookEvent(Json.object(bytes, "an event of the feed"));
                    listener.onEvent(event);
                }
            } catch (RuntimeException error) {
                end(Call.failure(error));
                close();
            }
        }

        @Override
        public void onError(Throwable error) {
            // The exchange ends with it.
        }

        @Override
        public void onComplete() {}
    }
}
