package usher.client;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.function.ThrowingConsumer;
import usher.client.internal.Json;
import usher.client.internal.JsonObject;

/** The tables of {@code clients/test-vectors}, and other files of the repository. */
public final class Vectors {
    /** The repository. */
    public static final Path REPOSITORY = Path.of("").toAbsolutePath().getParent().getParent();

    private Vectors() {}

    /** One test for each case of a table. */
    public static Stream<DynamicTest> of(String table, ThrowingConsumer<JsonObject> test) {
        List<JsonObject> cases = read("clients/test-vectors/" + table).list("cases", vector -> vector);
        assertFalse(cases.isEmpty(), table);
        return cases.stream().map(vector -> DynamicTest.dynamicTest(vector.string("name"), () -> test.accept(vector)));
    }

    /** A file of the repository that is JSON. */
    public static JsonObject read(String path) {
        try {
            return Json.object(Files.readAllBytes(REPOSITORY.resolve(path)), path);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
