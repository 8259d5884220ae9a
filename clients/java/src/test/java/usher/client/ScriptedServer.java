package usher.client;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An HTTP server that responds as a test says. */
final class ScriptedServer implements AutoCloseable {
    /** Responds to a request. */
    interface Response {
        void to(HttpExchange exchange) throws Exception;
    }

    /** A request that it got. */
    record Request(String method, String path, String authorization, String idempotencyKey, String body) {}

    final List<Request> requests = new CopyOnWriteArrayList<>();
    private final Queue<Response> script = new ConcurrentLinkedQueue<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;
    private volatile Response always = json("{\"error\":\"not in the script\"}");

    ScriptedServer() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try (exchange) {
                requests.add(new Request(
                        exchange.getRequestMethod(),
                        exchange.getRequestURI().toString(),
                        exchange.getRequestHeaders().getFirst("Authorization"),
                        exchange.getRequestHeaders().getFirst("Idempotency-Key"),
                        new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)));
                Response next = script.poll();
                (next == null ? always : next).to(exchange);
            } catch (Exception error) {
                // The connection is closed without a response.
            }
        });
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    ScriptedServer respond(Response response) {
        script.add(response);
        return this;
    }

    void respondAlways(Response response) {
        always = response;
    }

    static Response json(String body) {
        return status(200, "application/json", body);
    }

    static Response status(int status, String type, String body) {
        return exchange -> {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", type);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        };
    }

    /** Closes the connection without a response. */
    static Response hangUp() {
        return exchange -> {
            throw new IOException("hung up");
        };
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
