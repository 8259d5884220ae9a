package usher.client.webhook;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import java.io.IOException;
import java.util.function.Consumer;
import usher.client.UsherException;
import usher.client.model.WebhookEvent;

/**
 * Receives webhooks in the HTTP server of the JDK (module {@code jdk.httpserver}).
 *
 * <pre>{@code
 * server.createContext("/usher-events", new WebhookHandler(WebhookVerifier.of(secret), event -> store(event)));
 * }</pre>
 *
 * <p>It responds 204 when your code has returned, 401 to a post that is not the service's, 400 to a signed post that is no
 * event, and 500 when your code throws: then the service posts the event again.
 */
public final class WebhookHandler implements HttpHandler {
    /** A token has at most 40,000 bytes. */
    private static final int LARGEST = 1024 * 1024;

    private static final System.Logger LOG = System.getLogger("usher.client");

    private final WebhookVerifier verifier;
    private final Consumer<WebhookEvent> handler;

    /**
     * Creates a handler.
     *
     * @param verifier verifies {@code webhook-signature}
     * @param handler gets each event, at least once: it knows {@link WebhookEvent#id} of those that it has handled
     */
    public WebhookHandler(WebhookVerifier verifier, Consumer<WebhookEvent> handler) {
        this.verifier = verifier;
        this.handler = handler;
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            exchange.sendResponseHeaders(status(exchange), -1);
        }
    }

    private int status(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestMethod().equals("POST")) {
            exchange.getResponseHeaders().set("Allow", "POST");
            return 405;
        }
        byte[] body = exchange.getRequestBody().readNBytes(LARGEST + 1);
        if (body.length > LARGEST) {
            return 413;
        }
        WebhookEvent event;
        try {
            event = verifier.verify(body, exchange.getRequestHeaders()::getFirst);
        } catch (InvalidWebhookException error) {
            LOG.log(System.Logger.Level.WARNING, "refused a webhook: {0}", error.getMessage());
            return 401;
        } catch (UsherException error) {
            LOG.log(System.Logger.Level.ERROR, "cannot read a webhook", error);
            return 400;
        }
        try {
            handler.accept(event);
        } catch (RuntimeException error) {
            LOG.log(System.Logger.Level.ERROR, "handling event " + event.id() + " failed; it will be sent again", error);
            return 500;
        }
        return 204;
    }
}
