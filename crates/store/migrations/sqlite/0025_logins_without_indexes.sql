-- Every login paid for these: users' keys are random, and so were the pages written. Logins of one user or stream are searched.
DROP INDEX login_records_main_key;
DROP INDEX login_records_stream;
