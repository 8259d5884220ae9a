package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java of the documents compiles. */
class DocumentationExamplesTest {
    /** What the examples use: the rest of an app. `…` stands for anything. */
    private static final String APP =
            """
            import com.sun.net.httpserver.HttpServer;
            import usher.client.*;
            import usher.client.model.*;
            import usher.client.webhook.*;

            abstract class NAME {
                interface Request {
                    String getHeader(String name);
                }
                Usher usher;
                Call<PaymentResult> call;
                HttpServer server;
                Request request;
                byte[] rawBody;
                String secret, mainKey, mintUrl, mintToken, streamId, code;
                abstract void showQrCode(String url);
                abstract void redirect(String url);
                abstract void startSession(String user);
                abstract void deliver();
                abstract void handle(WebhookEvent event);
                void example() {
                    BODY
                }
            }
            """;

    @Test
    void everyExampleCompiles(@TempDir Path folder) throws Exception {
        List<String> sources = new ArrayList<>();
        for (String document : new String[] {"docs/clients.md", "clients/java/README.md"}) {
            String text = Files.readString(Vectors.REPOSITORY.resolve(document));
            for (MatchResult block : Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(text).results().toList()) {
                String name = "Example" + sources.size();
                sources.add(write(folder, name, block.group(1).replace("…", "")));
            }
        }
        assertTrue(sources.size() > 5, sources.toString());
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "javac").toString(),
                "-proc:none",
                "-cp",
                Vectors.REPOSITORY.resolve("clients/java/target/classes").toString(),
                "-d",
                folder.toString()));
        command.addAll(sources);
        Process javac = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(javac.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, javac.waitFor(), said);
    }

    private static String write(Path folder, String name, String body) throws IOException {
        Path file = folder.resolve(name + ".java");
        Files.writeString(file, APP.replace("NAME", name).replace("BODY", body));
        return file.toString();
    }
}
