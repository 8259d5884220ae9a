/**
 * Client of Usher: logs users in with their Nostr key, takes Lightning payments, handles tickets.
 *
 * <p>Start with {@link usher.client.Usher}.
 */
module usher.client {
    requires transitive java.net.http;
    requires com.fasterxml.jackson.databind;
    // Only who uses usher.client.webhook.WebhookHandler needs the server.
    requires static transitive jdk.httpserver;
    // Not transitive: who uses the client needs no annotations to compile.
    requires static org.jspecify;

    exports usher.client;
    exports usher.client.model;
    exports usher.client.verify;
    exports usher.client.webhook;
}
