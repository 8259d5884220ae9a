package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The client has what the service has. */
class SurfaceTest {
    /** Operations that are more than a request and a response, and the methods of {@link Usher} that are for them. */
    private static final Map<String, String> STREAMING = Map.of("openWebSocket", "watch", "streamAllEvents", "streamAllEvents");

    private static final Set<String> KOTLIN_WORDS = Set.of(
            "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
            "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var", "when",
            "while");

    @Test
    void everyOperationOfTheDocumentHasAMethod() {
        Set<String> operations = new TreeSet<>();
        Vectors.read("docs/openapi.json").object("paths").members().values().forEach(path -> ((Map<?, ?>) path)
                .values()
                .forEach(operation -> {
                    if (operation instanceof Map<?, ?> members && members.get("operationId") instanceof String id) {
                        operations.add(id);
                    }
                }));
        assertTrue(operations.size() > 40, operations.toString());
        Set<String> methods = new TreeSet<>(names(UsherApi.class));
        STREAMING.forEach((operation, method) -> {
            assertTrue(names(Usher.class).contains(method), method);
            methods.add(operation);
        });
        assertEquals(operations, methods, "run clients/java/generate");
    }

    @Test
    void noNameNeedsQuotesInKotlin() {
        for (Class<?> type : new Class<?>[] {Usher.class, UsherApi.class, UsherBuilder.class, Call.class, Operation.class}) {
            assertTrue(names(type).stream().noneMatch(KOTLIN_WORDS::contains), type.toString());
        }
    }

    @Test
    void theVersionIsThatOfTheService() throws Exception {
        String service = first("Cargo.toml", "\\nversion = \"([0-9]+\\.[0-9]+)\\.");
        assertEquals(service + ".0", first("clients/java/pom.xml", "<version>([^<]*)<"));
        assertTrue(Usher.clientVersion().startsWith(service + "."), Usher.clientVersion());
        assertTrue(VersionCheck.of(Usher.clientVersion()).compatible());
        assertTrue(VersionCheck.of(service + ".99").compatible());
        VersionCheck other = VersionCheck.of("99.1.0");
        assertTrue(!other.compatible() && other.message().contains("99.1"), other.message());
    }

    private static Set<String> names(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(method -> java.lang.reflect.Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .map(Method::getName)
                .collect(Collectors.toSet());
    }

    private static String first(String file, String pattern) throws Exception {
        Matcher matcher = Pattern.compile(pattern).matcher(Files.readString(Vectors.REPOSITORY.resolve(file)));
        assertTrue(matcher.find(), file);
        return matcher.group(1);
    }
}
