package usher.client.internal;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.deser.std.StdScalarDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NumericNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.ValueNode;
import com.fasterxml.jackson.databind.type.LogicalType;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import usher.client.UsherException;

/** JSON: members that nobody knows are ignored; one that is missing, null or of another type is a {@code PARSE_ERROR}. */
public final class Json {
    /** Deeper than anything that the service sends. */
    private static final JsonMapper MAPPER = mapper(64, 400, true);
    /** How deep the parts of a JWT may be; none is longer. */
    private static final JsonMapper JWT_MAPPER = mapper(127, 8 * 1024, false);

    private Json() {}

    private static JsonMapper mapper(int depth, int numberLength, boolean strictDuplicates) {
        JsonFactory factory = JsonFactory.builder()
                .configure(StreamReadFeature.STRICT_DUPLICATE_DETECTION, strictDuplicates)
                // An error may quote what could not be read, and that may be a secret.
                .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
                .streamReadConstraints(StreamReadConstraints.builder()
                        .maxNestingDepth(depth)
                        .maxNumberLength(numberLength)
                        .build())
                .build();
        return JsonMapper.builder(factory)
                .nodeFactory(new Nodes())
                .addModule(new SimpleModule()
                        .addDeserializer(Long.class, new WholeNumber())
                        .addDeserializer(Long.TYPE, new WholeNumber()))
                .defaultSetterInfo(JsonSetter.Value.construct(Nulls.FAIL, Nulls.FAIL))
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                // No type is taken for another.
                .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
                .withCoercionConfig(LogicalType.Textual, config -> config
                        .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                        .setCoercion(CoercionInputShape.Float, CoercionAction.Fail))
                // Everything that is read and written is public.
                .disable(MapperFeature.CAN_OVERRIDE_ACCESS_MODIFIERS)
                .defaultPropertyInclusion(
                        JsonInclude.Value.construct(JsonInclude.Include.NON_NULL, JsonInclude.Include.ALWAYS))
                .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
                .build();
    }

    /** Numbers that are a {@code Long}, or a {@code Double} where they are not. */
    private static final class Nodes extends JsonNodeFactory {
        private static final long serialVersionUID = 1;

        @Override
        public NumericNode numberNode(int number) {
            return numberNode((long) number);
        }

        @Override
        public ValueNode numberNode(BigInteger number) {
            return numberNode(number.doubleValue());
        }

        @Override
        public NumericNode numberNode(double number) {
            if (!Double.isFinite(number)) {
                throw new IllegalArgumentException("a number beyond all numbers");
            }
            return super.numberNode(number);
        }
    }

    /** Reads {@code 1.0} too, and not {@code 1.5}. */
    private static final class WholeNumber extends StdScalarDeserializer<Long> {
        private static final long serialVersionUID = 1;

        WholeNumber() {
            super(Long.class);
        }

        @Override
        public @Nullable Long deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            if (parser.currentToken() == JsonToken.VALUE_NUMBER_FLOAT) {
                double number = parser.getDoubleValue();
                if (number == Math.rint(number) && Math.abs(number) <= 1L << 53) {
                    return (long) number;
                }
            }
            return parser.currentToken() == JsonToken.VALUE_NUMBER_INT
                    ? (Long) parser.getLongValue()
                    : (Long) context.handleUnexpectedToken(Long.class, parser);
        }
    }

    /**
     * Reads one JSON object.
     *
     * @param what what it is, for errors
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static ObjectNode object(byte[] bytes, String what) {
        try (JsonParser parser = MAPPER.createParser(bytes)) {
            JsonNode json = parser.readValueAsTree();
            if (json == null || parser.nextToken() != null) {
                throw new IOException("nothing, or more than one");
            }
            wellFormed(json);
            if (json instanceof ObjectNode object) {
                return object;
            }
        } catch (IOException | IllegalArgumentException error) {
            throw parseError(what + " is not JSON");
        }
        throw parseError(what + " is not a JSON object");
    }

    /**
     * Reads a record, or another value.
     *
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static <T> T read(JsonNode json, Class<T> type) {
        try {
            return MAPPER.treeToValue(json, type);
        } catch (JsonMappingException error) {
            String path = error.getPath().stream()
                    .map(part -> part.getFieldName() == null ? "[]" : part.getFieldName())
                    .collect(Collectors.joining("."));
            throw parseError(type.getSimpleName() + " has no `" + path + "`, or one of another type");
        } catch (IOException error) {
            throw parseError(type.getSimpleName() + " cannot be read");
        }
    }

    /**
     * Reads a member.
     *
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static <T> T member(ObjectNode json, String name, Class<T> type) {
        T value = optional(json, name, type);
        if (value == null) {
            throw parseError("`" + name + "` is missing");
        }
        return value;
    }

    /** Reads a member that may be missing. */
    public static <T> @Nullable T optional(ObjectNode json, String name, Class<T> type) {
        return json.hasNonNull(name) ? read(json.get(name), type) : null;
    }

    /** The members of an object or record as texts, numbers ({@code Long} or {@code Double}), truth values, lists and maps. */
    @SuppressWarnings("unchecked") // The members of a JSON object have names.
    public static Map<String, @Nullable Object> members(Object value) {
        return Collections.unmodifiableMap((Map<String, @Nullable Object>) MAPPER.convertValue(value, Object.class));
    }

    /**
     * Reads the header or the claims of a JWT by the service's rules: UTF-8 without a byte order mark, and no member twice.
     *
     * @throws UsherException {@code PARSE_ERROR}
     */
    public static Map<String, @Nullable Object> jwtPart(byte[] bytes) {
        // From bytes, the library would also read UTF-16 and skip a byte order mark.
        try (JsonParser parser = JWT_MAPPER.createParser(utf8(bytes))) {
            ObjectNode members = JWT_MAPPER.createObjectNode();
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new IOException("no object");
            }
            for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
                parser.nextToken();
                JsonNode value = parser.readValueAsTree();
                if (members.replace(name, value) != null) {
                    throw new IOException("a member twice");
                }
            }
            if (parser.nextToken() != null) {
                throw new IOException("more than one");
            }
            wellFormed(members);
            return members(members);
        } catch (IOException | IllegalArgumentException error) {
            throw parseError("a part of the JWT is not JSON");
        }
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
    private static void wellFormed(JsonNode json) throws IOException {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(json.toString())) {
            throw new IOException("half of a surrogate pair");
        }
    }

    private static UsherException parseError(String message) {
        return new UsherException(UsherException.Code.PARSE_ERROR, message);
    }

    /** Writes JSON. What is null in a record is left out. */
    public static byte[] write(Object value) {
        try {
            return MAPPER.writeValueAsBytes(value);
        } catch (IOException error) {
            throw new IllegalArgumentException("cannot be written as JSON: " + error.getMessage(), error);
        }
    }
}
