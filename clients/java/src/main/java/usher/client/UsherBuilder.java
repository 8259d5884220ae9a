package usher.client;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** Settings of a client. */
public final class UsherBuilder {
    final URI base;
    final String token;
    Duration timeout = Duration.ofSeconds(60);
    Duration reconnectTimeout = Duration.ofMinutes(5);
    int retries = 4;
    int connections = 32;
    boolean versionCheck = true;
    @Nullable HttpClient httpClient;
    @Nullable Executor executor;

    UsherBuilder(String baseUrl, String token) {
        // For example from an environment variable that is not set.
        Objects.requireNonNull(baseUrl, "the base URL is missing");
        Objects.requireNonNull(token, "the token is missing");
        URI uri = URI.create(baseUrl.replaceFirst("/+$", ""));
        String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
        if (!(scheme.equals("http") || scheme.equals("https"))
                || uri.getHost() == null
                || uri.getRawQuery() != null
                || uri.getRawFragment() != null
                || uri.getRawUserInfo() != null) {
            throw new IllegalArgumentException("the base URL must be http(s)://host, with a port and a path if need be");
        }
        if (!token.matches("[!-~]+")) {
            throw new IllegalArgumentException("the token must consist of visible ASCII characters");
        }
        this.base = URI.create(scheme + uri.toString().substring(scheme.length()));
        this.token = token;
    }

    /**
     * Sets the timeout of calls that have none of their own.
     *
     * @param timeout within what time, with all retries, a call must be over; 60 s by default, because minting a ticket
     *     may take half of it
     * @return this
     */
    public UsherBuilder timeout(Duration timeout) {
        new CallOptions(timeout, null, null);
        this.timeout = timeout;
        return this;
    }

    /**
     * Sets how often a call is repeated when the service is away, full, or asks for it.
     *
     * @param retries how often, 4 by default
     * @return this
     */
    public UsherBuilder retries(int retries) {
        if (retries < 0) {
            throw new IllegalArgumentException("retries must be 0 or more");
        }
        this.retries = retries;
        return this;
    }

    /**
     * Sets how many requests run at the same time; others wait for their turn.
     *
     * @param connections how many, 32 by default
     * @return this
     */
    public UsherBuilder connections(int connections) {
        if (connections < 1) {
            throw new IllegalArgumentException("at least one request must run");
        }
        this.connections = connections;
        return this;
    }

    /**
     * Sets how long {@link Operation#result} waits while the service cannot be reached. {@link Usher#watch} waits for as
     * long as it takes.
     *
     * @param reconnectTimeout how long, five minutes by default
     * @return this
     */
    public UsherBuilder reconnectTimeout(Duration reconnectTimeout) {
        this.reconnectTimeout = reconnectTimeout;
        return this;
    }

    /**
     * Sets whether the client compares its version with that of the service, after its first call.
     *
     * @param versionCheck whether to, true by default
     * @return this
     */
    public UsherBuilder versionCheck(boolean versionCheck) {
        this.versionCheck = versionCheck;
        return this;
    }

    /**
     * Sets the HTTP client, for a proxy or certificates of your own.
     *
     * @param httpClient a client that does not follow redirects, which would get the token
     * @return this
     */
    public UsherBuilder httpClient(HttpClient httpClient) {
        if (httpClient.followRedirects() != HttpClient.Redirect.NEVER) {
            throw new IllegalArgumentException("the HTTP client must not follow redirects");
        }
        this.httpClient = httpClient;
        return this;
    }

    /**
     * Sets where callbacks and listeners run. They may block.
     *
     * @param executor by default threads of the client, as many as are needed
     * @return this
     */
    public UsherBuilder executor(Executor executor) {
        this.executor = executor;
        return this;
    }

    /**
     * Creates the client.
     *
     * @return the client
     */
    public Usher build() {
        return new Usher(this);
    }
}
