// A site with a login. `mvn compile`, set USHER_URL and USHER_TOKEN, `java -cp 'target/classes:target/lib/*' login.App`.
// `usher dev` leads users back here; for a service of your own, set pages.return_urls = ["http://127.0.0.1:8080/"]
package login;

import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import usher.client.*;
import usher.client.model.*;

public final class App {
    // The token can do everything in your name: it stays on the server, and no browser ever gets it.
    private final Usher usher = Usher.connect(System.getenv("USHER_URL"), System.getenv("USHER_TOKEN"));
    // A real app keeps its sessions in a database.
    private final Map<String, String> sessions = new ConcurrentHashMap<>(); // session cookie → main key: the user's id
    private static final String PORT = System.getenv().getOrDefault("PORT", "8080");

    private record Response(int status, String body, String... cookie) {}

    private Response respond(HttpExchange request) {
        // Cookies alone do not tell our pages from others': forms of other sites cannot set this header.
        boolean ours = "app".equals(request.getRequestHeaders().getFirst("X-Requested-By"));
        return switch (request.getRequestMethod() + " " + request.getRequestURI().getPath()) {
            case "GET /" -> new Response(200, page(sessions.get(cookie(request, "session"))));
            case "POST /login" -> ours ? login() : new Response(403, "");
            case "GET /login/done" -> done(request.getRequestURI().getQuery(), cookie(request, "login"));
            default -> new Response(404, "");
        };
    }

    /** 1. The browser asks for a login, and goes to its page. A real app limits how often each address may ask. */
    private Response login() {
        LoginRequest back = LoginRequest.of().withReturnUrl("http://127.0.0.1:" + PORT + "/login/done");
        LoginOperation login = usher.login(back, CallOptions.DEFAULT).await();
        // Only the browser that asked for this login is logged in by it.
        return new Response(200, "{\"page_url\":\"" + login.pageUrl() + "\"}", "login", login.streamId());
    }

    /** 2. The page leads it back here, with a code if the user has approved. The session begins now, with a new id. */
    private Response done(String query, String login) {
        Matcher found = Pattern.compile("stream_id=([0-9a-f-]+)&code=([0-9a-f]+)").matcher(query == null ? "" : query);
        if (!found.matches() || !found.group(1).equals(login)) {
            return new Response(303, "");
        }
        LoginRedeemed user = usher.redeemLogin(login, found.group(2)).await();
        String session = UUID.randomUUID().toString();
        sessions.put(session, user.mainKey());
        return new Response(303, "", "session", session);
    }

    private static String page(String user) {
        return user != null ? "<!doctype html><title>Hello</title><p>Hello " + user : """
                <!doctype html><title>Log in</title><button>Log in</button><script>
                document.querySelector("button").onclick = async () => {
                  const asked = await fetch("/login", { method: "POST", headers: { "x-requested-by": "app" } });
                  location.href = (await asked.json()).page_url;
                };</script>""";
    }

    private static String cookie(HttpExchange request, String name) {
        String cookies = String.join("; ", request.getRequestHeaders().getOrDefault("Cookie", List.of()));
        Matcher found = Pattern.compile("(?:^|; )" + name + "=([^;]*)").matcher(cookies);
        return found.find() ? found.group(1) : "";
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            Response response;
            try {
                response = respond(exchange);
            } catch (UsherException error) { // The code is wrong or too old, or the service is away.
                response = new Response(502, "Please log in again.");
            }
            byte[] body = response.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", response.body().startsWith("{") ? "application/json" : "text/html");
            if (response.cookie().length > 0) { // Add `; Secure` behind TLS.
                exchange.getResponseHeaders().set("Set-Cookie", String.join("=", response.cookie()) + "; HttpOnly; SameSite=Lax; Path=/");
            }
            if (response.status() == 303) {
                exchange.getResponseHeaders().set("Location", "/");
            }
            exchange.sendResponseHeaders(response.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }

    public static void main(String... args) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(PORT)), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", new App()::handle);
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
    }
}
