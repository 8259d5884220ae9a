package usher.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What who uses the client sees. */
class SurfaceTest {
    private static final Set<String> KOTLIN_WORDS = Set.of(
            "as", "break", "class", "continue", "do", "else", "false", "for", "fun", "if", "in", "interface", "is", "null",
            "object", "package", "return", "super", "this", "throw", "true", "try", "typealias", "typeof", "val", "var", "when",
            "while");

    /** {@code UPDATE_SURFACE=1 mvn install} writes the list. A change that is no addition breaks who uses the client. */
    @Test
    void thePublicClassesAndTheirMembersAreThoseOfTheList() throws Exception {
        Set<String> lines = new TreeSet<>();
        Path classes = Path.of("target/classes");
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
                String name = classes.relativize(file).toString().replaceAll("\\.class$", "").replace('/', '.');
                if (name.startsWith("usher.client.") && !name.contains(".internal.") && !name.endsWith("package-info")) {
                    lines.addAll(members(Class.forName(name, false, Usher.class.getClassLoader())));
                }
            }
        }
        String now = String.join("\n", lines).replaceAll("\\b([a-z]\\w*\\.)+(?=[@A-Z])", "").replace("Nullable()", "Nullable") + "\n";
        Path list = Path.of("src/test/surface.txt");
        if (System.getenv("UPDATE_SURFACE") != null) {
            Files.writeString(list, now);
        }
        assertEquals(Files.readString(list), now);
    }

    private static List<String> members(Class<?> type) {
        if (!isVisible(type.getModifiers()) || type.isAnonymousClass() || type.isSynthetic()) {
            return List.of();
        }
        RecordComponent[] components = type.isRecord() ? type.getRecordComponents() : new RecordComponent[0];
        String parts = joined(components, part -> part.getAnnotatedType() + " " + part.getName());
        Set<String> names = Stream.of(components).map(RecordComponent::getName).collect(Collectors.toSet());
        List<String> lines = new ArrayList<>();
        lines.add(type.toGenericString() + (type.isRecord() ? "(" + parts + ")" : "")
                + " in " + type.getPackageName() + ": " + type.getAnnotatedSuperclass() + " " + joined(type.getAnnotatedInterfaces(), Object::toString));
        for (Field field : type.getDeclaredFields()) {
            if (isVisible(field.getModifiers())) {
                lines.add(type.getName() + ": " + field.getAnnotatedType() + " " + field.getName());
            }
        }
        for (Executable member : type.isRecord() ? new Executable[0] : type.getDeclaredConstructors()) {
            if (isVisible(member.getModifiers()) && !member.isSynthetic()) {
                lines.add(type.getName() + ": new(" + joined(member.getAnnotatedParameterTypes(), Object::toString) + ")");
            }
        }
        for (Method method : type.getDeclaredMethods()) {
            boolean accessor = names.contains(method.getName()) && method.getParameterCount() == 0;
            boolean ofAll = Set.of("equals", "hashCode", "toString").contains(method.getName());
            if (isVisible(method.getModifiers()) && !method.isSynthetic() && !accessor && !ofAll) {
                lines.add(type.getName() + ": " + (Modifier.isStatic(method.getModifiers()) ? "static " : "")
                        + method.getName() + "(" + joined(method.getAnnotatedParameterTypes(), Object::toString) + ") "
                        + method.getAnnotatedReturnType());
            }
        }
        return lines;
    }

    private static boolean isVisible(int modifiers) {
        return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
    }

    private static <T> String joined(T[] parts, Function<T, String> text) {
        return Stream.of(parts).map(text).collect(Collectors.joining(", "));
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
                .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
                .map(Method::getName)
                .collect(Collectors.toSet());
    }

    private static String first(String file, String pattern) throws Exception {
        Matcher matcher = Pattern.compile(pattern).matcher(Files.readString(Vectors.REPOSITORY.resolve(file)));
        assertTrue(matcher.find(), file);
        return matcher.group(1);
    }
}
