package usher.client.internal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;

/** A JSON object whose members are read by type. A member that is missing or of another type is a {@code PARSE_ERROR}. */
public final class JsonObject {
    private final Map<String, @Nullable Object> members;
    private final String what;

    private JsonObject(Map<String, @Nullable Object> members, String what) {
        this.members = members;
        this.what = what;
    }

    @SuppressWarnings("unchecked") // The members of a JSON object have names.
    static JsonObject of(Map<?, ?> members, String what) {
        return new JsonObject((Map<String, @Nullable Object>) members, what);
    }

    /** All members, unchangeable. */
    public Map<String, @Nullable Object> members() {
        return members;
    }

    /** Whether it has a member that is not null. */
    public boolean has(String name) {
        return members.get(name) != null;
    }

    public String string(String name) {
        return as(String.class, name, required(name));
    }

    public @Nullable String optionalString(String name) {
        return optional(String.class, name);
    }

    public long integer(String name) {
        return whole(name, required(name));
    }

    public @Nullable Long optionalInteger(String name) {
        Object value = members.get(name);
        return value == null ? null : whole(name, value);
    }

    public boolean flag(String name) {
        return as(Boolean.class, name, required(name));
    }

    public @Nullable Boolean optionalFlag(String name) {
        return optional(Boolean.class, name);
    }

    public double number(String name) {
        return as(Number.class, name, required(name)).doubleValue();
    }

    public @Nullable Double optionalNumber(String name) {
        Number value = optional(Number.class, name);
        return value == null ? null : value.doubleValue();
    }

    public List<String> strings(String name) {
        return texts(name, required(name));
    }

    public @Nullable List<String> optionalStrings(String name) {
        Object value = members.get(name);
        return value == null ? null : texts(name, value);
    }

    public JsonObject object(String name) {
        return nested(name, required(name));
    }

    public <T> T object(String name, Function<JsonObject, T> read) {
        return read.apply(object(name));
    }

    public <T> @Nullable T optionalObject(String name, Function<JsonObject, T> read) {
        Object value = members.get(name);
        return value == null ? null : read.apply(nested(name, value));
    }

    public <T> List<T> list(String name, Function<JsonObject, T> read) {
        List<T> items = new ArrayList<>();
        for (Object item : as(List.class, name, required(name))) {
            items.add(read.apply(nested(name, item)));
        }
        return items;
    }

    public <T> @Nullable List<T> optionalList(String name, Function<JsonObject, T> read) {
        return members.get(name) == null ? null : list(name, read);
    }

    public Map<String, String> stringMap(String name) {
        Map<String, String> values = new LinkedHashMap<>();
        object(name).members.forEach((key, value) -> values.put(key, as(String.class, name, value)));
        return values;
    }

    public Map<String, List<String>> listMap(String name) {
        Map<String, List<String>> values = new LinkedHashMap<>();
        object(name).members.forEach((key, value) -> values.put(key, texts(name, value)));
        return values;
    }

    private Object required(String name) {
        Object value = members.get(name);
        if (value == null) {
            throw wrong("has no `" + name + "`");
        }
        return value;
    }

    private <T> @Nullable T optional(Class<T> type, String name) {
        Object value = members.get(name);
        return value == null ? null : as(type, name, value);
    }

    private <T> T as(Class<T> type, String name, @Nullable Object value) {
        if (!type.isInstance(value)) {
            throw wrong("has a `" + name + "` of another type");
        }
        return type.cast(value);
    }

    private long whole(String name, Object value) {
        if (value instanceof Double number && number == Math.rint(number) && Math.abs(number) <= 1L << 53) {
            return number.longValue();
        }
        return as(Long.class, name, value);
    }

    private List<String> texts(String name, @Nullable Object value) {
        List<String> texts = new ArrayList<>();
        for (Object item : as(List.class, name, value)) {
            texts.add(as(String.class, name, item));
        }
        return texts;
    }

    private JsonObject nested(String name, @Nullable Object value) {
        return of(as(Map.class, name, value), "`" + name + "` of " + what);
    }

    private UsherException wrong(String how) {
        return new UsherException(UsherException.Code.PARSE_ERROR, what + " " + how);
    }
}
