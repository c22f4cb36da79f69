-- Who changed what: an entry for each request that may change something.

CREATE TABLE audit_log (
    id UUID PRIMARY KEY,
    time_started TIMESTAMPTZ NOT NULL,
    request_id TEXT NOT NULL,
    request_uri TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    source_ip INET NOT NULL,
    user_agent TEXT,
    -- Who asked; nobody who is known, if there is none.
    silo_id UUID,
    silo_user_id UUID,
    auth_method TEXT,
    credential_id UUID,
    -- The entry was written before the request did anything, and is completed afterwards.
    time_completed TIMESTAMPTZ,
    -- The status of the answer; none if it is not known what became of the request.
    http_status_code INT4,
    error_code TEXT,
    error_message TEXT
);
CREATE INDEX audit_log_completed ON audit_log (time_completed, id)
    WHERE time_completed IS NOT NULL;
CREATE INDEX audit_log_open ON audit_log (time_started) WHERE time_completed IS NULL;
