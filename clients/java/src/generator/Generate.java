import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the parts of the client that follow from docs/openapi.json: the records, and one method for each operation. Maven runs
 * it in each build: {@code java Generate.java <document> <folder>}.
 */
final class Generate {
    /** Types written by hand: they are more than the document says. */
    private static final Set<String> BY_HAND =
            Set.of("Event", "EventData", "EventPage", "WebhookEvent", "Problem", "FieldError", "ErrorCode");
    /** The forms of a {@code StatusUpdate}: which one applies depends on the request, which a webhook does not know. */
    private static final List<String> STATUS_UPDATE = List.of("LoginData", "PaymentData", "CashuStatusData");
    /** The data of events. */
    private static final Set<String> EVENT_DATA = Set.of(
            "KeyHandshakeData", "StatusUpdateData", "SubscriptionData", "SubscriptionPaymentData", "SubscriptionClosedData",
            "InvoiceData", "CashuResponseData");
    /** Not a request and a response: {@code Usher} has these. */
    private static final Set<String> STREAMING = Set.of("openWebSocket", "streamAllEvents");
    /** Members that let whoever reads them act, spend or log in: never part of a text. */
    private static final Set<String> SECRET = Set.of(
            "token", "secret", "static_token", "static_auth_token", "session_token", "preimage", "session_url", "page_url",
            "RedeemLoginRequest.code", "KeyHandshakeStarted.url", "LoginStarted.url", "ReusableHandshake.url");
    /** What the document leaves open, with the only value there is, or the one that nearly everybody means. */
    private static final Map<String, String> FILLED = Map.of("currency", "\"millisats\"", "subkeys", "List.of()");
    /** Words that Java does not allow as names, and those that Kotlin would need quotes for. */
    private static final Set<String> NO_NAMES = Set.of(
            "default", "public", "private", "class", "new", "import", "package", "static", "final", "interface", "return", "in",
            "is", "as", "fun", "val", "var", "object", "when", "typealias", "null", "typeof");

    private static JsonNode document;
    private static JsonNode schemas;
    private static Path folder;

    public static void main(String[] arguments) throws IOException {
        document = new ObjectMapper().readTree(Path.of(arguments[0]).toFile());
        schemas = document.at("/components/schemas");
        folder = Path.of(arguments[1]);
        if (Files.exists(folder)) {
            // Records of schemas that are gone.
            try (Stream<Path> files = Files.walk(folder)) {
                files.filter(Files::isRegularFile).forEach(file -> file.toFile().delete());
            }
        }
        Set<String> responses = new HashSet<>(EVENT_DATA);
        Set<String> requests = new HashSet<>();
        StringBuilder methods = new StringBuilder();
        for (var path : document.get("paths").properties()) {
            for (var entry : path.getValue().properties()) {
                JsonNode operation = entry.getValue();
                if (!operation.has("operationId")) {
                    continue;
                }
                String method = entry.getKey().toUpperCase();
                operation.at("/responses/200/content").forEach(content -> responses.add(ref(content.get("schema"))));
                if (operation.has("requestBody")) {
                    requests.add(request(operation));
                }
                if (STREAMING.contains(operation.get("operationId").textValue())) {
                    continue;
                }
                if (!query(operation).isEmpty()) {
                    String name = upper(operation.get("operationId").textValue()) + "Query";
                    record(name, "The query of `" + method + " " + path.getKey() + "`.", query(operation), true);
                }
                methods.append(method(path.getKey(), method, operation));
            }
        }
        for (String name : reachable(responses)) {
            record(name, description(schemas.get(name)), fields(name), false);
        }
        String goesOn = "Data of `StatusUpdate`: how an operation goes on, or ends without a result of its own.";
        record("StatusUpdateData", goesOn, statusUpdate(), false);
        for (String name : reachable(requests)) {
            record(name, description(schemas.get(name)), fields(name), true);
        }
        write("internal/ApiVersion", """
                package usher.client.internal;

                /** The version of the interface that this client was made for. */
                public final class ApiVersion {
                    /** As the document has it. */
                    public static final String VERSION = "%s";

                    private ApiVersion() {}
                }
                """.formatted(document.at("/info/version").textValue()));
        write("UsherApi", """
                package usher.client;

                import java.util.Map;
                import usher.client.internal.Events;
                import usher.client.internal.Request;
                import usher.client.model.*;

                /**
                 * Every endpoint of the HTTP API, one method each: a request, and its response as a record.
                 * {@link Usher} has what a login, a payment or a ticket takes from beginning to end.
                 */
                public final class UsherApi {
                    private final Transport transport;

                    UsherApi(Transport transport) {
                        this.transport = transport;
                    }
                """ + methods + "}\n");
    }

