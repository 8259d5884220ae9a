package usher.client.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;

/** JSON as maps, lists, texts, numbers ({@code Long}, or {@code Double} where they have a fraction) and truth values. */
public final class Json {
    /** Deeper than anything that the service sends. */
    private static final int DEPTH = 64;
    /** How deep the parts of a JWT may be. */
    private static final int JWT_DEPTH = 127;
    /** No part of a JWT is longer. */
    private static final int JWT_LENGTH = 8 * 1024;

    private static final JsonFactory FACTORY = factory(DEPTH, 400, true);
    private static final JsonFactory JWT_FACTORY = factory(JWT_DEPTH, JWT_LENGTH, false);

    private Json() {}

    private static JsonFactory factory(int depth, int numberLength, boolean strictDuplicates) {
        return JsonFactory.builder()
                .configure(StreamReadFeature.STRICT_DUPLICATE_DETECTION, strictDuplicates)
                // An error may quote what could not be read, and that may be a secret.
                .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
                .streamReadConstraints(StreamReadConstraints.builder()
                        .maxNestingDepth(depth)
                        .maxNumberLength(numberLength)
                        .build())
                .build();
    }

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

    /**
     * Reads the header or the claims of a JWT by the service's rules: UTF-8 without a byte order mark, and no member twice.
     *
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static Map<String, @Nullable Object> jwtPart(byte[] bytes) {
        Map<String, @Nullable Object> members = new HashMap<>();
        // From bytes, the library would also read UTF-16 and skip a byte order mark.
        try (JsonParser parser = JWT_FACTORY.createParser(utf8(bytes))) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw notJson("a part of the JWT");
            }
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                if (members.containsKey(name)) {
                    throw notJson("a part of the JWT");
                }
                members.put(wellFormed(name), value(parser));
            }
            if (parser.nextToken() != null) {
                throw notJson("a part of the JWT");
            }
        } catch (IOException error) {
            throw notJson("a part of the JWT");
        }
        return members;
    }

    private static String utf8(byte[] bytes) throws IOException {
        // A new decoder refuses what is malformed.
        String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        if (text.startsWith("\uFEFF")) {
            throw new IOException("a byte order mark");
        }
        return text;
    }

    /** Refuses half of a surrogate pair, which is no character. */
    private static String wellFormed(String text) throws IOException {
        if (text.codePoints().anyMatch(point -> point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE)) {
            throw new IOException("half of a surrogate pair");
        }
        return text;
    }

    private static Double finite(double number) throws IOException {
        if (!Double.isFinite(number)) {
            throw new IOException("a number beyond all numbers");
        }
        return number;
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
                    members.put(wellFormed(name), value(parser));
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
            case VALUE_STRING -> wellFormed(parser.getText());
            case VALUE_NUMBER_INT -> parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    ? (Object) finite(parser.getDoubleValue())
                    : (Object) parser.getLongValue();
            case VALUE_NUMBER_FLOAT -> finite(parser.getDoubleValue());
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
