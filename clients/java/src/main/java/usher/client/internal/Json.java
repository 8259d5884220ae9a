package usher.client.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;

/** JSON as maps, lists, texts, numbers ({@code Long}, or {@code Double} where they have a fraction) and truth values. */
public final class Json {
    /** Deeper than anything that the service sends. */
    private static final int DEPTH = 64;

    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            // An error may quote what could not be read, and that may be a secret.
            .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxNestingDepth(DEPTH)
                    .maxNumberLength(400)
                    .build())
            .build();

    private Json() {}

    /**
     * Reads one JSON object.
     *
     * @param what what it is, for errors
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static JsonObject object(byte[] bytes, String what) {
        Object value;
        try (JsonParser parser = FACTORY.createParser(bytes)) {
            parser.nextToken();
            value = value(parser);
            if (parser.nextToken() != null) {
                throw notJson(what);
            }
        } catch (IOException error) {
            throw notJson(what);
        }
        if (!(value instanceof Map<?, ?> members)) {
            throw new UsherException(UsherException.Code.PARSE_ERROR, what + " is not a JSON object");
        }
        return JsonObject.of(members, what);
    }

    private static UsherException notJson(String what) {
        return new UsherException(UsherException.Code.PARSE_ERROR, what + " is not JSON");
    }

    private static @Nullable Object value(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        if (token == null) {
            throw new IOException("nothing");
        }
        return switch (token) {
            case START_OBJECT -> {
                Map<String, @Nullable Object> members = new LinkedHashMap<>();
                for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                    parser.nextToken();
                    members.put(name, value(parser));
                }
                yield Collections.unmodifiableMap(members);
            }
            case START_ARRAY -> {
                List<@Nullable Object> items = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    items.add(value(parser));
                }
                yield Collections.unmodifiableList(items);
            }
            case VALUE_STRING -> parser.getText();
            case VALUE_NUMBER_INT -> parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    ? (Object) parser.getDoubleValue()
                    : (Object) parser.getLongValue();
            case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> throw new IOException("no value");
        };
    }

    /** Writes JSON. */
    public static byte[] write(Map<String, ?> members) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (JsonGenerator generator = FACTORY.createGenerator(out)) {
            write(generator, members);
        } catch (IOException error) {
            throw new IllegalArgumentException("cannot be written as JSON: " + error.getMessage(), error);
        }
        return out.toByteArray();
    }

    private static void write(JsonGenerator generator, @Nullable Object value) throws IOException {
        if (value == null) {
            generator.writeNull();
        } else if (value instanceof String text) {
            generator.writeString(text);
        } else if (value instanceof Long number) {
            generator.writeNumber(number);
        } else if (value instanceof Integer number) {
            generator.writeNumber(number);
        } else if (value instanceof Double number) {
            generator.writeNumber(number);
        } else if (value instanceof Boolean flag) {
            generator.writeBoolean(flag);
        } else if (value instanceof Map<?, ?> members) {
            generator.writeStartObject();
            for (Map.Entry<?, ?> member : members.entrySet()) {
                generator.writeFieldName((String) member.getKey());
                write(generator, member.getValue());
            }
            generator.writeEndObject();
        } else if (value instanceof List<?> items) {
            generator.writeStartArray();
            for (Object item : items) {
                write(generator, item);
            }
            generator.writeEndArray();
        } else {
            throw new IOException("a " + value.getClass().getName());
        }
    }
}
