package usher.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** The real service with everything embedded ({@code usher dev}), and its real reference wallet. */
final class RunningUsher implements AutoCloseable {
    /** The program: {@code USHER_BINARY}, else that of a debug build. */
    private static final String BINARY = System.getenv()
            .getOrDefault("USHER_BINARY", Vectors.REPOSITORY.resolve("target/debug/usher").toString());

    /** Whether there is a program, or one is named: a named one that is missing is an error and no reason to skip tests. */
    static boolean hasProgram() {
        boolean has = System.getenv("USHER_BINARY") != null || Files.isExecutable(Path.of(BINARY));
        if (!has) {
            System.err.println("tests with the service are SKIPPED: build it (cargo build -p usher -p usher-dev -p usher-mint) or set USHER_BINARY");
        }
        return has;
    }

    /** Longer than anything takes, on any machine. */
    static final long LONG_SECONDS = 90;

    final String token = HexFormat.of().formatHex(random());
    private final Path folder;
    private final int port = freePort();
    private final int relayPort = freePort();
    private Process process;
    private OutputStream input;

    RunningUsher(String... settings) throws Exception {
        folder = Files.createTempDirectory("usher-java-");
        String config = "[auth]\nauth_token = \"" + token + "\"\n" + String.join("\n", settings) + "\n[nostr]\nprivate_key = \""
                + HexFormat.of().formatHex(random()) + "\"\n";
        Files.writeString(folder.resolve("config.toml"), config);
        start();
    }

    void start() throws Exception {
        process = new ProcessBuilder(
                        BINARY, "dev", "--data-dir", folder.toString(), "--port", "" + port, "--relay-port", "" + relayPort)
                .redirectErrorStream(true)
                .start();
        input = process.getOutputStream();
        BufferedReader output = process.inputReader(StandardCharsets.UTF_8);
        CountDownLatch ready = new CountDownLatch(1);
        List<String> said = new ArrayList<>();
        Thread reader = new Thread(() -> output.lines().forEach(line -> {
            synchronized (said) {
                said.add(line);
            }
            if (line.startsWith("Open the start page")) {
                ready.countDown();
            }
        }));
        reader.setDaemon(true);
        reader.start();
        if (!ready.await(LONG_SECONDS, TimeUnit.SECONDS)) {
            synchronized (said) {
                throw new AssertionError("usher dev did not start: " + said);
            }
        }
    }

    String url() {
        return "http://127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    UsherBuilder client() {
        return Usher.builder(url(), token);
    }

    String mintUrl() throws IOException {
        return "http://127.0.0.1:" + Files.readString(folder.resolve("mint/port")).strip();
    }

    String mintToken() throws IOException {
        return Files.readString(folder.resolve("mint/auth-token")).strip();
    }

    /** Runs a command of the reference wallet. */
    String wallet(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(BINARY, "wallet", "--wallet", folder.resolve("wallet.json").toString()));
        command.addAll(List.of(arguments));
        Process wallet = new ProcessBuilder(command).redirectErrorStream(true).start();
        wallet.getOutputStream().close();
        String said = new String(wallet.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (wallet.waitFor() != 0) {
            throw new AssertionError("wallet " + String.join(" ", arguments) + ": " + said);
        }
        return said;
    }

    /** As {@code kill -9}. */
    void kill() throws Exception {
        process.destroyForcibly().waitFor();
    }

    @Override
    public void close() throws Exception {
        kill();
        input.close();
        deleteFolder();
    }

    /** The mint is a process of its own, which notices a little later that the service is gone, and removes files of its own. */
    private void deleteFolder() throws Exception {
        RealServiceTest.until(() -> {
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            } catch (IOException | UncheckedIOException changing) {
                // Looked at again.
            }
            return !Files.exists(folder);
        });
    }

    /**
     * A port that nobody listens on. It is below the range of outgoing connections, since one of that range may be gone
     * while the program that held it starts again, and below the ports that the Rust tests and {@code usher dev} reserve
     * (crates/loopback-port).
     */
    static int freePort() throws IOException {
        RandomGenerator random = RandomGenerator.getDefault();
        for (int attempt = 1; ; attempt++) {
            int port = random.nextInt(10_000, 20_000);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException taken) {
                if (attempt == 100) {
                    throw taken;
                }
            }
        }
    }

    private static byte[] random() {
        byte[] bytes = new byte[32];
        RandomGenerator.of("SecureRandom").nextBytes(bytes);
        return bytes;
    }
}
