-- What SQLite has by itself: which migrations were made, and that one process at a time writes. It is applied before the
-- lease is taken, by whichever instance comes first.

CREATE TABLE migrations (
    version bigint      NOT NULL PRIMARY KEY,
    at      timestamptz NOT NULL
);

-- One row. Who may write: the holder of the epoch, until `expires_at` by the clock of this database.
CREATE TABLE lease (
    id         smallint    NOT NULL PRIMARY KEY CHECK (id = 1),
    owner      text        NOT NULL,
    -- Goes up with every owner, and never back.
    epoch      bigint      NOT NULL,
    -- Where the owner can be reached.
    address    text        NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Goes up with every connection that writes: what is still on its way from an earlier one is refused.
    session    bigint      NOT NULL
);

INSERT INTO lease VALUES (1, '', 0, '', '-infinity', 0);

-- The last groups of commits of an epoch. They tell whether a COMMIT without an answer has happened. Rows of a table, and no
-- counter in the row of the lease: while a backup is made, all versions of a row are kept, and each update looks at them.
CREATE TABLE written (
    epoch  bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (epoch, number)
);

-- The first statement of every transaction that writes. The lock on the row lasts until the transaction ends: nobody can take
-- the lease over in between, which locks it FOR UPDATE. The owner can renew it, which changes no key.
CREATE FUNCTION begin_write(of_epoch bigint, of_session bigint, of_number bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM lease
    WHERE epoch = of_epoch AND session = of_session AND expires_at > clock_timestamp() FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this instance does not hold the lease' USING ERRCODE = 'UL001';
    END IF;
    INSERT INTO written VALUES (of_epoch, of_number);
    IF of_number % 1000 = 0 THEN
        DELETE FROM written WHERE epoch < of_epoch OR (epoch = of_epoch AND number < of_number);
    END IF;
END
$$;

-- Fails the transaction when a conditional write has changed another number of rows than it must.
CREATE FUNCTION expect_rows(changed bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF changed <> expected THEN
        RAISE EXCEPTION '% rows changed where % should have', changed, expected USING ERRCODE = 'UL002';
    END IF;
END
$$;
