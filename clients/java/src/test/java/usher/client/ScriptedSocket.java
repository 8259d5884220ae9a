package usher.client;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server whose WebSocket sends what a test says, and whose HTTP responses are all the same. */
final class ScriptedSocket implements AutoCloseable {
    /** Responds to a message of the client with messages. */
    interface Script {
        List<String> responses(String message, String id);
    }

    private static final Pattern KEY = Pattern.compile("(?i)sec-websocket-key: *(\\S+)");
    private static final Pattern ID = Pattern.compile("\"id\":\"([0-9]+)\"");

    /** What came over WebSockets. */
    final List<String> messages = new CopyOnWriteArrayList<>();

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Script script;
    private final String page;

    ScriptedSocket(String page, Script script) throws IOException {
        this.page = page;
        this.script = script;
        threads.execute(() -> {
            try {
                while (true) {
                    Socket socket = server.accept();
                    sockets.add(socket);
                    threads.execute(() -> serve(socket));
                }
            } catch (IOException closed) {
                // The test is over.
            }
        });
    }

    String url() {
        return "http://127.0.0.1:" + server.getLocalPort();
    }

    private void serve(Socket socket) {
        try (socket) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            StringBuilder head = new StringBuilder();
            while (head.indexOf("\r\n\r\n") < 0) {
                head.append((char) in.readUnsignedByte());
            }
            OutputStream out = socket.getOutputStream();
            Matcher key = KEY.matcher(head);
            if (!key.find()) {
                out.write(("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + page).getBytes(StandardCharsets.UTF_8));
                return;
            }
            byte[] accept = MessageDigest.getInstance("SHA-1")
                    .digest((key.group(1) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").getBytes(StandardCharsets.UTF_8));
            out.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
                            + Base64.getEncoder().encodeToString(accept) + "\r\n\r\n")
                    .getBytes(StandardCharsets.UTF_8));
            while (true) {
                int kind = in.readUnsignedByte() & 15;
                int length = in.readUnsignedByte() & 127;
                length = length == 126 ? in.readUnsignedShort() : length;
                byte[] mask = in.readNBytes(4);
                byte[] text = in.readNBytes(length);
                for (int at = 0; at < length; at++) {
                    text[at] ^= mask[at % 4];
                }
                String message = new String(text, StandardCharsets.UTF_8);
                Matcher id = ID.matcher(message);
                if (kind == 1 && id.find()) {
                    messages.add(message);
                    for (String response : script.responses(message, id.group(1))) {
                        byte[] bytes = response.getBytes(StandardCharsets.UTF_8);
                        out.write(bytes.length < 126
                                ? new byte[] {(byte) 0x81, (byte) bytes.length}
                                : new byte[] {(byte) 0x81, 126, (byte) (bytes.length >> 8), (byte) bytes.length});
                        out.write(bytes);
                    }
                }
            }
        } catch (Exception closed) {
            // The client has closed the connection, or the test is over.
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
        threads.shutdownNow();
    }
}
