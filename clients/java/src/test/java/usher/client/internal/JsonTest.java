package usher.client.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import usher.client.UsherException;
import usher.client.model.LightningNodeChannels;
import usher.client.model.Problem;
import usher.client.model.Profile;
import usher.client.model.ReadyWallet;

/** No type is taken for another, and nothing that is required may be missing; what nobody knows is ignored. */
class JsonTest {
    private static <T> T read(Class<T> type, String json) {
        return Json.read(Json.object(json.replace('\'', '"').getBytes(StandardCharsets.UTF_8), "it"), type);
    }

    @Test
    void whatDoesNotFitIsAParseError() {
        String wallet = "{'ready':%s,'backend':%s,'warnings':%s,'later':{'a':null}}";
        assertEquals("b", read(ReadyWallet.class, wallet.formatted("true", "'b'", "['w']")).backend());
        for (String[] wrong : new String[][] {
            {"null", "'b'", "[]"}, {"'true'", "'b'", "[]"}, {"1", "'b'", "[]"}, {"true", "null", "[]"}, {"true", "1", "[]"},
            {"true", "true", "[]"}, {"true", "['b']", "[]"}, {"true", "'\\ud800'", "[]"}, {"true", "'b'", "null"},
            {"true", "'b'", "'w'"}, {"true", "'b'", "''"}, {"true", "'b'", "{}"}, {"true", "'b'", "[null]"}, {"true", "'b'", "[1]"},
            {"true", "'b'", "[], 'backend':'c'"}
        }) {
            assertIsParseError(ReadyWallet.class, wallet.formatted((Object[]) wrong));
        }
        assertIsParseError(ReadyWallet.class, "{'ready':true,'backend':'b'}");
    }

    @Test
    void aNumberIsWholeWhereItHasToBe() {
        String channels = "{'usable':%s,'unusable':0,'capacity':9223372036854775807}";
        assertEquals(2, read(LightningNodeChannels.class, channels.formatted("2.0")).usable());
        for (String wrong : new String[] {"2.5", "'2'", "1e17", "1e999", "9223372036854775808", "null", "true", "[2]", "''"}) {
            assertIsParseError(LightningNodeChannels.class, channels.formatted(wrong));
        }
    }

    @Test
    void whatIsOptionalMayBeNullOrMissing() {
        assertEquals(
                read(Profile.class, "{'id':'i','pubkey':'k'}"), read(Profile.class, "{'id':'i','pubkey':'k','name':null}"));
        String problem = "{'type':'t','title':'t','status':500,'detail':'d','code':'c','request_id':'r','errors':null,'first':5}";
        assertEquals(5L, read(Problem.class, problem).extensions().get("first"));
    }

    private static void assertIsParseError(Class<?> type, String json) {
        UsherException error = assertThrows(UsherException.class, () -> read(type, json), json);
        assertEquals(UsherException.Code.PARSE_ERROR, error.code());
    }
}