    private static void write(String name, String text) throws IOException {
        Path file = folder.resolve("usher/client/" + name + ".java");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "// Written by Generate.java from docs/openapi.json, in each build.\n" + text);
    }

    /** A member of a schema, or a parameter of a query. */
    private static final class Field {
        final String json;
        final String name;
        final boolean required;
        final boolean secret;
        final boolean copied;
        final String type;
        boolean optional;
        String doc;

        Field(String owner, String json, JsonNode schema, boolean required) {
            this.json = json;
            this.required = required;
            name = camel(json);
            List<String> kinds = new ArrayList<>();
            if (schema.path("type").isArray()) {
                schema.get("type").forEach(kind -> kinds.add(kind.textValue()));
            } else {
                kinds.add(schema.path("type").asText());
            }
            optional = kinds.remove("null") || !required;
            doc = description(schema);
            if (doc.isEmpty()) {
                doc = switch (json) {
                    case "stream_id" -> "Its stream.";
                    case "ready" -> "Whether it is ready.";
                    case "status" -> "Its status.";
                    case "session_id" -> "Its id.";
                    default -> "See the type.";
                };
            }
            secret = SECRET.contains(json) || SECRET.contains(owner + "." + json);
            String kind = kinds.get(0);
            copied = kind.equals("array") || kind.equals("object");
            type = type(schema, kind, optional);
        }

        private static String type(JsonNode schema, String kind, boolean optional) {
            if (ref(schema) != null) {
                return ref(schema);
            }
            // A number or a word: whatever the description says.
            if (schema.has("oneOf")) {
                return "Object";
            }
            return switch (kind) {
                case "array" -> "List<" + (ref(schema.get("items")) == null ? "String" : ref(schema.get("items"))) + ">";
                case "object" -> schema.at("/additionalProperties/type").asText().equals("array")
                        ? "Map<String, List<String>>"
                        : "Map<String, String>";
                case "integer" -> optional ? "Long" : "long";
                case "number" -> optional ? "Double" : "double";
                case "boolean" -> optional ? "Boolean" : "boolean";
                // Words are texts, so that a client reads those of a later version too.
                default -> "String";
            };
        }

        String declared() {
            return (optional ? "@Nullable " : "") + type + " " + name;
        }

        /** As a component of a record, with what Jackson has to know. */
        String component(boolean read) {
            return (name.equals(json) ? "" : "@JsonProperty(\"" + json + "\") ")
                    + (read && optional ? "@JsonSetter(nulls = Nulls.SET) " : "")
                    + declared();
        }

        String param() {
            return "@param " + name + " " + prose(doc);
        }
    }

    private static String camel(String name) {
        // A record cannot have this component.
        if (name.equals("wait")) {
            return "waitSeconds";
        }
        String word = Pattern.compile("_(.)").matcher(name).replaceAll(match -> match.group(1).toUpperCase());
        return NO_NAMES.contains(word) ? word + "Value" : word;
    }

    private static String upper(String name) {
        return name.substring(0, 1).toUpperCase() + name.substring(1);
    }

    private static String description(JsonNode schema) {
        return schema.path("description").asText();
    }

    /** The record that a schema refers to. */
    private static String ref(JsonNode schema) {
        String name = schema.path("$ref").asText().replaceFirst(".*/", "");
        boolean word = !BY_HAND.contains(name) && schemas.path(name).path("type").asText().equals("string");
        return name.isEmpty() || word ? null : name;
    }

    private static List<Field> fields(String name) {
        JsonNode schema = schemas.get(name);
        List<String> order = new ArrayList<>();
        schema.path("required").forEach(member -> order.add(member.textValue()));
        List<Field> found = new ArrayList<>();
        for (var member : schema.path("properties").properties()) {
            String text = description(member.getValue());
            // One name for one thing.
            if (!text.startsWith("Another name for")) {
                boolean required = order.contains(member.getKey()) || text.contains("Required, here or as");
                found.add(new Field(name, member.getKey(), member.getValue(), required));
            }
        }
        // As the document orders what is required: whom and what for first.
        found.sort(Comparator.comparing((Field field) -> !field.required).thenComparing(field -> order.indexOf(field.json)));
        return found;
    }

    private static List<Field> statusUpdate() {
        Map<String, Field> merged = new LinkedHashMap<>();
        for (Field field : STATUS_UPDATE.stream().flatMap(name -> fields(name).stream()).toList()) {
            Field first = merged.putIfAbsent(field.json, field);
            field.optional = !field.json.equals("status");
            if (first != null && !first.doc.equals(field.doc)) {
                first.doc += " " + field.doc;
            }
        }
        merged.get("status").doc = "What happened: on a login `approved`, `declined`, `timeout` or `error`; on a payment "
                + "`approval_required`, `user_approved`, `user_failed`, `sending`, `paid`, `user_rejected`, `timeout` or `error`; "
                + "elsewhere `user_rejected`, `timeout` or `error`.";
        merged.get("reason").doc = "Why; in the user's words if the user refused.";
        merged.get("main_key").doc =
                "On a login: the key that responded, itself or through a subkey; with `approved` and `declined`.";
        merged.get("token").doc = "On a ticket request, with `error`: a token that the user has given away, that was not "
                + "confirmed, and that may be worth something.";
        return List.copyOf(merged.values());
    }

    private static Set<String> reachable(Set<String> kinds) {
        Deque<String> todo = new ArrayDeque<>(kinds.stream().filter(kind -> kind != null).toList());
        Set<String> found = new TreeSet<>();
        while (!todo.isEmpty()) {
            String name = todo.pop();
            JsonNode schema = schemas.path(name);
            if (!BY_HAND.contains(name) && schema.path("type").asText().equals("object") && found.add(name)) {
                schema.findValuesAsText("$ref").forEach(ref -> todo.add(ref.replaceFirst(".*/", "")));
            }
        }
        return found;
    }

    /** Markdown of the document as Javadoc. */
    private static String prose(String text) {
        String[] parts = text.replaceAll("\\[([^\\]]*)\\]\\((?:[^()]|\\([^)]*\\))*\\)", "$1").split("`", -1);
        StringBuilder out = new StringBuilder();
        for (int number = 0; number < parts.length; number++) {
            String part = parts[number];
            if (number % 2 == 0) {
                out.append(part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;"));
            } else if (part.replace("{", "").length() == part.replace("}", "").length()) {
                out.append("{@code ").append(part).append('}');
            } else {
                out.append(part.replace("{", "&#123;").replace("}", "&#125;"));
            }
        }
        return out.toString();
    }

    private static String javadoc(String indent, String text, List<String> tags) {
        List<String> lines = new ArrayList<>(List.of(text.strip().replace("\n\n", "\n\n<p>").split("\n")));
        if (!tags.isEmpty()) {
            lines.add("");
            tags.forEach(tag -> lines.add(tag.replace("\n", " ")));
        }
        return "\n" + indent + "/**\n"
                + lines.stream().map(line -> (indent + " * " + line).stripTrailing() + "\n").collect(Collectors.joining())
                + indent + " */\n";
    }

    private static String joined(List<Field> fields, Function<Field, String> what) {
        return fields.stream().map(what).collect(Collectors.joining(", "));
    }

    /** Writes a record; that of a request has {@code of} for what is required and {@code with…} for the rest. */
    private static void record(String name, String doc, List<Field> fields, boolean request) throws IOException {
        List<String> params = fields.stream().map(Field::param).toList();
        StringBuilder body = new StringBuilder();
        if (fields.stream().anyMatch(field -> field.copied)) {
            // The documentation tool of Java 17 wants them twice.
            body.append(javadoc("    ", "Keeps unchangeable copies of lists.", params));
            body.append("    public ").append(name).append(" {\n");
            for (Field field : fields.stream().filter(field -> field.copied).toList()) {
                String copy = field.type.substring(0, field.type.indexOf('<')) + ".copyOf(" + field.name + ");\n";
                String unless = field.optional ? field.name + " == null ? null : " : "";
                body.append("        ").append(field.name).append(" = ").append(unless).append(copy);
            }
            body.append("    }\n");
        }
        if (request) {
            body.append(requestMethods(name, fields));
        }
        if (fields.stream().anyMatch(field -> field.secret)) {
            // Records end up in logs.
            String members = joined(fields, field -> field.name + "=" + (field.secret ? "…" : "\" + " + field.name + " + \""));
            body.append("\n    /** Leaves out what nobody may read in a log. */\n    @Override\n    public String toString() {\n")
                    .append("        return \"" + name + "[" + members + "]\";\n    }\n");
        }
        String components = fields.stream()
                .map(field -> "\n        " + field.component(!request))
                .collect(Collectors.joining(","));
        write("model/" + name, "package usher.client.model;\n\n"
                + "import com.fasterxml.jackson.annotation.*;\nimport java.util.*;\nimport org.jspecify.annotations.Nullable;\n"
                + javadoc("", prose(doc), params)
                + "public record " + name + "(" + components + ")"
                + (EVENT_DATA.contains(name) ? " implements EventData" : "")
                + " {" + body + "}\n");
    }

    private static String requestMethods(String name, List<Field> fields) {
        List<Field> needed =
                fields.stream().filter(field -> field.required && !FILLED.containsKey(field.json)).toList();
        String values = joined(fields, field ->
                needed.contains(field) ? field.name : field.required ? FILLED.get(field.json) : "null");
        List<String> tags = new ArrayList<>(needed.stream().map(Field::param).toList());
        tags.add("@return a new {@code " + name + "}");
        StringBuilder out = new StringBuilder(javadoc(
                "    ", needed.isEmpty() ? "Creates it with nothing set." : "Creates it from what is required.", tags));
        out.append("    public static %s of(%s) {\n        return new %1$s(%s);\n    }\n"
                .formatted(name, joined(needed, field -> field.type + " " + field.name), values));
        for (Field field : fields) {
            if (!needed.contains(field)) {
                out.append(javadoc(
                        "    ",
                        "Returns a copy with another {@code " + field.name + "}.",
                        List.of(field.param(), "@return the copy")));
                out.append("    public %s with%s(%s) {\n        return new %1$s(%s);\n    }\n"
                        .formatted(name, upper(field.name), field.declared(), joined(fields, other -> other.name)));
            }
        }
        return out.toString();
    }

    private static String request(JsonNode operation) {
        return operation.has("requestBody") ? ref(operation.at("/requestBody/content/application~1json/schema")) : null;
    }

    private static List<JsonNode> parameters(JsonNode operation, String place) {
        List<JsonNode> found = new ArrayList<>();
        operation.path("parameters").forEach(parameter -> {
            if (parameter.get("in").textValue().equals(place)) {
                found.add(parameter);
            }
        });
        return found;
    }

    private static List<Field> query(JsonNode operation) {
        List<Field> fields = new ArrayList<>();
        for (JsonNode parameter : parameters(operation, "query")) {
            String name = parameter.get("name").textValue();
            Field field = new Field("", name, parameter.get("schema"), parameter.path("required").asBoolean());
            field.doc = description(parameter);
            fields.add(field);
        }
        return fields;
    }

    /** The two methods of an operation: one with options. */
    private static String method(String path, String method, JsonNode operation) {
        String id = operation.get("operationId").textValue();
        Map<String, String> parameters = new LinkedHashMap<>();
        List<String> tags = new ArrayList<>();
        StringBuilder call = new StringBuilder("Request.of(\"" + method + "\", \"" + path + "\"");
        for (JsonNode parameter : parameters(operation, "path")) {
            String name = camel(parameter.get("name").textValue());
            parameters.put(name, "String " + name);
            call.append(", ").append(name);
            String doc = description(parameter);
            tags.add("@param " + name + " " + (doc.isEmpty() ? "Which one." : prose(doc)));
        }
        call.append(')');
        String request = request(operation);
        if (request != null) {
            parameters.put("request", request + " request");
            tags.add("@param request " + prose(description(schemas.get(request))));
            call.append(".body(request)");
        }
        if (!query(operation).isEmpty()) {
            parameters.put("query", upper(id) + "Query query");
            tags.add("@param query which part of it");
            call.append(".query(query)");
        }
        if (id.equals("checkReadiness")) {
            call.append(".reportingByStatus()");
        }
        JsonNode schema = operation.at("/responses/200/content/application~1json/schema");
        String result = schema.isMissingNode() ? "String" : ref(schema) == null ? "Map<String, Object>" : ref(schema);
        String send = switch (result) {
            case "String" -> "text(" + call + ", options)";
            case "Map<String, Object>" -> "members(" + call + ", options)";
            case "EventPage" -> "call(" + call + ", options, Events::eventPage)";
            default -> "call(" + call + ", options, " + result + ".class)";
        };
        String summary = prose(operation.get("summary").textValue()) + "\n\n";
        String where = "\n\n{@code " + method + " " + path + "}";
        String declared = String.join(", ", parameters.values());
        List<String> last = List.of("@return the response; fails with {@link UsherException}");
        List<String> withOptions =
                Stream.of(tags, List.of("@param options how to call"), last).flatMap(List::stream).toList();
        return javadoc("    ", summary + where.strip(), Stream.concat(tags.stream(), last.stream()).toList())
                + "    public Call<%s> %s(%s) {\n        return %2$s(%s);\n    }\n".formatted(
                        result, id, declared, String.join(", ", append(parameters.keySet(), "CallOptions.DEFAULT")))
                + javadoc("    ", summary + prose(description(operation)) + where, withOptions)
                + "    public Call<%s> %s(%s) {\n        return transport.%s;\n    }\n".formatted(
                        result, id, String.join(", ", append(parameters.values(), "CallOptions options")), send);
    }

    private static List<String> append(Collection<String> parts, String last) {
        return Stream.concat(parts.stream(), Stream.of(last)).toList();
    }
}
