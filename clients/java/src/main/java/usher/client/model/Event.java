package usher.client.model;

/**
 * An event of a stream; it never changes once it has been read.
 *
 * @param index position in the stream, from 0, without gaps
 * @param type what kind of event it is, for example {@code StatusUpdate}
 * @param timestamp when it happened, in Unix seconds
 * @param data what happened; its class follows from {@code type}
 */
public record Event(long index, String type, long timestamp, EventData data) {}
