package usher.client.webhook;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import usher.client.model.WebhookEvent;

class WebhookHandlerTest {
    private static final String BODY =
            "{\"stream_id\":\"s\",\"index\":0,\"type\":\"StatusUpdate\",\"timestamp\":1,\"data\":{\"status\":\"paid\"}}";

    @Test
    void respondsAsTheServiceExpects() throws Exception {
        WebhookVerifier verifier = WebhookVerifier.of("secret");
        List<WebhookEvent> events = new ArrayList<>();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/ok", new WebhookHandler(verifier, events::add));
        server.createContext("/fails", new WebhookHandler(verifier, event -> {
            throw new IllegalStateException("no database");
        }));
        server.start();
        try {
            String base = "http://127.0.0.1:" + server.getAddress().getPort();
            byte[] body = BODY.getBytes(StandardCharsets.UTF_8);
            Map<String, String> signed = verifier.sign(body);
            assertEquals(204, post(base + "/ok", body, signed));
            assertEquals("s:0", events.get(0).id());
            assertEquals(500, post(base + "/fails", body, signed));
            assertEquals(401, post(base + "/ok", body, Map.of()));
            assertEquals(401, post(base + "/ok", body, WebhookVerifier.of("another").sign(body)));
            assertEquals(413, post(base + "/ok", new byte[2 * 1024 * 1024], signed));
            assertEquals(1, events.size());
            HttpResponse<Void> get = HttpClient.newHttpClient()
                    .send(HttpRequest.newBuilder(URI.create(base + "/ok")).build(), HttpResponse.BodyHandlers.discarding());
            assertEquals(405, get.statusCode());
        } finally {
            server.stop(0);
        }
    }

    private static int post(String url, byte[] body, Map<String, String> headers) throws Exception {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(url)).POST(HttpRequest.BodyPublishers.ofByteArray(body));
        headers.forEach(request::header);
        return HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
    }
}
