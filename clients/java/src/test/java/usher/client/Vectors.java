package usher.client;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.function.ThrowingConsumer;
import usher.client.internal.Json;

/** The tables of {@code clients/test-vectors}, and other files of the repository. */
public final class Vectors {
    /** The repository. */
    public static final Path REPOSITORY = Path.of("").toAbsolutePath().getParent().getParent();

    private Vectors() {}

    /** One test for each case of a table. */
    public static Stream<DynamicTest> of(String table, ThrowingConsumer<ObjectNode> test) {
        List<ObjectNode> cases = read(table);
        assertFalse(cases.isEmpty(), table);
        return cases.stream().map(vector -> DynamicTest.dynamicTest(vector.get("name").textValue(), () -> test.accept(vector)));
    }

    /** The cases of a table. */
    public static List<ObjectNode> read(String table) {
        try {
            byte[] file = Files.readAllBytes(REPOSITORY.resolve("clients/test-vectors").resolve(table));
            return List.of(Json.member(Json.object(file, table), "cases", ObjectNode[].class));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
