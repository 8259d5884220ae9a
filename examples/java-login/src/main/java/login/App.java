// A site with a login. `mvn compile`, set USHER_URL and USHER_TOKEN, `java -cp 'target/classes:target/lib/*' login.App`.
package login;

import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;
import usher.client.*;

public final class App {
    // The token can do everything in your name: it stays on the server, and no browser ever gets it.
    private final Usher usher = Usher.connect(System.getenv("USHER_URL"), System.getenv("USHER_TOKEN"));
    // A real app keeps its sessions in a database.
    private final Map<String, String> sessions = new ConcurrentHashMap<>(); // session cookie → main key: the user's id
    private final Map<String, Call<LoginResult>> logins = new ConcurrentHashMap<>(); // login cookie → its result; anybody can ask, so 1000 at most

    private record Response(int status, String body, String... cookie) {}

    private Response respond(HttpExchange request) {
        // Cookies alone do not tell our pages from others': forms of other sites cannot set this header.
        boolean ours = "app".equals(request.getRequestHeaders().getFirst("X-Requested-By"));
        return switch (request.getRequestMethod() + " " + request.getRequestURI().getPath()) {
            case "GET /" -> new Response(200, page(sessions.get(cookie(request, "session"))));
            case "POST /login" -> !ours ? new Response(403, "") : logins.size() < 1000 ? login() : new Response(503, "");
            case "GET /login/result" -> result(cookie(request, "login"));
            default -> new Response(404, "");
        };
    }

    /** 1. The browser asks for a login, and shows its URL to the user. */
    private Response login() {
        LoginOperation login = usher.login().await();
        String id = UUID.randomUUID().toString(); // Only the browser that asked for this login is logged in by it.
        logins.put(id, login.result());
        CompletableFuture.delayedExecutor(20, TimeUnit.MINUTES).execute(() -> logins.remove(id));
        return new Response(200, "{\"url\":\"" + login.url() + "\"}", "login", id);
    }

    /** 2. It waits until the user has approved in their wallet. The session begins after that, with a new id. */
    private Response result(String id) {
        Call<LoginResult> login = logins.get(id);
        if (login == null) {
            return new Response(404, "{\"status\":\"unknown\"}");
        }
        if (login.await() instanceof LoginResult.Approved approved && logins.remove(id) != null) {
            String session = UUID.randomUUID().toString();
            sessions.put(session, approved.mainKey());
            return new Response(200, "{\"status\":\"approved\"}", "session", session);
        }
        return new Response(200, "{\"status\":\"declined\"}");
    }

    private static String page(String user) {
        return user != null ? "<!doctype html><title>Hello</title><p>Hello " + user : """
                <!doctype html><title>Log in</title><button>Log in</button><p id="out"></p><script>
                document.querySelector("button").onclick = async () => {
                  const asked = await fetch("/login", { method: "POST", headers: { "x-requested-by": "app" } });
                  out.textContent = "Open this in your wallet: " + (await asked.json()).url; // A real app shows a QR code.
                  const { status } = await (await fetch("/login/result")).json();
                  status === "approved" ? location.reload() : (out.textContent = status);
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
            } catch (UsherException error) { // Nobody approved in time, or the service is away.
                response = new Response(502, "{\"status\":\"failed\"}");
            }
            byte[] body = response.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", response.body().startsWith("{") ? "application/json" : "text/html");
            if (response.cookie().length > 0) { // Add `; Secure` behind TLS.
                exchange.getResponseHeaders().set("Set-Cookie", String.join("=", response.cookie()) + "; HttpOnly; SameSite=Lax; Path=/");
            }
            exchange.sendResponseHeaders(response.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }

    public static void main(String... args) throws IOException {
        String port = System.getenv().getOrDefault("PORT", "8080");
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(port)), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", new App()::handle);
        server.start();
        System.out.println("http://127.0.0.1:" + server.getAddress().getPort());
    }
}
