package usher.client.internal;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The members of a request: those without a value are left out. */
final class Members {
    private final Map<String, Object> members = new LinkedHashMap<>();

    void put(String name, @Nullable Object value) {
        if (value != null) {
            members.put(name, value);
        }
    }

    Map<String, Object> map() {
        return members;
    }
}
